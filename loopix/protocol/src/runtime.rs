//! Runs one node of a Loopix network until it is stopped.
//!
//! One thread drives the node, in turns: take in a batch of datagrams, write their replay tags
//! down, send what has become due, hand what is to be kept to the disk. Nothing on that thread
//! waits for a name server, for a database or for whoever reads what the node reports: a pause
//! would show in the times at which its packets leave.
//!
//! | module | what |
//! |---|---|
//! | `driver` | the loop |
//! | `station` | a role with what belongs to it: a provider's mailboxes, a client's letters |
//! | [`mailboxes`], `letters` | what has to outlive the process, in SQLite files; `committer` writes both |
//! | `reserve` | numbers for a client's requests, none of which another process used |
//! | `journal`, `record`, `renewal` | replay tags on disk, how many still fit, and a new key in time |
//! | `manners` | whether others speak another profile |
//! | `probe` | messages that a client sends itself, to learn how long messages take |
//! | `control` | how others ask the node how it is doing |
//! | `addresses`, `watch` | the directory: where its hosts are, and whether it has changed |
//!
//! All of it is in the folder `state` beside the files of the originals, which do not look there.

mod addresses;
mod alarm;
mod committer;
mod control;
mod driver;
mod event;
mod journal;
mod letters;
pub mod mailboxes;
mod manners;
mod probe;
mod record;
mod renewal;
mod reserve;
mod station;
mod watch;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use motemix_crypto::p224::Point;
use motemix_host::link::UdpLink;
use motemix_node::Instant;
use motemix_os::address::{refusal, text};
use motemix_os::clock::HostClock;
use motemix_os::rng::HostRng;
use motemix_os::store::StoreError;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Notify, mpsc};
use tokio::task::LocalSet;

pub use event::{Event, Handle, Refusal, Requests, Stopped, Totals, handle};
pub use mailboxes::SqliteMailboxes;
pub use renewal::renew;

use crate::files::{Config, FileError, MailboxLimits, NodeFiles, Profile, Role as RoleName};
use crate::role::{Client, Limits, Mix, Provider, Rates, Role as _, Setup, SetupError, when_full};
use addresses::Addresses;
use alarm::Alarm;
use control::About;
use driver::Driver;
use event::Request;
use journal::Journal;
use letters::Letters;
use manners::Manners;
use probe::Probes;
use record::Record;
use reserve::Reserve;
use station::{ClientStation, MixStation, ProviderStation, Station};
use watch::Watch;

/// Beside the files of the originals.
const STATE: &str = "state";
/// How long a disk, a file or a name server that hangs may hold up the end of a node that has
/// finished its work.
const FAREWELL: Duration = Duration::from_secs(5);

/// Hears what happens, on the node's thread: it must not wait for anything.
type Report<'r> = &'r mut dyn FnMut(Event);

/// What a node is told besides the files in its folder.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Options {
    /// In place of the profile in the folder.
    pub profile: Option<Profile>,
    /// A provider of the fork of 2018 sends mail on as it arrives, whatever its configuration says.
    pub push: bool,
    /// In place of the node's own entry in the directory; port 0 lets the system choose one.
    pub listen: Option<SocketAddr>,
    /// How often [`Event::Counters`] comes.
    pub report_every: Option<Duration>,
    /// In place of the limits in the folder.
    pub mailboxes: Option<MailboxLimits>,
    /// A client sends itself a message whenever one could leave and none waits; [`Event::Probe`]
    /// says how long it took.
    pub probe: bool,
}

/// Runs the node in `dir` on this thread until it is asked to stop, or gets SIGINT or SIGTERM.
///
/// # Errors
/// The node cannot start, or cannot go on.
pub fn run(
    dir: &Path,
    files: NodeFiles,
    options: &Options,
    requests: Requests,
    mut report: impl FnMut(Event),
) -> Result<(), RuntimeError> {
    run_node(dir, files, options, requests, &mut report)
}

/// Compiled once and here: whatever takes a closure's type is compiled again by each caller.
fn run_node(
    dir: &Path,
    files: NodeFiles,
    options: &Options,
    requests: Requests,
    report: Report<'_>,
) -> Result<(), RuntimeError> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        // For records and files, and names that nobody answers for.
        .max_blocking_threads(4 + addresses::SIDE_BY_SIDE)
        .build()
        .map_err(|error| RuntimeError::System("cannot start", error))?;
    let ended = LocalSet::new().block_on(&runtime, start(dir, files, options, requests, report));
    runtime.shutdown_timeout(FAREWELL);
    ended
}

