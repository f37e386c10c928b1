//! Servers of NATS on this machine, one or a cluster, with ports that the system chose.
#![allow(dead_code, reason = "each test uses a part")]

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Debian installs it where not everybody looks.
const PROGRAM: &str = "/usr/sbin/nats-server";

pub struct Servers {
    folder: TempDir,
    clients: Vec<u16>,
    children: Vec<Option<Child>>,
}

/// Ports that nobody has at the moment.
fn ports(count: usize) -> Vec<u16> {
    let sockets: Vec<_> = (0..count).map(|_| TcpListener::bind("127.0.0.1:0").expect("a port")).collect();
    sockets.iter().map(|socket| socket.local_addr().expect("its address").port()).collect()
}

impl Servers {
    pub fn start(count: usize) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let (clients, routes) = (ports(count), ports(count));
        for (index, client) in clients.iter().enumerate() {
            let store = folder.path().join(format!("store-{index}"));
            let cluster = if count > 1 {
                let others: Vec<_> = routes.iter().map(|port| format!("nats://127.0.0.1:{port}")).collect();
                let (route, others) = (routes[index], others.join(", "));
                format!("cluster {{ name: c, listen: 127.0.0.1:{route}, routes: [{others}] }}\n")
            } else {
                String::new()
            };
            let config = format!(
                "server_name: s{index}\nlisten: 127.0.0.1:{client}\n{cluster}\
                 jetstream {{ store_dir: \"{}\", max_mem: 64MB, max_file: 8GB }}\n",
                store.display()
            );
            fs::write(folder.path().join(format!("{index}.conf")), config).expect("a file");
        }
        let mut servers = Self { folder, clients, children: (0..count).map(|_| None).collect() };
        (0..count).for_each(|index| servers.begin(index));
        servers
    }

    pub fn begin(&mut self, index: usize) {
        let program = if Path::new(PROGRAM).exists() { PROGRAM } else { "nats-server" };
        let said = fs::File::create(self.folder.path().join(format!("{index}.log"))).expect("a file");
        let child = Command::new(program)
            .arg("-c")
            .arg(self.folder.path().join(format!("{index}.conf")))
            .stdout(Stdio::null())
            .stderr(said)
            .spawn()
            .expect("there is no nats-server; install it with: scripts/setup nats");
        self.children[index] = Some(child);
        let address = SocketAddr::from(([127, 0, 0, 1], self.clients[index]));
        let begin = Instant::now();
        while TcpStream::connect(address).is_err() {
            let log = fs::read_to_string(self.folder.path().join(format!("{index}.log")));
            assert!(begin.elapsed() < Duration::from_secs(30), "{log:?}");
            sleep(Duration::from_millis(20));
        }
    }

    /// Kills a server, as a power cut would.
    pub fn kill(&mut self, index: usize) {
        if let Some(mut child) = self.children[index].take() {
            child.kill().expect("SIGKILL");
            child.wait().expect("it ends");
        }
    }

    /// `host:port` of each.
    pub fn addresses(&self) -> Vec<String> {
        self.clients.iter().map(|port| format!("127.0.0.1:{port}")).collect()
    }

    /// As on the command line.
    pub fn url(&self) -> String {
        format!("nats://{}/building", self.addresses().join(","))
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        (0..self.children.len()).for_each(|index| self.kill(index));
    }
}
