//! A network that several people run: three authorities of which two sign, and nodes whose keys were
//! made in folders of their own. Epochs take ten seconds.

mod program;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use motemix_directory::SignedDocument;
use program::{Ports, Run, motemix, wait_until};
use serde_json::Value;
use tempfile::TempDir;

const AUTHORITIES: [&str; 3] = ["north", "south", "east"];
const MIXES: [&str; 4] = ["mix-1", "mix-2", "mix-3", "mix-4"];

/// Each folder is one operator's.
struct World {
    folder: TempDir,
    ports: Ports,
    running: BTreeMap<String, Process>,
}

/// A process of an operator, which ends with the story.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl World {
    /// Three authorities that know each other and serve.
    fn new() -> Self {
        let mut world =
            Self { folder: tempfile::tempdir().unwrap(), ports: Ports::new(), running: BTreeMap::new() };
        for (number, name) in (0..).zip(AUTHORITIES) {
            let listen = world.at(number);
            let dir = world.dir(name);
            let words = ["authority", "init", &dir, "--network", "orchard", "--listen", &listen];
            let more =
                ["--epoch-length", "10s", "--ahead", "3", "--mean-delay", "20ms", "--loop-cover", "1s"];
            motemix(words.into_iter().chain(more).chain(["--drop-cover", "0s"])).succeeds();
        }
        for (number, name) in AUTHORITIES.iter().enumerate() {
            let others = (0..3).filter(|other| *other != number);
            let peers: Vec<_> = others
                .map(|other| format!("{}@{}", world.public(AUTHORITIES[other]), world.at(other as u16)))
                .collect();
            let dir = world.dir(name);
            let words = ["authority", "peers", &dir, "--threshold", "2"];
            motemix(words.into_iter().chain(peers.iter().map(String::as_str))).succeeds();
        }
        for name in AUTHORITIES {
            world.serve(name);
        }
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn dir(&self, name: &str) -> String {
        self.path(name).to_str().expect("UTF-8").to_owned()
    }

    fn at(&self, number: u16) -> String {
        format!("127.0.0.1:{}", self.ports.first + number)
    }

    fn public(&self, authority: &str) -> String {
        fs::read_to_string(self.path(authority).join("authority.pub")).expect("a key").trim().to_owned()
    }

    fn start(&mut self, name: &str, words: &[&str]) {
        let log = fs::File::options().create(true).append(true).open(self.path(&format!("{name}.log")));
        let mut command = Command::new(env!("CARGO_BIN_EXE_motemix"));
        command.args(["--log", "info"]).args(words).stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(log.expect("a log")).env_remove("MOTEMIX_LOG");
        let process = Process(command.spawn().expect("the program starts"));
        self.running.insert(name.to_owned(), process);
    }

    fn serve(&mut self, authority: &str) {
        let dir = self.dir(authority);
        self.start(authority, &["authority", "serve", &dir]);
        wait_until("the authority answers", || motemix(["authority", "status", &dir]).status() == 0);
    }

    /// As a power failure would.
    fn kill(&mut self, name: &str) {
        self.running.remove(name).expect("it runs");
    }

    /// Makes a node's keys in a folder of its own; `port` counts from ten.
    fn init(&self, folder: &str, name: &str, port: u16, is_mix: bool) {
        let (dir, listen) = (self.dir(folder), self.at(port));
        let directory: Vec<_> =
            (0..3).flat_map(|number| ["--directory".to_owned(), self.at(number)]).collect();
        let keys: Vec<_> =
            AUTHORITIES.iter().flat_map(|name| ["--authority".to_owned(), self.public(name)]).collect();
        let words = ["node", "init", &dir, "--name", name, "--listen", &listen, "--threshold", "2"];
        let more = directory.iter().chain(&keys).map(String::as_str);
        motemix(words.into_iter().chain(more).chain(is_mix.then_some("--mix"))).succeeds();
    }

    fn admit(&self, folder: &str, name: &str, layer: Option<u8>, by: &[&str]) {
        let descriptor = self.path(folder).join(format!("{name}.descriptor"));
        for authority in by {
            let mut words = vec![
                "authority".to_owned(),
                "add".to_owned(),
                self.dir(authority),
                descriptor.to_str().expect("UTF-8").to_owned(),
            ];
            words.extend(layer.into_iter().flat_map(|layer| ["--layer".to_owned(), layer.to_string()]));
            motemix(words).succeeds();
        }
    }

    fn config(&self, folder: &str) -> String {
        self.path(folder).join("node.toml").to_str().expect("UTF-8").to_owned()
    }

    fn run(&mut self, folder: &str) {
        let config = self.config(folder);
        self.start(folder, &["node", "--config", &config]);
    }

    fn send(&self, from: &str, text: &str) -> Run {
        motemix(["send", "--json", "--config", &self.config(from), "--to", "receiver", text])
    }

    /// A message is acknowledged in the end. One that is sent before documents are there is refused,
    /// and one that is under way to a node that was killed may be given up.
    fn delivers(&self, text: &str) {
        let end = Instant::now() + Duration::from_mins(2);
        while self.send("mote", text).status() != 0 {
            assert!(Instant::now() < end, "{text:?} was not acknowledged\n{}", self.told());
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    fn inbox(&self) -> Vec<String> {
        let words = ["inbox", "--json", "--last", "1000", "--config", &self.config("receiver")];
        let messages: Value = serde_json::from_str(&motemix(words).succeeds()).expect("JSON");
        let text = |message: &Value| message["text"].as_str().expect("a text").to_owned();
        messages.as_array().expect("a list").iter().map(text).collect()
    }

    /// The latest epoch of which an authority has a document.
    fn latest(&self, authority: &str) -> u64 {
        let said = motemix(["authority", "status", &self.dir(authority), "--json"]).succeeds();
        let status: Value = serde_json::from_str(&said).expect("JSON");
        let documents = status["documents"].as_array().expect("a list");
        documents.last().and_then(Value::as_u64).unwrap_or(0)
    }

    /// The logs, if the story fails.
    fn told(&self) -> String {
        let mut told = String::new();
        for name in self.running.keys() {
            let log = fs::read_to_string(self.path(&format!("{name}.log"))).unwrap_or_default();
            let tail: Vec<_> = log.lines().rev().take(12).collect();
            told.extend(tail.into_iter().rev().map(|line| format!("{name}: {line}\n")));
        }
        told
    }
}

fn payload(path: &Path) -> Vec<u8> {
    let file = fs::read(path).expect("a document");
    SignedDocument::parse(&file).expect("a document").payload().to_vec()
}

#[test]
fn people_who_do_not_trust_each_other_run_a_network() {
    let mut world = World::new();
    for (port, name) in (10..).zip(MIXES) {
        world.init(name, name, port, true);
        world.admit(name, name, Some(0), &AUTHORITIES);
    }
    // Two of three are enough.
    for (port, name) in [(20, "receiver"), (21, "mote")] {
        world.init(name, name, port, false);
        world.admit(name, name, None, &AUTHORITIES[1..]);
    }
    for name in MIXES.into_iter().chain(["receiver", "mote"]) {
        world.run(name);
    }
    world.delivers("first");

    // An authority is gone, and the others go on; it comes back and has what they agreed on.
    world.kill("north");
    let before = world.latest("south");
    wait_until("two authorities agree without the third", || world.latest("south") >= before + 2);
    world.serve("north");
    wait_until("the third has what they agreed on", || world.latest("north") >= before + 2);
    for epoch in before..=before + 2 {
        let documents: Vec<_> = AUTHORITIES
            .iter()
            .map(|name| payload(&world.path(name).join(format!("documents/{epoch}.cbor"))))
            .collect();
        assert!(documents.windows(2).all(|pair| pair[0] == pair[1]), "epoch {epoch}");
    }

    // Epochs have passed, and the nodes followed. A mix is killed and comes back.
    world.kill("mix-2");
    world.run("mix-2");
    world.delivers("second");

    // Another operator has a mix of that name from now on, with other keys.
    world.kill("mix-3");
    for authority in AUTHORITIES {
        motemix(["authority", "remove", &world.dir(authority), "mix-3"]).succeeds();
    }
    world.init("other", "mix-3", 30, true);
    world.admit("other", "mix-3", Some(0), &AUTHORITIES);
    world.run("other");
    let latest = world.latest("south");
    wait_until("the other operator's mix is in the document", || world.latest("south") >= latest + 2);
    world.delivers("third");
    let mut inbox = world.inbox();
    inbox.dedup();
    for text in ["first", "second", "third"] {
        assert!(inbox.iter().any(|message| message == text), "{text} is not in {inbox:?}");
    }
}

#[test]
fn who_was_not_admitted_is_told_and_kept_out() {
    let world = World::new();
    world.init("stranger", "stranger", 10, true);
    let descriptor = world.path("stranger").join("stranger.descriptor");
    let mut changed = fs::read(&descriptor).unwrap();
    let last = changed.len() - 1;
    changed[last] ^= 1;
    let forged = world.path("forged.descriptor");
    fs::write(&forged, changed).unwrap();
    let (north, forged) = (world.dir("north"), forged.to_str().unwrap().to_owned());
    motemix(["authority", "add", &north, &forged]).fails(2, &["forged.descriptor", "not signed by the node"]);
    let huge = world.path("huge.descriptor");
    fs::write(&huge, vec![0x58; 1 << 20]).unwrap();
    motemix(["authority", "add", &north, huge.to_str().unwrap()]).fails(2, &["huge.descriptor"]);
    motemix(["authority", "remove", &north, "stranger"]).fails(2, &["stranger", "no node of that name"]);
    motemix([
        "node",
        "init",
        &world.dir("stranger"),
        "--listen",
        "127.0.0.1:1",
        "--directory",
        &world.at(0),
        "--authority",
        &world.public("north"),
    ])
    .fails(1, &["stranger", "not empty"]);
    // A name that another node has.
    world.admit("stranger", "stranger", Some(0), &["north"]);
    world.init("twin", "stranger", 11, true);
    let twin = world.path("twin").join("stranger.descriptor");
    motemix(["authority", "add", &north, twin.to_str().unwrap()]).fails(2, &["another node is admitted"]);
    // An endpoint cannot be made a mix.
    world.init("end", "end", 12, false);
    let end = world.path("end").join("end.descriptor");
    motemix(["authority", "add", &north, end.to_str().unwrap(), "--layer", "0"])
        .fails(2, &["does not offer"]);
}

#[test]
fn what_cannot_be_an_authority_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("north");
    let dir = dir.to_str().unwrap();
    motemix(["authority", "serve", dir]).fails(2, &["authority.toml"]);
    let words = ["authority", "init", dir, "--network", "Orchard!", "--listen", "127.0.0.1:7000"];
    motemix(words).fails(2, &["network", "a-z"]);
    let words = ["authority", "init", dir, "--network", "orchard", "--listen", "127.0.0.1:7000"];
    let said = motemix(words).succeeds();
    let own = said.lines().next().unwrap().to_owned();
    motemix(words).fails(1, &["north", "not empty"]);
    let peer = format!("{own}@127.0.0.1:7001");
    motemix(["authority", "peers", dir, "--threshold", "2", &peer]).fails(2, &["twice"]);
    let other = folder.path().join("south");
    let words =
        ["authority", "init", other.to_str().unwrap(), "--network", "orchard", "--listen", "127.0.0.1:7001"];
    let theirs = motemix(words).succeeds().lines().next().unwrap().to_owned();
    let peer = format!("{theirs}@127.0.0.1:7001");
    motemix(["authority", "peers", dir, "--threshold", "1", &peer]).fails(2, &["more than half", "2"]);
    motemix(["authority", "peers", dir, "--threshold", "2", &peer]).succeeds();
    motemix(["authority", "status", "127.0.0.1:1"]).fails(1, &["127.0.0.1:1"]);
}
