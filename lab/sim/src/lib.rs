//! A deterministic simulator of motes on one IEEE 802.15.4 channel.
//!
//! It decides nothing about the protocol. Motes are [`motemix_mote`], with the tables, the store
//! and the run loop of boards; the channel is [`motemix_air`]'s. The simulator adds virtual time,
//! the time that a board's processor and flash take, an authority that signs network documents,
//! load, and counters. For comparison it also has a model of the experiment of a thesis: Sphinx on
//! RIOT, and plain datagrams.
//!
//! # A run
//!
//! ```text
//! scenario (TOML) ─ run ─ world: wakes devices, moves frames ─┬─ channel (air): who hears what
//!                                                             ├─ device: mote (shipping code) | riot (thesis, udp)
//!                                                             └─ meter: what became of messages ─ outcome (one row)
//! ```
//!
//! One scenario with one seed has one outcome, bit for bit, on every platform: time is whole
//! microseconds, every node has a random stream for each purpose, and logarithms are computed by a
//! library, not by the platform.

#![forbid(unsafe_code)]

mod adversary;
mod attack;
mod authority;
mod board;
mod curve;
mod device;
mod flash;
mod load;
mod meter;
mod mote;
mod observe;
mod outcome;
mod random;
pub mod reproduce;
mod riot;
mod room;
mod run;
pub mod scenario;
pub mod sweep;
pub mod validation;
mod wear;
mod world;

pub use adversary::{
    Anonymity, Beside, Counted, Findings, Guesses, Learned, NotPosteriors, POSTERIORS, Reliability,
    judge_posteriors,
};
pub use attack::Attacked;
pub use meter::Handshakes;
pub use observe::{News, Observers, Sight, Witness};
pub use outcome::{Documents, Outcome, Percentiles, Readings, Tables};
pub use run::{Impossible, run, run_with};
pub use wear::{Wear, Years};
