//! Python peers, which are asked in JSON lines; `scripts/neighbour` and `scripts/objects` have them,
//! and the questions. Tests of several crates take this file.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

/// A process of the peer.
pub struct Python {
    process: Child,
    questions: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    /// Shown if the test fails. It is long if lakers panicked over each altered message.
    complaints: File,
}

/// What the peer says when it does not do what it was asked for.
#[derive(PartialEq, Eq, Debug)]
pub struct RefusedThere(pub String);

impl Python {
    /// lakers and cryptography.
    pub fn start() -> Self {
        Self::of("neighbour", "peer.py")
    }

    /// aiocoap.
    pub fn over_coap() -> Self {
        Self::of("neighbour", "coap_peer.py")
    }

    /// aiocoap over TCP and WebSockets.
    pub fn over_streams() -> Self {
        Self::of("neighbour", "stream_peer.py")
    }

    /// aiocoap with OSCORE.
    pub fn under_oscore() -> Self {
        Self::of("neighbour", "oscore_peer.py")
    }

    /// aiocoap, as a device beside a broker.
    pub fn device() -> Self {
        Self::of("neighbour", "device_peer.py")
    }

    /// aiocoap, which asks and answers over UDP.
    pub fn over_datagrams() -> Self {
        Self::of("neighbour", "datagram_peer.py")
    }

    /// pycose, joserfc and kpn-senml.
    pub fn objects() -> Self {
        Self::of("objects", "peer.py")
    }

    fn of(folder: &str, script: &str) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let python = root.join(format!(".venv-{folder}/bin/python"));
        assert!(
            python.exists(),
            "there is no .venv-{folder} for {script}; make it with: scripts/setup {folder}_peer"
        );
        let complaints = tempfile::tempfile().expect("a file");
        let mut process = Command::new(python)
            .arg(root.join("scripts").join(folder).join(script))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(complaints.try_clone().expect("a file"))
            .spawn()
            .expect("Python starts");
        let questions = process.stdin.take();
        let answers = BufReader::new(process.stdout.take().expect("it was asked for"));
        Self { process, questions, answers, complaints }
    }

    pub fn ask(&mut self, op: &str, mut question: Value) -> Result<Value, RefusedThere> {
        question["op"] = op.into();
        let questions = self.questions.as_mut().expect("it is open until the end");
        writeln!(questions, "{question}").expect("the peer reads");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("the peer answers");
        let answer: Value = serde_json::from_str(&line).expect("JSON");
        match answer.get("refused") {
            Some(reason) => Err(RefusedThere(reason.as_str().expect("a reason").into())),
            None => Ok(answer),
        }
    }

    /// The bytes in one field of the answer.
    pub fn bytes(&mut self, op: &str, question: Value, field: &str) -> Vec<u8> {
        let answer = self.ask(op, question).unwrap_or_else(|refused| panic!("{op}: {refused:?}"));
        bytes(&answer, field)
    }
}

pub fn bytes(answer: &Value, field: &str) -> Vec<u8> {
    hex::decode(answer[field].as_str().expect("a field")).expect("hex")
}

impl Drop for Python {
    /// The end of its questions is the end of it.
    fn drop(&mut self) {
        drop(self.questions.take());
        let ended = self.process.wait();
        let mut complaints = String::new();
        // What cannot be read is not shown.
        let _ = self.complaints.rewind();
        let _ = self.complaints.read_to_string(&mut complaints);
        if std::thread::panicking() {
            print!("{complaints}");
        } else {
            assert!(ended.expect("the peer can be waited for").success(), "{complaints}");
        }
    }
}
