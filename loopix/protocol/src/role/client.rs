//! A client: three Poisson streams, the second of which carries messages, and a timer that pulls.
//!
//! Whether somebody has something to say does not show: messages take the place of drop cover. In
//! the originals a message is gone when it has been sent. In the hardened profile it stays until
//! its acknowledgement has come, along a path of its own, and is sent again otherwise, each time as
//! another packet along another path.

mod arrive;
mod outbox;
mod send;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use motemix_node::Instant;
use rand_core::CryptoRng;

use super::core::Core;
use super::loops::{OwnLoops, patience};
use super::peers::{Peer, of_user};
use super::stream::Stream;
use super::{Counters, DropReason, Hosts, Role, Setup, SetupError, Transmit};
use crate::files::{Directory, NodeEntry};
use crate::packet::SurbKeys;
use crate::wire::hardened::{ControlKey, Digest, MAX_TEXT};
use crate::wire::message::Encoding;

pub use outbox::{Draft, MessageId, SendError};
use outbox::{Message, Outbox};

/// Events that wait to be polled; what is only for show is left out beyond it.
const MOST_EVENTS: usize = 4096;
/// Message names by which repetitions are recognised.
const MOST_KNOWN: usize = 1 << 16;
/// Acknowledgements that wait for their turn.
const MOST_REPLIES: usize = 4096;
/// Messages given to the application that it has not made safe.
const MOST_UNSAFE: usize = 4096;

/// Names a message that was given to the application.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(u64);

/// A message for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// To be given to [`Client::confirm`] when the message is safe.
    pub token: Token,
    /// What the sender said.
    pub message: Vec<u8>,
    /// How to read it. Always bytes in the hardened profile.
    pub encoding: Encoding,
    /// The same in each try of a hardened sender.
    pub id: Option<[u8; 16]>,
}

/// Cover traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cover {
    /// Comes back to its sender.
    Loop,
    /// In place of a message.
    Drop,
    /// From the provider.
    Dummy,
}

/// What has happened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientEvent {
    /// A message arrived.
    Received(Received),
    /// A message has left for the first time. In the originals nothing more will be heard of it.
    Sent(MessageId),
    /// A message is sent again.
    Retried(MessageId),
    /// A message has arrived.
    Acknowledged(MessageId),
    /// No try was acknowledged.
    GaveUp(MessageId),
    /// Cover has left.
    CoverSent(Cover),
    /// Cover has arrived.
    CoverReceived(Cover),
    /// The provider was asked for mail.
    Pulled,
}

/// Gives the client something to say at the moment when it can be said.
pub type Builder = Box<dyn FnMut() -> Option<Draft> + Send>;

/// See the module's text.
pub struct Client<R> {
    core: Core,
    rng: R,
    provider: Peer,
    control: ControlKey,
    counter: u64,
    loops: Stream,
    drops: Stream,
    payload: Stream,
    pull: Pull,
    own_loops: OwnLoops,
    outbox: Outbox,
    builder: Option<Builder>,
    /// By the names under which acknowledgements come.
    surbs: BTreeMap<[u8; 16], (MessageId, SurbKeys)>,
    /// Acknowledgements that wait for the payload stream.
    replies: VecDeque<Vec<u8>>,
    /// Whether the payload stream carried one the last time.
    has_replied: bool,
    /// With the application, not safe yet.
    uncertain: BTreeMap<Token, Uncertain>,
    next_token: u64,
    /// Names of messages that are safe, oldest first.
    known: BTreeSet<[u8; 16]>,
    known_order: VecDeque<[u8; 16]>,
    /// To be confirmed to the provider.
    arrived: VecDeque<Digest>,
    /// The same of what says nothing or came again, newest last. Half of the room is for either.
    useless: VecDeque<Digest>,
    events: VecDeque<ClientEvent>,
}

/// A message that the application has, and may yet lose.
struct Uncertain {
    id: Option<[u8; 16]>,
    digest: Digest,
    surb: Vec<u8>,
}

/// When the provider is asked for mail.
enum Pull {
    /// By the clock, as the originals do.
    Periodic(Instant),
    /// At random times.
    Random(Stream),
    Never,
}

impl Pull {
    fn new(core: &Core, now: Instant, rng: &mut impl CryptoRng) -> Self {
        match core.rates.pull {
            period if period.is_zero() => Self::Never,
            period if core.is_hardened() => Self::Random(Stream::new(period, now, rng)),
            _ => Self::Periodic(now),
        }
    }

    fn due(&self) -> Option<Instant> {
        match self {
            Self::Periodic(next) => Some(*next),
            Self::Random(stream) => stream.due(),
            Self::Never => None,
        }
    }
}

impl<R: CryptoRng> Client<R> {
    /// A client. `counter` is that of the last request that an earlier process may have made. If
    /// nobody knows it any more, 0 will do: the provider says how far it was.
    ///
    /// # Errors
    /// See [`SetupError`].
    pub fn new(setup: Setup, counter: u64, now: Instant, mut rng: R) -> Result<Self, SetupError> {
        setup.check()?;
        let NodeEntry::Client(user) = &setup.me else { return Err(SetupError::WrongRole) };
        let me = of_user(user);
        let provider_name = user.provider.clone();
        let core = Core::new(setup, me);
        let provider = core.peers.provider(&provider_name).ok_or(SetupError::Unlisted)?.clone();
        let control = ControlKey::of_client(&core.secret, &core.me.key, &provider.key);
        let mut client = Self {
            loops: Stream::new(core.rates.loops, now, &mut rng),
            drops: Stream::new(core.rates.drops, now, &mut rng),
            payload: Stream::new(core.rates.payload, now, &mut rng),
            pull: Pull::new(&core, now, &mut rng),
            own_loops: OwnLoops::new(OwnLoops::key(&core.secret), patience(&core)),
            outbox: Outbox::new(core.limits.messages),
            core,
            rng,
            provider,
            control,
            counter,
            builder: None,
            surbs: BTreeMap::new(),
            replies: VecDeque::new(),
            has_replied: false,
            uncertain: BTreeMap::new(),
            next_token: 0,
            known: BTreeSet::new(),
            known_order: VecDeque::new(),
            arrived: VecDeque::new(),
            useless: VecDeque::new(),
            events: VecDeque::new(),
        };
        if client.core.is_hardened() {
            // Who does not say where he is gets nothing.
            client.subscribe(now);
        }
        Ok(client)
    }

