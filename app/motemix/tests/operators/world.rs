//! Several operators: authorities and nodes, each in a folder of its own, on one loopback or each
//! in a network namespace of its own.
#![allow(dead_code, reason = "each test file uses a part")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use motemix_directory::SignedDocument;
use serde_json::Value;
use tempfile::TempDir;

use super::namespaces::{Namespaces, ending_with_the_story, owned};
use super::program::{Ports, Run, faked_clock, motemix, wait_until};

pub const AUTHORITIES: [&str; 3] = ["north", "south", "east"];

/// How long an epoch lasts, in seconds. Authorities have two fifths of it for a document.
static EPOCH_SECONDS: AtomicU64 = AtomicU64::new(10);

/// The epoch that it is.
pub fn present() -> u64 {
    tenths() / 10
}

/// Tenths of epochs since the first one.
pub fn tenths() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    now.as_secs() * 10 / EPOCH_SECONDS.load(Ordering::Relaxed)
}

/// Epochs of worlds that come to be from now on are as long as this machine needs for so many
/// processes to have documents in time: ten seconds for each 30 ms in which a program starts, which
/// is five times of what an idle machine takes.
pub fn slow_down_if_busy() {
    let start = |_| {
        let begin = Instant::now();
        motemix(["--version"]).succeeds();
        begin.elapsed()
    };
    let mut starts: Vec<_> = (0..9).map(start).collect();
    starts.sort_unstable();
    let seconds = 10 * u64::try_from(starts[4].as_millis().div_ceil(30)).unwrap().clamp(1, 4);
    EPOCH_SECONDS.store(seconds, Ordering::Relaxed);
    println!("a program starts in {:?}: epochs of {seconds} s", starts[4]);
}

/// Each folder is one operator's.
pub struct World {
    folder: TempDir,
    place: Place,
    /// Where disks of their own are mounted.
    disks: Vec<PathBuf>,
    running: BTreeMap<String, Process>,
    writes_link_keys: bool,
    /// The same for whoever looks on from another thread.
    numbers: Arc<Mutex<BTreeMap<String, u32>>>,
}

/// Where processes are.
enum Place {
    /// All on one machine; ports by their number.
    Loopback(Ports),
    /// Each on a machine of its own.
    Apart(Namespaces),
}

/// A process of an operator, which ends with the story.
struct Process(Child);

