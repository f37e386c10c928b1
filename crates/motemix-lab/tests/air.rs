//! `motemix-lab air` as a process: boards join it, a signal ends it, and it says what happened.

mod program;

use motemix_link::serial::{Decoder, ExtendedAddress, Item, Message, Outcome};
use program::lab;
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

/// For what has to happen in the end; a story that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// The program, ended whatever the story does.
struct Air {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Air {
    /// Returns when the program says that it is ready.
    fn start(dir: &Path, words: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_motemix-lab"));
        command.arg("air").arg("--dir").arg(dir).args(words).env_remove("MOTEMIX_LOG");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
        let stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut air = Self { child, stdout };
        let mut line = String::new();
        while line != "ready\n" {
            line.clear();
            assert!(air.stdout.read_line(&mut line).expect("text") > 0, "it ended before it was ready");
        }
        air
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
fn what_cannot_be_is_said_in_one_line() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().to_str().expect("UTF-8");
    lab(["air", "--dir", path, "--station", "a", "--loss", "2"]).fails(2, &["--loss 2", "between 0 and 1"]);
    lab(["air", "--dir", path, "--station", "a", "a"]).fails(2, &["\"a\"", "once"]);
    let _air = Air::start(dir.path(), &["--station", "a"]);
    lab(["air", "--dir", path, "--station", "a"]).fails(2, &["a.air", "somebody listens"]);
}
