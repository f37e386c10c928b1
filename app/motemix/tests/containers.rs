//! The image and the network of containers. Containers need more than a test has; what they run is
//! run here without them.

mod program;

use program::{Ports, Run, wait_until};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const MOTEMIX: &str = env!("CARGO_BIN_EXE_motemix");

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(sources().join(path)).expect("a file")
}

fn containerfile() -> String {
    read("packaging/container/Containerfile")
}

/// The network, as whoever reads YAML sees it.
fn compose() -> Value {
    const TO_JSON: &str = "import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)";
    let file = fs::File::open(sources().join("packaging/container/compose.yaml")).expect("a file");
    // The system's own: another one has other libraries.
    let mut python = Command::new("/usr/bin/python3");
    let run = Run::by(python.args(["-c", TO_JSON]).stdin(Stdio::from(file)));
    assert_eq!(run.status(), 0, "`scripts/setup compose` installs what reads YAML; {}", run.stderr());
    serde_json::from_str(&run.stdout()).expect("JSON")
}

fn words(list: &Value) -> Vec<String> {
    let list = list.as_array().expect("a list");
    list.iter().map(|word| word.as_str().expect("a word").to_owned()).collect()
}

/// Commands in a text, each on one line from `motemix` on.
fn commands(text: &str) -> Vec<Vec<String>> {
    let text = text.replace("\\\n", " ").replace("# ", " ");
    let mut found = Vec::new();
    for line in text.lines() {
        let after = line.split("motemix ").skip(1).last().filter(|_| !line.contains("--tag "));
        let all = after.into_iter().flat_map(str::split_whitespace);
        let words: Vec<_> = all.map(|word| word.trim_matches(['"', '\'', ';', '\\']).to_owned()).collect();
        if words.first().is_some_and(|word| word.chars().all(|one| one.is_ascii_lowercase() || one == '-')) {
            found.push(words);
        }
    }
    found
}

/// Asks the program itself whether it has a command and its options. Returns the command.
fn known(words: &[String]) -> String {
    let mut words = words;
    while let [option, _, rest @ ..] = words
        && option == "--log"
    {
        words = rest;
    }
    let is_word = |word: &&String| word.chars().all(|one| one.is_ascii_lowercase());
    // Of two words, the second may be a name already.
    let path: Vec<_> = words.iter().take(2).take_while(is_word).map(String::as_str).collect();
    let help = |path: &[&str]| Run::of(MOTEMIX, path.iter().copied().chain(["--help"]));
    let (path, help) = match help(&path) {
        found if found.status() == 0 && found.stdout().contains(&format!("motemix {}", path.join(" "))) => {
            (path, found)
        }
        _ => (path[..1].to_vec(), help(&path[..1])),
    };
    let (status, text) = (help.status(), help.stdout());
    assert_eq!(status, 0, "there is no command {words:?}");
    for word in
        words.iter().filter_map(|word| word.split_once("--")).filter(|(before, _)| !before.contains('"'))
    {
        let option = word.1.split(['"', '}', '=']).next().expect("a word");
        assert!(text.contains(&format!("--{option}")), "{words:?}: {path:?} has no --{option}");
    }
    path.join(" ")
}

#[test]
fn what_containers_run_is_what_the_program_has() {
    let mut found = Vec::new();
    for file in ["compose.yaml", "member"] {
        let file = read(&format!("packaging/container/{file}"));
        found.extend(commands(&file).iter().map(|words| known(words)));
    }
    for service in compose()["services"].as_object().expect("services").values() {
        let check = words(&service["healthcheck"]["test"]);
        assert_eq!(check[..2], ["CMD", "motemix"]);
        found.push(known(&check[2..]));
    }
    for command in [
        "authority init",
        "authority peers",
        "authority add",
        "authority serve",
        "authority status",
        "node init",
        "node",
        "send",
        "inbox",
        "status",
    ] {
        assert!(found.iter().any(|other| other == command), "{command} is not in {found:?}");
    }
}

#[test]
fn the_image_is_built_of_what_there_is() {
    let text = containerfile();
    let rust = read("rust-toolchain.toml");
    let channel = rust.lines().find_map(|line| line.strip_prefix("channel = \"")).expect("a channel");
    let image = text.lines().find_map(|line| line.split_once("library/rust:")).expect("an image").1;
    let version = image.split('-').next().expect("a version");
    assert!(channel.starts_with(&format!("{version}.")), "Rust is {channel}, and the image's {version}");
    // Both stages are of one Debian: the program is linked to its C library.
    let release = image.split('-').nth(1).and_then(|rest| rest.split(' ').next()).expect("a release");
    assert!(text.contains(&format!("library/debian:{release}-slim")), "{release}");

    let copied: Vec<_> = text
        .lines()
        .filter_map(|line| line.strip_prefix("COPY "))
        .filter(|line| !line.starts_with("--from"))
        .flat_map(|line| {
            line.split_whitespace()
                .filter(|word| !word.starts_with("--"))
                .collect::<Vec<_>>()
                .into_iter()
                .rev()
                .skip(1)
        })
        .collect();
    for path in &copied {
        assert!(sources().join(path).exists(), "{path} is not there");
    }
    // What the package has in it, and what the workspace is made of.
    let manifest: toml::Table = toml::from_str(&read("app/motemix/Cargo.toml")).expect("TOML");
    let assets = manifest["package"]["metadata"]["deb"]["assets"].as_array().expect("assets").clone();
    let assets = assets.iter().map(|asset| asset[0].as_str().expect("a path").to_owned());
    let workspace: toml::Table = toml::from_str(&read("Cargo.toml")).expect("TOML");
    let members = workspace["workspace"]["members"].as_array().expect("members").clone();
    let members = members.iter().map(|member| format!("../../{}", member.as_str().expect("a path")));
    let mut seen = 0;
    for path in assets.chain(members) {
        let Some(path) = path.strip_prefix("../../") else { continue };
        assert!(copied.iter().any(|copy| path.starts_with(copy)), "{path} is not copied");
        seen += 1;
    }
    assert!(seen > 20, "{seen} paths");
}

