//! Runs a broker: sockets, clock and store around the heart.
//!
//! ```text
//! UDP ─ Endpoint ┐                                              ┌ answers, notices ─ Endpoint ─ UDP
//! TCP, WebSocket,│                                              │ … ─ Session ─ TCP, WebSocket,
//! local ─ Session┴ requests ─ Broker::handle ─ Store::commit ───┤                      local
//! page, bridge ──┘           (one batch a round)  (one write)   └ feed ─ page, bridge
//! ```
//!
//! One thread goes round: it takes in what has arrived, commits what changed with one write to the
//! disk, and sends what may leave now. While the disk is busy, what arrives is gathered for the
//! next round: the more there is to do, the more each write carries.

mod connections;
mod datagrams;
mod fetches;
mod files;
mod inner;
mod preshared;
mod sessions;
mod shown;
pub mod statistics;
mod unproven;

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use motemix_coap::{Event, Incoming, Peer, Ticket};
use motemix_os::address::{refusal, text};
use motemix_os::{memory, rng};
use motemix_time::Instant;
use tokio::sync::Notify;
use tokio::time::sleep_until;

use crate::store::{Store, StoreError};
use crate::{Answer, Broker, Caller, Notice, Policy, Settled, clock};
use connections::{Connections, Unseen};
use datagrams::Datagrams;
use fetches::Fetches;
use inner::Asked;
pub use inner::{Feed, Inner, Inside, Update, inside};
use motemix_broker_client::clock::{Clock, far};
pub use sessions::{OwnIdentity, key_file};
pub use shown::Shown;
use statistics::Statistics;
use unproven::Unproven;

/// Requests that one round takes, of everybody: the disk is asked in between.
const ROUND: usize = 1024;
/// For how long a batch is decided anew before everybody is told to try again. Another broker that
/// is busy is faster four times of five, and a try takes a millisecond or two.
const ATTEMPTS: Duration = Duration::from_secs(2);
/// How long a store that refused is left alone, while everybody is told so.
const AGAIN: Duration = Duration::from_secs(1);
/// How often the system is asked for a port that is free for both UDP and TCP.
const CHOICES: u32 = 16;
/// How often what is too old to be kept is looked for, of topics to which nothing is published.
const TIDY: Duration = Duration::from_hours(1);

/// Where a broker listens.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Listen {
    /// Addresses for CoAP over UDP, TCP and WebSockets: one of each family at most.
    pub coap: Vec<SocketAddr>,
    /// A socket of this machine, for receivers of the network and for bridges.
    pub local: Option<PathBuf>,
    /// The folder of the broker's keys. Without one nobody can prove to it who he is.
    pub keys: Option<PathBuf>,
    /// Names of this broker beside its addresses and `localhost`: pages of a browser that have one
    /// of them may open WebSockets, and no others may.
    pub names: Vec<String>,
}

/// What a broker has opened, with the ports that the system chose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// For CoAP.
    pub coap: Vec<SocketAddr>,
    /// For receivers and bridges.
    pub local: Option<PathBuf>,
    /// Who the broker is to devices that prove who they are, once for each kind of key.
    pub identities: Vec<OwnIdentity>,
}

