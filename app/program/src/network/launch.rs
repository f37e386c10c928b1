//! Starts a node's process and waits until it answers.

use super::{NodeDir, Process};
use crate::program;
use anyhow::{Context, Result, bail};
use command_fds::{CommandFdExt, FdMapping};
use motemix_host::NodeConfig;
use motemix_host::control::{ControlClient, NodeStatus, Request, Response};
use motemix_os::store::file;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::net::UdpSocket;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How often to look whether a node answers.
const LOOK_EVERY: Duration = Duration::from_millis(25);
/// For one answer of a node on its control socket.
const PATIENCE: Duration = Duration::from_secs(5);

/// Bytes at the end of a log in which its last line is looked for.
const LAST_WORDS: u64 = 1 << 16;

/// Whether a node outlives the command that starts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// It goes on in a session of its own.
    Detached,
    /// It ends with the command, however that ends.
    WithParent,
}

/// A process that was started for a node, and what the node was told.
pub struct Launched<C = NodeConfig> {
    pub config: C,
    node: NodeDir,
    child: Child,
}

impl<C> Launched<C> {
    /// Starts the command that runs the node.
    pub fn spawn(node: NodeDir, config: C, command: &mut Command) -> Result<Self> {
        let child = command.spawn().with_context(|| format!("cannot start {}", node.name()))?;
        Ok(Self { config, node, child })
    }

    /// As the node's folder is called.
    pub fn name(&self) -> String {
        self.node.name()
    }

    pub fn process(&self) -> Result<Process> {
        Process::running(self.child.id())
    }

    /// Writes down which process it is. If it has ended already, whoever waits for its answer hears
    /// why. One that cannot be recorded is ended: nobody would find it again.
    pub fn record(&mut self) -> Result<()> {
        let recorded = match self.process() {
            Ok(process) => process.save(&self.node.pid()),
            Err(_) if self.has_ended()?.is_some() => return Ok(()),
            Err(error) => Err(error),
        };
        if recorded.is_err() {
            self.kill()?;
        }
        recorded
    }

    /// Waits until the node gives an answer; `look` looks for one.
    pub fn wait_for<T>(&mut self, until: Instant, look: impl Fn(&Self) -> Option<T>) -> Result<T> {
        loop {
            if let Some(answer) = look(self) {
                return Ok(answer);
            }
            if let Some(exit) = self.has_ended()? {
                bail!("{} ended at once ({exit}): {}", self.name(), self.last_words());
            }
            if Instant::now() >= until {
                bail!("{} does not answer; see {}", self.name(), self.node.log().display());
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// The status it ended with, if it has ended.
    pub fn has_ended(&mut self) -> Result<Option<std::process::ExitStatus>> {
        self.child.try_wait().context("cannot wait for a node")
    }

    /// The last line of its log.
    pub fn last_words(&self) -> String {
        let read = || {
            let mut file = file::open(&self.node.log())?;
            let len = file.metadata()?.len();
            file.seek(SeekFrom::Start(len.saturating_sub(LAST_WORDS)))?;
            let mut end = Vec::new();
            file.take(LAST_WORDS).read_to_end(&mut end)?;
            io::Result::Ok(String::from_utf8_lossy(&end).into_owned())
        };
        let text = read().unwrap_or_default();
        let line = text.lines().rev().find(|line| !line.trim().is_empty());
        line.map_or_else(|| format!("see {}", self.node.log().display()), str::to_owned)
    }

    /// Ends it at once, without a word, and waits for that.
    pub fn kill(&mut self) -> Result<()> {
        self.child.kill().context("cannot kill a node")?;
        self.child.wait().context("cannot wait for a node")?;
        Ok(())
    }
}

impl Launched {
    /// Starts the node; `socket`, if given, is the one it receives on.
    pub fn start(
        node: NodeDir,
        config: NodeConfig,
        socket: Option<&UdpSocket>,
        lifetime: Lifetime,
        log: &str,
    ) -> Result<Self> {
        let mut command = Self::command(&node, lifetime, log)?;
        if let Some(socket) = socket {
            let copy = socket.try_clone().context("cannot hand over a UDP socket")?;
            let mapping = FdMapping { parent_fd: copy.into(), child_fd: FIRST_LISTEN_FD };
            command.fd_mappings(vec![mapping]).context("cannot hand over a UDP socket")?;
            command.env("LISTEN_FDS", "1").env_remove("LISTEN_PID").env_remove("LISTEN_FDS_FIRST_FD");
        }
        Self::spawn(node, config, &mut command)
    }

    /// The command that runs the node; what it says goes to the node's log.
    pub fn command(node: &NodeDir, lifetime: Lifetime, log: &str) -> Result<Command> {
        let program = program::of_nodes()?;
        let mut command = Command::new(program);
        command.arg("--log").arg(log).arg("node").arg("--config").arg(node.config());
        match lifetime {
            Lifetime::Detached => command.arg("--detached"),
            // Ctrl-C is for the parent, which then stops its children in order.
            Lifetime::WithParent => command.arg("--with-parent").process_group(0),
        };
        let out = log_file(node)?;
        let err = out.try_clone().with_context(|| format!("cannot write {}", node.log().display()))?;
        command.stdin(Stdio::null()).stdout(out).stderr(err);
        Ok(command)
    }

    /// Waits until the node answers on its control socket.
    pub fn wait_until_it_answers(&mut self, until: Instant) -> Result<NodeStatus> {
        self.wait_for(until, |node| status(&node.config).ok())
    }
}

/// The first inherited descriptor, by the convention of LISTEN_FDS.
const FIRST_LISTEN_FD: i32 = 3;

/// The node's log, to be appended to.
pub fn log_file(node: &NodeDir) -> Result<File> {
    let path = node.log();
    file::open_to_append(&path).with_context(|| format!("cannot write {}", path.display()))
}

/// What a node says about itself.
pub fn status(config: &NodeConfig) -> Result<NodeStatus> {
    match ask(config, &Request::Status {})? {
        Response::Status(status) => Ok(status),
        other => Err(unexpected(&config.name, &other)),
    }
}

/// One request to a running node.
pub fn ask(config: &NodeConfig, request: &Request) -> Result<Response> {
    let mut control = ControlClient::connect(config.control_socket())?;
    control.set_patience(Some(PATIENCE))?;
    Ok(control.request(request)?)
}

/// The error for an answer that does not belong to the question.
pub fn unexpected(name: &str, response: &Response) -> anyhow::Error {
    match response {
        Response::Error { message } => anyhow::anyhow!("{name}: {message}"),
        _ => anyhow::anyhow!("{name}: answered something else; use one version of motemix for all nodes"),
    }
}
