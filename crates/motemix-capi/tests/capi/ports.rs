//! The ports, against stand-ins for the headers of RIOT and Contiki-NG: compiled for the host and
//! for boards, and run as processes that talk over the loopback interface. Where `RIOTBASE` names a
//! RIOT, its application is built there as well.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use command_fds::{CommandFdExt, FdMapping};
use motemix_directory::ProfileName;
use tempfile::TempDir;

use crate::{SYSTEM, library, provision_at, root, succeed};

/// The boards' processors, as gcc names them.
const CORES: [&[&str]; 4] = [
    &["-mcpu=cortex-m0plus"],
    &["-mcpu=cortex-m3"],
    &["-mcpu=cortex-m4", "-mfloat-abi=soft"],
    &["-mcpu=cortex-m4", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"],
];
const WARNINGS: [&str; 5] = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror"];

/// A port: where it is, and what belongs to a node of it.
struct Port {
    name: &'static str,
    sources: &'static [&'static str],
    includes: &'static [&'static str],
    /// What makes it run on Linux.
    stand_in: &'static str,
    socket: &'static str,
}

const RIOT: Port = Port {
    name: "riot",
    sources: &[
        "app/main.c",
        "modules/motemix/motemix.c",
        "modules/motemix/random.c",
        "modules/motemix/tags.c",
    ],
    includes: &["modules/motemix/include", "stand-in"],
    stand_in: "stand-in/riot.c",
    socket: "RIOT_STAND_IN_SOCKET",
};

const CONTIKI: Port = Port {
    name: "contiki-ng",
    sources: &["motemix-app.c", "motemix-node.c"],
    includes: &[".", "stand-in"],
    stand_in: "stand-in/contiki.c",
    socket: "CONTIKI_STAND_IN_SOCKET",
};

impl Port {
    fn directory(&self) -> PathBuf {
        root().join("../../ports").join(self.name)
    }

    /// gcc with this port's headers, for the node whose `motemix_network.h` is in `node`.
    fn gcc(&self, gcc: &str, node: &Path, flags: &[&str]) -> Command {
        let mut command = Command::new(gcc);
        command.args(WARNINGS).args(flags).arg("-I").arg(root().join("include")).arg("-I").arg(node);
        for include in self.includes {
            command.arg("-I").arg(self.directory().join(include));
        }
        command
    }

    /// Compiles each source by itself.
    fn compile(&self, gcc: &str, node: &Path, flags: &[&str]) {
        let place = tempfile::tempdir().expect("a temporary directory");
        for source in self.sources {
            let mut command = self.gcc(gcc, node, flags);
            command.arg("-c").arg(self.directory().join(source)).arg("-o").arg(place.path().join("out.o"));
            succeed(&mut command);
        }
    }

    fn link(&self, node: &Path, flags: &[&str]) -> PathBuf {
        let program = node.join("node");
        let mut command = self.gcc("gcc", node, flags);
        command.args(self.sources.iter().chain([&self.stand_in]).map(|source| self.directory().join(source)));
        succeed(command.arg(library()).args(SYSTEM).arg("-o").arg(&program));
        program
    }
}

