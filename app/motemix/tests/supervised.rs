//! What a service manager such as systemd hears of a node, an authority and a broker: the test is
//! one.

mod program;

use program::{Network, motemix, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::VecDeque;
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// For one word; a program that says nothing for so long has failed.
const PATIENCE: Duration = Duration::from_mins(3);

/// Hears what a program says to it. Dropping it kills the program.
struct Manager {
    socket: UnixDatagram,
    /// Said, and not yet asked for.
    words: VecDeque<String>,
    child: Option<Child>,
    _folder: TempDir,
}

impl Manager {
    /// Starts the program with these words; it is to say that it is alive every two seconds.
    fn start(words: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("notify");
        let socket = UnixDatagram::bind(&path).expect("a socket");
        socket.set_read_timeout(Some(PATIENCE)).expect("a patience");
        // As where cores are wanted.
        let mut program = Command::new("sh");
        program.args([
            "-c",
            "ulimit -c unlimited; exec \"$@\"",
            "sh",
            motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix")),
        ]);
        program.current_dir(folder.path());
        program.args(words).env_remove("MOTEMIX_LOG").env_remove("WATCHDOG_PID");
        program.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "2000000");
        program.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = program.spawn().expect("the program starts");
        Self { socket, words: VecDeque::new(), child: Some(child), _folder: folder }
    }

    /// The next word.
    fn next(&mut self) -> String {
        while self.words.is_empty() {
            let mut datagram = [0; 4096];
            let len = self.socket.recv(&mut datagram).expect("it says something");
            let text = std::str::from_utf8(&datagram[..len]).expect("UTF-8");
            self.words.extend(text.lines().map(str::to_owned));
        }
        self.words.pop_front().expect("a word")
    }

    /// The next word that begins so; those before it are passed over.
    fn hears(&mut self, beginning: &str) -> String {
        loop {
            let word = self.next();
            if word.starts_with(beginning) {
                return word;
            }
            assert_ne!(word, "STOPPING=1", "it stops before it says {beginning}");
        }
    }

    /// The process, which somebody else ends.
    fn ends_otherwise(mut self) -> Child {
        self.child.take().expect("it runs")
    }

    /// Asks the program to end, which says that it does, and ends well.
    fn stop(mut self) {
        let mut child = self.child.take().expect("it runs");
        let pid = Pid::from_raw(i32::try_from(child.id()).expect("a pid")).expect("a pid");
        kill_process(pid, Signal::TERM).expect("it runs");
        self.hears("STOPPING=1");
        assert!(child.wait().expect("it ends").success());
    }
}

/// What the system says of a process's memory, in a line that begins so.
fn memory(process: &Child, line: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.id())).expect("it runs");
    let said = status.lines().find_map(|found| found.strip_prefix(line)).expect("such a line");
    said.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// A process that crashes leaves no core, and until then all that it has touched is locked, if it
/// may lock that: root may.
fn keeps_its_memory_to_itself(mut process: Child) {
    if rustix::process::geteuid().is_root() {
        let [locked, resident] = ["VmLck:", "VmRSS:"].map(|line| memory(&process, line));
        assert!(locked >= resident / 2, "{locked} kB of {resident} kB are locked");
    }
    let pid = Pid::from_raw(i32::try_from(process.id()).expect("a pid")).expect("a pid");
    kill_process(pid, Signal::ABORT).expect("it runs");
    let ended = process.wait().expect("it ends");
    assert_eq!((ended.signal(), ended.core_dumped()), (Some(Signal::ABORT.as_raw()), false));
}

#[test]
fn memory_is_kept_from_dumps_and_swap() {
    let network = Network::init(&["--motes", "1", "--epoch-length", "1d"]);
    let mut manager = Manager::start(&["node", "--config", text(&network.config("mix-1"))]);
    manager.hears("READY=1");
    keeps_its_memory_to_itself(manager.ends_otherwise());

    let folder = tempfile::tempdir().expect("a folder");
    let ports = program::Ports::new();
    let (dir, listen) = (folder.path().join("north"), format!("127.0.0.1:{}", ports.first));
    motemix(["authority", "init", text(&dir), "--network", "orchard", "--listen", &listen]).succeeds();
    let mut manager = Manager::start(&["authority", "serve", text(&dir)]);
    manager.hears("READY=1");
    keeps_its_memory_to_itself(manager.ends_otherwise());

    let socket = folder.path().join("data/local.sock");
    let data = folder.path().join("data");
    let manager = Manager::start(&["broker", "--listen", "127.0.0.1:0", "--data", text(&data)]);
    wait_until("the broker runs", || socket.exists());
    keeps_its_memory_to_itself(manager.ends_otherwise());
}

