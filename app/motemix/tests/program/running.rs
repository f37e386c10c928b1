//! A network that runs: one process for each node.

use super::{Network, Run, motemix, wait_until};
use serde_json::Value;
use std::process::{Child, Command, Stdio};

/// Stops the network whatever the story does.
pub struct Running(pub Network);

impl Running {
    pub fn up(network: Network) -> Self {
        let running = Self(network);
        motemix(["net", "up", running.dir()]).succeeds();
        running
    }

    pub fn dir(&self) -> &str {
        self.0.dir.to_str().expect("UTF-8")
    }

    pub fn send(&self, from: &str, text: &str) -> Run {
        let config = self.0.config(from);
        motemix(["send", "--json", "--config", config.to_str().expect("UTF-8"), text])
    }

    /// The texts in the inbox of a node, in the order of arrival.
    pub fn inbox(&self, node: &str) -> Vec<String> {
        let config = self.0.config(node);
        let words = ["inbox", "--json", "--last", "100000", "--config", config.to_str().expect("UTF-8")];
        let text = |line: &str| {
            let message: Value = serde_json::from_str(line).expect("JSON");
            message["text"].as_str().expect("a text").to_owned()
        };
        motemix(words).succeeds().lines().map(text).collect()
    }

    /// What `motemix net status` says of each node.
    pub fn status(&self) -> Vec<Value> {
        // It fails where a node is down or failing, and shows all of them.
        let said = motemix(["net", "status", self.dir(), "--json"]).stdout();
        serde_json::from_str(&said).expect("a list")
    }

    pub fn status_of(&self, node: &str) -> Value {
        self.status().into_iter().find(|row| row["name"] == node).expect("a node of that name")
    }

    pub fn pid(&self, node: &str) -> u64 {
        self.status_of(node)["pid"].as_u64().expect("it runs")
    }

    /// A counter, summed over all nodes that run.
    pub fn total(&self, counter: &str) -> u64 {
        self.status().iter().filter_map(|row| row["status"]["counters"][counter].as_u64()).sum()
    }

    /// Ends a node as a power failure would.
    pub fn kill(&self, node: &str) {
        let pid = self.pid(node).to_string();
        let killed = Command::new("kill").args(["-KILL", &pid]).status().expect("kill starts");
        assert!(killed.success());
        wait_until("the node is gone", || self.status_of(node)["pid"].is_null());
    }

    /// Starts a node that was killed; it ends with the value returned.
    pub fn restart(&self, node: &str) -> Restarted {
        let mut command = Command::new(motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix")));
        command.arg("node").arg("--config").arg(self.0.config(node));
        command.stdin(Stdio::null()).stdout(Stdio::null()).env_remove("MOTEMIX_LOG");
        let restarted = Restarted(command.spawn().expect("the program starts"));
        wait_until("the node answers", || self.status_of(node)["status"].is_object());
        restarted
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A story may have stopped it already.
        let _ = motemix(["net", "down", self.dir()]);
    }
}

/// A node's process that a story started itself.
pub struct Restarted(Child);

impl Drop for Restarted {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