/// A process that is a node. Ends with its input.
struct Node {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Node {
    fn start(program: &Path, socket: &UdpSocket, variable: &str) -> Self {
        const CHILDS_FD: i32 = 3;
        let parent_fd: OwnedFd = socket.try_clone().expect("a second descriptor").into();
        let mut command = Command::new(program);
        command.env(variable, CHILDS_FD.to_string());
        command.env("RIOT_STAND_IN_FLASH", program.with_extension("flash"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.fd_mappings(vec![FdMapping { parent_fd, child_fd: CHILDS_FD }]).expect("one mapping");
        let mut child = command.spawn().expect("the node starts");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        Self { input: child.stdin.take(), child, output }
    }

    fn type_line(&mut self, line: &str) {
        let input = self.input.as_mut().expect("its input is open");
        writeln!(input, "{line}").expect("the node reads");
    }

    /// Reads until a line has `text` in it. What a node does not say in the end it says otherwise:
    /// a message is given up, a process ends; so this needs no clock.
    fn until(&mut self, text: &str) -> String {
        let mut seen = String::new();
        loop {
            let mut line = String::new();
            let len = self.output.read_line(&mut line).expect("text");
            seen.push_str(&line);
            if line.contains(text) {
                return line;
            }
            let over = len == 0 || line.contains("given up");
            assert!(!over, "the node does not say {text:?}, but:\n{seen}");
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Five nodes at addresses of their own.
fn network() -> (TempDir, Vec<PathBuf>, Vec<UdpSocket>) {
    let any: SocketAddr = "[::1]:0".parse().expect("an address");
    let sockets: Vec<_> = (0..5).map(|_| UdpSocket::bind(any).expect("a port")).collect();
    let addresses: Vec<_> = sockets.iter().map(|socket| socket.local_addr().expect("bound")).collect();
    let (place, nodes) = provision_at(&addresses, ProfileName::Mote);
    (place, nodes, sockets)
}

/// What the shell says: "packets admitted this epoch: 3 of 96".
fn admitted(line: &str) -> u32 {
    let number = line.split_whitespace().find_map(|word| word.parse().ok());
    number.unwrap_or_else(|| panic!("a number in {line:?}"))
}

fn send_and_stop(port: &Port, flags: &[&str]) -> (TempDir, Vec<Node>) {
    let (place, directories, sockets) = network();
    let mut nodes: Vec<_> = (directories.iter().zip(&sockets))
        .map(|(directory, socket)| Node::start(&port.link(directory, flags), socket, port.socket))
        .collect();

    nodes[0].type_line("motemix send node-4 too early");
    nodes[0].until("not a node");
    for node in &mut nodes {
        node.type_line("motemix start");
        node.until("started");
    }
    nodes[0].type_line("motemix start");
    nodes[0].until("in another call");
    nodes[0].type_line("motemix send nobody hello");
    nodes[0].until("no such node");

    nodes[0].type_line("motemix send node-4 21.5 degrees");
    nodes[0].until("on its way to node-4");
    nodes[4].until("received: 21.5 degrees");
    nodes[0].until("acknowledged after");
    for turn in 0..4 {
        nodes[4].type_line(&format!("motemix send node-1 turn {turn}"));
        nodes[1].until(&format!("received: turn {turn}"));
        nodes[4].until("acknowledged after");
    }
    nodes[4].type_line("motemix network");
    nodes[4].until("network motes, epoch 7, 5 nodes");
    nodes[4].until("4 node-4, mix");
    nodes[4].until("sent 4, acknowledged 4");
    (place, nodes)
}

#[test]
fn motes_on_riots_stand_in_send_from_their_shells() {
    let (_place, mut nodes) =
        send_and_stop(&RIOT, &["-g", "-DMODULE_PERIPH_HWRNG", "-DMODULE_MTD", "-pthread"]);
    // What the receiver of four messages took in is still refused after a restart: it lies in its
    // flash.
    nodes[1].type_line("motemix network");
    let before = admitted(&nodes[1].until("packets admitted"));
    assert!(before >= 4, "{before}");
    nodes[1].type_line("motemix stop");
    nodes[1].until("stopped");
    nodes[1].type_line("motemix network");
    nodes[1].until("not a node");
    nodes[1].type_line("motemix start");
    nodes[1].until("started");
    nodes[1].type_line("motemix network");
    let after = admitted(&nodes[1].until("packets admitted"));
    assert!(after >= before, "{before} tags before the restart, {after} after it");
    nodes[1].type_line("motemix send node-0 back again");
    nodes[0].until("received: back again");
    nodes[1].until("acknowledged after");
}

#[test]
fn motes_on_contikis_stand_in_send_from_their_shells() {
    let (_place, mut nodes) = send_and_stop(&CONTIKI, &["-g", "-DCONTIKI_TARGET_NATIVE"]);
    nodes[1].type_line("motemix stop");
    nodes[1].until("stopped");
    nodes[1].type_line("motemix network");
    nodes[1].until("not a node");
    nodes[1].type_line("motemix start");
    nodes[1].until("started");
    nodes[1].type_line("motemix send node-0 back again");
    nodes[0].until("received: back again");
    nodes[1].until("acknowledged after");
}

/// A directory with a network for what is only compiled.
fn any_node() -> (TempDir, PathBuf) {
    let (place, directories, _) = network();
    (place, directories[0].clone())
}

#[test]
fn riots_module_compiles_for_the_boards() {
    let (_place, node) = any_node();
    for core in CORES {
        for variant in [
            ["-DMODULE_PERIPH_HWRNG", "-DMODULE_MTD"],
            ["-DCONFIG_MOTEMIX_RADIO_RANDOM", "-DCONFIG_MOTEMIX_STACK_SIZE=5000"],
            ["-DCONFIG_MOTEMIX_RANDOM=my_fill", "-DCONFIG_MOTEMIX_LIMITS=MOTEMIX_MOTE_MIX"],
        ] {
            RIOT.compile("arm-none-eabi-gcc", &node, &[core, &["-mthumb"], &variant].concat());
        }
    }
}

#[test]
fn contikis_application_compiles_for_the_boards() {
    let (_place, node) = any_node();
    let seeded = ["-mthumb", "-DCSPRNG_CONF_ENABLED=1", "-DMOTEMIX_CONF_CSPRNG_IS_SEEDED=1"];
    for core in CORES {
        CONTIKI.compile("arm-none-eabi-gcc", &node, &[core, &seeded].concat());
    }
}

#[test]
fn a_board_without_a_generator_does_not_compile() {
    let (_place, node) = any_node();
    for (port, source, reason) in [
        (RIOT, "modules/motemix/random.c", "no hardware random generator"),
        (CONTIKI, "motemix-node.c", "random bytes that nobody can guess"),
    ] {
        let mut command = port.gcc("gcc", &node, &["-fsyntax-only", "-DCSPRNG_CONF_ENABLED=1"]);
        let output = command.arg(port.directory().join(source)).output().expect("gcc starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && stderr.contains(reason), "{stderr}");
    }
}

#[test]
fn riots_application_builds_where_riot_is() {
    let Some(riot) = std::env::var_os("RIOTBASE") else {
        println!("RIOTBASE is not set: the application was built against the stand-in only");
        return;
    };
    let (_place, node) = any_node();
    let mut make = Command::new("make");
    make.arg("-C").arg(RIOT.directory().join("app")).arg("all").env("RIOTBASE", riot).env("NETWORK", node);
    let log = File::open("/dev/null").expect("the null device");
    succeed(make.stdin(log));
}
