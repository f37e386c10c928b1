//! Copies of a node's folder, backups put back and clocks set back: no packet is unwrapped twice.
//! Whoever recorded every datagram sends it again.

mod program;
mod recorder;

use program::{Run, edit, faked_clock, motemix, wait_until};
use recorder::RecordedNetwork;
use serde_json::Value;
use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

const MIXES: [&str; 6] = ["mix-1", "mix-2", "mix-3", "mix-4", "mix-5", "mix-6"];
const LAYERS: usize = 2;
/// Nothing passes a mix but the messages of the story and what is sent again.
const QUIET: [&str; 7] =
    ["--plain-links", "--mean-delay", "10ms", "--loop-cover", "0s", "--drop-cover", "0s"];

/// A node that the story started by hand; it ends with it.
struct Node {
    process: Child,
    config: PathBuf,
}

impl Drop for Node {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Node {
    fn start(config: &Path, environment: &[(&str, &str)]) -> Self {
        let mut command = Command::new(motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix")));
        command.arg("node").arg("--config").arg(config).stdin(Stdio::null()).stdout(Stdio::null());
        command.env_remove("MOTEMIX_LOG").envs(environment.iter().copied());
        let node = Self { process: command.spawn().expect("the program starts"), config: config.to_owned() };
        wait_until("the node answers", || node.asked().stderr().is_empty());
        node
    }

    fn asked(&self) -> Run {
        motemix(["status", "--json", "--config", self.config.to_str().expect("UTF-8")])
    }

    fn status(&self) -> Value {
        serde_json::from_str(&self.asked().succeeds()).expect("JSON")
    }

    fn counter(&self, name: &str) -> u64 {
        self.status()["counters"][name].as_u64().expect("a counter")
    }

    fn health(&self) -> String {
        self.status()["health"].to_string()
    }

    /// It made new mix keys, has no document that names them, and so unwraps nothing.
    fn waits_with_new_keys(&self, recorded: &[Vec<u8>]) {
        let status = self.status();
        assert!(status["detail"]["document"].is_null(), "{status}");
        assert!(self.health().contains("keys were made anew"), "{status}");
        self.hears(recorded);
        assert_eq!(self.counter("forwarded"), 0);
    }

    fn address(&self) -> SocketAddr {
        self.status()["listen"][0].as_str().expect("an address").parse().expect("an address")
    }

    /// Sends it what was recorded.
    fn hears(&self, recorded: &[Vec<u8>]) {
        assert!(!recorded.is_empty());
        let (socket, to) = (UdpSocket::bind("127.0.0.1:0").expect("a port"), self.address());
        for datagram in recorded {
            // A node that does not listen refuses.
            let _ = socket.send_to(datagram, to);
        }
    }
}

/// Everything that came to a node.
fn recorded(network: &RecordedNetwork, node: &str) -> Vec<Vec<u8>> {
    let recording = network.recording().into_iter();
    recording.filter(|recorded| recorded.to == node).map(|recorded| recorded.bytes).collect()
}

fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-a").args([from, to]).status().expect("cp starts").success());
}

/// A network in which a packet has passed each mix, and none is under way; and a copy of its nodes
/// from before.
fn passed() -> (RecordedNetwork, PathBuf) {
    let network = RecordedNetwork::up(&QUIET);
    let before = network.running.0.path("before");
    copy(&network.running.0.path("nodes"), &before);
    let mut number = 0;
    while MIXES.iter().any(|mix| recorded(&network, mix).is_empty()) {
        network.running.send("mote-1", &format!("message {number}")).succeeds();
        number += 1;
    }
    wait_until("nothing is under way", || is_quiet(&network));
    (network, before)
}

/// Whether each packet has come to its end, and each message has been acknowledged as often as it
/// came: a busy machine is late, and then messages are sent again that had arrived.
fn is_quiet(network: &RecordedNetwork) -> bool {
    let recording = network.recording();
    let came_to = |node: &str| recording.iter().filter(|recorded| recorded.to == node).count();
    let [messages, acknowledgements] = ["receiver", "mote-1"].map(came_to);
    let passed: usize = MIXES.into_iter().map(came_to).sum();
    messages == acknowledgements && passed == LAYERS * (messages + acknowledgements)
}

/// Kills a node, and has it listen where it did when it is started again.
fn kill(network: &RecordedNetwork, node: &str) {
    network.running.kill(node);
    let address = network.behind.iter().find(|(name, _)| name == node).expect("it listened").1;
    edit(&network.running.0.config(node), "127.0.0.1:0", &address.to_string());
}

/// What is done to the folder of a node, and the same folder as it was before.
type Deed = fn(&Path, &Path);

fn folder_is_put_back(node: &Path, before: &Path) {
    let config = fs::read(node.join("node.toml")).unwrap();
    fs::remove_dir_all(node).unwrap();
    copy(before, node);
    fs::write(node.join("node.toml"), config).unwrap();
}

fn logs(state: &Path) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(state).unwrap().map(|entry| entry.unwrap().file_name());
    entries.map(|name| name.into_string().unwrap()).filter(|name| name.starts_with("replay-"))
}

