//! The motemix node: a state machine that sends, forwards and receives, without input, output,
//! clock or generator of its own. The same code runs on boards, on hosts and in the simulator.
//!
//! # The run loop
//!
//! 1. Lend memory: [`Storage`]; make a [`Node`] with an id and a generator.
//! 2. [`Node::prepare_epoch`] with the mix key, then [`Node::begin_epoch`] with the network's nodes
//!    and a [`Config`]; after a restart [`Node::restore_admitted`] with what the [`Journal`] kept
//!    of the epoch.
//! 3. For each datagram that arrives: [`Node::handle_datagram`]; for many that wait, where that is
//!    cheaper: [`Node::handle_batch`].
//! 4. When [`Node::poll_timeout`] is reached: [`Node::handle_timeout`].
//! 5. After either: [`Node::poll_event`] until `None`, answering each message that was received
//!    with [`Node::reply`] once it is safe, then [`Node::poll_transmit`] until `None`. Before
//!    anything leaves, the journal has what was admitted.
//! 6. When there is nothing else to do: [`Node::work`], one scalar multiplication a call.
//!
//! The order in which a caller interleaves these calls never matters for safety.
//!
//! Here are all six steps, in a network of six nodes on virtual time. `examples/udp.rs` is the same
//! with sockets.
//!
//! ```
//! use core::time::Duration;
//!
//! use motemix_crypto::{Portable, Secret};
//! use motemix_directory::{Entry, Epoch, Role};
//! use motemix_node::{Config, Event, Instant, LinkId, Memory, NoJournal, Node};
//! use motemix_sphinx::{MixKey, Mote, NodeId, Profile};
//! # use motemix_node::{Empty, Lengths};
//! # use rand_chacha::ChaCha20Rng;
//! # use rand_chacha::rand_core::SeedableRng;
//! # enum Small {}
//! # impl Lengths for Small {
//! #     type Packets<T: Empty> = [T; 16];
//! #     type Replay<T: Empty> = [T; 1024];
//! #     type Window<T: Empty> = [T; 16];
//! #     type Messages<T: Empty> = [T; 2];
//! #     type Returns<T: Empty> = [T; 8];
//! #     type Headers<T: Empty> = [T; 4];
//! #     type Loops<T: Empty> = [T; 4];
//! #     type Nodes<T: Empty> = [T; 6];
//! # }
//!
//! let key = |node: u8| MixKey::new(Secret::new([node + 1; 32]));
//! let entry = |node| Entry { mix_key: key(node).public_key::<Portable>(), role: Role::Mix { layer: 0 } };
//! let id = |node: u8| NodeId::new(node.into()).expect("a small number");
//! let mut now = Instant::from_micros(0);
//!
//! let mut memories: Vec<_> = (0..6).map(|_| Memory::<Mote, Small>::new()).collect();
//! let mut nodes = Vec::new();
//! for (number, memory) in (0..).zip(&mut memories) {
//!     let rng = ChaCha20Rng::seed_from_u64(number.into());
//!     let mut node = Node::new(id(number), rng, memory.lend());                                    // 1
//!     node.prepare_epoch(Epoch(1), key(number))?;                                                  // 2
//!     node.begin_epoch(now, Epoch(1), Instant::NEVER, (0..6).map(entry), Config::thesis())?;
//!     nodes.push(node);
//! }
//! nodes[0].send(now, id(5), b"21.5 degrees")?;
//!
//! let mut packet = Mote::<Portable>::packet();
//! let mut air: Vec<(NodeId, [u8; 280])> = Vec::new();
//! let (mut received, mut acknowledged) = (0, false);
//! while !acknowledged {
//!     for (to, mut datagram) in air.drain(..) {
//!         let node = &mut nodes[usize::from(to.get())];
//!         node.handle_datagram(now, LinkId(0), &mut datagram, &mut NoJournal)?;                    // 3
//!     }
//!     for node in &mut nodes {
//!         node.handle_timeout(now);                                                                // 4
//!         while let Some(event) = node.poll_event() {                                              // 5
//!             match event {
//!                 Event::Received { token, data, .. } => {
//!                     assert_eq!(data, b"21.5 degrees");
//!                     received += 1;
//!                     node.reply(now, token, b"")?;
//!                 }
//!                 Event::Acknowledged { .. } => acknowledged = true,
//!                 other => panic!("nothing is lost here: {other:?}"),
//!             }
//!         }
//!         while let Ok(Some(transmit)) = node.poll_transmit(now, &mut NoJournal, &mut packet) {
//!             air.push((transmit.to, packet));
//!         }
//!         while node.work(now) {}                                                                  // 6
//!     }
//!     now = now + Duration::from_millis(10);
//! }
//! assert_eq!(received, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
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
mod alarm;
mod config;
mod counters;
mod cover;
mod epoch;
mod event;
mod headers;
mod journal;
mod loops;
mod messages;
mod node;
mod paths;
mod plan;
mod queue;
mod rate;
mod receive;
mod replay;
mod shares;
mod storage;
mod tag_table;

pub use admission::LinkId;
pub use alarm::{LoopAlarm, LoopTest};
pub use config::{Config, Timeout, Window};
pub use counters::{Counters, DropReason};
pub use epoch::{EpochError, EpochFill, ReplayFill};
pub use event::{Event, MessageHandle, ReceiptToken, ReplyError, SendError, Transmit};
pub use headers::HeaderSlot;
pub use journal::{Admitted, Digest, Journal, NoJournal};
pub use messages::{MessageSlot, ReturnSlot};
pub use motemix_time::Instant;
pub use node::together::Batch;
pub use node::{Node, Worked};
pub use paths::{LoopPath, LoopPaths, LoopTally, NoPaths, Paths};
pub use plan::{ReplayFilterTooSmall, ReplayPlan, cover_an_hour};
pub use queue::PacketSlot;
pub use replay::FingerprintBits;
pub use shares::ReadingShares;
pub use storage::{Array, Empty, Lengths, Memory, Storage};
pub use tag_table::WindowKey;

/// The snippets of the package's front page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
