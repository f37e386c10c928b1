//! Runs one node until it is stopped.
//!
//! One thread drives the node, in rounds: take in some datagrams, write their replay tags down,
//! tell the inbox what arrived, send what has become due, build some headers. Each has a bounded
//! share of every round. What waits for the disk, other than replay tags, does so on other threads;
//! and where much waits, other threads multiply, and decide nothing.
//!
//! What the system refuses while the node runs does not end it: a full disk and missing file
//! descriptors pause what needs them, are told by the node's [`health`](crate::health), and are
//! tried again every second.

mod advance;
mod answers;
mod claim;
mod cover;
mod crew;
mod detail;
mod diary;
mod driver;
mod epochs;
mod forecast;
mod links;
mod mailroom;
mod news;
mod pace;
mod passed;
mod patience;
mod readings;
mod reserve;
mod rounds;
mod snapshot;
mod state_folder;
mod tables;
mod watch;

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::task::Poll;
use std::time::Duration;

use motemix_crypto::{Curve as _, PublicKey};
use motemix_directory::{Epoch, ProfileName};
use motemix_node::EpochError;
use motemix_sphinx::{Host1k, Host2k, Mote, Mote5, NodeId};
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, oneshot};
use tokio::task::LocalSet;

use crate::NodeConfig;
use crate::clock::ClockMemory;
use crate::control::{Call, ControlServer, Request};
use crate::documents::{Documents, DocumentsError, Network, Outlook};
use crate::keys::NodeKey;
use crate::metrics::MetricsServer;
use crate::store::ReplayLogs;
use advance::Time;
use driver::Driver;
use links::Links;
use mailroom::Mailroom;
use motemix_os::address::{refusal, text};
use motemix_os::clock::unix_time;
use motemix_os::control::ControlError;
use motemix_os::curve::HostCurve;
use motemix_os::key_file::KeyError;
use motemix_os::store;
use motemix_os::store::{Message, StoreError};
use motemix_os::supervisor::Supervisor;
use patience::Patience;
use snapshot::Shared;
use state_folder::StateFolder;

/// Requests that wait for the node, from all control connections together.
const CALLS: usize = 16;
/// What to do where an address cannot be listened on.
const OWN_ADDRESS: &str = "choose an address of this machine that no other program uses";
/// How long a disk or a file that hangs may hold up the end of a node that has finished its work.
const FAREWELL: Duration = Duration::from_secs(5);

/// What a node has opened, with the ports that the system chose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    /// Where it receives packets.
    pub listen: Vec<SocketAddr>,
    /// Where its coarse metrics are, for every user of the machine.
    pub metrics: Option<SocketAddr>,
    /// Where its metrics with all details are, for the node's user alone.
    pub metrics_socket: PathBuf,
    /// Where it takes requests.
    pub control: PathBuf,
    /// The epoch that it began with; `None` if it waits until a network document is in force.
    pub epoch: Option<Epoch>,
}

/// Where a node's readings come from.
pub trait Source {
    /// The reading that is due, of at most `most` bytes: empty if there is nothing to say, or if it
    /// could not be made. While something measures, it is pending, and asked for again soon. Does
    /// not wait.
    fn poll(&mut self, most: usize) -> Poll<Vec<u8>>;

    /// Why the last reading could not be made, in one line with a remedy; none if it was made.
    fn problem(&self) -> Option<String> {
        None
    }
}

impl<F: FnMut(usize) -> Vec<u8>> Source for F {
    fn poll(&mut self, most: usize) -> Poll<Vec<u8>> {
        Poll::Ready(self(most))
    }
}

/// Says what goes back to the senders of these messages, which are on the disk, in their order:
/// nothing for a mere acknowledgement. It is called on a thread that may wait for a disk. Whoever
/// sent one message twice is asked about twice, with the number and the time of the first try.
pub type Replies = Box<dyn FnMut(&[Message]) -> Vec<Vec<u8>> + Send>;

/// Hears what a receiver said to a message of this node, if it said anything.
pub type Heard = Box<dyn FnMut(&[u8])>;