/// Why a broker cannot start or go on; prints as one line with a remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An address cannot be listened on.
    #[error("{at}: {why}", at = text(*.0), why = refusal(*.0, .1, "choose an address of this machine that no other program uses"))]
    Bind(SocketAddr, #[source] io::Error),
    /// Two addresses of one family.
    #[error("{0} and {1} are of one family; listen on one IPv4 and one IPv6 address at most")]
    OneFamily(SocketAddr, SocketAddr),
    /// The local socket cannot be made.
    #[error(transparent)]
    Local(#[from] motemix_os::control::ControlError),
    /// The broker's own key cannot be used.
    #[error(transparent)]
    Key(#[from] motemix_os::key_file::KeyError),
    /// There is another kind of key in its place.
    #[error("{file}: no {algorithm} key; restore the file from a backup, or remove it for a new key", file = file.display())]
    OtherKey {
        /// Where it was looked for.
        file: PathBuf,
        /// What it should be for.
        algorithm: &'static str,
    },
    /// A security context that was given to both sides cannot be used.
    #[error("{file}: {problem}", file = file.display())]
    Shared {
        /// Its file, or the folder of all.
        file: PathBuf,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// The system refuses.
    #[error("{0}: {1}")]
    System(&'static str, #[source] io::Error),
}

/// A broker with everything around it.
#[derive(Debug)]
pub struct Server<S> {
    broker: Broker<Ticket>,
    store: S,
    datagrams: Datagrams,
    connections: Connections,
    fetches: Fetches,
    unproven: Unproven,
    inside: Inside,
    clock: Clock,
    /// Other brokers stored something.
    news: Arc<Notify>,
    /// Why the store refused last, and until when it is left alone.
    refused: Option<(String, tokio::time::Instant)>,
    /// Why what others stored could not be read last, and until when that is left alone.
    no_news: Option<(String, tokio::time::Instant)>,
    next_tidy: tokio::time::Instant,
    tidied: Option<tokio::time::Instant>,
}

impl<S: Store> Server<S> {
    /// Opens the sockets, and reads what the store has. `inside` is where the page and bridges of
    /// this process ask. It has to be called inside a tokio runtime.
    ///
    /// # Errors
    /// See [`ServeError`].
    pub fn open(
        policy: Policy,
        mut store: S,
        listen: &Listen,
        inside: Inside,
    ) -> Result<(Self, Opened), ServeError> {
        let seed = rng::seed().map_err(|error| ServeError::System("the platform has no entropy", error))?;
        let state = store.load()?;
        let (mut datagrams, connections, addresses) = Self::listen(listen, seed)?;
        let mut identities = Vec::new();
        if let Some(folder) = &listen.keys {
            let own;
            (own, identities) = memory::wiped(|| sessions::own_keys(folder))?;
            let mirror = inside.mirror();
            let (protection, shared) = memory::wiped(|| sessions::protection(&policy, own, folder, mirror))?;
            datagrams.protect(protection, shared);
        }
        let opened = Opened { coap: addresses, local: listen.local.clone(), identities };
        let mut broker = Broker::new(policy, state);
        if store.is_shared() {
            broker.keep_requests();
        }
        let clock = Clock::start();
        let news = store.has_news().unwrap_or_default();
        Ok((
            Self {
                broker,
                store,
                news,
                datagrams,
                connections,
                fetches: Fetches::default(),
                unproven: Unproven::default(),
                inside,
                clock,
                refused: None,
                no_news: None,
                next_tidy: tokio::time::Instant::now(),
                tidied: None,
            },
            opened,
        ))
    }

    /// UDP and TCP have one port. One that the system chose for UDP may be somebody's for TCP: then
    /// it is asked for another.
    fn listen(
        listen: &Listen,
        seed: [u8; 32],
    ) -> Result<(Datagrams, Connections, Vec<SocketAddr>), ServeError> {
        let mut left = CHOICES;
        loop {
            let datagrams = Datagrams::bind(&listen.coap, seed)?;
            let addresses = datagrams.addresses()?;
            let (local, names) = (listen.local.as_deref(), listen.names.clone().into());
            match Connections::listen(&addresses, local, names, datagrams.bodies(), seed) {
                Ok(connections) => return Ok((datagrams, connections, addresses)),
                Err(ServeError::Bind(address, error)) => {
                    left -= 1;
                    if left == 0 || listen.coap.contains(&address) {
                        return Err(ServeError::Bind(address, error));
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Serves until `stop` is done.
    ///
    /// # Errors
    /// See [`ServeError`]. That the disk is full or peers misbehave is none: it is told, and goes
    /// on.
    pub async fn serve(mut self, stop: impl Future<Output = ()>) -> Result<(), ServeError> {
        let mut stop = std::pin::pin!(stop);
        self.inside.begin(self.broker.state());
        loop {
            let more = self.round()?;
            if more {
                // Whoever else has something to do on this thread.
                tokio::task::yield_now().await;
                if (&mut stop).now_or_never().is_some() {
                    break;
                }
                continue;
            }
            // While it waits, nothing of contexts and handshakes that have ended is below.
            memory::wipe_stack();
            let wake = self.wake();
            tokio::select! {
                () = &mut stop => break,
                readable = self.datagrams.readable() => readable.map_err(|error| ServeError::System("UDP", error))?,
                () = self.connections.ready() => {}
                asked = self.inside.next() => self.handle_inner(asked),
                () = self.news.notified() => {}
                () = sleep_until(wake) => {}
            }
        }
        self.connections.release();
        Ok(())
    }

    /// Takes in, commits, sends. `true` if more may wait.
    fn round(&mut self) -> Result<bool, ServeError> {
        let now = self.clock.now();
        self.take_news();
        let mut left = ROUND;
        let mut more = self.datagrams.take_in(now).map_err(|error| ServeError::System("UDP", error))?;
        while let Some(incoming) = self.datagrams.poll_request() {
            self.handle(incoming, None, false);
            left = left.saturating_sub(1);
            if left == 0 {
                more = true;
                break;
            }
        }
        self.connections.take_in(now);
        while let Some((incoming, address)) = self.connections.poll_request() {
            self.handle(incoming, address, address.is_none());
        }
        self.count_unseen(now);
        while let Some(asked) = self.inside.try_next() {
            self.handle_inner(asked);
        }
        if !self.is_left_alone() {
            self.broker.expire(clock::moment());
        }
        self.fetches.begin(now, &mut self.broker, &mut self.datagrams);
        self.settle();
        self.tidy();
        self.datagrams.handle_timeout(now);
        self.connections.handle_timeout(now);
        // Registrations whose links have come are answered too, and whoever left by that is noted.
        loop {
            self.events();
            if self.broker.is_settled() {
                break;
            }
            self.settle();
        }
        self.tell_numbers();
        self.datagrams.transmit().map_err(|error| ServeError::System("UDP", error))?;
        more |= self.connections.transmit();
        Ok(more)
    }

    /// Blocks and signals are messages as requests are, and count in the same rate.
    fn count_unseen(&mut self, now: Instant) {
        while let Some(Unseen { peer, address, count }) = self.connections.poll_unseen() {
            let local = address.is_none();
            let caller = Caller { peer, connected: address, proven: true, device: None, local };
            if let Err(wait) = self.broker.count_unseen(clock::moment(), &caller, count) {
                self.connections.refuse_unseen(peer, now + Duration::from_secs(wait.into()));
            }
        }
    }

    fn handle(&mut self, incoming: Incoming, connected: Option<IpAddr>, local: bool) {
        let Incoming { ticket, request } = incoming;
        let relation = ticket.relation();
        let device = self.datagrams.device(&ticket);
        let proven = self.datagrams.is_proven(self.clock.now(), &ticket);
        let caller = Caller { peer: relation.peer, connected, proven, device, local };
        if self.has_to_prove(&ticket, &caller, &request) {
            return self.datagrams.ask_for_proof(self.clock.now(), ticket);
        }
        self.broker.handle(clock::moment(), &caller, ticket, relation, request);
    }

    fn handle_inner(&mut self, asked: Asked) {
        let (ticket, request) = self.inside.ticket(asked);
        let relation = ticket.relation();
        let caller = Caller { peer: relation.peer, connected: None, proven: true, device: None, local: true };
        self.broker.handle(clock::moment(), &caller, ticket, relation, request);
    }

    /// Has the store keep what changed, and lets leave what may.
    fn settle(&mut self) {
        if self.broker.is_settled() {
            return;
        }
        let changes = self.broker.changes();
        let is_change = !changes.is_empty();
        let now = tokio::time::Instant::now();
        let refused = self.refused.as_ref().filter(|(_, until)| *until > now && is_change);
        let stored = match refused {
            Some((problem, _)) => Err(problem.clone()),
            None if !is_change => Ok(()),
            None => self.commit(),
        };
        let settled = match stored {
            Ok(()) => {
                if is_change && self.refused.take().is_some() {
                    tracing::info!("the store takes changes again");
                }
                self.broker.stored()
            }
            Err(problem) => {
                if self.refused.as_ref().is_none_or(|(before, _)| *before != problem) {
                    tracing::error!(%problem, "the store refuses");
                }
                // Where the store is, is nobody's affair but the operator's, who is told above.
                let settled = self.broker.not_stored("the store refuses; ask who runs this broker");
                if self.refused.as_ref().is_none_or(|(_, until)| *until <= now) {
                    self.refused = Some((problem, now + AGAIN));
                }
                settled
            }
        };
        self.leave(settled);
    }

    /// Has the store keep the batch. What other brokers stored first is taken in, and the batch
    /// decided anew.
    fn commit(&mut self) -> Result<(), String> {
        let end = tokio::time::Instant::now() + ATTEMPTS;
        while tokio::time::Instant::now() < end {
            match self.store.commit(self.broker.changes()) {
                Ok(()) => return Ok(()),
                Err(StoreError::Behind) => {}
                Err(error) => return Err(error.to_string()),
            }
            let news = self.store.news().map_err(|error| error.to_string())?;
            let settled = self.broker.again(clock::moment(), news);
            self.leave(settled);
            if self.broker.changes().is_empty() {
                return Ok(());
            }
        }
        Err("other brokers are always faster".to_owned())
    }

    /// Takes in what other brokers stored.
    fn take_news(&mut self) {
        let now = tokio::time::Instant::now();
        if self.no_news.as_ref().is_some_and(|(_, until)| *until > now) {
            return;
        }
        match self.store.news() {
            Ok(changes) => {
                if self.no_news.take().is_some() {
                    tracing::info!("what others stored can be read again");
                }
                if !changes.is_empty() {
                    let settled = self.broker.foreign(changes);
                    self.leave(settled);
                }
            }
            Err(error) => {
                let problem = error.to_string();
                if self.no_news.as_ref().is_none_or(|(before, _)| *before != problem) {
                    tracing::error!(%problem, "what others stored cannot be read");
                }
                self.no_news = Some((problem, tokio::time::Instant::now() + AGAIN));
            }
        }
    }

    fn leave(&mut self, settled: Settled<Ticket>) {
        let now = self.clock.now();
        let Settled { answers, notices, feed } = settled;
        for Answer { ticket, response, observing } in answers {
            match ticket.relation().peer {
                Peer::Datagram(_) => self.datagrams.respond(now, ticket, &response, observing),
                Peer::Stream(number) if Inside::is_of(number) => self.inside.respond(number, response),
                Peer::Stream(_) => self.connections.respond(now, ticket, &response, observing),
            }
        }
        for Notice { relation, response, last, confirm } in notices {
            match relation.peer {
                Peer::Datagram(_) => self.datagrams.notify(now, &relation, &response, confirm, last),
                Peer::Stream(_) => self.connections.notify(now, &relation, &response, last),
            }
        }
        if !feed.is_empty() {
            self.inside.tell(feed);
        }
        let problem = self.refused.as_ref().map(|(problem, _)| problem.as_str());
        self.inside.health(problem);
    }

    /// Who does not observe any more, and which devices have answered.
    fn events(&mut self) {
        while let Some(event) = self.datagrams.poll_event().or_else(|| self.connections.poll_event()) {
            let now = clock::moment();
            match event {
                Event::Gone(relation) => self.broker.end(&relation),
                Event::Response { call, response } => {
                    self.fetches.end(now, &mut self.broker, call, Some(&response));
                }
                Event::Failed { call } => self.fetches.end(now, &mut self.broker, call, None),
                // The broker observes nobody.
                Event::Notification { .. } => {}
            }
        }
    }

    /// Shows what was counted, and which publications were refused.
    fn tell_numbers(&mut self) {
        let (datagrams, oscore) = self.datagrams.counters();
        self.inside.count(Statistics {
            broker: self.broker.counters().clone(),
            observers: self.broker.observers() as u64,
            fetching: self.fetches.len() as u64,
            datagrams,
            connections: self.connections.counters(),
            store: self.store.counters(),
            oscore,
        });
        let now = clock::moment();
        while let Some((topic, unpublished)) = self.broker.poll_unpublished() {
            self.inside.refused(now, topic, unpublished);
        }
    }

    /// Whether the store refused a moment ago: what has expired waits as well then.
    fn is_left_alone(&self) -> bool {
        self.refused.as_ref().is_some_and(|(_, until)| *until > tokio::time::Instant::now())
    }

    /// Has the store let go of what is too old to be kept.
    fn tidy(&mut self) {
        let now = tokio::time::Instant::now();
        if now >= self.next_tidy {
            let passed = self.tidied.map_or(Duration::ZERO, |before| now - before);
            (self.next_tidy, self.tidied) = (now + TIDY, Some(now));
            if let Err(problem) = self.store.tidy(clock::moment(), passed) {
                tracing::error!(%problem, "old values stay");
            }
        }
    }

    fn wake(&self) -> tokio::time::Instant {
        let timers = [self.datagrams.poll_timeout(), self.connections.poll_timeout()];
        let timers = timers.into_iter().flatten().map(|at| self.clock.at(at));
        let expiry = self.broker.next_expiry().map(clock::at);
        // A store that refuses is not asked at once again: the broker would do nothing else.
        let expiry = expiry.map(|at| self.refused.as_ref().map_or(at, |(_, until)| at.max(*until)));
        // What others stored is looked for again where it could not be read.
        let news = self.no_news.as_ref().map(|(_, until)| *until);
        timers.chain(expiry).chain(news).chain([self.next_tidy]).min().unwrap_or_else(far)
    }
}
