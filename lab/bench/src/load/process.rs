//! Starting, measuring and ending a process under load.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;

use crate::load::forwarder::Format;
use crate::machine::{self, Machine};

/// Where a process under load may run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Cores {
    /// On the core for what is measured. What feeds it has another one, if there is one.
    Measured,
    /// On all cores, with what feeds it.
    All,
}

/// A process under load; it ends with this value, or with this program.
pub struct UnderLoad(Child);

impl UnderLoad {
    /// Starts a program on the core for what is measured.
    pub fn start(machine: &Machine, program: &OsStr, arguments: &[&OsStr]) -> Result<Self> {
        Self::start_on(Cores::Measured, machine, program, arguments)
    }

    /// Starts a program.
    pub fn start_on(cores: Cores, machine: &Machine, program: &OsStr, arguments: &[&OsStr]) -> Result<Self> {
        let this = std::env::current_exe().context("finding this program")?;
        let mut command = Command::new(this);
        command.arg("start").arg(program).args(arguments).stdin(Stdio::null()).stdout(Stdio::piped());
        // A process inherits the core of whoever starts it.
        match cores {
            Cores::Measured => machine::pin(machine.measured_core())?,
            Cores::All => machine::spread(machine)?,
        }
        let child = command.spawn();
        machine::pin(machine.other_core())?;
        child.map(Self).with_context(|| format!("starting {}", program.display()))
    }

    /// Starts one of our own forwarders; also where it listens.
    pub fn forwarder(machine: &Machine, format: Format, next: SocketAddr) -> Result<(Self, SocketAddr)> {
        let this = std::env::current_exe().context("finding this program")?;
        let arguments = ["forward", &format.to_string(), &next.to_string()].map(OsString::from);
        let arguments: Vec<_> = arguments.iter().map(OsString::as_os_str).collect();
        let mut process = Self::start(machine, this.as_os_str(), &arguments)?;
        let mut line = String::new();
        let output = process.0.stdout.take().context("the forwarder has no standard output")?;
        BufReader::new(output).read_line(&mut line).context("asking the forwarder where it listens")?;
        let address = line.trim().parse().with_context(|| format!("the forwarder listens on {line:?}"))?;
        Ok((process, address))
    }

    /// Fails if the process has ended.
    pub fn check(&mut self) -> Result<()> {
        match self.0.try_wait()? {
            None => Ok(()),
            Some(status) => bail!("the process under load has ended: {status}"),
        }
    }

    /// Processor time that it has taken.
    pub fn processor_time(&self) -> Result<Duration> {
        machine::processor_time(self.0.id())
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

/// Becomes `program`, which dies with whoever started this process, however that ends.
pub fn become_program(program: &OsStr, arguments: &[OsString]) -> Result<()> {
    set_pdeathsig(Signal::SIGKILL).context("asking for a signal at the parent's end")?;
    let error = Command::new(program).args(arguments).exec();
    Err(error).with_context(|| format!("starting {}", program.display()))
}
