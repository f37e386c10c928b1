//! The Debian package: installed, upgraded, removed and purged, in a folder and on a machine.

#[path = "debian/machine.rs"]
mod machine;
mod program;

use machine::Machine;
use program::{Network, Run, Running, motemix, wait_until};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The same program under two numbers: what is new in a later one, nobody knows yet.
const VERSIONS: [&str; 2] = ["0.0.1-1", "0.0.2-1"];

fn root_of_sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The program of these tests as a package of that version.
fn package(version: &'static str) -> PathBuf {
    // Each is built once. What is made for a package lies beside the program, in one place for all.
    static BUILT: Mutex<BTreeMap<&str, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    built.entry(version).or_insert_with(|| build(version)).clone()
}

fn build(version: &str) -> PathBuf {
    let folder =
        Path::new(motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix"))).parent().expect("a folder");
    let profile = if folder.ends_with("debug") { "dev" } else { "release" };
    let output = env!("CARGO_TARGET_TMPDIR");
    let mut script = Command::new(root_of_sources().join("packaging/debian/build"));
    script.args(["--built", "--quick", "--profile", profile, "--version", version, "--output", output]);
    let said = Run::by(script.env("CARGO_TARGET_DIR", folder.parent().expect("a folder"))).succeeds();
    PathBuf::from(said.lines().last().expect("a path"))
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        eprintln!("not run: only root can install a package");
    }
    is_root
}

/// What Debian's own critic says of a package.
fn lintian(package: &Path) -> Run {
    // Nobody has asked Debian for this package, and the tests' program is built in haste.
    let silent = ["--suppress-tags", "initial-upload-closes-no-bugs"];
    Run::by(Command::new("lintian").args(["--fail-on", "error,warning"]).args(silent).arg(package))
}

#[test]
#[ignore = "the tool that builds packages takes two minutes to build itself"]
fn a_package_is_whole_and_debian_finds_no_fault_with_it() {
    let package = package(VERSIONS[0]);
    let listed = Run::by(Command::new("dpkg-deb").arg("--contents").arg(&package)).succeeds();
    for file in [
        "usr/bin/motemix",
        "usr/lib/systemd/system/motemix-node@.service",
        "usr/lib/systemd/system/motemix-authority@.service",
        "usr/lib/systemd/system/motemix-broker@.service",
        "usr/lib/sysusers.d/motemix.conf",
        "usr/lib/tmpfiles.d/motemix.conf",
        "usr/share/bash-completion/completions/motemix",
        "usr/share/zsh/vendor-completions/_motemix",
        "usr/share/fish/vendor_completions.d/motemix.fish",
        "usr/share/man/man1/motemix.1.gz",
        "usr/share/man/man1/motemix-node-init.1.gz",
        "usr/share/motemix/prometheus/motemix.rules.yml",
        "usr/share/motemix/grafana/motemix.json",
        "usr/share/doc/motemix/copyright",
        "usr/share/doc/motemix/changelog.gz",
        "usr/share/doc/motemix/changelog.Debian.gz",
        "usr/share/doc/motemix/how-to/backups.md",
        "usr/share/doc/motemix/how-to/installing.md",
        "usr/share/doc/motemix/how-to/several-operators.md",
        "usr/share/doc/motemix/how-to/watching.md",
        "usr/share/doc/motemix/reference/configuration.md",
    ] {
        assert!(
            listed.lines().any(|line| line.ends_with(&format!(" ./{file}"))),
            "{file} is not in {listed}"
        );
    }
    assert!(!listed.contains("./etc/"), "nothing is configured: {listed}");
    let said = lintian(&package);
    assert_eq!(said.status(), 0, "{}", said.stdout());

    // Faults are found.
    let folder = tempfile::tempdir().expect("a folder");
    let (open, faulty) = (folder.path().join("open"), folder.path().join("faulty.deb"));
    Run::by(Command::new("dpkg-deb").arg("--raw-extract").args([&package, &open])).succeeds();
    fs::remove_file(open.join("usr/share/doc/motemix/copyright")).expect("it is there");
    Run::by(Command::new("dpkg-deb").args(["-Znone", "--build"]).args([&open, &faulty])).succeeds();
    let said = lintian(&faulty);
    assert!(said.status() != 0 && said.stdout().contains("no-copyright-file"), "{}", said.stdout());
}

/// A folder in which packages are installed, and nothing else is.
struct Tree(tempfile::TempDir);

