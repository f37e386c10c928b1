//! What lies between two neighbours on the radio.
//!
//! [`serial`] is the line between a board and a radio that is not on the board: the emulated air, or a
//! stick at a computer.

#![no_std]
#![forbid(unsafe_code)]

pub mod radio;
pub mod serial;
pub mod stack;
