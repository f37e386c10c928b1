//! The motemix packet: Sphinx with round trips, derived delays and compact SURBs.
//! `docs/spec/packet.md` is normative; this crate follows it step by step, in place over the
//! caller's buffer.
//!
//! | in the papers | here | what |
//! |---|---|---|
//! | α | `group_element` | blinded Diffie-Hellman value, new at each hop |
//! | β | `routing_info` | encrypted hop blocks |
//! | γ | `header_mac` | MAC over β |
//! | δ | `payload` | wide-block encrypted message |
//! | s, b, ρ, μ, τ | shared secret, `blinding`, `routing_key`, `header_mac_key`, [`ReplayTag`] | derived at each hop |
//!
//! A packet's way through this crate:
//!
//! ```text
//! path ─ HeaderBuilder (one multiplication a step; many, side by side) ─ Header ─ seal ─▶ datagram
//! datagram ─ Packet ─ authenticate ─▶ Authenticated ─ own_return ─▶ Yours
//!                                                    └ admit ─▶ Fresh ─ unwrap_layer ─▶ Hop
//!                                                       Hop::TurnRound ─ TurnKey::reply ─▶ datagram
//!                                                       Hop::Yours ─ ReturnKeys::open ─▶ Message
//! ```
//!
//! Each check returns the value that the next step requires, so none can be left out. Packets that
//! wait together take the same way as a [`Batch`].
//!
//! Deliberately absent: time (a delay is a factor of a mean), addresses, the directory, roles, and
//! randomness (a header is a function of its seed).

#![no_std]
#![forbid(unsafe_code)]

pub mod batch;
pub mod delay;
pub mod geometry;
pub mod header;
mod keys;
#[cfg(test)]
mod known_answers;
mod message;
pub mod onion;
pub mod process;
pub mod profile;
pub mod reply;
mod routing;
pub mod surb;

pub use batch::{AuthenticBatch, AuthenticPacket, BATCH, Batch, FreshBatch, UnwrappedBatch, UnwrappedPacket};
pub use delay::HopDelay;
pub use geometry::{Geometry, HOST1K, HOST2K, MOTE, MOTE5};
pub use header::{Departure, Header, HeaderBuilder, PathError, PathHop, Shape};
pub use keys::{MixKey, ReplayTag};
pub use message::{Message, MessageId, TooLong};
pub use process::{
    Authenticated, Forward, Fresh, Hop, Origin, Packet, ProcessError, ReplayError, ReplayFilter, TurnRound,
    Yours,
};
pub use profile::{Host1k, Host2k, Mote, Mote5, Profile};
pub use reply::{HeaderId, ReturnKeys, TurnKey};
pub use routing::NodeId;
pub use surb::{Surb, SurbBuilder, SurbKeys};

/// The snippets of the package's front page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