/// Where the replay tags of a key are.
fn tags_of_key(dir: &Path, key: &Point) -> PathBuf {
    dir.join(STATE).join(format!("replay-{}", hex::encode(&key.compress()[1..9])))
}

/// Where the node in `dir` can be asked how it is doing, while it runs.
pub fn control_socket(dir: &Path) -> PathBuf {
    dir.join(STATE).join("control.sock")
}

async fn start(
    dir: &Path,
    files: NodeFiles,
    options: &Options,
    requests: Requests,
    report: Report<'_>,
) -> Result<(), RuntimeError> {
    let NodeFiles { role, secret, own, directory, config, settings } = files;
    let profile = options.profile.unwrap_or(settings.profile);
    let limits = Limits { replay_tags: settings.replay.tags(), ..Limits::default() };
    let state = dir.join(STATE);
    motemix_os::store::own_folder(&state)?;
    let when_full = when_full(profile, role == RoleName::Client);
    let journal = Journal::open(&tags_of_key(dir, own.public_key()), limits.replay_tags, when_full)?;
    let link = bind(options.listen, own.host(), own.port()).await?;
    let mut addresses = Addresses::new(link.local_addr());
    addresses.set_directory(&directory);
    addresses.refresh(std::time::Instant::now());
    addresses.found().await;

    let ready = Event::Ready {
        role,
        name: own.name().into(),
        port: link.local_addr().port(),
        profile,
        users: driver::users(&directory),
    };
    heed_signals(requests.asks.clone())?;
    let about = About { name: own.name().into(), listen: text(link.local_addr()) };
    control::serve(control_socket(dir), about, requests.asks);
    let database = dir.join(config.database(role));
    let setup = Setup {
        profile,
        secret,
        me: own.clone(),
        rates: Rates {
            // The others do not know the word, even if it stands in their configuration.
            start: Duration::from_secs(settings.originals.start_s.into()),
            push: profile == Profile::Fork2018 && (options.push || config.providers.push == Some(true)),
            ..rates(&config, role, directory.layers().len())
        },
        directory,
        limits,
    };
    let around = Around {
        link,
        journal,
        addresses,
        watch: Watch::new(dir, database, own),
        manners: Manners::new(profile, role),
        record: Record::new(when_full),
        clock: HostClock::start(),
        wake: Arc::new(Notify::new()),
        requests: requests.heeds,
        report_every: options.report_every,
        ready,
    };
    let now = around.clock.now();
    match role {
        RoleName::Mix => around.drive(MixStation(Mix::new(setup, now, rng()?)?), report).await,
        RoleName::Provider => {
            let limits = options.mailboxes.unwrap_or(settings.mailboxes);
            let mailboxes = SqliteMailboxes::open(&state.join("mailboxes.db"), limits, around.wake.clone())?;
            let provider = Provider::new(setup, mailboxes, now, rng()?)?;
            around.drive(ProviderStation(provider), report).await
        }
        RoleName::Client => {
            let (letters, outbox) = Letters::open(&state.join("letters.db"), around.wake.clone())?;
            let reserve = (profile == Profile::Hardened).then(|| Reserve::open(&state));
            let station = client(setup, letters, outbox, reserve, now, options.probe)?;
            // On the heap: it holds the batches of a node.
            Box::pin(around.drive(station, report)).await
        }
    }
}

fn client(
    setup: Setup,
    letters: Letters,
    outbox: Vec<letters::Letter>,
    reserve: Option<(Reserve, u64)>,
    now: Instant,
    probe: bool,
) -> Result<ClientStation, RuntimeError> {
    let is_acknowledged = setup.profile == Profile::Hardened;
    let (reserve, counter) = reserve.map_or((None, 0), |(reserve, last)| (Some(reserve), last));
    let mut station_rng = rng()?;
    let probes = probe.then(|| Probes::new(setup.me.name(), &mut station_rng));
    let mut client = Client::new(setup, counter, now, rng()?)?;
    if let Some(probes) = probes.clone() {
        client.set_builder(Box::new(move || Some(probes.draft())));
    }
    Ok(ClientStation::new(client, letters, reserve, outbox, is_acknowledged, probes, station_rng))
}

/// Everything around a station.
struct Around {
    link: UdpLink,
    journal: Journal,
    addresses: Addresses,
    watch: Watch,
    manners: Manners,
    record: Record,
    clock: HostClock,
    wake: Arc<Notify>,
    requests: mpsc::Receiver<Request>,
    report_every: Option<Duration>,
    ready: Event,
}

