//! A Loopix network over machines of their own: each operator makes a node's keys in place, hands in
//! what others may know of it, and installs the directory that is built of that.

#[path = "operators/namespaces.rs"]
mod namespaces;
mod program;

use namespaces::Namespaces;
use program::{Run, motemix, wait_until};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// Faster than people would want it, for the story's sake.
const TRAFFIC: [&str; 14] = [
    "--profile",
    "hardened",
    "--delay",
    "1ms",
    "--loops",
    "0.3",
    "--drop",
    "0.3",
    "--payload",
    "0.05",
    "--pull",
    "0.2",
    "--retrieve",
    "20",
];
const PORT: &str = "9900";

struct Machines {
    running: BTreeMap<String, Child>,
    network: Namespaces,
    // Last, so that it is removed when no process writes into it.
    folder: TempDir,
}

impl Drop for Machines {
    fn drop(&mut self) {
        for process in self.running.values_mut() {
            // It may have ended already.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

fn role_of(name: &str) -> String {
    name.trim_end_matches(|letter: char| letter.is_ascii_digit()).to_lowercase()
}

impl Machines {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("handed-in")).unwrap();
        Self { running: BTreeMap::new(), network: Namespaces::new(), folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn dir(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    fn motemix(&mut self, name: &str) -> Command {
        let mut command = self.network.command(name);
        command.arg(motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix"))).env_remove("MOTEMIX_LOG");
        command
    }

    /// On its machine; what its operator hands in is with the others'.
    fn init(&mut self, name: &str, more: &[&str]) -> String {
        self.init_as(name, name, more)
    }

    fn init_as(&mut self, machine: &str, name: &str, more: &[&str]) -> String {
        let (role, dir, host) = (role_of(name), self.dir(machine), self.network.address(machine));
        let words = ["loopix", "init", &role, &dir, "--name", name, "--host", &host, "--port", PORT];
        let said = Run::by(self.motemix(machine).args(words).args(more).args(TRAFFIC)).succeeds();
        self.hand_in(machine);
        said
    }

    fn hand_in(&self, name: &str) {
        let public = fs::read_dir(self.path(name)).unwrap().map(|entry| entry.unwrap().path());
        let public =
            public.into_iter().find(|path| path.extension().is_some_and(|end| end == "bin")).unwrap();
        fs::copy(public, self.path("handed-in").join(format!("{name}.bin"))).unwrap();
    }

    /// Of all that was handed in; whoever builds it sends it to everybody.
    fn build(&self) -> PathBuf {
        let out = self.path("example.db");
        let handed_in = fs::read_dir(self.path("handed-in")).unwrap().map(|entry| entry.unwrap().path());
        let words = ["loopix", "directory", "build", "--out", out.to_str().unwrap()].map(PathBuf::from);
        motemix(words.into_iter().chain(handed_in)).succeeds();
        out
    }

    fn install(&self, name: &str, directory: &Path) -> Run {
        let (file, dir) = (directory.to_str().unwrap(), self.dir(name));
        motemix(["loopix", "directory", "install", file, "--dir", &dir])
    }

    fn run(&mut self, name: &str) {
        let (role, dir, events) = (role_of(name), self.dir(name), self.path(&format!("{name}.events")));
        let mut command = self.motemix(name);
        command.args(["loopix", &role, "--dir", &dir]).stdin(Stdio::null());
        let events = fs::File::options().create(true).append(true).open(events).unwrap();
        let process = command.stdout(events).spawn().expect("the program starts");
        self.running.insert(name.to_owned(), process);
        wait_until("the node answers", || self.status(name).status() == 0);
    }

    fn stop(&mut self, name: &str) {
        let mut process = self.running.remove(name).expect("it runs");
        assert!(Command::new("kill").arg(process.id().to_string()).status().unwrap().success());
        process.wait().unwrap();
    }

    fn status(&self, name: &str) -> Run {
        motemix(["loopix", "status", "--json", "--dir", &self.dir(name)])
    }

    fn counter(&self, name: &str, counter: &str) -> u64 {
        let status: Value = serde_json::from_str(&self.status(name).succeeds()).unwrap();
        status["counters"][counter].as_u64().unwrap_or_else(|| panic!("no {counter} in {status}"))
    }

    /// A message is acknowledged, and is there.
    fn delivers(&self, text: &str) {
        motemix(["loopix", "send", "--dir", &self.dir("Client1"), "Client2", text]).succeeds();
        wait_until("it is received", || {
            let events = fs::read_to_string(self.path("Client2.events")).unwrap();
            let events = events.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            events.into_iter().any(|event| event["event"] == "received" && event["text"] == text)
        });
    }
}

#[test]
fn operators_on_their_own_machines_make_a_network_and_change_it() {
    let mut machines = Machines::new();
    let mut all = Vec::new();
    for (layer, name) in ["Mix1", "Mix2", "Mix3"].into_iter().enumerate() {
        machines.init(name, &["--layer", &layer.to_string()]);
        all.push(name);
    }
    for (provider, client) in [("Provider1", "Client1"), ("Provider2", "Client2")] {
        let said = machines.init(provider, &[]);
        assert!(said.contains("publicProvider.bin") && said.contains("directory install"), "{said}");
        machines.init(client, &["--provider", provider]);
        all.extend([provider, client]);
    }
    let dir = machines.dir("Mix1");
    motemix(["loopix", "mix", "--dir", &dir]).fails(2, &["there is no directory yet", "publicMixnode.bin"]);
    let directory = machines.build();
    for name in &all {
        let said = machines.install(name, &directory).succeeds();
        assert_eq!(said.matches("  new\n").count(), 7, "{said}");
        assert!(said.contains("3 mixes in 3 layers, 2 providers, 2 users"), "{said}");
        machines.run(name);
    }
    machines.delivers("from machine to machine");
    assert!(machines.install("Mix1", &directory).succeeds().contains(", as before"));

    // Somebody says that the first mix is theirs: it does not take that, and goes on.
    let before = fs::read(machines.path("handed-in/Mix1.bin")).unwrap();
    machines.init_as("liar", "Mix1", &["--layer", "0"]);
    fs::rename(machines.path("handed-in/liar.bin"), machines.path("handed-in/Mix1.bin")).unwrap();
    let forged = machines.build();
    machines.install("Mix1", &forged).fails(2, &["example.db", "something else about the mix Mix1"]);
    fs::write(machines.path("handed-in/Mix1.bin"), before).unwrap();

    // Another mix joins, beside the second one. Nobody is started again.
    machines.init("Mix4", &["--layer", "1"]);
    let directory = machines.build();
    machines.install("Mix4", &directory).succeeds();
    machines.run("Mix4");
    for name in &all {
        let said = machines.install(name, &directory).succeeds();
        assert!(said.matches("  new\n").count() == 1 && said.contains(" Mix4 "), "{name}: {said}");
    }
    wait_until("packets pass it", || machines.counter("Mix4", "forwarded") > 0);
    all.push("Mix4");

    // The first mix gets another key, and everybody hears of it.
    machines.stop("Mix1");
    motemix(["loopix", "renew", "--dir", &dir]).succeeds();
    machines.hand_in("Mix1");
    let directory = machines.build();
    for name in &all {
        let said = machines.install(name, &directory).succeeds();
        assert!(said.contains("another key") && said.contains("Mix1"), "{name}: {said}");
    }
    machines.run("Mix1");
    machines.delivers("by the new key");
}

#[test]
fn a_node_that_others_could_not_reach_is_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("node");
    let init = |more: &[&str]| {
        let words = ["loopix", "init", "mix", dir.to_str().unwrap(), "--layer", "0"];
        motemix(words.iter().chain(more).copied())
    };
    let long = "m".repeat(102);
    init(&["--name", "", "--host", "::1", "--port", "9"]).fails(2, &["--name: is empty"]);
    init(&["--name", &long, "--host", "::1", "--port", "9"]).fails(2, &["--name", "101"]);
    for host in ["a b", "[::1]", "127.0.0.1:9", "0.0.0.0", "::", "ff02::1"] {
        init(&["--name", "Mix1", "--host", host, "--port", "9"])
            .fails(2, &["--host", host, "without brackets"]);
    }
    init(&["--name", "Mix1", "--host", "::1", "--port", "9", "--push"]).fails(2, &["--push", "fork-2018"]);
    assert!(init(&["--name", "Mix1", "--host", "::1", "--port", "0"]).stderr().contains("--port"));
    assert!(!dir.exists());
    init(&["--name", "Mix1", "--host", "::1", "--port", "9"]).succeeds();
    init(&["--name", "Mix1", "--host", "::1", "--port", "9"])
        .fails(1, &["not empty", "nothing is overwritten"]);
}

#[test]
fn a_directory_is_built_of_sound_files_alone() {
    let folder = tempfile::tempdir().unwrap();
    let dir = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (client, mix) = (dir("client"), dir("mix"));
    let init = |words: &[&str], port: &str| {
        let place = ["--host", "::1", "--port", port];
        motemix(["loopix", "init"].iter().chain(words).chain(&place)).succeeds();
    };
    let (far, provider, near, moved) = (dir("far"), dir("provider"), dir("near"), dir("moved"));
    init(&["client", &client, "--name", "Client1", "--provider", "Provider1"], "9");
    init(&["mix", &mix, "--name", "Mix1", "--layer", "0"], "10");
    init(&["mix", &far, "--name", "Mix3", "--layer", "2"], "11");
    init(&["provider", &provider, "--name", "Provider2"], "12");
    init(&["mix", &near, "--name", "Mix2", "--layer", "1"], "10");
    init(&["mix", &moved, "--name", "Mix2", "--layer", "1"], "13");
    let (client, mix) = (format!("{client}/publicClient.bin"), format!("{mix}/publicMixnode.bin"));
    let (far, near) = (format!("{far}/publicMixnode.bin"), format!("{near}/publicMixnode.bin"));
    let provider = format!("{provider}/publicProvider.bin");
    let moved = format!("{moved}/publicMixnode.bin");
    let out = dir("example.db");
    let build = |files: &[&str]| {
        motemix(["loopix", "directory", "build", "--out", &out].iter().chain(files).copied())
    };
    build(&[&client, &mix, &provider])
        .fails(2, &["publicClient.bin", "Client1 is at Provider1", "publicProvider.bin"]);
    build(&[&mix, &mix]).fails(2, &["both are of the mix Mix1", "leave out the older one"]);
    build(&[&mix, &near]).fails(2, &[&near, "both nodes are at ::1, port 10"]);
    build(&[&mix, &far, &provider]).fails(2, &["no mix of layer 1", "Mix3 is of layer 2"]);
    build(&[&provider]).fails(2, &["no mix is among these files"]);
    build(&[&mix]).fails(2, &["no provider is among these files"]);
    let secret = mix.replace("publicMixnode.bin", "secretMixnode.prv");
    build(&[&mix, &secret]).fails(2, &["secretMixnode.prv: is a secret key", "motemix loopix renew"]);
    assert!(build(&[]).stderr().contains("FILE"));
    assert!(!Path::new(&out).exists());
    // What is there already is told of, and nothing but a directory is written over.
    let sound = [mix.as_str(), provider.as_str()];
    assert!(build(&sound).succeeds().ends_with("example.db\n"));
    assert!(build(&sound).succeeds().ends_with("example.db, as before\n"));
    let said = build(&[&mix, &provider, &moved]).succeeds();
    assert!(said.matches("  new\n").count() == 1 && said.contains(" Mix2 "), "{said}");
    motemix(["loopix", "directory", "build", "--out", &mix, &mix, &provider])
        .fails(2, &["publicMixnode.bin", "a directory alone", "--out"]);
    assert_ne!(fs::read(&mix).unwrap(), fs::read(&out).unwrap());
}
