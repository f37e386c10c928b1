//! Neighbours that have never met, emulated boards and hosts with a radio, as a user runs them:
//! `motemix-lab boards link`.

mod program;

use motemix_link::Instant;
use motemix_link::radio::{Radio, Transceiver};
use motemix_link::serial::{Decoder, ExtendedAddress, Item, MAX_FRAME, Message, Outcome};
use motemix_link::settings::LinkSettings;
use motemix_link::stack::{Stack, StackMemory, link_local, station_of};
use program::{Installed, Run, build_nodes, lab, wait_until};
use serde_json::Value;
use std::fs;
use std::io::{BufReader, Read as _, Write as _};
use std::net::Ipv6Addr;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// Messages from each to each other that it sends to.
const MESSAGES: u64 = 3;
/// Bytes of memory that no board's stack may ever reach.
const MARGIN: u64 = 256;
/// The UDP port of all of them.
const PORT: u16 = 61_618;

/// What came of a run.
struct Exchanges(Value);

impl Exchanges {
    fn run(mode: &str, boards: [&str; 2], options: &[&str]) -> Self {
        build_nodes();
        let installed = Installed::new().with_nodes();
        lab(["boards", "build", "link", "--out", text(&installed.images())]).succeeds();
        let mut command = installed.command();
        command.args(["boards", "link", "--json", "--messages", &MESSAGES.to_string(), "--mode", mode]);
        for board in boards {
            command.args(["--board", board]);
        }
        let report = Run::by(command.args(options)).succeeds();
        Self(serde_json::from_str(&report).expect("JSON"))
    }

    /// What a board counted, as its own console says.
    fn count(&self, board: &str, name: &str) -> u64 {
        self.0["boards"][board][name].as_u64().unwrap_or_default()
    }