/// Says why what has arrived is not handed to a broker, if it is not: one line with a remedy.
pub type Trouble = Box<dyn FnMut() -> Option<String>>;

/// Time since 1970 by a clock that others may set.
pub type WallClock = Box<dyn FnMut() -> Duration>;

/// What a node is handed besides its configuration.
#[derive(Default)]
pub struct Setup {
    /// Bound UDP sockets to use in place of `listen`, from a service manager.
    pub sockets: Vec<UdpSocket>,
    /// What a node with `readings` sends.
    pub source: Option<Box<dyn Source>>,
    /// What a receiver says besides that it has a message.
    pub replies: Option<Replies>,
    /// Who hears what receivers say.
    pub heard: Option<Heard>,
    /// What keeps a receiver from handing over, for its health.
    pub trouble: Option<Trouble>,
    /// The wall clock; the machine's, if there is none.
    pub wall: Option<WallClock>,
    /// Who started the program and wants to be told how it is.
    pub supervisor: Supervisor,
}

/// Runs the node on this thread until it is asked to stop, over the control socket or by SIGINT or
/// SIGTERM.
///
/// `started` hears once that everything is open. A node whose documents have expired, or are all
/// for later, starts as well: it tells that it is failing, and why, and begins when one is in
/// force. So does one whose disk has no room for a replay log. Where the disk has no room for what
/// comes before `started`, whoever started the node hears that it cannot start.
///
/// # Errors
/// The node cannot start, or something is wrong that waiting does not mend.
pub fn run(config: &NodeConfig, setup: Setup, started: impl FnOnce(&Started)) -> Result<(), RuntimeError> {
    run_node(config, setup, Box::new(started))
}

pub use claim::renew_keys;

/// Compiled once and here: whatever takes a closure's type is compiled again by each caller, with a
/// driver for each profile.
fn run_node(
    config: &NodeConfig,
    setup: Setup,
    started: Box<dyn FnOnce(&Started) + '_>,
) -> Result<(), RuntimeError> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(4)
        .build()
        .map_err(|error| RuntimeError::System("cannot start", error))?;
    let ended = LocalSet::new().block_on(&runtime, start(config, setup, started));
    runtime.shutdown_timeout(FAREWELL);
    ended
}

