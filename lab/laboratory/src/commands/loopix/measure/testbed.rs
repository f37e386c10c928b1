//! A network of processes in a temporary folder, which ends with this value.

use super::peer::Peer;
use crate::failure::Failure;
use crate::network::{NodeDir, bind_below};
use anyhow::{Context, Result, bail};
use motemix_host::control::{ControlClient, Request, Response};
use motemix_loopix::files::{Config, NodeEntry, Profile, Role, Settings};
use motemix_loopix::runtime::control_socket;
use motemix_loopix_program::network::{self, Blueprint, Size, nodes_of};
use motemix_os::rng::HostRng;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::net::Ipv4Addr;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The Java client keeps ports in signed 16 bits.
const HIGHEST_PORT: u16 = 32_767;
/// Until all nodes are ready, on a busy machine.
const START: Duration = Duration::from_mins(3);
/// For one answer of a node that has much to do.
const ANSWER: Duration = Duration::from_secs(20);
/// Until a node that was asked to end is killed.
const FAREWELL: Duration = Duration::from_secs(3);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What the nodes of a network are told.
#[derive(Clone)]
pub struct Plan {
    pub size: Size,
    pub config: Config,
    pub profile: Profile,
    /// Python nodes in place of ours.
    pub peer: Option<Peer>,
    /// Which core the nodes are kept on, if it matters.
    pub core: Option<u32>,
    /// Whether clients write to themselves whenever they can, and tell what that took.
    pub probe: bool,
}

/// A running network.
pub struct Testbed {
    nodes: Vec<Running>,
    // Dropped after the processes have ended.
    _folder: TempDir,
}

/// A process.
pub struct Running {
    pub entry: NodeEntry,
    node: NodeDir,
    child: Child,
    is_ready: bool,
    /// How far its events were read.
    read: u64,
    rest: String,
}

impl Plan {
    /// Equal rates for the three streams of clients, which are `rate` packets in a second together.
    pub fn new(size: Size, rate: f64, delay: Duration, peer: Option<Peer>) -> Self {
        let mut config = Config::default();
        let mean = Duration::from_secs_f64(3.0 / rate);
        config.clients.loops = mean;
        config.clients.drop = mean;
        config.clients.payload = mean;
        config.clients.delay = delay;
        config.mixes.loops = mean;
        config.mixes.delay = delay;
        Self { size, config, profile: Profile::Fork2018, peer, core: None, probe: true }
    }
}

impl Testbed {
    /// Makes the files. No process runs yet.
    pub fn make(plan: &Plan) -> Result<(TempDir, Vec<(NodeDir, NodeEntry)>), Failure> {
        // The names of control sockets must stay short.
        let folder = TempDir::with_prefix("loopix").context("cannot make a temporary folder")?;
        let mut rng = HostRng::new().context("the system has no random numbers")?;
        let bound = bind_below(Ipv4Addr::LOCALHOST.into(), plan.size.nodes(), HIGHEST_PORT, &mut rng)?;
        let addresses: Vec<_> = bound.into_iter().map(|(address, _)| address).collect();
        let mut settings = Settings::of(plan.profile);
        // Clients of either program look at once at what comes.
        settings.originals.start_s = 0;
        let blueprint = Blueprint { size: plan.size, addresses: &addresses, config: &plan.config, settings };
        let network = network::init(&folder.path().join("n"), &blueprint, &mut rng)?;
        let nodes = nodes_of(&network)?;
        Ok((folder, nodes))
    }

    /// Makes and starts a network: mixes and providers first, clients when those are ready.
    pub fn start(plan: &Plan, progress: &mut dyn FnMut(&str) -> Result<()>) -> Result<Self, Failure> {
        let (folder, mut members) = Self::make(plan)?;
        members.sort_by_key(|(_, entry)| entry.role() == Role::Client);
        let mut testbed = Self { nodes: Vec::new(), _folder: folder };
        let first_client = members.iter().filter(|(_, entry)| entry.role() != Role::Client).count();
        for (number, (node, entry)) in members.into_iter().enumerate() {
            if number == first_client {
                testbed.wait_until_ready(progress)?;
            }
            progress(&format!("starts {}", entry.name()))?;
            testbed.nodes.push(Running::start(node, entry, plan)?);
        }
        testbed.wait_until_ready(progress)?;
        Ok(testbed)
    }

    fn wait_until_ready(&mut self, progress: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        let until = Instant::now() + START;
        for node in &mut self.nodes {
            node.wait_until_ready(until, progress)?;
        }
        Ok(())
    }

    /// Those of a role.
    pub fn of(&mut self, role: Role) -> impl Iterator<Item = &mut Running> {
        self.nodes.iter_mut().filter(move |node| node.entry.role() == role)
    }
}