    /// Both boards have sent to each other and to the host, and the other host to the last board.
    fn is_complete(&self, boards: [&str; 2], is_acknowledged: bool) {
        let [first, second] = boards;
        let of = |exchange: &Value, name: &str| exchange[name].as_str().expect("a name").to_owned();
        let exchanges = self.0["exchanges"].as_array().expect("a list");
        let ways: Vec<_> = exchanges.iter().map(|it| (of(it, "from"), of(it, "to"))).collect();
        let expected =
            [(first, second), (second, first), (first, "router"), (second, "router"), ("sensor", second)];
        assert_eq!(ways, expected.map(|(from, to)| (from.to_owned(), to.to_owned())));
        for exchange in exchanges {
            assert_eq!(exchange["sent"], MESSAGES, "{exchange}");
            // The air loses nothing that nobody acknowledges.
            assert_eq!(exchange["heard"], MESSAGES, "{exchange}");
            let acknowledged = if is_acknowledged { MESSAGES } else { 0 };
            assert_eq!(exchange["acknowledged"], acknowledged, "{exchange}");
        }
        for board in boards {
            assert_eq!(self.count(board, "sent"), 2 * MESSAGES, "{board}");
            let to_it = exchanges.iter().filter(|exchange| exchange["to"] == board);
            assert_eq!(self.count(board, "heard"), to_it.count() as u64 * MESSAGES, "{board}");
            let acknowledged = if is_acknowledged { 2 * MESSAGES } else { 0 };
            assert_eq!(self.count(board, "acknowledged"), acknowledged, "{board}");
            let unused = self.0["unused_ram"][board].as_u64().expect("a count");
            assert!(unused >= MARGIN, "{board}: its stack came within {unused} bytes of its data");
        }
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// A radio that puts frames aside.
#[derive(Default)]
struct Aside {
    frames: Vec<Vec<u8>>,
    is_sent: bool,
}

impl Transceiver for Aside {
    fn receive(&mut self, _: &mut [u8; MAX_FRAME]) -> Option<usize> {
        None
    }

    fn transmit(&mut self, frame: &[u8]) {
        self.frames.push(frame.to_vec());
        self.is_sent = true;
    }

    fn poll_outcome(&mut self) -> Option<Outcome> {
        std::mem::take(&mut self.is_sent).then_some(Outcome::Sent)
    }
}

/// The frames of a datagram, as its sender's link makes them.
fn frames(from: ExtendedAddress, to: ExtendedAddress, seed: u64, datagram: &[u8]) -> Vec<Vec<u8>> {
    let mut radio = Radio::new(Aside::default());
    let mut memory = StackMemory::<256, 1, 1>::new();
    let settings = LinkSettings { port: PORT, ..LinkSettings::new() };
    let mut stack = Stack::new(from, seed, &settings, memory.lend());
    stack.send(link_local(to), datagram).expect("there is room");
    for step in 0..50 {
        stack.poll(Instant::from_micros(step * 20_000), &mut radio);
    }
    radio.transceiver().frames.clone()
}

/// The address that a board says of itself.
fn address_of(air: &Path, board: &str) -> ExtendedAddress {
    let said = air.join(board).with_extension("log");
    let mut found = None;
    wait_until("the board says its address", || {
        let said = fs::read_to_string(&said).unwrap_or_default();
        let rest = said.split_once("address ").and_then(|(_, rest)| rest.split_once(" identity "));
        found = rest.and_then(|(address, _)| address.parse::<Ipv6Addr>().ok());
        found.is_some()
    });
    station_of(found.expect("an address")).expect("of a radio")
}

/// Says in turn hello in its own name, and what is no message in the other board's name, to a board
/// until the air ends. How many frames it was rid of.
fn stranger(air: &Path, [to, neighbour]: [&str; 2]) -> u32 {
    let own = ExtendedAddress([0xbb, 1, 2, 3, 4, 5, 6, 0x02]);
    let [to, neighbour] = [to, neighbour].map(|board| address_of(air, board));
    let line = UnixStream::connect(air.join("stranger.air")).expect("the air listens");
    let say = |message: Message<'_>| {
        let mut bytes = Vec::new();
        message.write(|byte| bytes.push(byte));
        (&line).write_all(&bytes).is_ok()
    };
    say(Message::Join(own));
    let mut heard = BufReader::new(&line).bytes();
    let mut decoder = Decoder::new();
    // One frame after the other, in the air's time: on a busy machine that is slower than this.
    let mut is_done = || {
        heard
            .by_ref()
            .map_while(Result::ok)
            .any(|byte| matches!(decoder.push(byte), Some(Item::Message(Message::Done { .. }))))
    };
    // A point of the curve twice, which nobody admits: the base point (SEC 2, 2.4.2).
    let point = hex::decode("036b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296");
    let point = point.expect("hexadecimal digits");
    let hello = [&[1; 9][..], &point, &point].concat();
    let mut spoken = 0;
    for seed in 0.. {
        let forged = [&[3, 0, 0, 0, 0, 0, 0, 1][..], &[seed as u8; 100]].concat();
        let of_both = frames(own, to, seed, &hello).into_iter().chain(frames(neighbour, to, seed, &forged));
        for frame in of_both {
            if !say(Message::Transmit { handle: 0, frame: &frame }) || !is_done() {
                return spoken;
            }
            spoken += 1;
            // Ten a second: a board on a busy machine still has time for its console.
            thread::sleep(Duration::from_millis(100));
        }
    }
    spoken
}

#[test]
fn boards_that_never_met_and_a_host_exchange_acknowledged_readings_by_the_settled_protocol() {
    let run = Exchanges::run("diet", ["an385", "an386"], &["--loss", "0.02"]);
    run.is_complete(["an385-1", "an386-2"], true);
}

#[test]
fn a_microbit_and_a_board_with_the_papers_core_do_it_by_edhoc() {
    let run = Exchanges::run("edhoc", ["microbit", "an385"], &[]);
    run.is_complete(["microbit-1", "an385-2"], true);
    assert!(run.count("an385-2", "handshakes") >= 3, "with the other board and both hosts");
}

#[test]
fn the_papers_protocol_to_the_letter_and_its_baseline_run_on_boards_too() {
    for mode in ["literal", "plain"] {
        let run = Exchanges::run(mode, ["microbit", "an385"], &[]);
        run.is_complete(["microbit-1", "an385-2"], false);
    }
}

#[test]
fn what_a_stranger_says_or_forges_is_counted_and_stops_nothing() {
    // The stranger waits for the boards, and not for the compiler.
    lab(["boards", "build", "link"]).succeeds();
    build_nodes();
    let kept = tempfile::tempdir().expect("a folder");
    let air = kept.path().join("air");
    let boards = ["an386-2", "an385-1"];
    let speaking = thread::spawn(move || stranger(&air, boards));
    let more = ["--interval", "200ms", "--station", "stranger", "--keep", text(kept.path())];
    let run = Exchanges::run("diet", ["an385", "an386"], &more);
    let spoken = speaking.join().expect("it speaks until the air ends");
    println!("\n{spoken} frames of a stranger: {}", run.0["boards"]);
    run.is_complete(["an385-1", "an386-2"], true);
    assert!(run.count("an386-2", "dropped_not_admitted") > 0);
    // Before there is a handshake with the neighbour, and after.
    let forged = run.count("an386-2", "dropped_no_handshake") + run.count("an386-2", "dropped_altered");
    assert!(forged > 0);
}

#[test]
fn a_program_beyond_its_budget_is_said() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    fs::write(file.path(), "[microbit_link]\nflash = 1000\n[an385_link]\nflash = 1_000_000\n")
        .expect("written");
    let run = lab(["boards", "build", "link", "--json", "--budgets", text(file.path())]);
    assert_eq!(run.status(), 1);
    let said = run.stderr();
    assert!(said.contains("microbit_link flash is") && !said.contains("an385_link flash"), "{said}");
    let built: Value = serde_json::from_str(&run.stdout()).expect("JSON");
    let flash = built[0]["flash"].as_u64().expect("a count");
    assert!(said.contains(&format!("is {flash}, its budget 1000")) && flash > 1000, "{said}");
}

#[test]
fn what_cannot_work_is_said_in_one_line() {
    build_nodes();
    let installed = Installed::new().with_nodes();
    let run = |words: &[&str]| Run::by(installed.command().args(["boards", "link"]).args(words));
    run(&["--board", "an385"]).fails(2, &["--board", "two to 4 boards"]);
    run(&["--board", "an385", "--board", "an999"]).fails(2, &["an999", "microbit, an385, an386"]);
}
