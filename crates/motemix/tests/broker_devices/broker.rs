//! The program, and what it says when it starts.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};

use serde_json::{Value, json};

use crate::python::{Python, bytes};

/// A broker that runs. Dropping it kills it, as a power cut would.
pub struct Broker {
    child: Child,
    /// `coap://[::1]:PORT`
    pub base: String,
    /// Its identities, with the names of their algorithms.
    pub identities: Vec<(String, String)>,
    _said: BufReader<ChildStderr>,
}

impl Broker {
    pub fn start(data: &Path) -> Self {
        Self::start_with(data, &[])
    }

    pub fn start_with(data: &Path, more: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_motemix"))
            .args(["broker", "--listen", "[::1]:0", "--data"])
            .arg(data)
            .args(more)
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut said = BufReader::new(child.stderr.take().expect("piped"));
        let (mut base, mut identities) = (None, Vec::new());
        while identities.len() < 2 {
            let mut line = String::new();
            assert_ne!(said.read_line(&mut line).expect("it says who it is"), 0, "it ended");
            let words: Vec<&str> = line.split([' ', ',', '(', ')', '\n']).collect();
            match words[..] {
                ["motemix:", first, ..] if first.starts_with("coap://") => base = Some(first.to_owned()),
                ["motemix:", "identity", identity, "", algorithm, ..] => {
                    identities.push((identity.to_owned(), algorithm.to_owned()));
                }
                _ => panic!("{line}"),
            }
        }
        Self { child, base: base.expect("it says where it listens"), identities, _said: said }
    }

    /// Has a device ask something.
    pub fn ask(&self, device: &mut Python, method: &str, path: &str, more: Value) -> Value {
        let mut question = json!({ "method": method, "uri": format!("{}{path}", self.base) });
        for (name, value) in more.as_object().expect("a map") {
            question[name] = value.clone();
        }
        device.ask("ask", question).unwrap_or_else(|refused| panic!("{method} {path}: {refused:?}"))
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn code(answer: &Value) -> &str {
    answer["code"].as_str().expect("a code")
}

pub fn text(answer: &Value) -> String {
    String::from_utf8(bytes(answer, "payload")).expect("text")
}
