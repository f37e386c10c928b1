//! The Python peer, which is asked in JSON lines; `scripts/neighbour/peer.py` has the questions.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

/// A process of the peer.
pub struct Python {
    process: Child,
    questions: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

/// What the peer says when it does not do what it was asked for.
#[derive(Debug)]
pub struct RefusedThere(pub String);

impl Python {
    pub fn start() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let python = root.join(".venv-neighbour/bin/python");
        assert!(
            python.exists(),
            "there is no .venv-neighbour for lakers; make it with: scripts/setup neighbour_peer"
        );
        let mut process = Command::new(python)
            .arg(root.join("scripts/neighbour/peer.py"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("Python starts");
        let questions = process.stdin.take();
        let answers = BufReader::new(process.stdout.take().expect("it was asked for"));
        Self { process, questions, answers }
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
        field_of(&answer, field)
    }
}

pub fn field_of(answer: &Value, field: &str) -> Vec<u8> {
    hex::decode(answer[field].as_str().expect("a field")).expect("hex")
}

impl Drop for Python {
    /// The end of its questions is the end of it.
    fn drop(&mut self) {
        drop(self.questions.take());
        let ended = self.process.wait();
        if !std::thread::panicking() {
            assert!(ended.expect("the peer can be waited for").success());
        }
    }
}