impl Around {
    async fn drive(mut self, mut station: impl Station, report: Report<'_>) -> Result<(), RuntimeError> {
        self.journal.known(|tags| station.role().restore(tags))?;
        report(self.ready);
        let driver = Driver {
            station,
            link: self.link,
            journal: self.journal,
            addresses: self.addresses,
            watch: self.watch,
            manners: self.manners,
            record: self.record,
            alarm: Alarm::default(),
            clock: self.clock,
            wake: self.wake,
            requests: self.requests,
            report,
            report_every: self.report_every,
        };
        driver.run().await
    }
}

/// What the configuration says to a node of this role.
fn rates(config: &Config, role: RoleName, layers: usize) -> Rates {
    let Config { clients, mixes, providers, noise_len } = config;
    let (loops, delay) = match role {
        RoleName::Client => (clients.loops, clients.delay),
        RoleName::Mix | RoleName::Provider => (mixes.loops, mixes.delay),
    };
    let mut rates = Rates {
        loops,
        drops: clients.drop,
        payload: clients.payload,
        delay,
        pull: clients.pull,
        max_retrieve: providers.max_retrieve as usize,
        noise_len: *noise_len,
        push: false,
        retry: Duration::ZERO,
        start: Duration::ZERO,
    };
    rates.retry = rates.patience(u32::try_from(layers).unwrap_or(u32::MAX));
    rates
}

fn rng() -> Result<HostRng, RuntimeError> {
    HostRng::new().map_err(|error| RuntimeError::System("the platform has no entropy", error))
}

/// Opens the node's socket where its directory entry says, unless it is told otherwise.
async fn bind(listen: Option<SocketAddr>, host: &str, port: u16) -> Result<UdpLink, RuntimeError> {
    let address = match listen {
        Some(address) => address,
        None => SocketAddr::new(own_address(host).await?, port),
    };
    UdpLink::bind(address).map_err(|error| RuntimeError::Bind(address, error))
}

async fn own_address(host: &str) -> Result<IpAddr, RuntimeError> {
    if let Ok(address) = host.parse() {
        return Ok(address);
    }
    let name = host.to_owned();
    let found = tokio::task::spawn_blocking(move || addresses::look_up(&name)).await.unwrap_or_default();
    // IPv4 if there is one: the originals know no other.
    let first = found.iter().find(|address| address.is_ipv4()).or_else(|| found.first());
    first.copied().ok_or_else(|| RuntimeError::NotFound(host.to_owned()))
}

/// Stops the node when the system asks for it. That a terminal was closed is no reason to.
fn heed_signals(asks: mpsc::Sender<Request>) -> Result<(), RuntimeError> {
    let heed = |kind| signal(kind).map_err(|error| RuntimeError::System("cannot heed signals", error));
    let mut interrupt = heed(SignalKind::interrupt())?;
    let mut terminate = heed(SignalKind::terminate())?;
    let mut hangup = heed(SignalKind::hangup())?;
    tokio::task::spawn_local(async move {
        loop {
            tokio::select! {
                _ = interrupt.recv() => break,
                _ = terminate.recv() => break,
                _ = hangup.recv() => tracing::info!("SIGHUP: the node goes on, and SIGTERM ends it"),
            }
        }
        // A node that has stopped need not be asked to.
        let _ = asks.send(Request::Stop).await;
    });
    Ok(())
}

fn store_error(file: &Path, error: io::Error) -> StoreError {
    StoreError { file: file.to_owned(), problem: motemix_os::store::StoreProblem::Io(error) }
}

/// Why a node cannot start or go on; prints as one line with a remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// A file of the folder.
    #[error(transparent)]
    File(#[from] FileError),
    /// What has to outlive the process.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The files do not make a node.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The address cannot be listened on.
    #[error(
        "{at}: {why}", at = text(*.0),
        why = refusal(*.0, .1, "choose an address of this machine that no other program uses, for example with --listen")
    )]
    Bind(SocketAddr, io::Error),
    /// The node's own host has no address.
    #[error(
        "{0}: this node's own host is not found; check the name server, or say where to listen with --listen"
    )]
    NotFound(String),
    /// The node runs.
    #[error("{0}: the node runs; stop it first")]
    Running(PathBuf),
    /// The system refuses.
    #[error("{0}: {1}")]
    System(&'static str, io::Error),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_tries_again_when_the_specification_says() {
        let seconds = Duration::from_secs;
        let mut config = Config::default();
        config.clients.payload = seconds(5);
        config.clients.delay = seconds(2);
        config.clients.pull = seconds(11);
        // 3 · (2 · (layers + 2) · delay + 2 · pull + payload) + 1 s.
        assert_eq!(rates(&config, RoleName::Client, 3).retry, seconds(3 * (20 + 22 + 5) + 1));
    }
}