    /// Takes a message for a user of the directory. It leaves when the payload stream has its next
    /// turn.
    ///
    /// # Errors
    /// See [`SendError`].
    pub fn send(&mut self, now: Instant, to: &str, message: &[u8]) -> Result<MessageId, SendError> {
        let mut id = [0; 16];
        self.rng.fill_bytes(&mut id);
        self.send_named(now, to, message, id)
    }

    /// The same for a message that an earlier process took under this name: its receiver knows the
    /// message again.
    ///
    /// # Errors
    /// See [`SendError`].
    pub fn send_named(
        &mut self,
        now: Instant,
        to: &str,
        message: &[u8],
        id: [u8; 16],
    ) -> Result<MessageId, SendError> {
        let room = self.room(to).ok_or(SendError::UnknownUser)?;
        if message.len() > room {
            return Err(SendError::TooLong { room });
        }
        let id = MessageId(id);
        self.outbox.push(Message { id, to: to.into(), text: message.to_vec(), tries: 0, due: now })?;
        Ok(id)
    }

    /// The most bytes that a message to this user may have. `None` if the directory does not know
    /// the user.
    pub fn room(&self, to: &str) -> Option<usize> {
        let user = self.core.peers.user(to)?;
        Some(if self.core.is_hardened() {
            MAX_TEXT
        } else {
            super::loops::destination(user).room(self.core.format.body_len)
        })
    }

    /// The number of the last request. A later process must not begin below it.
    pub const fn counter(&self) -> u64 {
        self.counter
    }

    /// Asks `builder` for a message whenever one could leave and none waits.
    pub fn set_builder(&mut self, builder: Builder) {
        self.builder = Some(builder);
    }

    /// Messages that wait, or whose acknowledgement has not come.
    pub fn queued(&self) -> usize {
        self.outbox.len()
    }

    /// Takes over a directory in place of the one it was made with. A provider that is not in it is
    /// still asked for mail.
    pub fn set_directory(&mut self, directory: &Directory) {
        self.core.set_directory(directory);
        if let Some(provider) = self.core.peers.provider(&self.provider.name) {
            self.provider = provider.clone();
            self.control = ControlKey::of_client(&self.core.secret, &self.core.me.key, &self.provider.key);
        }
    }

    /// The users of the directory, but this one.
    pub fn users(&self) -> impl Iterator<Item = &str> {
        let peers = &self.core.peers;
        peers
            .users
            .iter()
            .filter_map(|place| peers.all.get(*place))
            .map(|user| &*user.name)
            .filter(|name| **name != *self.core.me.name)
    }

    /// What has happened, oldest first.
    pub fn poll_event(&mut self) -> Option<ClientEvent> {
        self.events.pop_front()
    }

    /// Leaves out what is only for show when nobody polls.
    fn show(&mut self, event: ClientEvent) {
        if self.events.len() < MOST_EVENTS {
            self.events.push_back(event);
        }
    }
}

impl<R: CryptoRng> Role for Client<R> {
    fn max_datagram_len(&self) -> usize {
        self.core.format.datagram_len()
    }

    fn handle_datagram(&mut self, now: Instant, datagram: &mut [u8]) -> Result<(), DropReason> {
        self.core.counters.received += 1;
        self.take(now, datagram).map_err(|reason| self.core.counters.drop_for(reason))?;
        self.core.counters.pulls_unanswered = 0;
        Ok(())
    }

    fn handle_timeout(&mut self, now: Instant) {
        while self.loops.take(now, &mut self.rng) {
            self.send_loop(now);
        }
        while self.drops.take(now, &mut self.rng) {
            self.send_drop(now);
        }
        while self.payload.take(now, &mut self.rng) {
            self.send_payload(now);
        }
        if self.pull_is_due(now) {
            self.subscribe(now);
            self.pull(now);
        }
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        let transmit = self.core.pop(now);
        self.core.counters.sent += u64::from(transmit.is_some());
        transmit
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let streams = [self.loops.due(), self.drops.due(), self.payload.due()];
        streams.into_iter().chain([self.pull.due(), self.core.due()]).flatten().min()
    }

    fn restore(&mut self, tags: &[u64]) {
        // What a hardened client took and did not make safe is sent again, and must be taken again.
        if !self.core.is_hardened() {
            self.core.restore(tags);
        }
    }

    fn take_admitted(&mut self) -> Vec<u64> {
        let admitted = self.core.take_admitted();
        // A hardened client sends nothing on, and its application knows messages by their names.
        // What it has taken and not made safe, a later process must take again.
        if self.core.is_hardened() { Vec::new() } else { admitted }
    }

    fn set_hosts(&mut self, hosts: Hosts) {
        self.core.set_hosts(hosts);
    }

    fn flushed(&mut self, _now: Instant) {}

    fn counters(&self) -> &Counters {
        &self.core.counters
    }
}
