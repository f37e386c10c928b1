//! The program, and what it says when it starts.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
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
    said: BufReader<ChildStderr>,
}

impl Broker {
    pub fn start(data: &Path) -> Self {
        Self::start_with(data, &[])
    }

    pub fn start_with(data: &Path, more: &[&str]) -> Self {
        let mut child = Command::new(motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix")))
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
                ["motemix:", "of", ..] => assert!(line.contains(" network"), "{line}"),
                _ => panic!("{line}"),
            }
        }
        Self { child, base: base.expect("it says where it listens"), identities, said }
    }

    /// The number of its process.
    pub fn number(&self) -> u32 {
        self.child.id()
    }

    /// What its page says at a path, as JSON.
    pub fn page(&mut self, paths: &[&str]) -> Vec<Value> {
        let mut line = String::new();
        self.said.read_line(&mut line).expect("it says where the page is");
        let address = line.trim().strip_prefix("motemix: http://").and_then(|rest| rest.strip_suffix('/'));
        let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
        let answer = |path: &&str| {
            let mut connection = TcpStream::connect(&address).expect("the page answers");
            let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
            connection.write_all(request.as_bytes()).expect("it reads");
            let mut answer = String::new();
            connection.read_to_string(&mut answer).expect("text");
            let (_, body) = answer.split_once("\r\n\r\n").expect("a head");
            serde_json::from_str(body).unwrap_or_else(|_| panic!("{answer}"))
        };
        paths.iter().map(answer).collect()
    }

    /// Has a device ask something.
    pub fn ask(&self, device: &mut Python, method: &str, path: &str, more: Value) -> Value {
        let mut question = json!({ "method": method, "uri": format!("{}{path}", self.base) });
        let Value::Object(more) = more else { panic!("{more} is no map") };
        for (name, value) in more {
            question[name] = value;
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
