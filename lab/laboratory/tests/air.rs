//! `motemix-lab air` as a process: boards join it, a signal ends it, and it says what happened.

mod program;

use motemix_link::serial::{Decoder, ExtendedAddress, Item, Message, Outcome};
use program::lab;
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::UdpSocket;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

/// For what has to happen in the end; a story that waits this long has failed.
const PATIENCE: Duration = Duration::from_mins(3);

/// The program, ended whatever the story does.
struct Air {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Air {
    /// Returns when the program says that it is ready.
    fn start(dir: &Path, words: &[&str]) -> Self {
        let dir = dir.to_str().expect("UTF-8");
        Self::start_with(&[&["--dir", dir], words].concat()).0
    }

    /// The same without a folder; also returns what it says before.
    fn start_with(words: &[&str]) -> (Self, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_motemix-lab"));
        command.arg("air").args(words).env_remove("MOTEMIX_LOG");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
        let stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut air = Self { child, stdout };
        let mut said = String::new();
        while !said.ends_with("ready\n") {
            let len = air.stdout.read_line(&mut said).expect("text");
            assert!(len > 0, "it ended before it was ready: {said}");
        }
        (air, said)
    }

    /// Sends a signal and returns what the program says then.
    fn end(mut self, signal: &str) -> String {
        let killed = Command::new("kill").args([signal, &self.child.id().to_string()]).status();
        assert!(killed.expect("kill starts").success());
        let mut said = String::new();
        self.stdout.read_to_string(&mut said).expect("text");
        assert!(self.child.wait().expect("it ends").success());
        said
    }
}

impl Drop for Air {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn address(number: u8) -> ExtendedAddress {
    ExtendedAddress([number, 0, 0, 0, 0, 0, 0, 2])
}

/// Joins, sends one frame and returns its fate.
fn send(line: &Path, from: u8, to: u8) -> Outcome {
    let mut stream = UnixStream::connect(line).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time");
    let frame = [&[0x61, 0xdc, 1, 0x23, 0][..], &address(to).0, &address(from).0, b"reading"].concat();
    for message in [Message::Join(address(from)), Message::Transmit { handle: 1, frame: &frame }] {
        let mut bytes = Vec::new();
        message.write(|byte| bytes.push(byte));
        stream.write_all(&bytes).expect("it reads");
    }
    let mut decoder = Decoder::new();
    loop {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("it answers");
        if let Some(Item::Message(Message::Done { outcome, .. })) = decoder.push(byte[0]) {
            return outcome;
        }
    }
}

#[test]
fn boards_join_and_the_end_is_a_table() {
    let dir = tempfile::tempdir().expect("a folder");
    let air = Air::start(dir.path(), &["--station", "left", "right"]);
    assert_eq!(send(&dir.path().join("left.air"), 1, 2), Outcome::NoAcknowledgement);
    let said = air.end("-INT");
    let lines: Vec<Vec<&str>> = said.lines().map(|line| line.split_whitespace().collect()).collect();
    assert!(said.starts_with(" station") || said.starts_with("station"), "{said}");
    // Four times 36 bytes on the air.
    assert_eq!(lines[1], ["left", "1", "0", "3", "0", "0", "0", "0", "4.608"]);
    assert_eq!(lines[2], ["right", "0", "0", "0", "0", "0", "0", "0", "0.000"]);
    let left: Vec<_> =
        std::fs::read_dir(dir.path()).expect("a folder").map(|file| file.unwrap().path()).collect();
    assert!(left.iter().all(|path| path.extension().is_some_and(|kind| kind == "log")), "{left:?}");
}

#[test]
fn the_end_can_be_json() {
    let dir = tempfile::tempdir().expect("a folder");
    let words = ["--station", "left", "--json", "--zep", "127.0.0.1:0", "--loss", "1"];
    let air = Air::start(dir.path(), &words);
    assert_eq!(send(&dir.path().join("left.air"), 1, 2), Outcome::NoAcknowledgement);
    let report: Value = serde_json::from_str(&air.end("-TERM")).expect("one object");
    let station = &report["stations"][0];
    assert_eq!(station["name"], "left");
    assert_eq!(station["channel"]["airtime_us"], 4608);
    assert_eq!(station["channel"]["no_acknowledgement"], 1);
    assert_eq!(report["zep"]["datagrams"]["frames"], 0);
}

#[test]
fn stations_that_speak_zep_just_join() {
    let (air, said) = Air::start_with(&["--zep", "127.0.0.1:0"]);
    let address = said.lines().next().and_then(|line| line.strip_prefix("ZEP ")).expect("an address");
    let [first, second] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").expect("a port"));
    first.set_read_timeout(Some(PATIENCE)).expect("a time");
    let frame = [&[0x41, 0xd8, 7, 0x23, 0, 0xff, 0xff][..], &self::address(9).0, b"here", &[0, 0]].concat();
    let mut datagram = b"EX\x02\x01\x1a".to_vec();
    datagram.resize(31, 0);
    datagram.push(u8::try_from(frame.len()).expect("a short frame"));
    datagram.extend(frame);
    first.send_to(&datagram, address).expect("it is sent");
    second.send_to(&datagram, address).expect("it is sent");
    let mut heard = [0; 159];
    assert_eq!(first.recv(&mut heard).expect("the second one's"), datagram.len());
    let said = air.end("-INT");
    let rows: Vec<_> = said.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).collect();
    // Nobody has a name.
    assert_eq!(rows.len(), 2, "{said}");
    assert_eq!(rows[1][..3], ["(ZEP)", "2", "0"]);
}

#[test]
fn a_named_station_needs_a_folder_and_a_folder_a_station() {
    for (words, missing) in [(&["--dir", "air"][..], "--station"), (&["--zep", "--station", "a"], "--dir")] {
        let run = lab([&["air"], words].concat());
        assert_eq!(run.status(), 2);
        assert!(run.stderr().contains(missing), "{}", run.stderr());
    }
}

#[test]
fn what_cannot_be_is_said_in_one_line() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().to_str().expect("UTF-8");
    lab(["air", "--dir", path, "--station", "a", "--loss", "2"]).fails(2, &["--loss 2", "between 0 and 1"]);
    lab(["air", "--dir", path, "--station", "a", "a"]).fails(2, &["\"a\"", "once"]);
    let _air = Air::start(dir.path(), &["--station", "a"]);
    lab(["air", "--dir", path, "--station", "a"]).fails(2, &["a.air", "somebody listens"]);
}
