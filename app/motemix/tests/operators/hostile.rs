//! A hostile network between machines, which loses, holds up and repeats. See `hostile.py`.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;

/// It runs until it is asked what it did, or the story fails. From then on nothing is carried.
pub struct HostileNetwork {
    process: Child,
    says: BufReader<ChildStdout>,
}

impl Drop for HostileNetwork {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl HostileNetwork {
    /// `command` runs what is added to it where the machines' cables end. `manners` are the share of
    /// frames that are lost, and the mean and the longest time for which one is held up, in seconds.
    pub fn start(mut command: Command, manners: &[&str]) -> Self {
        let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/operators/hostile.py");
        command.args(["python3", program]).args(manners).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("ip starts");
        let mut says = BufReader::new(process.stdout.take().expect("a pipe"));
        let mut line = String::new();
        says.read_line(&mut line).expect("a line");
        assert_eq!(line, "carries\n");
        Self { process, says }
    }

    pub fn ends(mut self) -> Value {
        let stopped = Command::new("kill").arg(self.process.id().to_string()).status().expect("kill starts");
        assert!(stopped.success());
        let mut told = String::new();
        self.says.read_to_string(&mut told).expect("text");
        serde_json::from_str(&told).expect("JSON")
    }
}