/// A story that fails shows how everybody's log ends.
impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.told());
        }
        for disk in &self.disks {
            // Who uses it ends after this.
            let _ = Command::new("umount").arg("--lazy").arg(disk).status();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl World {
    /// Three authorities on one machine, which know each other and serve.
    pub fn on_loopback() -> Self {
        Self::on_loopback_before(&[]).served()
    }

    /// The same before they serve; what else they agree on.
    pub fn on_loopback_before(agreed: &[&str]) -> Self {
        Self::new(Place::Loopback(Ports::new()), agreed)
    }

    /// The same on a machine each; what else they agree on.
    pub fn apart(agreed: &[&str]) -> Self {
        Self::new(Place::Apart(Namespaces::new()), agreed).served()
    }

    fn served(mut self) -> Self {
        for name in AUTHORITIES {
            self.serve(name);
        }
        self
    }

    fn new(place: Place, agreed: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut world = Self {
            folder,
            place,
            disks: Vec::new(),
            running: BTreeMap::new(),
            writes_link_keys: false,
            numbers: Arc::default(),
        };
        for name in AUTHORITIES {
            let (dir, listen) = (world.dir(name), world.at(name));
            let words = ["authority", "init", &dir, "--network", "orchard", "--listen", &listen];
            let epoch_length = format!("{}s", EPOCH_SECONDS.load(Ordering::Relaxed));
            let usual = [
                ["--epoch-length", &epoch_length],
                ["--ahead", "3"],
                ["--mean-delay", "20ms"],
                ["--loop-cover", "1s"],
                ["--drop-cover", "0s"],
            ];
            let usual = usual.iter().filter(|[option, _]| !agreed.contains(option)).flatten();
            motemix(words.iter().chain(usual).chain(agreed).copied()).succeeds();
        }
        for name in AUTHORITIES {
            let others: Vec<_> = AUTHORITIES.into_iter().filter(|other| *other != name).collect();
            let peers: Vec<_> = others
                .into_iter()
                .map(|other| format!("{}@{}", world.public(other), world.at(other)))
                .collect();
            let dir = world.dir(name);
            let words = ["authority", "peers", &dir, "--threshold", "2"];
            motemix(words.into_iter().chain(peers.iter().map(String::as_str))).succeeds();
        }
        world
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Has nodes that are started from now on write the keys of their links down.
    pub fn write_link_keys(&mut self) {
        self.writes_link_keys = true;
    }

    /// Where a node writes them.
    pub fn link_keys(&self, folder: &str) -> PathBuf {
        self.path(&format!("{folder}.keys"))
    }

    /// The number of somebody's process.
    pub fn number(&self, folder: &str) -> u32 {
        self.running[folder].0.id()
    }

    pub fn dir(&self, name: &str) -> String {
        self.path(name).to_str().expect("UTF-8").to_owned()
    }

    /// Where it listens: that of its folder's name.
    pub fn at(&mut self, folder: &str) -> String {
        match &mut self.place {
            Place::Loopback(ports) => {
                let port = ports.first + ports.number(folder);
                format!("127.0.0.1:{port}")
            }
            Place::Apart(namespaces) => format!("{}:7000", namespaces.address(folder)),
        }
    }

    pub fn public(&self, authority: &str) -> String {
        fs::read_to_string(self.path(authority).join("authority.pub")).expect("a key").trim().to_owned()
    }

    /// The program as it runs at the operator's.
    pub fn motemix(&mut self, folder: &str) -> Command {
        let program = motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix"));
        let mut command = match &mut self.place {
            Place::Loopback(_) => ending_with_the_story(program),
            Place::Apart(namespaces) => {
                let mut command = namespaces.command(folder);
                command.arg(program);
                command
            }
        };
        command.env_remove("MOTEMIX_LOG");
        let clock = self.clock(folder);
        if clock.exists() {
            command.envs(faked_clock()).env("FAKETIME_TIMESTAMP_FILE", clock);
        }
        command
    }

    fn clock(&self, folder: &str) -> PathBuf {
        self.path(&format!("{folder}.clock"))
    }

    /// Sets an operator's wall clock, for what runs already only if it was set before.
    pub fn set_clock(&self, folder: &str, ahead_s: u64) {
        // Whole, or whoever looks meanwhile has the right time.
        let new = self.path(&format!("{folder}.new"));
        fs::write(&new, format!("+{ahead_s}\n")).expect("a writable file");
        fs::rename(new, self.clock(folder)).expect("a writable folder");
    }

    fn start(&mut self, folder: &str, words: &[&str]) {
        let log = fs::File::options().create(true).append(true).open(self.path(&format!("{folder}.log")));
        let mut command = self.motemix(folder);
        if self.writes_link_keys {
            command.env("MOTEMIX_LINK_KEYS", self.link_keys(folder));
        }
        command.args(["--log", "info"]).args(words).stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(log.expect("a log"));
        let process = Process(command.spawn().expect("the program starts"));
        self.numbers.lock().expect("nobody has panicked").insert(folder.to_owned(), process.0.id());
        self.running.insert(folder.to_owned(), process);
    }

    pub fn serve(&mut self, authority: &str) {
        let dir = self.dir(authority);
        self.start(authority, &["authority", "serve", &dir]);
        wait_until("the authority answers", || {
            self.says(authority, &["authority", "status", &dir]).status() == 0
        });
    }

    /// A command at the operator's, and what it says.
    pub fn says(&mut self, folder: &str, words: &[&str]) -> Run {
        Run::by(self.motemix(folder).args(words))
    }

    /// As a power failure would.
    pub fn kill(&mut self, folder: &str) {
        self.numbers.lock().expect("nobody has panicked").remove(folder);
        self.running.remove(folder).expect("it runs");
    }

    /// Makes a node's keys in a folder of its own.
    pub fn init(&mut self, folder: &str, name: &str, is_mix: bool) {
        self.init_with(folder, name, is_mix, &AUTHORITIES, &[]);
    }

    /// The same for a node that asks these authorities alone, with more words.
    pub fn init_with(
        &mut self,
        folder: &str,
        name: &str,
        is_mix: bool,
        directory: &[&str],
        further: &[&str],
    ) {
        let (dir, listen) = (self.dir(folder), self.at(folder));
        let directory: Vec<_> =
            directory.iter().flat_map(|name| ["--directory".to_owned(), self.at(name)]).collect();
        let keys: Vec<_> =
            AUTHORITIES.iter().flat_map(|name| ["--authority".to_owned(), self.public(name)]).collect();
        let words = ["node", "init", &dir, "--name", name, "--listen", &listen, "--threshold", "2"];
        let more = directory.iter().chain(&keys).map(String::as_str).chain(further.iter().copied());
        let words: Vec<_> = words.into_iter().chain(more).chain(is_mix.then_some("--mix")).collect();
        self.says(folder, &words).succeeds();
    }

    pub fn admit(&self, folder: &str, name: &str, layer: Option<u8>, by: &[&str]) {
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

    /// Has a node ask these places for documents before all others.
    pub fn asks_first(&self, folder: &str, places: &[String]) {
        let quoted: String = places.iter().flat_map(|place| ["\"", place, "\", "]).collect();
        super::program::edit(&self.path(folder).join("node.toml"), "from = [", &format!("from = [{quoted}"));
    }

    pub fn config(&self, folder: &str) -> String {
        self.path(folder).join("node.toml").to_str().expect("UTF-8").to_owned()
    }

    /// Whoever sends while no node runs is the node for that time, so this waits until it runs.
    pub fn run(&mut self, folder: &str) {
        let config = self.config(folder);
        self.start(folder, &["node", "--config", &config]);
        let socket = self.path(folder).join("state/control.sock");
        wait_until("the node runs", || UnixStream::connect(&socket).is_ok());
    }

    pub fn send(&self, from: &str, to: &str, text: &str) -> Run {
        // Over the node's own socket, whatever network it is in.
        motemix(["send", "--json", "--config", &self.config(from), "--to", to, text])
    }

    /// A message is acknowledged in the end. One that is sent before documents are there is
    /// refused, and one that is under way to a node that was killed may be given up.
    pub fn delivers(&self, from: &str, to: &str, text: &str) {
        let end = Instant::now() + Duration::from_mins(2);
        while self.send(from, to, text).status() != 0 {
            assert!(Instant::now() < end, "{text:?} was not acknowledged");
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    pub fn inbox(&self, receiver: &str) -> Vec<String> {
        let words = ["inbox", "--json", "--last", "100000", "--config", &self.config(receiver)];
        let text = |line: &str| {
            let message: Value = serde_json::from_str(line).expect("JSON");
            message["text"].as_str().expect("a text").to_owned()
        };
        motemix(words).succeeds().lines().map(text).collect()
    }

    /// The epochs of which an authority has a document.
    pub fn documents(&self, authority: &str) -> Vec<u64> {
        let entries = fs::read_dir(self.path(authority).join("documents")).expect("documents");
        let stem = |path: PathBuf| path.file_stem()?.to_str()?.parse().ok();
        let mut epochs: Vec<_> = entries.filter_map(|entry| stem(entry.expect("an entry").path())).collect();
        epochs.sort_unstable();
        epochs
    }

    /// The latest of them.
    pub fn latest(&self, authority: &str) -> u64 {
        self.documents(authority).pop().unwrap_or(0)
    }

    /// What an authority's document of an epoch says.
    pub fn payload(&self, authority: &str, epoch: u64) -> Vec<u8> {
        let path = self.path(authority).join(format!("documents/{epoch}.cbor"));
        let file = fs::read(Path::new(&path)).expect("a document");
        SignedDocument::parse(&file).expect("a document").payload().to_vec()
    }

    /// Cuts somebody off from everybody, or puts it back.
    pub fn cut_off(&mut self, folder: &str, off: bool) {
        match &mut self.place {
            Place::Loopback(_) => panic!("on one machine nobody can be cut off"),
            Place::Apart(namespaces) => namespaces.cut_off(folder, off),
        }
    }

    /// Gives a node that does not run yet a disk of its own for what it keeps, with so much room.
    pub fn small_disk(&mut self, folder: &str, room: &str) {
        let disk = self.path(folder).join("state");
        fs::create_dir_all(&disk).expect("a folder");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("mode=700,size={room}"), &owned()]).arg(&disk);
        assert!(mount.status().expect("mount starts").success());
        self.disks.push(disk);
    }

    /// Leaves no room on that disk. The node makes some when it removes what it needs no more.
    pub fn fill_disk(&self, folder: &str) {
        let filler = self.path(folder).join("state/filler");
        let mut file = fs::File::options().create(true).append(true).open(filler).expect("a file");
        while file.write_all(&[0; 4096]).is_ok() {}
    }

    /// The latest epoch of which a node has a replay log; it needs room for one of a later epoch.
    pub fn last_replay_log(&self, folder: &str) -> u64 {
        self.replay_logs(folder).into_iter().max().expect("a replay log")
    }

    /// The earliest.
    pub fn first_replay_log(&self, folder: &str) -> u64 {
        self.replay_logs(folder).into_iter().min().expect("a replay log")
    }

    fn replay_logs(&self, folder: &str) -> Vec<u64> {
        let entries = fs::read_dir(self.path(folder).join("state")).expect("a folder");
        let epoch = |name: &str| name.strip_prefix("replay-")?.strip_suffix(".log")?.parse().ok();
        let epochs = entries.filter_map(|entry| epoch(entry.expect("an entry").file_name().to_str()?));
        epochs.collect()
    }

    /// Leaves as much as there was.
    pub fn empty_disk(&self, folder: &str) {
        fs::remove_file(self.path(folder).join("state/filler")).expect("it was there");
    }

    /// Everything that a node or an authority has logged.
    pub fn log(&self, folder: &str) -> String {
        fs::read_to_string(self.path(&format!("{folder}.log"))).unwrap_or_default()
    }

    /// Whether a node is ready, and why not, as it answers over HTTP.
    pub fn readiness(&self, folder: &str) -> String {
        let socket = self.path(folder).join("state/metrics.sock");
        let mut stream = UnixStream::connect(socket).expect("it listens");
        write!(stream, "GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("text");
        answer
    }

    /// What an authority answers over HTTP.
    pub fn asked(&mut self, authority: &str, path: &str) -> String {
        let mut stream = TcpStream::connect(self.at(authority)).expect("it listens");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n").expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("text");
        answer
    }

    /// What a node says of how it is.
    pub fn health(&self, folder: &str) -> String {
        self.status(folder)["health"].to_string()
    }

    /// A node's status. Whoever asks waits for seconds, and on a busy machine a node that starts
    /// may take longer.
    fn status(&self, folder: &str) -> Value {
        let mut said = String::new();
        wait_until("the node says how it is", || {
            let run = motemix(["status", "--json", "--config", &self.config(folder)]);
            let busy = run.status() != 0 && run.stderr().contains("no answer in time");
            if !busy {
                said = run.succeeds();
            }
            !busy
        });
        serde_json::from_str(&said).expect("JSON")
    }

    /// Runs what is added to it where all cables meet.
    pub fn at_the_bridge(&self) -> Command {
        match &self.place {
            Place::Loopback(_) => panic!("on one machine there are no cables"),
            Place::Apart(namespaces) => namespaces.at_the_bridge(),
        }
    }

    /// What a node counted since it was started.
    pub fn counter(&self, folder: &str, name: &str) -> u64 {
        self.status(folder)["counters"][name].as_u64().expect("a counter")
    }

    /// The ends of the logs, for a story that fails.
    pub fn told(&self) -> String {
        let mut told = String::new();
        for name in self.running.keys() {
            let log = self.log(name);
            let tail: Vec<_> = log.lines().rev().take(12).collect();
            told.extend(tail.into_iter().rev().map(|line| format!("{name}: {line}\n")));
        }
        told
    }

    /// The processes that run, by their numbers, as they go and come.
    pub fn numbers(&self) -> Arc<Mutex<BTreeMap<String, u32>>> {
        Arc::clone(&self.numbers)
    }
}

/// What a node has of /dev/null: its standard input, and six that are closed for a moment each
/// second, while it looks after its epoch.
const OF_NOTHING: usize = 7;

/// Bytes of memory and open files of a process; `None` if it has ended. Of /dev/null only what is
/// more than a node should have is counted.
pub fn used(pid: u32) -> Option<(u64, usize)> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    let open = fs::read_dir(format!("/proc/{pid}/fd")).ok()?;
    let files = open.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
    let (of_nothing, others): (Vec<_>, Vec<_>) = files.partition(|file| file == Path::new("/dev/null"));
    Some((kilobytes << 10, others.len() + of_nothing.len().saturating_sub(OF_NOTHING)))
}