/// Over the files that are there, which stay the same files.
fn state_is_put_back(node: &Path, before: &Path) {
    for name in logs(&before.join("state")) {
        copy(&before.join("state").join(&name), &node.join("state").join(&name));
    }
}

fn log_is_put_back(node: &Path, before: &Path) {
    let name = logs(&before.join("state")).find(|name| name.contains(".log")).unwrap();
    copy(&before.join("state").join(&name), &node.join("state").join(&name));
}

fn key_is_put_back(node: &Path, before: &Path) {
    fs::remove_file(node.join("node.key")).unwrap();
    copy(&before.join("node.key"), &node.join("node.key"));
}

fn state_is_removed(node: &Path, _: &Path) {
    fs::remove_dir_all(node.join("state")).unwrap();
}

/// As after a renewed machine-id: what the key file has of it is another one.
fn machine_is_another(node: &Path, before: &Path) {
    let text = fs::read_to_string(node.join("node.key")).unwrap();
    let place = text.lines().find(|line| line.starts_with("place ")).unwrap();
    let machine = place.split(' ').nth(1).unwrap();
    // A machine without an id that lasts is told from no other.
    if machine == "-" {
        return key_is_put_back(node, before);
    }
    // In place, so that it stays the same file.
    fs::write(node.join("node.key"), text.replacen(machine, &"0".repeat(machine.len()), 1)).unwrap();
}

const DEEDS: [Deed; 6] = [
    folder_is_put_back,
    state_is_put_back,
    log_is_put_back,
    key_is_put_back,
    state_is_removed,
    machine_is_another,
];

#[test]
fn keys_that_may_have_been_used_elsewhere_are_used_no_more() {
    let (network, before) = passed();
    let mut nodes = Vec::new();
    for (mix, deed) in MIXES.into_iter().zip(DEEDS) {
        kill(&network, mix);
        deed(&network.running.0.path(&format!("nodes/{mix}")), &before.join(mix));
        let node = Node::start(&network.running.0.config(mix), &[]);
        node.waits_with_new_keys(&recorded(&network, mix));
        nodes.push((mix, node));
    }
    // The first document that names the new keys has them take part again.
    motemix(["net", "renew", network.running.dir(), "--early"]).succeeds();
    let has_begun = |node: &Node| !node.status()["detail"]["document"].is_null();
    wait_until("the nodes take part", || nodes.iter().all(|(_, node)| has_begun(node)));
    let epoch = nodes[0].1.status()["epoch"].clone();
    wait_until("all others do", || {
        network.running.status().iter().all(|row| row["status"]["epoch"] == epoch)
    });
    for (mix, node) in &nodes {
        let recorded = recorded(&network, mix);
        node.hears(&recorded);
        // What came while it waited as well.
        let all = 2 * recorded.len() as u64;
        wait_until("each is refused", || node.counter("dropped_bad_header_mac") == all);
        assert_eq!(node.counter("forwarded"), 0, "{mix}");
    }
    network.running.send("mote-1", "with the new keys").succeeds();
    assert!(network.running.inbox("receiver").contains(&"with the new keys".to_owned()));
}

#[test]
fn a_node_that_was_killed_keeps_its_keys_and_a_copy_beside_it_has_none_of_them() {
    let (network, _) = passed();
    for mix in ["mix-1", "mix-2"] {
        kill(&network, mix);
        let node = Node::start(&network.running.0.config(mix), &[]);
        let recorded = recorded(&network, mix);
        node.hears(&recorded);
        wait_until("each is a replay", || node.counter("dropped_replayed") == recorded.len() as u64);
        assert_eq!(node.counter("forwarded"), 0);
        // With an end in order as well.
        let stopped = Command::new("kill").arg(node.process.id().to_string()).status().unwrap();
        assert!(stopped.success());
        wait_until("it has ended", || node.asked().status() != 0);
        let node = Node::start(&network.running.0.config(mix), &[]);
        assert_eq!(node.status()["health"]["state"], "ok", "{}", node.status());
    }
    // Of one that runs, while it runs; at an address of its own.
    let copied = network.running.0.path("copies");
    fs::create_dir(&copied).unwrap();
    copy(&network.running.0.path("nodes/mix-3"), &copied.join("mix-3"));
    let copied = Node::start(&copied.join("mix-3/node.toml"), &[]);
    copied.waits_with_new_keys(&recorded(&network, "mix-3"));
    let original = network.running.status_of("mix-3");
    assert_eq!(original["status"]["health"]["state"], "ok", "{original}");
}

