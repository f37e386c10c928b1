//! What lies between two neighbours on the radio.
//!
//! ```text
//! datagram ─ stack: UDP, IPv6, 6LoWPAN ─ radio: frames in line, put back when the channel was busy ─ transceiver
//! transceiver ─ radio ─ screen: is it a shape in use? ─ stack ─ datagram
//! ```
//!
//! [`serial`] is the line between a board and a radio that is not on the board: the emulated air, or a
//! stick at a computer.

#![no_std]
#![forbid(unsafe_code)]

pub mod radio;
mod screen;
pub mod serial;
pub mod stack;
