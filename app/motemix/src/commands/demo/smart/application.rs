//! The application of a demonstration, a process of its own, and what it has seen.

use anyhow::Context as _;
use motemix_program::failure::Failure;
use motemix_program::program;
use motemix_program::reading;
use motemix_program::report;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

/// `motemix broker watch`, which trusts neither the broker nor the receiver.
pub struct Application {
    child: Child,
    lines: Receiver<String>,
    seen: BTreeMap<String, Seen>,
}

/// What it has seen of a device.
#[derive(Debug, Clone, Serialize)]
pub struct Seen {
    pub name: String,
    pub device: String,
    /// Readings whose signature it has checked, and those that were not what the device signed.
    pub verified: u64,
    pub not_verified: u64,
    /// The highest number that it has verified.
    pub last: u64,
    /// The newest reading.
    pub says: String,
}

/// A line of the program.
#[derive(Debug, Deserialize)]
struct Line {
    device: String,
    name: String,
    verified: bool,
    sequence: Option<u64>,
    problem: Option<String>,
    senml: Option<Value>,
}

impl Application {
    pub fn start(broker: &str, audience: &str) -> Result<Self, Failure> {
        let mut child = Command::new(program::of_nodes()?)
            .args(["broker", "watch", broker, "--json", "--audience", audience])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the application")?;
        let said = BufReader::new(child.stdout.take().context("the application has no stdout")?);
        let (tell, lines) = channel();
        std::thread::spawn(move || {
            for line in said.lines().map_while(Result::ok) {
                if tell.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Self { child, lines, seen: BTreeMap::new() })
    }

    /// What it has shown since it was asked last, for people.
    pub fn lines(&mut self) -> Result<Vec<String>, Failure> {
        let mut shown = Vec::new();
        while let Ok(line) = self.lines.try_recv() {
            let line: Line = serde_json::from_str(&line)
                .with_context(|| format!("the application says what nobody understands: {line}"))?;
            shown.push(self.take(line));
        }
        if let Some(exit) = self.child.try_wait().context("cannot wait for the application")? {
            return Err(Failure::failed(format!("the application ended by itself ({exit})")));
        }
        Ok(shown)
    }

    fn take(&mut self, line: Line) -> String {
        let Line { device, name, verified, sequence, problem, senml } = line;
        let says = senml.as_ref().map_or_else(String::new, reading::pack_in_words);
        let says = report::printable(&says);
        let seen = self.seen.entry(device.clone()).or_insert_with(|| Seen {
            name: report::printable(&name),
            device,
            verified: 0,
            not_verified: 0,
            last: 0,
            says: String::new(),
        });
        seen.verified += u64::from(verified);
        seen.not_verified += u64::from(!verified);
        seen.last = seen.last.max(sequence.unwrap_or(0));
        seen.says.clone_from(&says);
        let check = match (problem, sequence) {
            (Some(problem), _) => format!("NOT verified: {}", report::printable(&problem)),
            (None, sequence) => format!("verified, {}", sequence.unwrap_or_default()),
        };
        format!("{:<10}  {says:<56}  {check}", seen.name)
    }

    pub fn seen(&self) -> Vec<Seen> {
        let mut seen: Vec<Seen> = self.seen.values().cloned().collect();
        seen.sort_by(|one, other| one.name.cmp(&other.name));
        seen
    }
}

impl Drop for Application {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
