//! The application of a mote, without the board.

#![no_std]
#![forbid(unsafe_code)]

pub mod store;
