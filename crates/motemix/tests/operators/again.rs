//! A hostile network, which sends every datagram again. See `again.py`.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;

/// It runs until it is asked what it did, or the story fails.
pub struct Again {
    process: Child,
    says: BufReader<ChildStdout>,
}

impl Drop for Again {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Again {
    /// `command` runs what is added to it where the machines' cables end.
    pub fn start(mut command: Command) -> Self {
        let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/operators/again.py");
        command.args(["python3", program]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("ip starts");
        let mut says = BufReader::new(process.stdout.take().expect("a pipe"));
        let mut line = String::new();
        says.read_line(&mut line).expect("a line");
        assert_eq!(line, "records\n");
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
