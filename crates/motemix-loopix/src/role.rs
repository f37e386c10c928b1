//! What nodes do, as state machines without input or output.
//!
//! ```text
//! datagram ─ open ─ authenticate ─ admit ─┬─ relay: queue for the delay ─ transmit          (mix, provider)
//!                                         ├─ mailbox, until the client pulls                (provider)
//!                                         └─ message, loop, acknowledgement                 (client)
//! streams of cover, and of messages in place of cover ─ transmit
//! ```
//!
//! Time and randomness are arguments; mailboxes are lent. The driver gives datagrams in, writes down the
//! replay tags that were admitted, takes datagrams out, and reports when those are on their way:
//!
//! ```text
//! handle_datagram … handle_datagram · take_admitted → disk · commit → disk · handle_timeout
//! poll_transmit … poll_transmit → socket · flushed · poll_event … · sleep until poll_timeout
//! ```

mod client;
mod core;
mod counters;
mod mailbox;
mod mix;
mod provider;
mod queue;
mod replay;
mod stream;

use std::sync::Arc;

use motemix_node::Instant;

pub use client::{Client, ClientEvent, Draft, MessageId, Received, SendError, Token};
pub use counters::{Counters, DropReason};
pub use mailbox::{Mailboxes, MemoryMailboxes, Stored, StoreRefusal};
pub use mix::Mix;
pub use provider::Provider;
pub use replay::ReplayTags;

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

    /// Replay tags that were admitted since the last call. They must be on disk before anything else leaves:
    /// a restarted node must not take again what it has sent on.
    fn take_admitted(&mut self) -> Vec<u64>;

    /// Everything polled so far was given to the network.
    fn flushed(&mut self, now: Instant);

    /// What has happened so far.
    fn counters(&self) -> &Counters;
}
