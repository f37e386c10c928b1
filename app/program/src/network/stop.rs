//! Stops a node's process: by asking, then by a signal to exactly that process.

use super::{NodeDir, Process, ask, status};
use anyhow::{Result, bail};
use motemix_host::NodeConfig;
use motemix_host::control::Request;
use rustix::process::Signal;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// What became of a node that was to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stopped {
    /// It was asked and ended.
    Asked,
    /// It did not answer, or not end, or cannot be asked, and got SIGTERM.
    Terminated,
    /// It was not running.
    NotRunning,
}

impl Stopped {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Asked => "stopped",
            Self::Terminated => "terminated",
            Self::NotRunning => "was not running",
        }
    }
}

/// Stops the node, and waits up to `patience` after each step.
pub fn stop(node: &NodeDir, config: &NodeConfig, patience: Duration) -> Result<Stopped> {
    let ask_to_stop = || ask(config, &Request::Stop {}).is_ok();
    // Where the state lies elsewhere, a copy of this folder names the same, and the node is not its
    // own.
    let is_ours = is_inside(&config.state, node.path());
    match stop_after(node, patience, ask_to_stop) {
        // `motemix net up` did not start it, or its pid file is damaged, and still it may run: who
        // started it by hand sees it in `net status`.
        Ok(Stopped::NotRunning) | Err(_) if is_ours && ask_to_stop() => {
            if !until(patience, || Ok(status(config).is_err()))? {
                bail!("{} was asked to stop, and still answers; look at its log", node.name());
            }
            let _ = fs::remove_file(node.pid());
            Ok(Stopped::Asked)
        }
        how => how,
    }
}

/// Whether a folder lies in another one, whatever its path or links say.
fn is_inside(folder: &Path, other: &Path) -> bool {
    let real = |path: &Path| fs::canonicalize(path).ok();
    real(folder).zip(real(other)).is_some_and(|(folder, other)| folder.starts_with(other))
}

/// Stops a node that cannot be asked, and waits up to `patience`.
pub fn terminate(node: &NodeDir, patience: Duration) -> Result<Stopped> {
    stop_after(node, patience, || false)
}

fn stop_after(node: &NodeDir, patience: Duration, ask: impl FnOnce() -> bool) -> Result<Stopped> {
    let Some(process) = Process::load(&node.pid())? else { return Ok(Stopped::NotRunning) };
    let how = if !process.is_running()? {
        Stopped::NotRunning
    } else if ask() && has_ended(&process, patience)? {
        Stopped::Asked
    } else {
        process.signal(Signal::TERM)?;
        if !has_ended(&process, patience)? {
            let (name, pid) = (node.name(), process.pid());
            if process.is_stopped() {
                bail!("{name} (process {pid}) stands still; let it go on with `kill -CONT {pid}`");
            }
            bail!("{name} (process {pid}) has not ended; wait longer (--timeout), or look at its log");
        }
        Stopped::Terminated
    };
    // Somebody else may have removed it meanwhile.
    let _ = fs::remove_file(node.pid());
    Ok(how)
}

fn has_ended(process: &Process, patience: Duration) -> Result<bool> {
    until(patience, || Ok(!process.is_running()?))
}

/// Whether it comes to hold within `patience`.
fn until(patience: Duration, mut holds: impl FnMut() -> Result<bool>) -> Result<bool> {
    let end = Instant::now() + patience;
    while !holds()? {
        if Instant::now() >= end {
            return Ok(false);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(true)
}