async fn start(
    config: &NodeConfig,
    setup: Setup,
    started: Box<dyn FnOnce(&Started) + '_>,
) -> Result<(), RuntimeError> {
    store::own_folder(&config.state)?;
    let opened = StateFolder::open(&config.state);
    let folder = opened.map_err(|error| StoreError::io(&config.state, error))?;
    // Earlier versions kept the newest epoch here, also that of a document that was then refused.
    let _ = std::fs::remove_file(config.state.join("newest-epoch"));
    let mut documents = Documents::open(config)?;
    let mut key = NodeKey::load(&config.key)?;
    let wall = setup.wall.unwrap_or_else(|| Box::new(unix_time));
    let mut time = Time::start(wall, ClockMemory::of(&config.state));
    // First, so that a second start of a node hears that the node runs, and not that a port is in
    // use.
    let control = ControlServer::bind(config.control_socket())?;
    // Whatever may refuse this start comes before keys are dropped.
    let links = Links::open(config, setup.sockets)?;
    let metrics = match &config.metrics {
        Some(section) => Some(listen(section.listen).await?),
        None => None,
    };
    let mut logs = ReplayLogs::open(&config.state)?;
    claim::claim(config, &mut key, &mut logs)?;
    let found = match patience::look(config, &documents, &key, time.now()) {
        Err(error) if !patience::may_mend(config, &key, &error) => return Err(error),
        found => found,
    };
    let detailed = MetricsServer::bind_private(config.metrics_socket())?;
    let mailroom = Mailroom::open(config, setup.replies)?;
    let opened = Started {
        listen: links.addresses(),
        metrics: metrics.as_ref().and_then(|(address, _)| *address),
        metrics_socket: config.metrics_socket(),
        control: config.control_socket(),
        epoch: found.as_ref().ok().map(|(network, _)| network.epoch),
    };
    let shared = Shared::new(config, &opened);
    if let Some((_, server)) = metrics {
        tokio::task::spawn_local(server.serve(shared.coarse()));
    }
    tokio::task::spawn_local(detailed.serve(shared.clone()));
    let (calls, mut inbound) = mpsc::channel::<Call>(CALLS);
    tokio::task::spawn_local(stop_on_signal(calls.clone())?);
    if let Some(section) = &config.directory {
        news::start(config, section, &opened.listen, shared.clone())?;
    }
    tokio::task::spawn_local(control.serve(calls));

    started(&opened);
    let supervisor = setup.supervisor;
    supervisor.ready("starting");
    let mut patience = Patience {
        supervisor: &supervisor,
        config,
        folder: &folder,
        documents: &mut documents,
        key: &key,
        logs: &mut logs,
        time: &mut time,
        mailroom: &mailroom,
        shared: &shared,
        outlook: Outlook::default(),
        quiet: false,
    };
    let Some((network, me)) = patience.wait(found, &mut inbound).await? else {
        supervisor.stopping();
        return Ok(());
    };
    let source = setup.source.filter(|_| !patience.quiet);
    tracing::info!(epoch = %network.epoch, curve = HostCurve::backend(), "the node runs");
    let parts = Parts {
        config,
        folder,
        documents,
        key,
        time,
        network,
        me,
        links,
        logs,
        mailroom,
        shared,
        inbound,
        source,
        heard: setup.heard,
        trouble: setup.trouble,
        supervisor,
    };
    match parts.network.profile {
        ProfileName::Mote => Driver::<Mote<HostCurve>>::drive(parts).await,
        ProfileName::Mote5 => Driver::<Mote5<HostCurve>>::drive(parts).await,
        ProfileName::Host1k => Driver::<Host1k<HostCurve>>::drive(parts).await,
        ProfileName::Host2k => Driver::<Host2k<HostCurve>>::drive(parts).await,
    }
}

/// What the driver is made of.
struct Parts<'c> {
    config: &'c NodeConfig,
    folder: StateFolder,
    documents: Documents,
    key: NodeKey,
    time: Time,
    network: Network,
    me: NodeId,
    links: Links,
    logs: ReplayLogs,
    mailroom: Mailroom,
    shared: Shared,
    inbound: mpsc::Receiver<Call>,
    source: Option<Box<dyn Source>>,
    heard: Option<Heard>,
    trouble: Option<Trouble>,
    supervisor: Supervisor,
}

/// Asks the node to stop when the system does. That a terminal was closed is no reason to.
fn stop_on_signal(calls: mpsc::Sender<Call>) -> Result<impl Future<Output = ()>, RuntimeError> {
    let heed = |kind| signal(kind).map_err(|error| RuntimeError::System("cannot heed signals", error));
    let mut interrupt = heed(SignalKind::interrupt())?;
    let mut terminate = heed(SignalKind::terminate())?;
    let mut hangup = heed(SignalKind::hangup())?;
    // Without a handler, a limit on the length of files would end the process, and not only fail to
    // write.
    drop(heed(SignalKind::from_raw(libc::SIGXFSZ))?);
    Ok(async move {
        loop {
            tokio::select! {
                _ = interrupt.recv() => break,
                _ = terminate.recv() => break,
                _ = hangup.recv() => tracing::info!("SIGHUP: the node goes on, and SIGTERM ends it"),
            }
        }
        let (reply, _) = oneshot::channel();
        // A node that has stopped needs no request to.
        let _ = calls.send(Call { request: Request::Stop {}, reply }).await;
    })
}

async fn listen(address: SocketAddr) -> Result<(Option<SocketAddr>, MetricsServer), RuntimeError> {
    let failed = |error| RuntimeError::Bind("metrics.listen", address, error);
    let server = MetricsServer::bind(address).await.map_err(failed)?;
    let address = server.local_addr().map_err(failed)?;
    Ok((address, server))
}

