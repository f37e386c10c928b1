//! Stories of `motemix loopix net` and `motemix loopix directory`: the files of the originals.

mod program;

use motemix_loopix::files::config::Form;
use motemix_loopix::files::{Config, Directory, NodeEntry, NodeFiles, Profile, Role, keys, names};
use program::{Ports, Run, mode, motemix};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// A network in a folder of its own.
struct Network {
    _folder: TempDir,
    dir: PathBuf,
}

impl Network {
    fn init(more: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("net");
        motemix([&["loopix", "net", "init", text(&dir)], more].concat()).succeeds();
        Self { _folder: folder, dir }
    }

    fn node(&self, name: &str) -> PathBuf {
        self.dir.join("nodes").join(name)
    }

    fn open(&self, name: &str) -> NodeFiles {
        NodeFiles::open(&self.node(name)).unwrap()
    }

    fn run(&self, words: &[&str], more: &[&str]) -> Run {
        motemix([&["loopix"], words, &[text(&self.dir)], more].concat())
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

const NAMES: [&str; 10] =
    ["Client1", "Client2", "Mix1", "Mix2", "Mix3", "Mix4", "Mix5", "Mix6", "Provider1", "Provider2"];

#[test]
fn every_node_gets_a_folder_that_it_can_run_in() {
    let network = Network::init(&[]);
    for name in NAMES {
        let node = network.open(name);
        assert_eq!(node.own.name(), name);
        assert_eq!(mode(&keys::secret_file(&network.node(name), node.role)), 0o600);
        assert_eq!(node.config, Config::default());
        assert_eq!(node.settings.profile, Profile::Ucl2017);
        assert_eq!(node.directory.layers().iter().map(Vec::len).collect::<Vec<_>>(), [2, 2, 2]);
        assert_eq!((node.directory.providers().len(), node.directory.users().len()), (2, 2));
    }
    assert_eq!(mode(&network.dir), 0o700);
    let folders = fs::read_dir(network.dir.join("nodes")).unwrap().count();
    assert_eq!(folders, NAMES.len());
    assert_eq!(fs::read_dir(network.dir.parent().unwrap()).unwrap().count(), 1, "something was left behind");
    let providers: Vec<_> = ["Client1", "Client2"].map(|name| network.open(name).own).into();
    let provider = |own: &NodeEntry| match own {
        NodeEntry::Client(user) => user.provider.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(providers.iter().map(provider).collect::<Vec<_>>(), ["Provider1", "Provider2"]);
}

#[test]
fn every_node_has_a_port_of_its_own_that_the_java_client_can_say() {
    let directory = Network::init(&["--clients", "20"]).open("Mix1").directory;
    let ports: BTreeSet<_> = directory
        .mixes()
        .map(|mix| mix.port)
        .chain(directory.providers().iter().map(|provider| provider.port))
        .chain(directory.users().iter().map(|user| user.port))
        .collect();
    assert_eq!(ports.len(), 28);
    assert!(ports.last().unwrap() <= &32_767, "{ports:?}");

    let ports = Ports::new();
    let network = Network::init(&["--base-port", &ports.first.to_string(), "--host", "::1"]);
    let node = network.open("Provider1");
    let port = ports.first + 6;
    assert_eq!((node.own.host(), node.own.port()), ("::1", port));
    let shown = network.run(&["directory", "show"], &[]).succeeds();
    assert!(shown.contains(&format!("[::1]:{port}")), "{shown}");
}

#[test]
fn secrets_are_new_each_time() {
    let (one, other) = (Network::init(&[]).open("Mix1"), Network::init(&[]).open("Mix1"));
    assert_ne!(one.own.public_key(), other.own.public_key());
}

#[test]
fn what_was_asked_for_is_in_the_files() {
    let network = Network::init(&[
        "--mixes",
        "4",
        "--layers",
        "4",
        "--providers",
        "1",
        "--clients",
        "3",
        "--profile",
        "fork-2018",
        "--push",
        "--delay",
        "0",
        "--loops",
        "1.5",
        "--drop",
        "250ms",
        "--payload",
        "1e9",
        "--pull",
        "5",
        "--retrieve",
        "7",
    ]);
    let node = network.open("Client3");
    assert_eq!(node.settings.profile, Profile::Fork2018);
    let config = node.config;
    assert_eq!((config.clients.delay, config.mixes.delay), (Duration::ZERO, Duration::ZERO));
    assert_eq!(config.clients.loops, Duration::from_millis(1_500));
    assert_eq!(config.mixes.loops, config.clients.loops);
    assert_eq!(config.clients.drop, Duration::from_millis(250));
    assert_eq!(config.clients.payload, Duration::from_secs(1_000_000_000));
    assert_eq!(config.clients.pull, Duration::from_secs(5));
    assert_eq!((config.providers.max_retrieve, config.providers.push), (7, Some(true)));
    assert_eq!(node.directory.layers().len(), 4);
    let NodeEntry::Client(user) = node.own else { panic!("no client") };
    assert_eq!(user.provider, "Provider1");
}

#[test]
fn a_preset_sets_times_and_profile_together() {
    let network = Network::init(&["--preset", "patient", "--clients", "4"]);
    let node = network.open("Client4");
    assert_eq!(node.settings.profile, Profile::Hardened);
    let clients = node.config.clients;
    let sent: f64 =
        [clients.loops, clients.drop, clients.payload].map(|mean| 1.0 / mean.as_secs_f64()).iter().sum();
    // Two packets a second, 36 of which are at a hop at a time.
    assert!((sent - 2.0).abs() < 1e-9 && (sent * clients.delay.as_secs_f64() - 36.0).abs() < 1e-9);
    assert_eq!(node.config.mixes.delay, clients.delay);
    // Pulls fetch twice what comes meanwhile.
    let fetched = f64::from(node.config.providers.max_retrieve) / clients.pull.as_secs_f64();
    assert!((fetched - 2.0 * sent).abs() < 1e-9, "{fetched}");
    assert_eq!(node.config.providers.push, None);
}

#[test]
fn init_refuses_what_makes_no_network() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("net");
    let init = |more: &[&str]| motemix([&["loopix", "net", "init", text(&dir)], more].concat());
    init(&["--mixes", "2"]).fails(2, &["--mixes 2", "--layers 3", "give each layer a mix"]);
    init(&["--push"]).fails(2, &["--push", "--profile fork-2018"]);
    for (words, said) in [
        (["--preset=patient", "--delay=1s"], ["--preset", "--delay"]),
        (["--preset=hasty", "--json"], ["hasty", "patient"]),
    ] {
        let run = init(&words);
        assert_eq!(run.status(), 2);
        assert!(said.iter().all(|word| run.stderr().contains(word)), "{}", run.stderr());
    }
    init(&["--base-port", "65530"]).fails(2, &["--base-port 65530"]);
    let taken = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    init(&["--base-port", &port]).fails(1, &["--base-port", &port, "(UDP) is in use by"]);
    for (word, value, said) in [
        ("--loops", "0", "without pause"),
        ("--pull", "-1", "-1"),
        ("--drop", "2e9", "which is never"),
        ("--delay", "soon", "soon"),
        ("--retrieve", "70000", "70000"),
    ] {
        let run = init(&[&format!("{word}={value}")]);
        assert_eq!(run.status(), 2);
        assert!(run.stderr().contains(said) && run.stderr().contains(word), "{}", run.stderr());
    }
    assert!(!dir.exists());
}

#[test]
fn init_overwrites_nothing() {
    let network = Network::init(&[]);
    let secret = keys::secret_file(&network.node("Mix1"), Role::Mix);
    let before = fs::read(&secret).unwrap();
    network.run(&["net", "init"], &[]).fails(1, &["not empty", "nothing is overwritten"]);
    assert_eq!(fs::read(&secret).unwrap(), before);
}

/// A bound on the length of files is reported as a disk without room is.
#[test]
fn a_full_disk_leaves_no_network_behind() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "ulimit -f 8; trap '' XFSZ; exec {} loopix net init {}/net",
        motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix")),
        folder.path().display()
    );
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("example.db: the disk is full; free some space"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "something was left behind");
}

