//! Whether a node is there: its process, and whether that answers.

use super::{NodeDir, Process, status};
use anyhow::Result;
use motemix_host::NodeConfig;
use motemix_host::control::NodeStatus;
use motemix_os::control::{ControlError, ControlProblem};

/// A node that is there, or not.
pub enum Presence {
    /// It answers. The process is known if `motemix net up` started it.
    Running { process: Option<Process>, status: NodeStatus },
    /// Its process is there and does not answer, for the reason given with its remedy.
    NoAnswer { process: Process, problem: String },
    /// There is no process of it.
    Down,
}

impl Presence {
    pub fn pid(&self) -> Option<u32> {
        match self {
            Self::Running { process, .. } => process.as_ref().map(Process::pid),
            Self::NoAnswer { process, .. } => Some(process.pid()),
            Self::Down => None,
        }
    }

    pub fn status(&self) -> Option<&NodeStatus> {
        match self {
            Self::Running { status, .. } => Some(status),
            Self::NoAnswer { .. } | Self::Down => None,
        }
    }

    /// For programs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Running { .. } => "running",
            Self::NoAnswer { .. } => "no_answer",
            Self::Down => "down",
        }
    }
}

/// The node's process, if it runs and `motemix net up` started it.
pub fn process_of(node: &NodeDir) -> Result<Option<Process>> {
    Ok(match Process::load(&node.pid())? {
        Some(process) if process.is_running()? => Some(process),
        _ => None,
    })
}

/// Looks for the node's process, and asks it.
pub fn presence(node: &NodeDir, config: &NodeConfig) -> Result<Presence> {
    Ok(match (status(config), process_of(node)) {
        (Ok(status), process) => Presence::Running { process: process.ok().flatten(), status },
        (Err(_), Err(error)) => return Err(error),
        (Err(_), Ok(None)) => Presence::Down,
        (Err(error), Ok(Some(process))) => {
            let problem = silence(node, config, &process, &error);
            Presence::NoAnswer { process, problem }
        }
    })
}

/// Why a process that is there does not answer, and what to do.
fn silence(node: &NodeDir, config: &NodeConfig, process: &Process, error: &anyhow::Error) -> String {
    let (pid, socket) = (process.pid(), config.control_socket());
    let again = format!("end it with `kill {pid}`, then run `motemix net up`");
    match error.downcast_ref::<ControlError>().map(|error| &error.problem) {
        Some(ControlProblem::NotRunning) => format!(
            "process {pid} runs and does not listen on {}; if its state was moved, move it back, else {again}",
            socket.display()
        ),
        _ if process.is_stopped() => format!(
            "process {pid} was told to stand still, by SIGSTOP or Ctrl-Z; let it go on with `kill -CONT {pid}`"
        ),
        Some(ControlProblem::Timeout) => format!(
            "process {pid} runs and does not answer; it is overloaded or short of file descriptors \
             (`ulimit -n`): see {}, or {again}",
            node.log().display()
        ),
        _ => format!(
            "process {pid} runs and does not answer ({error:#}); see {}, or {again}",
            node.log().display()
        ),
    }
}