/// This node in the document: its name and mix key have to be the configured ones, or its packets
/// would be for somebody else. So has its id, if one is.
fn find_me(config: &NodeConfig, key: &NodeKey, network: &Network) -> Result<NodeId, RuntimeError> {
    let refused = |passes, problem| {
        let (name, epoch) = (config.name.clone(), network.epoch);
        RuntimeError::NotMe { name, epoch, problem, passes }
    };
    let id = network.find(&config.name).ok_or_else(|| {
        if config.directory.is_some() {
            let problem = "does not have it; have the authorities' operators admit it (`motemix authority add`), \
                           or wait if they have: documents that were signed before do not change";
            refused(true, problem)
        } else {
            refused(false, "has no such node; publish its description")
        }
    })?;
    if config.own_id().is_some_and(|own| id != own) {
        let problem = "gives it another id; correct `id` in the configuration, or leave it out";
        return Err(refused(false, problem));
    }
    let secret = key.mix_secret(network.epoch)?;
    let published = network.node(id).map_or(PublicKey([0; 32]), |node| node.mix_key);
    if HostCurve::public_key(&secret) != published {
        return Err(match (key.is_renewed(), config.directory.is_some()) {
            (true, true) => refused(
                true,
                "has another mix key for it, because keys were made anew; the node takes part again with the \
                 first document that names the new ones",
            ),
            (true, false) => refused(
                false,
                "has another mix key for it, because keys were made anew; sign documents with the new ones \
                 (`motemix net renew --early`)",
            ),
            _ => refused(false, "has another mix key for it; publish the key of this node's key file"),
        });
    }
    Ok(id)
}

/// Why there is no document in force, in the words of a node that gets them as this one does.
fn without_document(config: &NodeConfig, error: &RuntimeError) -> String {
    match error {
        RuntimeError::Documents(error) if config.directory.is_some() => error.awaited(),
        other => other.to_string(),
    }
}

/// Why a node cannot start or go on; prints as one line with a remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// The key file.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The network documents.
    #[error(transparent)]
    Documents(#[from] DocumentsError),
    /// The inbox or the replay logs.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The control socket.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// The document does not describe this node.
    #[error("{name}: the network document of epoch {epoch} {problem}")]
    NotMe {
        /// The node's name.
        name: String,
        /// The document's epoch.
        epoch: Epoch,
        /// What is wrong, with the remedy.
        problem: &'static str,
        /// Whether a later document mends it.
        passes: bool,
    },
    /// An address cannot be listened on.
    #[error("{0}: {at}: {why}", at = text(*.1), why = refusal(*.1, .2, OWN_ADDRESS))]
    Bind(&'static str, SocketAddr, io::Error),
    /// Several sockets of one family were handed over.
    #[error("LISTEN_FDS: two sockets of one family; hand over one of IPv4, one of IPv6, or both")]
    Sockets,
    /// The radio cannot be reached.
    #[error("radio.line: {}: {problem}; start `motemix-lab air` first, or correct the path", .line.display())]
    Radio {
        /// The socket.
        line: PathBuf,
        /// What is wrong with it.
        problem: io::Error,
    },
    /// Keys of links cannot be written where the environment says.
    #[error("MOTEMIX_LINK_KEYS: {}: {problem}; name a folder of your own, or unset it", .folder.display())]
    LinkKeys {
        /// The folder.
        folder: PathBuf,
        /// What is wrong with it.
        problem: io::Error,
    },
    /// A newer document has another packet format.
    #[error("the packet profile changed to {0}; start the node again")]
    Profile(ProfileName),
    /// The node refuses the epoch.
    #[error("epoch {0}: {1}; check the network document")]
    Epoch(Epoch, EpochError),
    /// What an epoch's packets were cannot be read back.
    #[error(transparent)]
    ReplayLog(StoreError),
    /// The filter has become smaller than what an earlier run of the node admitted.
    #[error(
        "limits.replay_tags: the replay log of epoch {0} has more packets than the filter takes; \
         raise it to what it was"
    )]
    ReplayLogTooLong(Epoch),
    /// The system refuses.
    #[error("{0}: {1}")]
    System(&'static str, io::Error),
}
