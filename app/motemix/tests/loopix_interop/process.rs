//! A node as a process, of one program or the other: both take the same lines and say the same
//! words.

use serde_json::Value;
use std::fmt;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// For what has to happen in the end, on a machine that does much else; a story that waits this
/// long has failed.
const PATIENCE: Duration = Duration::from_secs(180);

/// How often our nodes say what they count. Python's mixes say at once that a loop came back.
const STATS: &str = "0.2";

/// Which program a node is a process of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Program {
    Ours,
    Python,
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ours => "ours",
            Self::Python => "Python",
        })
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// `python -m peer` with these words, where sphinxmix is.
pub fn peer() -> Command {
    let python = root().join(".venv-loopix/bin/python");
    assert!(
        python.exists(),
        "there is no .venv-loopix for sphinxmix; make it with: scripts/setup loopix_peer"
    );
    let mut command = Command::new(python);
    command.args(["-m", "peer"]).current_dir(root().join("scripts/loopix"));
    command
}

pub struct Process {
    pub program: Program,
    what: String,
    child: Child,
    input: ChildStdin,
    said: Arc<Said>,
    listener: Option<JoinHandle<()>>,
    log: PathBuf,
}

/// What a process has said so far.
#[derive(Default)]
struct Said {
    events: Mutex<(Vec<Value>, bool)>,
    more: Condvar,
}

impl Process {
    /// Starts the node whose folder this is, and waits until it is ready.
    pub fn start(program: Program, role: &str, folder: &Path, profile: &str, more: &[&str]) -> Self {
        let mut command = match program {
            Program::Ours => {
                let mut command =
                    Command::new(motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix")));
                command.args(["loopix", role, "--stats", STATS, "--dir"]);
                command
            }
            Program::Python => {
                let mut command = peer();
                command.arg(role);
                command
            }
        };
        let log = folder.join("log");
        let errors = fs::OpenOptions::new().create(true).append(true).open(&log).expect("a log");
        command.arg(folder).args(["--profile", profile]).args(more).env_remove("MOTEMIX_LOG");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
        let mut child = command.spawn().expect("the program starts");
        let output = BufReader::new(child.stdout.take().expect("it was asked for"));
        let input = child.stdin.take().expect("it was asked for");
        let said = Arc::<Said>::default();
        let hears = Arc::clone(&said);
        let listener = thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let event = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON: {line}"));
                hears.events.lock().expect("whole").0.push(event);
                hears.more.notify_all();
            }
            hears.events.lock().expect("whole").1 = true;
            hears.more.notify_all();
        });
        let name = folder.file_name().expect("a name").to_string_lossy();
        let what = format!("{name} ({program}, {profile})");
        let process = Self { program, what, child, input, said, listener: Some(listener), log };
        process.hear("ready", |event| event["name"] == *name && event["role"] == role);
        process
    }

    pub fn write(&mut self, line: &str) {
        writeln!(self.input, "{line}").expect("it reads");
    }

    /// Waits for an event of this kind that is as it should be; it may have been said already.
    #[track_caller]
    pub fn hear(&self, kind: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        self.wait(kind, |event| event["event"] == kind && is_it(event))
    }

    /// Waits until loop cover has come back to it.
    #[track_caller]
    pub fn hear_loop(&self) {
        self.wait("loop", |event| event["event"] == "loop" || event["loops_returned"].as_u64() > Some(0));
    }

    #[track_caller]
    fn wait(&self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + PATIENCE;
        let mut events = self.said.events.lock().expect("whole");
        let mut seen = 0;
        loop {
            let (said, has_ended) = &*events;
            if let Some(event) = said[seen..].iter().find(|event| is_it(event)) {
                return event.clone();
            }
            seen = said.len();
            let left = end.saturating_duration_since(Instant::now());
            if *has_ended || left.is_zero() {
                let last = &said[seen.saturating_sub(20)..];
                let log = fs::read_to_string(&self.log).unwrap_or_default();
                panic!("{}: no {what}, but {last:?} and in its log: {log}", self.what);
            }
            (events, _) = self.said.more.wait_timeout(events, left).expect("whole");
        }
    }

    /// Asks it to end, waits until it has, and returns what it counted.
    #[track_caller]
    pub fn stop(mut self) -> Value {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().expect("kill starts").success());
        let status = self.child.wait().expect("it can be waited for");
        assert!(status.success(), "{}: {status}", self.what);
        if let Some(listener) = self.listener.take() {
            listener.join().expect("all it said was JSON");
        }
        let events = self.said.events.lock().expect("whole");
        let last = events.0.last().expect("it said something");
        assert_eq!(last["event"], "counters", "{}", self.what);
        last.clone()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
