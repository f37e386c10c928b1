//! Emulated boards and hosts in one radio channel, as a user runs them: `motemix-lab boards
//! network`.

mod capture;
mod dissected;
mod program;

use capture::Capture;
use motemix_link::serial::{ExtendedAddress, Message};
use motemix_link::stack::PORT;
use program::{Installed, Run, build_nodes, lab, wait_until};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::Ipv6Addr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

const BOARDS: [&str; 6] = ["microbit-1", "microbit-2", "an385-1", "an385-2", "an386-1", "an386-2"];
/// Emulators, the air and two hosts.
const PROCESSES: usize = BOARDS.len() + 3;
/// Bytes of memory that no board's stack may ever reach.
const MARGIN: u64 = 256;
/// Three hops to the receiver, three back.
const HOPS: u64 = 6;

/// Six emulators keep two cores busy: one story at a time. It begins with the nodes' program.
static MACHINE: Mutex<()> = Mutex::new(());

/// A run that keeps its files in a folder of its own, and what it said in the end.
struct BoardsNetwork {
    installed: Installed,
    report: Value,
    _machine: MutexGuard<'static, ()>,
}

fn machine() -> MutexGuard<'static, ()> {
    static NODES: Once = Once::new();
    NODES.call_once(build_nodes);
    // A story that failed left nothing running.
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl BoardsNetwork {
    /// As an installed laboratory runs it, with images that the source tree has supplied.
    fn run(more: &[&str]) -> Self {
        Self::run_on(machine(), more)
    }

    fn run_on(machine: MutexGuard<'static, ()>, more: &[&str]) -> Self {
        let installed = Installed::new().with_nodes();
        lab(["boards", "build", "network", "--out", text(&installed.images())]).succeeds();
        let pcap = installed.path().join("air.pcap");
        let keep = installed.path().join("kept");
        let kept = if more.contains(&"--keep") { vec![] } else { vec!["--keep", text(&keep)] };
        let mut command = installed.command();
        command.args(["boards", "network", "--seconds", "20", "--json"]).args(more);
        let report = Run::by(command.args(kept).arg("--pcap").arg(pcap)).succeeds();
        let report = serde_json::from_str(&report).expect("JSON");
        Self { installed, report, _machine: machine }
    }

    /// The same beside a stranger that speaks to a board.
    fn beside_a_stranger(a_second: u32, frame: fn(&mut Stranger) -> Vec<u8>) -> Self {
        // The stranger waits for the boards, and neither for other stories nor for the compiler.
        let machine = machine();
        let air = tempfile::tempdir().expect("a folder");
        lab(["boards", "build", "network", "--out", text(&air.path().join("images"))]).succeeds();
        let kept = air.path().to_owned();
        let speaking = thread::spawn(move || {
            let stranger = Stranger::join(&kept.join("air"), BOARDS[0]);
            stranger.speaks(a_second, frame)
        });
        let network = Self::run_on(machine, &["--station", "stranger", "--keep", text(air.path())]);
        let spoken = speaking.join().expect("it speaks until the air ends");
        println!("\n{a_second} frames a second, {spoken} in all: {}", network.report["boards"][BOARDS[0]]);
        network
    }

    fn figure(&self, name: &str) -> u64 {
        self.report[name].as_u64().expect("a count")
    }

    /// What a board counted.
    fn count(&self, board: &str, name: &str) -> u64 {
        self.report["boards"][board][name].as_u64().unwrap_or_else(|| panic!("{board} has no {name}"))
    }

    /// What the host that sends counted.
    fn host(&self, name: &str) -> u64 {
        self.report["host"][name].as_u64().expect("a count")
    }

    /// Sums over the stations of the air.
    fn on_air(&self, count: impl Fn(&Value) -> &Value) -> u64 {
        let stations = self.report["air"]["stations"].as_array().expect("a list");
        stations.iter().map(|station| count(&station["channel"]).as_u64().expect("a count")).sum()
    }

    fn pcap(&self) -> PathBuf {
        self.installed.path().join("air.pcap")
    }

    /// With the keys beside the capture, Wireshark reads frames of hosts and boards and has nothing
    /// to say of them, and without keys it reads none.
    fn can_be_read_by_wireshark(&self, packets: u64) {
        let keys = self.installed.path().join("air.pcap.keys");
        let read = dissected::read(&self.pcap(), &keys);
        let protected: Vec<_> = read.iter().filter(|frame| frame.is_protected).collect();
        let closed: Vec<_> = protected.iter().filter(|frame| !frame.complaints.is_empty()).collect();
        let opened = dissected::to_port(&read, PORT).len() as u64;
        println!(
            "Wireshark: {} protected frames, {} closed, {opened} packets",
            protected.len(),
            closed.len()
        );
        // A station that lost the end of a handshake sends under a key that is soon replaced.
        assert!(closed.len() * 50 <= protected.len(), "{closed:?}");
        assert!(opened * 50 >= packets * 49, "{opened} of {packets} packets");
        let empty = tempfile::tempdir().expect("a folder");
        assert!(dissected::to_port(&dissected::read(&self.pcap(), empty.path()), PORT).is_empty());
    }

    fn unused_ram(&self) -> BTreeMap<String, u64> {
        serde_json::from_value(self.report["unused_ram"].clone()).expect("counts")
    }

    fn is_complete(&self) {
        let names: Vec<_> = self.report["boards"].as_object().expect("boards").keys().cloned().collect();
        let mut boards = BOARDS.to_vec();
        boards.sort_unstable();
        assert_eq!(names, boards);
        let mut sent = 0;
        for board in BOARDS {
            assert!(self.count(board, "sent") > 0, "{board} sent nothing");
            assert_eq!(self.count(board, "acknowledged"), self.count(board, "sent"), "{board}");
            assert_eq!(self.count(board, "discarded"), 0, "{board}");
            assert!(self.count(board, "forwarded") > 0, "{board} forwarded nothing");
            sent += self.count(board, "sent");
        }
        // A signed reading of each board, believed by the receiver, and texts.
        let readings = &self.report["readings"];
        for figure in ["sent", "acknowledged", "believed"] {
            assert_eq!(readings[figure], BOARDS.len(), "{readings}");
        }
        assert_eq!(readings["said"].as_object().expect("what they say").len(), BOARDS.len(), "{readings}");
        // Another one, of the smallest board, is checked by the largest.
        let checked = readings["checked_by_board"].as_str().expect("a board's inbox");
        assert!(
            checked.contains(" reading from microbit-1: t ") && checked.ends_with(", genuine"),
            "{checked}"
        );
        let texts = sent - BOARDS.len() as u64 - 1;
        assert_eq!(self.figure("sent"), texts);
        assert_eq!(self.figure("delivered"), texts);
        assert_eq!(self.figure("acknowledged"), texts);
        assert_eq!((self.figure("discarded"), self.figure("duplicates")), (0, 0));
        assert!(self.host("sent") > 0);
        assert_eq!(self.host("acknowledged"), self.host("sent"));
        assert_eq!(processes(self.installed.path()), Vec::<u32>::new(), "they outlived the run");
    }
}

