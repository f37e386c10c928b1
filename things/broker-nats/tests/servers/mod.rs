//! Servers of NATS on this machine, one or a cluster, at an address of their own, with ports that
//! the system chose.
#![allow(dead_code, reason = "each test uses a part")]

use std::fs;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Debian installs it where not everybody looks.
const PROGRAM: &str = "/usr/sbin/nats-server";
/// A server that lost what another told it of itself hears of it 30 seconds later.
const READY: Duration = Duration::from_secs(120);

pub struct Servers {
    folder: TempDir,
    clients: Vec<SocketAddr>,
    children: Vec<Option<Child>>,
}

/// A loopback address for a cluster: others begin and connect on 127.0.0.1, where they could take
/// the port of a server that has not begun, or not begun again.
fn address() -> Ipv4Addr {
    let [.., second, third, last] = RandomState::new().build_hasher().finish().to_be_bytes();
    Ipv4Addr::new(127, second, third, last.clamp(1, 254))
}

/// Ports there that nobody has at the moment.
fn ports(host: Ipv4Addr, count: usize) -> Vec<SocketAddr> {
    let sockets: Vec<_> = (0..count).map(|_| TcpListener::bind((host, 0)).expect("a port")).collect();
    sockets.iter().map(|socket| socket.local_addr().expect("its address")).collect()
}

impl Servers {
    /// Servers that take a stream of as many replicas.
    pub fn start(count: usize) -> Self {
        let mut servers = Self::prepare(count);
        (0..count).for_each(|index| servers.begin(index));
        servers.ready();
        servers
    }

    /// Servers of one cluster that have not begun.
    pub fn prepare(count: usize) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        // All at once, so that none is given twice.
        let mut clients = ports(address(), 2 * count);
        let routes = clients.split_off(count);
        for (index, client) in clients.iter().enumerate() {
            let store = folder.path().join(format!("store-{index}"));
            let cluster = if count > 1 {
                let others: Vec<_> = routes.iter().map(|route| format!("nats://{route}")).collect();
                let (route, others) = (routes[index], others.join(", "));
                format!("cluster {{ name: c, listen: \"{route}\", routes: [{others}] }}\n")
            } else {
                String::new()
            };
            let config = format!(
                "server_name: s{index}\nlisten: \"{client}\"\n{cluster}\
                 jetstream {{ store_dir: \"{}\", max_mem: 64MB, max_file: 8GB }}\n",
                store.display()
            );
            fs::write(folder.path().join(format!("{index}.conf")), config).expect("a file");
        }
        Self { folder, clients, children: (0..count).map(|_| None).collect() }
    }

    /// Waits until the cluster has a leader that knows of room on every server: it takes a stream
    /// with a replica on each, as large as those of the tests.
    fn ready(&mut self) {
        let stream = format!(
            r#"{{"name":"ready","subjects":["ready"],"storage":"file","num_replicas":{},"max_bytes":{}}}"#,
            self.clients.len(),
            4_u64 << 30
        );
        self.until("STREAM.CREATE.ready", &stream);
        self.until("STREAM.DELETE.ready", "");
    }

    /// Asks JetStream for something until it agrees.
    fn until(&mut self, what: &str, words: &str) {
        let begin = Instant::now();
        loop {
            let said =
                self.ask(0, what, words, Duration::from_secs(2)).unwrap_or_else(|error| error.to_string());
            // It may have agreed before, and been heard too late: then the stream is there, or gone.
            let agreed = [r#""config":"#, r#""success":true"#, "stream not found"];
            if agreed.iter().any(|words| said.contains(words)) {
                return;
            }
            for (index, child) in self.children.iter_mut().enumerate() {
                let log = fs::read_to_string(self.folder.path().join(format!("{index}.log")));
                let ended = child.as_mut().and_then(|child| child.try_wait().expect("a child"));
                assert!(ended.is_none(), "server {index} ended: {log:?}");
            }
            assert!(begin.elapsed() < READY, "{what}: {said}");
            sleep(Duration::from_millis(100));
        }
    }

    /// What JetStream answers through this server, within some time: JSON.
    pub fn ask(&self, index: usize, what: &str, words: &str, within: Duration) -> std::io::Result<String> {
        let mut socket = TcpStream::connect(self.clients[index])?;
        socket.set_read_timeout(Some(within))?;
        let len = words.len();
        let asked = format!("SUB answer 1\r\nPUB $JS.API.{what} answer {len}\r\n{words}\r\n");
        socket.write_all(b"CONNECT {\"verbose\":false}\r\n")?;
        socket.write_all(asked.as_bytes())?;
        let mut said = BufReader::new(socket);
        loop {
            let mut line = String::new();
            if said.read_line(&mut line)? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            if line.starts_with("MSG ") {
                let len = line.trim_end().rsplit(' ').next().and_then(|len| len.parse().ok());
                let mut answer = vec![0; len.expect("a length")];
                said.read_exact(&mut answer)?;
                return Ok(String::from_utf8_lossy(&answer).into_owned());
            }
        }
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
        let begin = Instant::now();
        while TcpStream::connect(self.clients[index]).is_err() {
            let log = fs::read_to_string(self.folder.path().join(format!("{index}.log")));
            assert!(begin.elapsed() < READY, "{log:?}");
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

    /// Waits until each server has all of the stream, as whoever restarts one after the other has
    /// to: the third cannot be missed while the second takes in what the first has.
    pub fn catch_up(&self) {
        let begin = Instant::now();
        loop {
            let said = self.ask(0, "STREAM.INFO.motemix-building", "", Duration::from_secs(2));
            let said = said.unwrap_or_else(|error| error.to_string());
            let current = said.matches(r#""current":true"#).count();
            if said.contains(r#""leader":""#) && current + 1 == self.clients.len() {
                return;
            }
            assert!(begin.elapsed() < READY, "some lack a part of the stream: {said}");
            sleep(Duration::from_millis(50));
        }
    }

    /// Copies what a single server, which does not run, has stored.
    pub fn back_up(&self) {
        copy(&self.folder.path().join("store-0"), &self.folder.path().join("backup"));
    }

    /// Puts that back.
    pub fn put_back(&self) {
        let store = self.folder.path().join("store-0");
        fs::remove_dir_all(&store).expect("it is ours");
        copy(&self.folder.path().join("backup"), &store);
    }

    /// What each server knows of the stream, and the last that it wrote: why a story failed.
    fn tell(&self) {
        for index in 0..self.clients.len() {
            let log = fs::read_to_string(self.folder.path().join(format!("{index}.log"))).unwrap_or_default();
            let last = log.len() - log.len().min(4000);
            let last = log.char_indices().map(|(at, _)| at).find(|at| *at >= last).unwrap_or_default();
            let knows = self.ask(index, "STREAM.INFO.motemix-building", "", Duration::from_secs(2));
            eprintln!("server {index} knows {knows:?} and wrote:\n{}", &log[last..]);
        }
    }

    /// `host:port` of each.
    pub fn addresses(&self) -> Vec<String> {
        self.clients.iter().map(ToString::to_string).collect()
    }

    /// As on the command line.
    pub fn url(&self) -> String {
        format!("nats://{}/building", self.addresses().join(","))
    }
}

fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-a").args([from, to]).status().expect("cp").success());
}

impl Drop for Servers {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.tell();
        }
        (0..self.children.len()).for_each(|index| self.kill(index));
    }
}