/// A member of the network, without its container. It ends with the story.
struct Member(Child);

impl Drop for Member {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The services of the file, each as a process in a folder of its own, on one loopback.
struct Members {
    folder: tempfile::TempDir,
    services: BTreeMap<String, Value>,
    running: BTreeMap<String, Member>,
    ports: Ports,
}

impl Members {
    fn up() -> Self {
        let services = compose()["services"].as_object().expect("services").clone();
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("public")).expect("a folder");
        let (services, running) = (services.into_iter().collect(), BTreeMap::new());
        let mut members = Self { folder, services, running, ports: Ports::new() };
        let names: Vec<_> = members.services.keys().cloned().collect();
        for name in &names {
            members.start(name);
        }
        members
    }

    /// Its addresses here, instead of those in the file.
    fn here(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, service) in &self.services {
            let there = service["environment"]["ADDRESS"].as_str().expect("an address");
            let port = self.ports.first + self.ports.number(name);
            text = text.replace(there, &format!("127.0.0.1:{port}"));
        }
        text
    }

    /// Its volume.
    fn state(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What a container has of the image, of its volumes and of the file.
    fn command(&self, name: &str, program: &Path) -> Command {
        let mut command = Command::new(program);
        let own = Path::new(MOTEMIX).parent().expect("a folder").to_str().expect("UTF-8");
        command.env_clear().env("PATH", format!("{own}:/usr/bin:/bin"));
        command.env("STATE", self.state(name)).env("PUBLIC", self.folder.path().join("public"));
        command.current_dir(self.state(name)).stdin(Stdio::null());
        command
    }

    fn start(&mut self, name: &str) {
        fs::create_dir_all(self.state(name)).expect("a folder");
        let mut command = self.command(name, &sources().join("packaging/container/member"));
        command.args(words(&self.services[name]["command"]));
        let environment = self.services[name]["environment"].as_object().expect("variables").clone();
        for (variable, value) in environment {
            command.env(variable, self.here(value.as_str().expect("a text")));
        }
        // An hour is too long for an epoch of a test.
        let parameters = "--epoch-length 10s --ahead 3 --mean-delay 20ms --loop-cover 1s --drop-cover 0s";
        command.env("PARAMETERS", parameters);
        let log = fs::File::options()
            .create(true)
            .append(true)
            .open(self.folder.path().join(format!("{name}.log")));
        let log = log.expect("a log");
        command.stdout(log.try_clone().expect("a log")).stderr(log);
        self.running.insert(name.to_owned(), Member(command.spawn().expect("it starts")));
    }

    /// What the file says how to ask whether it answers.
    fn is_well(&self, name: &str) -> bool {
        let check = words(&self.services[name]["healthcheck"]["test"]);
        Run::by(self.command(name, Path::new(MOTEMIX)).args(&check[2..])).status() == 0
    }

    /// Runs the command that the file's first lines show for a member.
    fn runs_example(&self, name: &str) -> Run {
        let text = read("packaging/container/compose.yaml").replace("\\\n#", "");
        let command =
            text.lines().find_map(|line| line.split_once(&format!(" exec {name} "))).expect("an example").1;
        Run::by(self.command(name, Path::new("/bin/sh")).args(["-c", command]))
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for name in self.services.keys() {
                let log =
                    fs::read_to_string(self.folder.path().join(format!("{name}.log"))).unwrap_or_default();
                let tail: Vec<_> = log.lines().rev().take(8).collect();
                for line in tail.iter().rev() {
                    eprintln!("{name}: {line}");
                }
            }
        }
    }
}

#[test]
fn the_network_of_containers_makes_its_keys_and_delivers() {
    let mut members = Members::up();
    assert_eq!(members.services.len(), 11);
    // A message that is sent where no node runs makes its sender the node, and the container's has to
    // wait until it has ended.
    wait_until("the client runs", || members.state("client").join("client/state/control.sock").exists());
    let end = Instant::now() + Duration::from_mins(2);
    while members.runs_example("client").status() != 0 {
        assert!(Instant::now() < end, "the message was not acknowledged");
        std::thread::sleep(Duration::from_millis(200));
    }
    let inbox = members.runs_example("receiver").succeeds();
    assert!(inbox.contains("all is well"), "{inbox}");
    let names: Vec<_> = members.services.keys().cloned().collect();
    for name in &names {
        wait_until("it answers", || members.is_well(name));
    }
    // One key a volume, which stays when the container goes.
    let key =
        |members: &Members| fs::read(members.state("receiver").join("receiver/identity.key")).expect("a key");
    let before = key(&members);
    members.running.remove("receiver");
    wait_until("it is gone", || !members.is_well("receiver"));
    members.start("receiver");
    wait_until("it is back", || members.is_well("receiver"));
    assert!(key(&members) == before, "it made another key");
    let inbox = members.runs_example("receiver").succeeds();
    assert!(inbox.contains("all is well"), "{inbox}");
    for name in &names {
        let keys = fs::read_dir(members.state(name)).expect("a volume");
        assert_eq!(keys.count(), 1, "{name} has a folder of its own");
    }
    let public = fs::read_dir(members.folder.path().join("public")).expect("a folder");
    for file in public {
        let text = fs::read(file.expect("a file").path()).expect("a file");
        assert!(!String::from_utf8_lossy(&text).contains("seed"), "a key is public");
    }
}
