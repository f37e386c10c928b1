//! The channel, as a process of its own.

use super::board::with_this_process;
use crate::failure::Failure;
use anyhow::{Context, anyhow};
use rustix::process::Signal;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

/// A running `motemix-lab air`. Dropping it ends it.
pub struct Air {
    child: Child,
    stdout: BufReader<ChildStdout>,
    dir: PathBuf,
}

impl Air {
    /// Starts it, and waits until its sockets are there.
    pub fn start<'s>(
        dir: &Path,
        stations: impl Iterator<Item = &'s str>,
        loss: f64,
        pcap: Option<&Path>,
    ) -> Result<Self, Failure> {
        let program = std::env::current_exe().context("cannot find this program's own file")?;
        let mut command = Command::new(program);
        command.arg("air").arg("--json").arg("--dir").arg(dir);
        for station in stations {
            command.arg("--station").arg(station);
        }
        command.arg("--loss").arg(loss.to_string());
        if let Some(pcap) = pcap {
            command.arg("--pcap").arg(pcap);
        }
        let mut command = with_this_process(&command);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().context("cannot start the air")?;
        let stdout = child.stdout.take().context("the air has no output")?;
        let mut air = Self { child, stdout: BufReader::new(stdout), dir: dir.to_owned() };
        let mut line = String::new();
        air.stdout.read_line(&mut line).context("cannot read from the air")?;
        if line.trim() == "ready" { Ok(air) } else { Err(air.last_words()) }
    }

    fn last_words(&mut self) -> Failure {
        let mut words = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            // What cannot be read cannot be told.
            let _ = stderr.read_to_string(&mut words);
        }
        Failure::failed(anyhow!("the air ended at once: {}", words.lines().last().unwrap_or_default()))
    }

    /// The serial line of a station's radio.
    pub fn line(&self, station: &str) -> PathBuf {
        self.dir.join(station).with_extension("air")
    }

    /// A board's console.
    pub fn console(&self, station: &str) -> PathBuf {
        self.dir.join(station).with_extension("tty")
    }

    /// Ends it, and returns what it counted.
    pub fn stop(&mut self) -> Result<Value, Failure> {
        let pid = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw);
        if let Some(pid) = pid {
            // The child is not collected yet, so the number is its own.
            rustix::process::kill_process(pid, Signal::INT).context("cannot stop the air")?;
        }
        let mut text = String::new();
        self.stdout.read_to_string(&mut text).context("cannot read from the air")?;
        self.child.wait().context("cannot wait for the air")?;
        Ok(serde_json::from_str(&text).context("the air said something else than its figures")?)
    }
}

impl Drop for Air {
    fn drop(&mut self) {
        // One that has ended cannot be killed, which is as well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
