//! A Loopix network whose nodes are processes of two programs, and change places in their folders.

use crate::process::{Process, Program, peer};
use crate::program::{Ports, motemix};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

pub const NODES: [&str; 7] = ["Mix1", "Mix2", "Mix3", "Provider1", "Provider2", "Client1", "Client2"];

/// Faster than people would want it, for the tests' sake: mean times in seconds.
const LOOPS: &str = "0.5";
const DROP: &str = "1";
const PAYLOAD: &str = "0.1";
// A provider of ours answers two pulls each second.
const PULL: &str = "0.5";
const RETRIEVE: &str = "4";

/// What all nodes of a network speak.
#[derive(Debug, Clone, Copy)]
pub struct Dialect {
    pub profile: &'static str,
    pub push: bool,
}

pub struct Network {
    pub dir: PathBuf,
    dialect: Dialect,
    nodes: BTreeMap<&'static str, Process>,
    conversations: usize,
    /// Packets that providers of each program have put into mailboxes.
    stored: BTreeMap<Program, u64>,
    ports: Ports,
    // Last, so that it is removed when no process writes into it.
    _folder: TempDir,
}

/// `Mix` of `Mix1`, as programs write it.
fn role(name: &str) -> String {
    name.trim_end_matches(|letter: char| letter.is_ascii_digit()).to_lowercase()
}