impl Tree {
    fn new() -> Self {
        let tree = Self(tempfile::tempdir().expect("a folder"));
        for folder in ["etc", "var/lib/dpkg/info", "var/lib/dpkg/updates"] {
            fs::create_dir_all(tree.path(folder)).expect("a folder");
        }
        for file in ["etc/passwd", "etc/group", "var/lib/dpkg/status"] {
            fs::write(tree.path(file), "").expect("a file");
        }
        tree
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn dpkg(&self, words: &[&str]) -> Run {
        let mut dpkg = Command::new("dpkg");
        dpkg.arg(format!("--root={}", self.0.path().display())).arg("--log=/dev/null");
        // Scripts run here and work there; what the package needs is here.
        dpkg.args(["--force-script-chrootless", "--force-depends"]);
        Run::by(dpkg.args(words).env("LC_ALL", "C.UTF-8"))
    }

    fn version(&self) -> String {
        let said = self.dpkg(&["--status", "motemix"]).succeeds();
        said.lines().find_map(|line| line.strip_prefix("Version: ")).expect("a version").to_owned()
    }
}

/// All files below a folder: what they have, whose they are, and who may use them.
fn files(folder: &Path) -> BTreeMap<PathBuf, (Vec<u8>, u32, u32)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let entry = entry.expect("an entry");
            let about = entry.metadata().expect("an entry");
            if about.is_dir() {
                folders.push(entry.path());
            } else if about.is_file() {
                let bytes = fs::read(entry.path()).expect("a file");
                found.insert(entry.path(), (bytes, about.mode(), about.uid()));
            }
        }
    }
    found
}

#[test]
#[ignore = "the tool that builds packages takes two minutes to build itself"]
fn what_was_received_outlasts_an_upgrade_and_a_removal_and_no_purge() {
    if !is_root() {
        return;
    }
    let tree = Tree::new();
    tree.dpkg(&["--install", text(&package(VERSIONS[0]))]).succeeds();
    assert_eq!(tree.version(), VERSIONS[0]);
    let users = fs::read_to_string(tree.path("etc/passwd")).expect("users");
    let user: Vec<_> =
        users.lines().find(|line| line.starts_with("motemix:")).expect("a user").split(':').collect();
    let state = fs::metadata(tree.path("var/lib/motemix")).expect("a folder");
    assert_eq!(state.uid().to_string(), user[2], "whose folder it is");
    assert_eq!(state.permissions().mode() & 0o777, 0o711);
    assert!(!tree.path("etc/systemd").exists(), "nothing is to be started");

    // Somebody runs a network in there.
    let running = Running::up(Network::init(&["--mixes", "3", "--motes", "1"]));
    running.send("mote-1", "before the upgrade").succeeds();
    motemix(["net", "down", running.dir()]).succeeds();
    let plant = tree.path("var/lib/motemix/plant");
    Run::by(Command::new("cp").args(["--archive", running.dir(), text(&plant)])).succeeds();
    fs::create_dir(tree.path("etc/motemix")).expect("a folder");
    fs::write(tree.path("etc/motemix/broker.toml"), "network = \"motemix\"\n").expect("a file");
    let before = files(&plant);
    assert!(before.len() > 10, "{} files", before.len());
    let installed = tree.path("usr/bin/motemix");
    let inbox = || {
        let config = plant.join("nodes/receiver/node.toml");
        Run::of(text(&installed), ["inbox", "--config", text(&config)]).succeeds()
    };
    assert!(inbox().contains("before the upgrade"));

    tree.dpkg(&["--install", text(&package(VERSIONS[1]))]).succeeds();
    assert_eq!(tree.version(), VERSIONS[1]);
    assert!(files(&plant) == before, "an upgrade changed a file");
    assert!(inbox().contains("before the upgrade"));

    let said = tree.dpkg(&["--remove", "motemix"]).succeeds();
    assert!(said.contains("a purge erases them"), "{said}");
    assert!(!installed.exists());
    assert!(files(&plant) == before, "a removal changed a file");
    tree.dpkg(&["--install", text(&package(VERSIONS[1]))]).succeeds();
    assert!(inbox().contains("before the upgrade"));

    let said = tree.dpkg(&["--purge", "motemix"]);
    for folder in ["var/lib/motemix/plant/", "etc/motemix/"] {
        let words = format!("erases {}", text(&tree.path(folder)));
        assert!(said.stderr().contains(&words), "{words:?} is not in {}", said.stderr());
    }
    said.succeeds();
    for path in ["var/lib/motemix", "etc/motemix", "usr/share/motemix", "usr/lib/sysusers.d"] {
        assert!(!tree.path(path).exists(), "{path} is there");
    }
}

