//! The application of a mote, without the board: what every board runs, given a radio, a flash, a console
//! and a generator.
//!
//! # The run loop
//!
//! 1. Lend memory, flash and generator: [`Parts`]; make an [`Application`]. On the first boot it makes its
//!    address and its key.
//! 2. [`Application::poll`] again and again: it moves frames, runs the node, does what the console says, and
//!    tells when it wants to be called next. Until then, or until the radio or the console has news, the
//!    board sleeps.
//!
//! # The path of a packet through the files
//!
//! ```text
//! radio ─ (motemix-link) ─ application ─ (motemix-node) ─┬─ store: replay tag ─ application ─ radio
//!                                                        └─ store: message ─ application ─ acknowledgement
//! console ─ command ─ shell ─ application ─ (motemix-node) ─ radio
//! ```
//!
//! A tag is in flash before its packet leaves, and a message before it is acknowledged. Deliberately absent:
//! drivers, interrupts, and any knowledge of which board this is.

#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

mod application;
mod command;
mod console;
mod network;
mod shell;
pub mod store;

pub use application::{Application, Packets, Parts};
pub use command::{Command, Misread};
pub use console::{Console, LINE_LEN};
pub use network::Route;