impl Network {
    fn new(dialect: Dialect) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let dir = folder.path().join("net");
        Self {
            dir,
            dialect,
            nodes: BTreeMap::new(),
            conversations: 0,
            stored: BTreeMap::new(),
            ports: Ports::new(),
            _folder: folder,
        }
    }

    /// A network whose files `motemix loopix net init` made.
    pub fn made_here(dialect: Dialect) -> Self {
        let network = Self::new(dialect);
        let dir = network.dir.to_str().expect("UTF-8");
        let quick = [
            "--mixes",
            "3",
            "--delay",
            "1ms",
            "--loops",
            LOOPS,
            "--drop",
            DROP,
            "--base-port",
            &network.ports.first.to_string(),
            "--payload",
            PAYLOAD,
            "--pull",
            PULL,
            "--retrieve",
            RETRIEVE,
            "--profile",
            dialect.profile,
        ];
        let push: &[_] = if dialect.push { &["--push"] } else { &[] };
        motemix([&["loopix", "net", "init", dir], &quick[..], push].concat()).succeeds();
        network
    }

    /// A network whose files `python -m peer keys` and `database` made. All nodes share one
    /// directory.
    pub fn made_there(dialect: Dialect) -> Self {
        let network = Self::new(dialect);
        for (name, port) in NODES.into_iter().zip(network.ports.first..) {
            let number = name.trim_start_matches(char::is_alphabetic);
            let mut keys = peer();
            keys.arg("keys").arg(network.folder(name)).args([
                &role(name),
                name,
                "127.0.0.1",
                &port.to_string(),
            ]);
            match role(name).as_str() {
                "mix" => keys.args(["--layer", number]),
                "client" => keys.args(["--provider", &format!("Provider{number}")]),
                _ => &mut keys,
            };
            assert!(keys.output().expect("Python starts").status.success(), "{name}");
            network.hurry(name);
        }
        let mut database = peer();
        database.arg("database").arg(network.dir.join("example.db"));
        database.args(NODES.map(|name| network.folder(name)));
        assert!(database.status().expect("Python starts").success());
        // Python's clients look at once at what comes, unless they are told otherwise.
        let settings = format!("profile = \"{}\"\n\n[originals]\nstart_s = 0\n", dialect.profile);
        for provider in ["Provider1", "Provider2"] {
            fs::write(network.folder(provider).join("motemix.toml"), &settings).expect("a writable folder");
        }
        network
    }

    /// Gives a node short times, and the directory of all.
    fn hurry(&self, name: &str) {
        let file = self.folder(name).join("config.json");
        let mut config: Value = serde_json::from_slice(&fs::read(&file).expect("a file")).expect("JSON");
        for section in ["parametersClients", "parametersMixnodes", "parametersProviders"] {
            config[section]["EXP_PARAMS_LOOPS"] = LOOPS.into();
            config[section]["DATABASE_NAME"] = "../../example.db".into();
        }
        let clients = &mut config["parametersClients"];
        for (parameter, value) in
            [("EXP_PARAMS_DROP", DROP), ("EXP_PARAMS_PAYLOAD", PAYLOAD), ("TIME_PULL", PULL)]
        {
            clients[parameter] = value.into();
        }
        config["parametersProviders"]["MAX_RETRIEVE"] = RETRIEVE.into();
        config["parametersProviders"]["PUSH_MESSAGES"] = json!(self.dialect.push);
        fs::write(&file, config.to_string()).expect("a writable file");
    }

    pub fn folder(&self, name: &str) -> PathBuf {
        self.dir.join("nodes").join(name)
    }

    /// Lets these nodes be processes of ours and all others Python's. Who is not what it should be
    /// is stopped, and the other program started in the same folder.
    pub fn arrange(&mut self, ours: &[&str]) {
        for name in NODES {
            let program = if ours.contains(&name) { Program::Ours } else { Program::Python };
            match self.nodes.remove(name) {
                Some(process) if process.program == program => {
                    self.nodes.insert(name, process);
                    continue;
                }
                Some(process) => self.end(name, process),
                None => {}
            }
            self.start(program, name, &[]);
        }
    }

    fn start(&mut self, program: Program, name: &'static str, more: &[&str]) {
        let process = Process::start(program, &role(name), &self.folder(name), self.dialect.profile, more);
        self.nodes.insert(name, process);
    }

    /// All are ours but Client1, which is started when a message waits for it, and looks at nothing at
    /// first. Its provider knows for how long; the originals take 20 seconds.
    pub fn greets_an_original_that_starts(&mut self) {
        const DEAF: &str = "3";
        let file = self.folder("Provider1").join("motemix.toml");
        let settings = fs::read_to_string(&file).expect("a file");
        assert!(settings.contains("start_s = 0"), "{settings}");
        fs::write(&file, settings.replace("start_s = 0", &format!("start_s = {DEAF}")))
            .expect("a writable file");
        for name in NODES.into_iter().filter(|name| *name != "Client1") {
            self.start(Program::Ours, name, &[]);
        }
        self.nodes.get_mut("Client2").expect("it runs").write("send Client1 good morning");
        self.nodes["Provider1"].hear("counters", |event| event["stored"].as_u64() > Some(0));
        self.start(Program::Python, "Client1", &["--deaf", DEAF]);
        self.nodes["Client1"].hear("received", |event| event["text"] == "good morning");
    }

    /// A message each way, and loop cover back to everyone.
    pub fn converse(&mut self) {
        self.conversations += 1;
        for (from, to) in [("Client1", "Client2"), ("Client2", "Client1")] {
            let text = format!("{from} says \u{e4}, {}", self.conversations);
            self.nodes.get_mut(from).expect("it runs").write(&format!("send {to} {text}"));
            self.nodes[to].hear("received", |event| event["text"] == *text);
        }
        for node in self.nodes.values() {
            node.hear_loop();
        }
    }

    /// Stops everyone. Mailboxes have been used, by providers of both programs, unless they push.
    pub fn stop(mut self) {
        while let Some((name, process)) = self.nodes.pop_first() {
            self.end(name, process);
        }
        let have_stored = [Program::Ours, Program::Python].map(|program| self.stored[&program] > 0);
        assert_eq!(have_stored, [!self.dialect.push; 2], "{:?}", self.stored);
    }

    /// Stops a node, and looks at what it counted.
    fn end(&mut self, name: &str, process: Process) {
        let program = process.program;
        let counters = process.stop();
        if role(name) == "provider" {
            let stored = counters["stored"].as_u64().expect("a number");
            *self.stored.entry(program).or_default() += stored;
        }
        expect_nothing_refused(name, program, &counters);
    }
}

fn expect_nothing_refused(name: &str, program: Program, counters: &Value) {
    assert!(counters["received"].as_u64() > Some(0), "{name}, {program}: {counters}");
    let dropped = counters["dropped"].as_object().expect("reasons");
    for (reason, count) in dropped {
        // Who was asked for mail before it knew of the user, and is asked again; and loops of the
        // process that was here before, which ours do not take for their own.
        let is_harmless = ["unknown_client", "refused", "not_for_this_role"].contains(&reason.as_str());
        assert!(is_harmless || *count == 0, "{name}, {program}: {counters}");
    }
}
