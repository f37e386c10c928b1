//! One IEEE 802.15.4 channel that joins emulated boards and processes.
//!
//! ```text
//! boards, processes ─ NAME.air ─┐                        ┌─ capture (PCAP)
//!        consoles ─── NAME.tty ─┼─ server ── channel ────┤
//!   RIOT native ───── UDP, ZEP ─┘  clock      no clock   └─ counters
//! ```
//!
//! [`channel`] is the model: stations, carrier sense, collisions, capture, acknowledgements and
//! loss, in virtual microseconds. The same seed gives the same events. [`server`] puts real time
//! and sockets around it.
//!
//! Deliberately absent: positions of stations (a caller gives the strengths at which they hear each
//! other), fading, enhanced acknowledgements (frame version 2), security processing and
//! beacon-enabled operation.

#![forbid(unsafe_code)]

pub mod capture;
pub mod channel;
pub mod frame;
pub mod server;
pub mod zep;

pub use motemix_link::Instant;