#[test]
fn new_keys_are_made_when_they_are_asked_for_and_not_while_the_node_runs() {
    let (network, _) = passed();
    let config = network.running.0.config("mix-1");
    let renew = ["node", "renew-keys", "--config", config.to_str().unwrap()];
    motemix(renew).fails(1, &["mix-1", "stop it first"]);
    kill(&network, "mix-1");
    let said = motemix(renew).succeeds();
    assert!(said.contains("mix-1: new mix keys from epoch"), "{said}");
    let node = Node::start(&config, &[]);
    node.waits_with_new_keys(&recorded(&network, "mix-1"));
    // So it is after another start.
    drop(node);
    Node::start(&config, &[]).waits_with_new_keys(&recorded(&network, "mix-1"));
}

fn faked<'e>(more: &[(&'e str, &'e str)]) -> Vec<(&'e str, &'e str)> {
    faked_clock().iter().chain(more).copied().collect()
}

#[test]
fn a_clock_that_is_set_back_while_a_node_runs_moves_no_epoch() {
    let (network, _) = passed();
    kill(&network, "mix-1");
    let clock = network.running.0.path("clock");
    fs::write(&clock, "+0\n").unwrap();
    let set = [("FAKETIME_TIMESTAMP_FILE", clock.to_str().unwrap())];
    let node = Node::start(&network.running.0.config("mix-1"), &faked(&set));
    let epoch = node.status()["epoch"].clone();
    // Two days.
    fs::write(&clock, "-172800\n").unwrap();
    wait_until("it is said", || node.health().contains("the wall clock shows a time that has passed"));
    assert_eq!(node.status()["epoch"], epoch);
    let recorded = recorded(&network, "mix-1");
    node.hears(&recorded);
    wait_until("each is a replay", || node.counter("dropped_replayed") == recorded.len() as u64);
    assert_eq!(node.counter("forwarded"), 0);
}

/// Seconds of an epoch in the story below, and how many numbers each has (see `Calendar`).
const EPOCH: u64 = 20;
const NUMBERS: u64 = 4;

fn seconds_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs()
}

#[test]
fn a_clock_that_is_set_back_before_a_start_brings_no_epoch_back_whose_log_is_gone() {
    // Keys go when own packets have come back, so there is cover.
    let cover = ["--plain-links", "--mean-delay", "10ms", "--loop-cover", "300ms", "--drop-cover", "0s"];
    let network = RecordedNetwork::up(&[&cover[..], &["--epoch-length", &format!("{EPOCH}s")]].concat());
    motemix(["net", "renew", network.running.dir(), "--epochs", "60"]).succeeds();
    let keys =
        || network.running.status_of("mix-1")["status"]["detail"]["keys_from"].as_u64().expect("an epoch");
    wait_until("packets have passed", || recorded(&network, "mix-1").len() > 8);
    let passed = recorded(&network, "mix-1");
    // None of them is of a later one, however long all this took.
    let begin = seconds_now() / EPOCH * EPOCH;
    let last = begin / EPOCH * NUMBERS;
    wait_until("their keys are gone", || keys() > last);
    let config = network.running.0.config("mix-1");
    motemix(["net", "down", network.running.dir()]).succeeds();
    let state = network.running.0.path("nodes/mix-1/state");
    assert!(!state.join(format!("replay-{last}.log")).exists());

    // To a second after that epoch began.
    let back = || format!("-{}", seconds_now() - begin - 1);
    let node = Node::start(&config, &faked(&[("FAKETIME", &back())]));
    wait_until("it is said", || node.health().contains("the wall clock"));
    assert!(node.status()["epoch"].as_u64().unwrap() > last);
    node.hears(&passed);
    wait_until("they came", || node.counter("dropped_bad_header_mac") == passed.len() as u64);
    assert_eq!(node.counter("forwarded"), 0);
    drop(node);
    // Without its memory of clocks a node believes the wall clock, and has no key for that time.
    fs::remove_file(state.join("clock")).unwrap();
    let node = Node::start(&config, &faked(&[("FAKETIME", &back())]));
    assert!(node.status()["detail"]["document"].is_null(), "{}", node.status());
    assert!(node.health().contains("check the clock"), "{}", node.health());
    node.hears(&passed);
    assert_eq!(node.counter("forwarded"), 0);
}