/// A station of the air that belongs to nobody, and speaks to one board.
struct Stranger {
    line: UnixStream,
    board: [u8; 8],
    /// In whose name it speaks, where it claims to be a neighbour.
    neighbour: [u8; 8],
    /// SplitMix64.
    state: u64,
}

impl Stranger {
    /// Joins when the board has said its address.
    fn join(air: &Path, board: &str) -> Self {
        let [board, neighbour] = [board, BOARDS[2]].map(|board| address_of(air, board));
        let line = UnixStream::connect(air.join("stranger.air")).expect("the air listens");
        let mut stranger = Self { line, board, neighbour, state: 1 };
        stranger.say(Message::Join(ExtendedAddress([0xbb, 1, 2, 3, 4, 5, 6, 0x02])));
        stranger
    }

    fn say(&mut self, message: Message<'_>) -> bool {
        let mut bytes = Vec::new();
        message.write(|byte| bytes.push(byte));
        self.line.write_all(&bytes).is_ok()
    }

    fn random(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// To the board, from a station that does not exist.
    fn frame(&mut self, inside: &[u8]) -> Vec<u8> {
        let mut from = self.random().to_le_bytes();
        from[7] = from[7] & 0xfc | 2;
        [&[0x61, 0xdc, self.random() as u8, 0x23, 0][..], &self.board, &from, inside].concat()
    }

    /// The first of three fragments (RFC 4944, 5.3).
    fn first_fragment(&mut self) -> Vec<u8> {
        let [t1, t0, c1, c0, ..] = self.random().to_be_bytes();
        let head = [0xc1, 0x48, t1, t0, 0x7e, 0x33, 0xf3, 0, c1, c0];
        self.frame(&[&head[..], &[7; 88]].concat())
    }

    /// A first fragment that asks what has come (RFC 8931, 5.1).
    fn question(&mut self) -> Vec<u8> {
        let [tag, c1, c0, ..] = self.random().to_be_bytes();
        let head = [0xe8, tag, 0x80, 98, 0x01, 0x1e, 0x7e, 0x33, 0xf3, 0, c1, c0];
        self.frame(&[&head[..], &[7; 92]].concat())
    }

    /// A short protected frame in a neighbour's name, with a counter of the future and a MIC that
    /// was guessed.
    fn forged(&mut self) -> Vec<u8> {
        let [to, from] = [self.board, self.neighbour].map(|it| ExtendedAddress(it).short());
        let (random, sequence) = (self.random(), self.random() as u8);
        let counter = (random as u32 | 1 << 31).to_le_bytes();
        let header = [&[0x69, 0x98, sequence, 0x23, 0][..], &to, &from, &[6], &counter].concat();
        [&header[..], &random.to_le_bytes(), &self.random().to_le_bytes()].concat()
    }

    /// Speaks so often until the air has ended. How many frames it was rid of.
    fn speaks(mut self, a_second: u32, frame: fn(&mut Self) -> Vec<u8>) -> u32 {
        let mut spoken = 0;
        loop {
            let frame = frame(&mut self);
            if !self.say(Message::Transmit { handle: 0, frame: &frame }) {
                return spoken;
            }
            spoken += 1;
            thread::sleep(Duration::from_secs(1) / a_second);
        }
    }
}

/// The address that a board says, least significant byte first as on the air.
fn address_of(air: &Path, board: &str) -> [u8; 8] {
    let said = air.join(board).with_extension("log");
    let address = || {
        let said = fs::read_to_string(&said).ok()?;
        let (_, rest) = said.split_once("address [")?;
        rest.split_once(']')?.0.parse::<Ipv6Addr>().ok()
    };
    let mut found = None;
    wait_until("the board says its address", || {
        found = address();
        found.is_some()
    });
    let mut board: [u8; 8] = *found.expect("an address").octets().last_chunk().expect("it is longer");
    // RFC 4291, appendix A.
    board[0] ^= 2;
    board.reverse();
    board
}

/// A run that is not going to end well. Ended whatever the story does.
struct Doomed {
    folder: TempDir,
    child: Child,
    _machine: MutexGuard<'static, ()>,
}

impl Doomed {
    /// Returns when the firmware is built, which takes as long as it takes.
    fn start() -> Self {
        let machine = machine();
        let folder = tempfile::tempdir().expect("a folder");
        let mut child = Command::new(env!("CARGO_BIN_EXE_motemix-lab"))
            .args(["boards", "network", "--seconds", "3600", "--json", "--keep"])
            .arg(folder.path())
            .env_remove("MOTEMIX_LOG")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        while !folder.path().join("boards").exists() {
            assert!(child.try_wait().expect("a child").is_none(), "it ended");
            thread::sleep(Duration::from_millis(50));
        }
        Self { folder, child, _machine: machine }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Ids of what it started.
    fn others(&self) -> Vec<u32> {
        processes(self.path()).into_iter().filter(|id| *id != self.child.id()).collect()
    }
}

impl Drop for Doomed {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        // What should have followed it, and has not if a story fails.
        for id in self.others() {
            let _ = Command::new("kill").args(["-KILL", &id.to_string()]).status();
        }
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// Ids of the processes that name this folder, which nothing but a story's own do.
fn processes(folder: &Path) -> Vec<u32> {
    let ids = fs::read_dir("/proc").expect("/proc");
    let ids = ids.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    ids.filter(|id| command_line(*id).contains(text(folder))).collect()
}

/// Empty if it has ended, collected by its parent or not.
fn command_line(id: u32) -> String {
    let words = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&words).replace('\0', " ")
}

fn kill(id: u32) {
    let killed = Command::new("kill").args(["-KILL", &id.to_string()]).status().expect("kill starts");
    assert!(killed.success());
}

/// One run shows all of it: what the air loses is only harder than what it does not.
#[test]
fn every_message_of_six_boards_and_a_host_is_acknowledged_though_the_air_loses_frames() {
    let network = BoardsNetwork::run(&["--loss", "0.05"]);
    network.is_complete();

    let lost = network.on_air(|channel| &channel["drops"]["lost"]);
    let retries = network.on_air(|channel| &channel["retries"]);
    println!("\n{lost} frames and acknowledgements lost, {retries} frames sent again");
    assert!(lost > 0 && retries > 0);

    let unused = network.unused_ram();
    println!("bytes of memory that no stack reached: {unused:?}");
    assert_eq!(unused.len(), BOARDS.len());
    for (board, bytes) in unused {
        assert!(bytes >= MARGIN, "{board}: its stack came within {bytes} bytes of its data");
    }

    let capture = Capture::read(&network.pcap());
    let datagrams = capture.datagrams();
    println!("{} frames on the air, {} datagrams in three of them", capture.frames(), datagrams);
    let messages = network.figure("acknowledged") + network.host("acknowledged");
    assert!(datagrams >= HOPS * messages, "{datagrams} datagrams for {messages} messages there and back");
    network.can_be_read_by_wireshark(HOPS * messages);
}

#[test]
#[ignore = "takes two minutes; motemix-link has the same story without boards"]
fn every_message_is_acknowledged_while_a_stranger_floods_a_board_with_first_fragments() {
    for a_second in [5, 20, 100] {
        let network = BoardsNetwork::beside_a_stranger(a_second, Stranger::first_fragment);
        network.is_complete();
        assert!(network.count(BOARDS[0], "link_dropped_stranger") > 0);
    }
}

#[test]
#[ignore = "takes two minutes; motemix-link has the same story without boards"]
fn every_message_is_acknowledged_while_a_stranger_asks_a_board_and_none_of_it_is_answered() {
    let network = BoardsNetwork::beside_a_stranger(30, Stranger::question);
    network.is_complete();
    assert!(network.count(BOARDS[0], "link_dropped_stranger") > 0);
}

/// Each costs the micro:bit one run of AES-CCM, and takes no place.
fn frames_forged_in_a_neighbours_name_stop_no_message(a_second: u32) {
    let network = BoardsNetwork::beside_a_stranger(a_second, Stranger::forged);
    network.is_complete();
    assert!(network.count(BOARDS[0], "link_dropped_forged") > 0);
}

#[test]
fn frames_forged_in_a_neighbours_name_ten_a_second_stop_no_message() {
    frames_forged_in_a_neighbours_name_stop_no_message(10);
}

/// An emulated board on a busy machine would have no time left for its console.
#[test]
#[ignore = "needs a quiet machine"]
fn frames_forged_in_a_neighbours_name_two_hundred_a_second_stop_no_message() {
    frames_forged_in_a_neighbours_name_stop_no_message(200);
}

#[test]
fn a_killed_run_leaves_nothing_running() {
    let mut network = Doomed::start();
    // The hosts are the last ones to be started.
    wait_until("all of it runs", || network.others().len() == PROCESSES);
    kill(network.child.id());
    network.child.wait().expect("a child");
    wait_until("the others ended", || network.others().is_empty());
}

#[test]
fn a_board_that_dies_ends_the_run_with_its_name() {
    let mut network = Doomed::start();
    let is_board = |id: &u32| {
        let line = command_line(*id);
        line.starts_with("qemu-system-arm ") && line.contains("an385-2.air")
    };
    let mut board = None;
    wait_until("the board runs", || {
        board = network.others().into_iter().find(is_board);
        board.is_some()
    });
    kill(board.expect("it runs"));
    let mut said = String::new();
    network.child.stderr.take().expect("it is piped").read_to_string(&mut said).expect("text");
    assert_eq!(network.child.wait().expect("a child").code(), Some(1));
    // Lines before it are of the progress.
    let line = said.lines().last().unwrap_or_default();
    assert!(line.contains("an385-2 ended by itself (signal: 9"), "{line}");
    assert_eq!(network.others(), Vec::<u32>::new(), "they outlived the run");
}

#[test]
fn without_an_emulator_it_says_what_to_install() {
    let empty = tempfile::tempdir().expect("a folder");
    let output = Command::new(env!("CARGO_BIN_EXE_motemix-lab"))
        .args(["boards", "network"])
        .env("PATH", empty.path())
        .env_remove("MOTEMIX_LOG")
        .output()
        .expect("the program starts");
    let said = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    for words in ["qemu-system-arm is missing", "scripts/setup qemu boards"] {
        assert!(said.contains(words), "{words:?} is not in {said}");
    }
}
