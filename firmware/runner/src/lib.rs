//! The run loop of a mote, for any board. What differs between boards is a [`Board`]; what a mote does is in
//! `motemix_mote`; between them there are only the phases of a board's life and the memory that each needs:
//!
//! ```text
//! reset ─ open the flash ─ stand ─ `start` ─ admit the network document ─ link ─ node ─ `stop` ─┐
//!                            └───────────────────────────────────────────────────────────────────┘
//! ```
//!
//! Deliberately absent: interrupts, registers, and any assumption about how a radio is attached.

#![no_std]
#![forbid(unsafe_code)]

mod memory;
mod run;

pub use motemix_mote::store::Layout;
pub use run::{Board, Flash, run};
