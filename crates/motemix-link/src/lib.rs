//! What lies between two neighbours on the radio.
//!
//! ```text
//! datagram ─ stack ─ outgoing: fragments ─ lowpan: headers ─ frame ─ pacing: is it time? ─ radio ─ transceiver
//! transceiver ─ radio ─ frame ─ lowpan ─┬─ reassembly: is it whole, was it changed? ─ stack ─ datagram
//!                                       └─ answers: what came, where we are ─ radio
//! ```
//!
//! [`settings`] says what may be chosen, [`counters`] what happened. [`serial`] is the line between a board and
//! a radio that is not on the board: the emulated air, or a stick at a computer.
//!
//! The bytes are specified in `docs/spec/link.md`.

#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

mod answers;
mod checksum;
pub mod counters;
mod frame;
mod lowpan;
mod outgoing;
mod pacing;
pub mod radio;
mod reassembly;
pub mod serial;
pub mod settings;
pub mod stack;

pub use motemix_time::Instant;