impl Drop for Manager {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // It may have ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

#[test]
fn a_node_says_that_it_is_ready_alive_and_how_it_is() {
    let network = Network::init(&["--motes", "1"]);
    let mut manager = Manager::start(&["node", "--config", text(&network.config("mix-1"))]);
    assert_eq!(manager.next(), "READY=1", "the first word");
    // From then on it answers.
    let control = network.path("nodes/mix-1/state/control.sock");
    std::os::unix::net::UnixStream::connect(control).expect("it listens");
    let epoch = network.documents()[0].file_stem().expect("a name").to_str().expect("UTF-8").to_owned();
    let status = manager.hears("STATUS=epoch ");
    assert!(status.starts_with(&format!("STATUS=epoch {epoch}, ")), "{status}");
    manager.hears("WATCHDOG=1");
    manager.hears("WATCHDOG=1");
    manager.stop();
}

#[test]
fn a_node_that_waits_for_a_document_is_started_and_alive() {
    let network = Network::init(&["--motes", "1", "--epoch-length", "1d"]);
    let config = network.config("mix-1");
    // Without a document of this time, and with one of a later time.
    let documents = network.documents();
    std::fs::remove_file(&documents[0]).expect("a document");
    let mut manager = Manager::start(&["node", "--config", text(&config)]);
    assert_eq!(manager.next(), "READY=1");
    assert_eq!(
        manager.hears("STATUS=waits "),
        "STATUS=waits for a network document, failing: documents",
        "health, as all other places have it"
    );
    manager.hears("WATCHDOG=1");
    manager.hears("WATCHDOG=1");
    manager.stop();
}

#[test]
fn an_authority_says_that_it_is_ready_and_alive() {
    let folder = tempfile::tempdir().expect("a folder");
    let ports = program::Ports::new();
    let (dir, listen): (PathBuf, _) = (folder.path().join("north"), format!("127.0.0.1:{}", ports.first));
    let dir = text(&dir);
    motemix(["authority", "init", dir, "--network", "orchard", "--listen", &listen]).succeeds();
    let mut manager = Manager::start(&["authority", "serve", dir]);
    assert_eq!(manager.next(), "READY=1");
    assert_eq!(manager.hears("STATUS="), format!("STATUS=serves at {listen}"));
    motemix(["authority", "status", dir]).succeeds();
    manager.hears("WATCHDOG=1");
    manager.hears("WATCHDOG=1");
    manager.stop();
}

#[test]
fn a_broker_says_that_it_is_ready_and_alive() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut manager = Manager::start(&["broker", "--listen", "127.0.0.1:0", "--data", text(folder.path())]);
    assert_eq!(manager.next(), "READY=1");
    let status = manager.hears("STATUS=");
    let at = status.strip_prefix("STATUS=serves at coap://").expect("where it serves");
    std::net::TcpStream::connect(at).expect("it listens");
    manager.hears("WATCHDOG=1");
    manager.hears("WATCHDOG=1");
    manager.stop();
}

/// A socket that nobody reads any more keeps nothing from its work.
#[test]
fn a_manager_that_is_gone_does_no_harm() {
    let network = Network::init(&["--motes", "1"]);
    let config = network.config("mix-1");
    let mut manager = Manager::start(&["node", "--config", text(&config)]);
    manager.hears("READY=1");
    manager.socket = UnixDatagram::unbound().expect("a socket");
    // Words that nobody hears were due meanwhile.
    wait_until("it goes on", || {
        let said = motemix(["status", "--json", "--config", text(&config)]).succeeds();
        let status: Value = serde_json::from_str(&said).expect("JSON");
        status["uptime_s"].as_u64().is_some_and(|seconds| seconds >= 3)
    });
}