/// A purge erases no file of another place to which a link leads.
#[test]
#[ignore = "the tool that builds packages takes two minutes to build itself"]
fn a_purge_follows_no_link() {
    if !is_root() {
        return;
    }
    let tree = Tree::new();
    tree.dpkg(&["--install", text(&package(VERSIONS[0]))]).succeeds();
    let elsewhere = tempfile::tempdir().expect("a folder");
    fs::write(elsewhere.path().join("node.key"), "of somebody else").expect("a file");
    std::os::unix::fs::symlink(elsewhere.path(), tree.path("var/lib/motemix/mix-1")).expect("a link");
    tree.dpkg(&["--purge", "motemix"]).succeeds();
    assert!(!tree.path("var/lib/motemix").exists());
    assert!(elsewhere.path().join("node.key").exists());
}

const STATE: &str = "/var/lib/motemix";
const MIXES: [&str; 4] = ["mix-1", "mix-2", "mix-3", "mix-4"];

fn config(node: &str) -> String {
    format!("{STATE}/{node}/node.toml")
}

/// The units of the package that run: an authority, four mixes and a receiver.
fn units() -> Vec<String> {
    let nodes = MIXES.into_iter().chain(["receiver"]).map(|node| format!("motemix-node@{node}.service"));
    nodes.chain(["motemix-authority@north.service".to_owned()]).collect()
}

/// A network of one operator, whose services are the package's but for the mote's, so that
/// somebody sends all the time.
fn network_on(machine: &Machine) {
    let (north, at) = (format!("{STATE}/north"), "127.0.0.1:7000");
    let words = ["authority", "init", &north, "--network", "orchard", "--listen", at];
    let quick = ["--epoch-length", "10s", "--ahead", "3", "--mean-delay", "20ms", "--loop-cover", "1s"];
    machine.motemix(&[&words[..], &quick, &["--drop-cover", "0s"]].concat()).succeeds();
    machine.run(&["systemctl", "enable", "--now", "motemix-authority@north"]).succeeds();
    let key = fs::read_to_string(machine.path(&format!("{north}/authority.pub"))).expect("a key");
    for (number, node) in MIXES.into_iter().chain(["receiver", "mote"]).enumerate() {
        let (folder, listen) = (format!("{STATE}/{node}"), format!("127.0.0.1:{}", 41001 + number));
        let (role, layer): (_, &[&str]) =
            if node.starts_with("mix") { ("--mix", &["--layer", "0"]) } else { ("--receiver", &[]) };
        let words = ["node", "init", &folder, "--listen", &listen, role, "--directory", at, "--authority"];
        machine.motemix(&[&words[..], &[key.trim()]].concat()).succeeds();
        let descriptor = format!("{folder}/{node}.descriptor");
        machine.motemix(&[&["authority", "add", &north, &descriptor][..], layer].concat()).succeeds();
        if node != "mote" {
            machine.run(&["systemctl", "enable", "--now", &format!("motemix-node@{node}")]).succeeds();
        }
    }
    let unit = format!(
        "[Service]\nUser=motemix\nType=notify\nExecStart=/usr/bin/motemix node --config {}\n",
        config("mote")
    );
    fs::write(machine.path("/etc/systemd/system/mote.service"), unit).expect("a unit");
    machine.run(&["systemctl", "daemon-reload"]).succeeds();
    machine.run(&["systemctl", "start", "mote"]).succeeds();
}

/// Whether a message was acknowledged.
fn sends(machine: &Machine, message: &str) -> bool {
    machine.motemix(&["send", "--config", &config("mote"), "--to", "receiver", message]).status() == 0
}

fn delivers(machine: &Machine, message: &str) {
    let end = Instant::now() + Duration::from_mins(2);
    while !sends(machine, message) {
        assert!(Instant::now() < end, "{message:?} was not acknowledged");
        thread::sleep(Duration::from_millis(200));
    }
}

fn inbox(machine: &Machine) -> BTreeSet<String> {
    let words = ["inbox", "--json", "--last", "100000", "--config", &config("receiver")];
    let text = |line: &str| {
        let message: serde_json::Value = serde_json::from_str(line).expect("JSON");
        message["text"].as_str().expect("a text").to_owned()
    };
    machine.motemix(&words).succeeds().lines().map(text).collect()
}

/// Has the machine encrypt a service's key, which from then on that service alone can read.
fn seal(machine: &Machine, unit: &str, key: &str) {
    let plain = fs::read_to_string(machine.path(key)).expect("a key");
    let sealed = format!("/etc/credstore.encrypted/{unit}");
    let (_, name) = key.rsplit_once('/').expect("a path");
    let drop_ins = format!("/etc/systemd/system/{unit}.d");
    machine.run(&["mkdir", "-p", "/etc/credstore.encrypted", &drop_ins]).succeeds();
    let named = format!("--name={name}");
    machine.run(&["systemd-creds", "encrypt", "--with-key=host", &named, key, &sealed]).succeeds();
    let drop_in = format!("[Service]\nLoadCredentialEncrypted={name}:{sealed}\n");
    fs::write(machine.path(&format!("{drop_ins}/key.conf")), drop_in).expect("a file");
    machine.run(&["ln", "-sf", &format!("/run/credentials/{unit}/{name}"), key]).succeeds();
    machine.run(&["systemctl", "daemon-reload"]).succeeds();
    machine.run(&["systemctl", "restart", unit]).succeeds();
    assert_eq!(machine.show(unit, "ActiveState"), "active", "{unit}");
    let seed = plain.lines().find_map(|line| line.strip_prefix("seed ")).expect("a seed");
    let sealed = fs::read(machine.path(&sealed)).expect("a file");
    assert!(!String::from_utf8_lossy(&sealed).contains(seed), "{unit}'s key is not encrypted");
}

