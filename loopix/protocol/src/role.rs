//! What nodes do, as state machines without input or output.
//!
//! ```text
//! datagram ─ open ─ authenticate ─ admit ─┬─ relay: queue for the delay ─ transmit          (mix, provider)
//!                                         ├─ mailbox, until the client pulls                (provider)
//!                                         └─ message, loop, acknowledgement                 (client)
//! streams of cover, and of messages in place of cover ─ transmit
//! ```
//!
//! Time and randomness are arguments; mailboxes are lent. The driver gives datagrams in, writes
//! down the replay tags that were admitted, takes datagrams out, and reports when those are on
//! their way:
//!
//! ```text
//! handle_datagram … handle_datagram · take_admitted → disk · commit → disk · handle_timeout
//! poll_transmit … poll_transmit → socket · flushed · poll_event … · sleep until poll_timeout
//! ```

mod client;
mod core;
mod counters;
mod hosts;
mod loops;
mod mailbox;
mod mix;
mod peers;
mod provider;
mod queue;
mod replay;
mod stream;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use motemix_crypto::p224::Scalar;

use crate::files::{Directory, NodeEntry, Profile};
use crate::wire::hardened::MAX_LAYERS;

/// Every call says what time it is.
pub use motemix_node::Instant;

pub use client::{Client, ClientEvent, Cover, Draft, MessageId, Received, SendError, Token};
pub use counters::{Counters, DropReason, Dropped};
pub use hosts::Hosts;
pub use mailbox::{Mailboxes, MemoryMailboxes, StoreRefusal, Stored};
pub use mix::Mix;
pub use provider::Provider;
pub use replay::ReplayTags;
pub(crate) use replay::WhenFull;

/// What a node is made from.
#[derive(Debug)]
pub struct Setup {
    /// Which Loopix it speaks.
    pub profile: Profile,
    /// Its secret, where it stays.
    pub secret: Box<Scalar>,
    /// What its public key file says.
    pub me: NodeEntry,
    /// Everybody.
    pub directory: Directory,
    /// How often it sends.
    pub rates: Rates,
    /// How much it keeps.
    pub limits: Limits,
}

impl Setup {
    fn check(&self) -> Result<(), SetupError> {
        let is_too_deep = self.profile == Profile::Hardened && self.directory.layers().len() > MAX_LAYERS;
        if is_too_deep { Err(SetupError::TooManyLayers) } else { Ok(()) }
    }
}

/// How often a node sends. Times are means of exponential distributions; zero turns a stream off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rates {
    /// Between two loops.
    pub loops: Duration,
    /// Between two packets of drop cover.
    pub drops: Duration,
    /// Between two packets for messages.
    pub payload: Duration,
    /// At each hop. Zero: none.
    pub delay: Duration,
    /// Between two pulls. The originals pull by the clock.
    pub pull: Duration,
    /// What a provider answers a pull with, mail and dummies together.
    pub max_retrieve: usize,
    /// Random bytes in a cover message of the originals.
    pub noise_len: usize,
    /// Whether a provider of the fork of 2018 sends mail on at once.
    pub push: bool,
    /// Until a hardened client sends a message again for the first time.
    pub retry: Duration,
    /// Until a provider of the originals answers pulls of a user who was not there before.
    pub start: Duration,
}

impl Rates {
    /// How long a hardened client may wait for an acknowledgement at first, in a network of so many
    /// layers: three times the mean of all that happens on the way there and back, and a
    /// second.
    pub fn patience(&self, layers: u32) -> Duration {
        // A provider, the mixes, a provider, and the same way back.
        let hops = layers.saturating_add(2).saturating_mul(2);
        let there_and_back = self.delay.saturating_mul(hops) + self.pull.saturating_mul(2) + self.payload;
        there_and_back.saturating_mul(3) + Duration::from_secs(1)
    }

    /// How long a packet may ask to be delayed at most; longer delays are cut. Of honest ones, as
    /// good as none is longer than 64 times the mean (e⁻⁶⁴). The longer packets may wait, the
    /// fewer a second fill the queue for good.
    pub(crate) fn longest_delay(&self, limits: &Limits) -> Duration {
        let longest = self.delay.saturating_mul(64).max(Duration::from_secs(10));
        longest.min(limits.max_delay)
    }
}

/// How much a node keeps. What is full refuses, and counts.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Packets that wait for their time.
    pub queue: usize,
    /// Replay tags.
    pub replay_tags: usize,
    /// The longest delay, if the mean delay of the network does not already forbid it; longer ones
    /// are cut.
    pub max_delay: Duration,
    /// Messages of a client that wait or are not acknowledged.
    pub messages: usize,
    /// Tries for each message of a hardened client.
    pub tries: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            queue: 65_536,
            replay_tags: 4 << 20,
            max_delay: Duration::from_secs(3600),
            messages: 1000,
            tries: 12,
        }
    }
}

/// What a node does when its record of replay tags is full.
pub(crate) const fn when_full(profile: Profile, is_client: bool) -> WhenFull {
    match profile {
        Profile::Hardened if !is_client => WhenFull::Refuse,
        // A hardened client sends nothing on, and knows messages by their names: who sends it many
        // packets must not silence it.
        Profile::Hardened | Profile::Ucl2017 | Profile::Fork2018 => WhenFull::Forget,
    }
}

/// Why a node cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SetupError {
    /// The public key file is another role's.
    WrongRole,
    /// The directory does not know the node, its layer, or its provider.
    Unlisted,
    /// More layers than fit into a hardened header.
    TooManyLayers,
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WrongRole => "the key files are those of another role",
            Self::Unlisted => {
                "the directory does not list this node, its layer, or its provider; build it again"
            }
            Self::TooManyLayers => "hardened networks have three layers of mixes at most",
        })
    }
}

impl std::error::Error for SetupError {}

/// Where a datagram goes: as the directory writes it, or as a client has subscribed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    /// IP address or DNS name.
    pub host: Arc<str>,
    /// UDP port.
    pub port: u16,
}

/// A datagram to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transmit {
    /// Where to.
    pub to: Address,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// The face of every role. The order of calls never matters for safety.
pub trait Role {
    /// The longest datagram that may be meant for this node.
    fn max_datagram_len(&self) -> usize;

    /// Takes a datagram in, and changes its bytes. Whoever sent it learns nothing of the outcome.
    ///
    /// # Errors
    /// Why it was dropped; it is counted.
    fn handle_datagram(&mut self, now: Instant, datagram: &mut [u8]) -> Result<(), DropReason>;

    /// Does what is due.
    fn handle_timeout(&mut self, now: Instant);

    /// The next datagram that is due.
    fn poll_transmit(&mut self, now: Instant) -> Option<Transmit>;

    /// When something is due, at the earliest; in the past if it is now.
    fn poll_timeout(&self) -> Option<Instant>;

    /// Takes over replay tags that an earlier process admitted, oldest first, before anything is
    /// taken in.
    fn restore(&mut self, tags: &[u64]);

    /// Replay tags that were admitted since the last call. They must be on disk before anything
    /// else leaves: a restarted node must not take again what it has sent on.
    fn take_admitted(&mut self) -> Vec<u64>;

    /// Where the directory's hosts are, in place of what was said before. Until then only the
    /// directory's own texts name its hosts.
    fn set_hosts(&mut self, hosts: Hosts);

    /// Everything polled so far was given to the network.
    fn flushed(&mut self, now: Instant);

    /// What has happened so far.
    fn counters(&self) -> &Counters;
}