#[test]
fn the_directory_is_built_from_what_the_nodes_say() {
    let network = Network::init(&[]);
    let moved = network.node("Client2");
    let NodeEntry::Client(mut user) = network.open("Client2").own else { panic!("no client") };
    user.port = 9;
    keys::save_public(&keys::public_file(&moved, Role::Client), &NodeEntry::Client(user)).unwrap();
    assert!(NodeFiles::open(&moved).is_err(), "the directory says something else");

    let said = motemix(["loopix", "directory", "build", "--dir", text(&network.dir)]).succeeds();
    assert!(said.starts_with("6 mixes in 3 layers, 2 providers, 2 users: "), "{said}");
    assert!(said.contains("10 folders of nodes"), "{said}");
    for name in NAMES {
        assert_eq!(network.open(name).directory.user("Client2").unwrap().port, 9);
    }
}

/// A node may keep its directory somewhere else, and somebody else may want one.
#[test]
fn the_directory_goes_where_configurations_say_or_where_it_is_told() {
    let network = Network::init(&[]);
    let mut config = Config::default();
    config.clients.database = "../../example.db".into();
    config.save(&network.node("Client1").join(names::CONFIG), Form::Sections).unwrap();
    fs::remove_file(network.node("Client1").join(names::DATABASE)).unwrap();
    let build = |more: &[&str]| {
        let words = [&["loopix", "directory", "build", "--json", "--dir", text(&network.dir)], more].concat();
        serde_json::from_str::<Value>(&motemix(words).succeeds()).unwrap()
    };
    let said = build(&[]);
    assert_eq!((said["files"].as_array().unwrap().len(), &said["mixes"]), (11, &Value::from(6)));
    assert!(!network.node("Client1").join(names::DATABASE).exists());
    assert_eq!(network.open("Client1").own.name(), "Client1");

    let out = network.dir.join("other.db");
    let said = build(&["--out", text(&out)]);
    assert_eq!(said["files"], Value::from(vec![text(&out)]));
    assert_eq!(Directory::load(&out).unwrap(), network.open("Mix1").directory);
}