#[test]
#[ignore = "makes a Debian, boots it and takes minutes"]
fn a_machine_with_systemd_upgrades_a_network_and_loses_nothing() {
    if !is_root() {
        return;
    }
    let (old, new) = (package(VERSIONS[0]), package(VERSIONS[1]));
    let said = Run::by(&mut Command::new(root_of_sources().join("packaging/debian/tree"))).succeeds();
    let tree = root_of_sources().join(said.lines().last().expect("a path")).canonicalize().expect("a folder");
    let machine = Machine::boot(&tree);
    for (package, name) in [(&old, "/root/old.deb"), (&new, "/root/new.deb")] {
        fs::copy(package, machine.path(name)).expect("a copy");
    }

    machine.run(&["dpkg", "--install", "/root/old.deb"]).succeeds();
    let listed = ["systemctl", "list-units", "--all", "--no-legend", "motemix*.service"];
    assert_eq!(machine.run(&listed).succeeds(), "", "nothing is started that is not configured");

    network_on(&machine);
    delivers(&machine, "before");
    let pids = || units().iter().map(|unit| machine.show(unit, "MainPID")).collect::<Vec<_>>();
    let (pids_before, config_before) = (pids(), fs::read(machine.path(&config("receiver"))).expect("a file"));

    // Somebody sends all the time while it is upgraded.
    let (stop, acknowledged) = (AtomicBool::new(false), Mutex::new(BTreeSet::new()));
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0.. {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let message = format!("message {number}");
                if sends(&machine, &message) {
                    acknowledged.lock().expect("whole").insert(message);
                }
            }
        });
        let count = || acknowledged.lock().map_or(0, |messages| messages.len());
        wait_until("some are acknowledged", || count() > 3);
        let upgraded = machine.run(&["dpkg", "--install", "/root/new.deb"]);
        let before = count();
        wait_until("some more are acknowledged", || count() > before + 3 || upgraded.status() != 0);
        stop.store(true, Ordering::Relaxed);
        assert!(!upgraded.stderr().contains("not all services"), "{}", upgraded.stderr());
        upgraded.succeeds();
    });
    let acknowledged = acknowledged.into_inner().expect("whole");
    println!("{} messages were acknowledged around the upgrade", acknowledged.len());
    for ((unit, before), after) in units().iter().zip(&pids_before).zip(pids()) {
        assert!(after != "0" && after != *before, "{unit} has process {after}, and had {before}");
        assert_eq!(machine.show(unit, "ActiveState"), "active", "{unit}");
        assert_eq!(machine.show(unit, "NRestarts"), "0", "{unit} ended by itself");
    }
    let has = inbox(&machine);
    let lost: Vec<_> = acknowledged
        .iter()
        .chain([&"before".to_owned()])
        .filter(|one| !has.contains(*one))
        .cloned()
        .collect();
    assert!(lost.is_empty(), "acknowledged and not there: {lost:?}");
    assert_eq!(fs::read(machine.path(&config("receiver"))).expect("a file"), config_before);

    // Keys that lie encrypted on the disk.
    for (unit, key) in [
        ("motemix-node@receiver.service", "receiver/identity.key"),
        ("motemix-authority@north.service", "north/authority.key"),
    ] {
        seal(&machine, unit, &format!("{STATE}/{key}"));
    }
    delivers(&machine, "with keys that are sealed");

    machine.run(&["dpkg", "--remove", "motemix"]).succeeds();
    for unit in units() {
        assert_ne!(machine.show(&unit, "ActiveState"), "active", "{unit}");
    }
    assert!(machine.path(&config("receiver")).exists());
    machine.run(&["systemctl", "stop", "mote"]).succeeds();
    let purged = machine.run(&["dpkg", "--purge", "motemix"]);
    assert!(purged.stderr().contains("erases /var/lib/motemix/receiver/"), "{}", purged.stderr());
    purged.succeeds();
    assert!(!machine.path(STATE).exists());
    let wanted = machine.run(&["ls", "/etc/systemd/system/multi-user.target.wants"]).succeeds();
    assert!(!wanted.contains("motemix"), "{wanted}");
}
