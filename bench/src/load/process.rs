//! Starting, measuring and ending a process under load.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};

use crate::load::forwarder::Format;
use crate::machine::{self, Machine};

/// A process on a core of its own; it ends with this value.
pub struct UnderLoad(Child);

impl UnderLoad {
    /// Starts `command` on the core for what is measured.
    pub fn start(machine: &Machine, command: &mut Command) -> Result<Self> {
        // A process inherits the core of whoever starts it.
        machine::pin(machine.measured_core())?;
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        machine::pin(machine.other_core())?;
        child.map(Self).with_context(|| format!("starting {}", command.get_program().display()))
    }

    /// Starts one of our own forwarders; also where it listens.
    pub fn forwarder(machine: &Machine, format: Format, next: SocketAddr) -> Result<(Self, SocketAddr)> {
        let program = std::env::current_exe().context("finding this program")?;
        let mut command = Command::new(program);
        command.args(["forward", &format.to_string(), &next.to_string()]);
        let mut process = Self::start(machine, &mut command)?;
        let mut line = String::new();
        let output = process.0.stdout.take().context("the forwarder has no standard output")?;
        BufReader::new(output).read_line(&mut line).context("asking the forwarder where it listens")?;
        let address = line.trim().parse().with_context(|| format!("the forwarder listens on {line:?}"))?;
        Ok((process, address))
    }

    /// Its resident memory, in KiB.
    pub fn resident_kib(&self) -> Result<u64> {
        machine::resident_kib(self.0.id())
    }
}

impl Drop for UnderLoad {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