#[test]
fn a_directory_that_cannot_be_built_says_why() {
    let network = Network::init(&[]);
    let build = || motemix(["loopix", "directory", "build", "--dir", text(&network.dir)]);
    let public = keys::public_file(&network.node("Mix2"), Role::Mix);
    let copy = network.dir.join("nodes/Copy");
    fs::create_dir(&copy).unwrap();
    build().fails(2, &["nodes/Copy: has no keys", "folder of a node"]);
    fs::copy(&public, keys::public_file(&copy, Role::Mix)).unwrap();
    fs::copy(network.node("Mix2").join(names::CONFIG), copy.join(names::CONFIG)).unwrap();
    build().fails(1, &["example.db: Mixnodes, Mix2, name", "two nodes"]);
    fs::write(keys::public_file(&copy, Role::Mix), b"\x96").unwrap();
    build().fails(2, &["Copy/publicMixnode.bin", "not a msgpack value"]);
    motemix(["loopix", "directory", "build", "--dir", "/nowhere"]).fails(2, &["/nowhere/nodes", "net init"]);
}

#[test]
fn a_directory_is_shown_to_people_and_to_programs() {
    let network = Network::init(&[]);
    let shown = network.run(&["directory", "show"], &[]).succeeds();
    let rows: Vec<Vec<_>> = shown.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows.len(), 1 + NAMES.len(), "{shown}");
    assert_eq!(rows[1][..3], ["mix", "0", "Mix1"]);
    assert_eq!(rows[10][..3], ["client", "-", "Client2"]);
    assert_eq!(rows[10][4], "Provider2");

    let file = network.node("Mix1").join(names::DATABASE);
    let json = motemix(["loopix", "directory", "show", text(&file), "--json"]).succeeds();
    let json: Value = serde_json::from_str(&json).unwrap();
    let own = network.open("Mix6").own;
    let last = &json["layers"][2][1];
    assert_eq!((last["name"].as_str(), last["port"].as_u64()), (Some("Mix6"), Some(own.port().into())));
    assert_eq!(last["public_key"], hex::encode(own.public_key().compress()));
    assert_eq!(json["users"][0]["provider"], "Provider1");

    let key = network.node("Mix1").join("secretMixnode.prv");
    motemix(["loopix", "directory", "show", text(&key)]).fails(2, &["secretMixnode.prv", "no SQLite file"]);
    motemix(["loopix", "directory", "show", "/nowhere.db"]).fails(2, &["/nowhere.db", "cannot read it"]);
}

#[test]
fn a_network_that_does_not_run_has_nothing_to_stop() {
    let network = Network::init(&["--profile", "hardened"]);
    let rows: Value = serde_json::from_str(&network.run(&["net", "down"], &["--json"]).succeeds()).unwrap();
    let rows = rows.as_array().unwrap();
    assert!(rows.len() == 10 && rows.iter().all(|row| row["stopped"] == "not_running"), "{rows:?}");
    let shown = network.run(&["net", "status"], &[]).shows_and_fails(1, &["of 10 nodes: 10 down"]);
    assert_eq!((shown.matches(" down ").count(), shown.matches(" hardened").count()), (10, 10), "{shown}");
    for command in ["up", "down", "status"] {
        motemix(["net", command, text(&network.dir)])
            .fails(2, &["is a Loopix network", "motemix loopix net"]);
        motemix(["loopix", "net", command, "/nowhere"]).fails(2, &["/nowhere/nodes", "loopix net init"]);
    }
}

#[test]
fn a_pid_file_of_another_process_stops_nobody() {
    let network = Network::init(&[]);
    let mut bystander = Command::new("sleep").arg("60").spawn().unwrap();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    fs::write(network.node("Mix1").join("node.pid"), format!("{} 1 {boot}", bystander.id())).unwrap();
    network.run(&["net", "down"], &[]).succeeds();
    let is_running = bystander.try_wait().unwrap().is_none();
    bystander.kill().unwrap();
    bystander.wait().unwrap();
    assert!(is_running, "the bystander was stopped");
}
