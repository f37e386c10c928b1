//! The motemix node: a state machine that sends, forwards and receives, without input, output, clock
//! or generator of its own. The same code runs on boards, on hosts and in the simulator.
//!
//! # The run loop
//!
//! 1. Lend memory: [`Storage`]; make a [`Node`] with an id, a [`Config`] and a generator.
//! 2. [`Node::prepare_epoch`] with the mix key, then [`Node::begin_epoch`] with the network's nodes; after a
//!    restart [`Node::restore_admitted`] with what the [`Journal`] kept of the epoch.
//! 3. For each datagram that arrives: [`Node::handle_datagram`].
//! 4. When [`Node::poll_timeout`] is reached: [`Node::handle_timeout`].
//! 5. After either: [`Node::poll_event`] until `None`, answering each message that was received with
//!    [`Node::reply`] once it is safe, then [`Node::poll_transmit`] until `None`. Before anything leaves,
//!    the journal has what was admitted.
//! 6. When there is nothing else to do: [`Node::work`], one scalar multiplication a call.
//!
//! The order in which a caller interleaves these calls never matters for safety.
//!
//! # The path of a packet through the files
//!
//! ```text
//! handle_datagram ─ epoch (which mix key) ─┬─ messages (an own header?) ─ poll_event
//!                                          └─ replay (seen before?) ─ admission (its turn?) ─ journal ─┐
//!    ┌─────────────────────────────────────────────────────────────────────────────────────────────────┘
//!    ├─ queue (delay) ─ poll_transmit
//!    └─ receive (duplicate?) ─ poll_event ─ reply ─ queue
//! send ─ messages ─ headers (pool, filled by work) ─ queue ─ poll_transmit
//! cover ─ headers ─ queue
//! tick of the payload stream ─ one of: a packet turned round, a message, a loop ─ queue
//! ```
//!
//! Deliberately absent: addresses (a node sees ids), sockets, logs (counters and events only), and
//! any memory of its own. Full is a state: every table has an outcome for it.

#![no_std]
#![forbid(unsafe_code)]

mod admission;
mod config;
mod counters;
mod cover;
mod epoch;
mod event;
mod headers;
mod journal;
mod messages;
mod node;
mod plan;
mod queue;
mod rate;
mod receive;
mod replay;
mod storage;
mod tag_table;

pub use admission::LinkId;
pub use config::{Config, Timeout, Window};
pub use counters::{Counters, DropReason};
pub use epoch::{EpochError, EpochFill, ReplayFill};
pub use event::{Event, MessageHandle, ReceiptToken, ReplyError, SendError, Transmit};
pub use headers::HeaderSlot;
pub use journal::{Admitted, Digest, Journal, NoJournal};
pub use messages::{MessageSlot, ReturnSlot};
pub use motemix_time::Instant;
pub use node::Node;
pub use plan::{ReplayFilterTooSmall, ReplayPlan, cover_an_hour};
pub use queue::PacketSlot;
pub use replay::FingerprintBits;
pub use storage::{Memory, Storage};