impl Drop for Testbed {
    fn drop(&mut self) {
        // All at once, so that they end together.
        self.nodes.iter().for_each(Running::ask_to_end);
    }
}

impl Running {
    /// Starts a process that ends with this one.
    pub fn start(node: NodeDir, entry: NodeEntry, plan: &Plan) -> Result<Self> {
        let role = entry.role();
        let mut command = match &plan.peer {
            Some(peer) => peer.node(role, node.path(), plan.profile),
            None => ours(role, node.path())?,
        };
        if role == Role::Client && plan.probe {
            command.arg("--probe");
        }
        if let Some(core) = plan.core {
            command = kept_on(core, &command);
        }
        let events = node.events();
        let out = File::create(&events).with_context(|| format!("cannot write {}", events.display()))?;
        let log =
            File::create(node.log()).with_context(|| format!("cannot write {}", node.log().display()))?;
        // Ctrl-C is for this process, which then stops its children.
        let child = command.stdin(Stdio::null()).stdout(out).stderr(log).process_group(0).spawn();
        let child = child.with_context(|| format!("cannot start {}", entry.name()))?;
        Ok(Self { entry, node, child, is_ready: false, read: 0, rest: String::new() })
    }

    /// Waits for its event `ready`.
    pub fn wait_until_ready(
        &mut self,
        until: Instant,
        progress: &mut dyn FnMut(&str) -> Result<()>,
    ) -> Result<()> {
        while !self.is_ready {
            if self.events()?.iter().any(|event| event["event"] == "ready") {
                self.is_ready = true;
                break;
            }
            let name = self.entry.name();
            if let Some(status) = self.child.try_wait().context("cannot wait for a node")? {
                bail!("{name} ended at once ({status}): {}", self.last_words());
            }
            if Instant::now() >= until {
                bail!("{name} does not get ready: {}; the machine may be too busy", self.last_words());
            }
            progress(&format!("waits for {name}"))?;
            sleep(LOOK_EVERY);
        }
        Ok(())
    }

    fn last_words(&self) -> String {
        let log = fs::read_to_string(self.node.log()).unwrap_or_default();
        log.lines().last().unwrap_or("it said nothing").to_owned()
    }

    /// What it printed since the last call.
    pub fn events(&mut self) -> Result<Vec<Value>> {
        let path = self.node.events();
        let mut read = || {
            let mut file = File::open(&path)?;
            file.seek(SeekFrom::Start(self.read))?;
            file.read_to_string(&mut self.rest)
        };
        self.read += read().with_context(|| format!("cannot read {}", path.display()))? as u64;
        // A line may be half written yet.
        let whole = self.rest.rfind('\n').map_or(0, |end| end + 1);
        let lines: String = self.rest.drain(..whole).collect();
        Ok(lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
    }

    /// What it counts. Only our nodes can be asked.
    pub fn counters(&self) -> Result<BTreeMap<String, u64>> {
        let mut control = ControlClient::connect(control_socket(self.node.path()))?;
        control.set_patience(Some(ANSWER))?;
        match control.request(&Request::Status {})? {
            Response::Status(status) => Ok(status.counters.into_iter().collect()),
            other => bail!("{} does not say how it is doing: {other:?}", self.entry.name()),
        }
    }

    /// Hands a message to the client; its number, or nothing if the client does not take it.
    pub fn send(&self, to: &str, message: &[u8]) -> Result<Option<u64>> {
        let mut control = ControlClient::connect(control_socket(self.node.path()))?;
        control.set_patience(Some(ANSWER))?;
        let request = Request::Send { to: to.into(), data_hex: hex::encode(message), wait: false };
        match control.request(&request)? {
            Response::Sent { message } => Ok(Some(message)),
            Response::Error { .. } => Ok(None),
            other => bail!("{} does not say what became of a message: {other:?}", self.entry.name()),
        }
    }

    /// The process' number.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    fn ask_to_end(&self) {
        // Not collected yet, so the number is still this process's.
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.ask_to_end();
        let until = Instant::now() + FAREWELL;
        while Instant::now() < until {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            sleep(LOOK_EVERY);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The same command by way of util-linux' `taskset`, which becomes it.
fn kept_on(core: u32, command: &Command) -> Command {
    let mut kept = Command::new("taskset");
    kept.args(["--cpu-list", &core.to_string()]).arg(command.get_program()).args(command.get_args());
    kept.current_dir(command.get_current_dir().unwrap_or(Path::new(".")));
    kept
}

fn ours(role: Role, dir: &Path) -> Result<Command> {
    let mut command = Command::new(crate::program::beside("motemix-loopix")?);
    command.args([role.name(), "--with-parent", "--dir"]).arg(dir);
    Ok(command)
}
