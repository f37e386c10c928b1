//! A Loopix network of processes, each with its input and what it has said.
#![allow(dead_code, reason = "each test file uses a part")]

use crate::program::{Ports, faked_clock, motemix, wait_until};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use tempfile::TempDir;

/// Everything is faster than people would want it, for the tests' sake.
const QUICK: [[&str; 2]; 7] = [
    ["--mixes", "3"],
    ["--delay", "1ms"],
    ["--loops", "0.3"],
    ["--drop", "0.3"],
    ["--payload", "0.05"],
    ["--pull", "0.2"],
    ["--retrieve", "20"],
];

pub struct World {
    pub dir: PathBuf,
    nodes: BTreeMap<String, Process>,
    _ports: Ports,
    // Last, so that it is removed when no process writes into it.
    _folder: TempDir,
}

impl World {
    pub fn init(profile: &str, more: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("net");
        let ports = Ports::new();
        let base = ports.first.to_string();
        let dir_text = dir.to_str().unwrap();
        let words = ["loopix", "net", "init", dir_text, "--profile", profile, "--base-port", &base];
        let quick = QUICK.iter().filter(|[word, _]| !more.contains(word)).flatten();
        motemix(words.iter().chain(quick).chain(more)).succeeds();
        Self { dir, nodes: BTreeMap::new(), _ports: ports, _folder: folder }
    }

    /// A network of which all nodes run.
    pub fn up(profile: &str, more: &[&str]) -> Self {
        let mut world = Self::init(profile, more);
        let names: Vec<_> = fs::read_dir(world.dir.join("nodes")).unwrap().collect();
        for node in names {
            world.start(node.unwrap().file_name().to_str().unwrap(), &[]);
        }
        world.wait_until_ready();
        world
    }

    pub fn folder(&self, name: &str) -> PathBuf {
        self.dir.join("nodes").join(name)
    }

    pub fn start(&mut self, name: &str, more: &[&str]) {
        let role = name.trim_end_matches(|letter: char| letter.is_ascii_digit()).to_lowercase();
        let process = Process::start(&role, &self.folder(name), more, &[]);
        assert!(self.nodes.insert(name.to_owned(), process).is_none(), "{name} runs already");
    }

    /// The same with a wall clock that is so far ahead.
    pub fn start_ahead(&mut self, name: &str, ahead: &str) {
        let role = name.trim_end_matches(|letter: char| letter.is_ascii_digit()).to_lowercase();
        let clock = [&faked_clock()[..], &[("FAKETIME", ahead)]].concat();
        self.nodes.insert(name.to_owned(), Process::start(&role, &self.folder(name), &[], &clock));
    }

    pub fn wait_until_ready(&self) {
        for (name, node) in &self.nodes {
            wait_until(&format!("{name} is ready"), || !node.heard("ready").is_empty());
        }
    }

    /// Ends it as a power failure would.
    pub fn kill(&mut self, name: &str) {
        // Dropping it does that.
        self.nodes.remove(name).expect("it runs");
    }

    /// Asks it to end; all that it said.
    pub fn stop(&mut self, name: &str) -> Vec<Value> {
        let mut node = self.nodes.remove(name).expect("it runs");
        let pid = node.pid().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        let status = node.child.wait().unwrap();
        assert!(status.success(), "{name}: {status}");
        node.listener.take().unwrap().join().unwrap();
        node.all_heard()
    }

    pub fn node(&mut self, name: &str) -> &mut Process {
        self.nodes.get_mut(name).expect("it runs")
    }

    /// What `motemix loopix status` says that the node counts.
    pub fn counters(&self, name: &str) -> Value {
        let folder = self.folder(name);
        let said = motemix(["loopix", "status", "--json", "--dir", folder.to_str().unwrap()]).succeeds();
        serde_json::from_str::<Value>(&said).unwrap()["counters"].clone()
    }

    pub fn counter(&self, name: &str, counter: &str) -> u64 {
        let counters = self.counters(name);
        counters[counter].as_u64().unwrap_or_else(|| panic!("{name} does not count {counter}: {counters}"))
    }

    /// Sends a message, and waits until it has arrived.
    pub fn says(&mut self, from: &str, to: &str, text: &str) {
        self.node(from).write(&format!("send {to} {text}"));
        self.hears(to, text);
    }

    pub fn hears(&mut self, name: &str, text: &str) {
        let node = self.node(name);
        wait_until(&format!("{name} hears {text:?}"), || node.texts().iter().any(|heard| heard == text));
    }

    /// Sends a datagram to a node from a socket of a stranger.
    pub fn throw(&mut self, name: &str, datagram: &[u8]) {
        let port = self.node(name).port();
        let to = SocketAddr::from(([127, 0, 0, 1], port));
        UdpSocket::bind("127.0.0.1:0").unwrap().send_to(datagram, to).unwrap();
    }
}

pub struct Process {
    child: Child,
    input: ChildStdin,
    said: Arc<Mutex<Vec<Value>>>,
    listener: Option<thread::JoinHandle<()>>,
}

impl Process {
    pub fn start(role: &str, folder: &Path, more: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut command = Command::new(motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix")));
        command.args(["loopix", role, "--dir"]).arg(folder).args(more).env_remove("MOTEMIX_LOG");
        command.envs(environment.iter().copied());
        let log = fs::OpenOptions::new().create(true).append(true).open(folder.join("log")).unwrap();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn().expect("the program starts");
        let output = BufReader::new(child.stdout.take().unwrap());
        let said = Arc::<Mutex<Vec<Value>>>::default();
        let hears = Arc::clone(&said);
        let listener = thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let event = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON: {line}"));
                hears.lock().unwrap().push(event);
            }
        });
        Self { input: child.stdin.take().unwrap(), child, said, listener: Some(listener) }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn port(&self) -> u16 {
        u16::try_from(self.heard("ready")[0]["port"].as_u64().unwrap()).unwrap()
    }

    pub fn write(&mut self, line: &str) {
        writeln!(self.input, "{line}").expect("it reads");
    }

    pub fn all_heard(&self) -> Vec<Value> {
        self.said.lock().unwrap().clone()
    }

    pub fn heard(&self, event: &str) -> Vec<Value> {
        self.said.lock().unwrap().iter().filter(|said| said["event"] == event).cloned().collect()
    }

    pub fn texts(&self) -> Vec<String> {
        let text = |event: &Value| event["text"].as_str().unwrap().to_owned();
        self.heard("received").iter().map(text).collect()
    }

    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
