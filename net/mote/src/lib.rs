//! The application of a mote, without the board: what every board runs, given a radio, a flash, a
//! console and a generator.
//!
//! # The run loop
//!
//! `run!` is all of it for a [`Board`], with tables as long as its [`Limits`] say. A simulator has
//! its own clock, and takes the same steps:
//!
//! 1. Open the flash: [`Mote::new`]. On the first boot it makes an address and a key.
//! 2. While the mote is stopped: [`Mote::attend`] obeys the console until it says `start`. Then
//!    [`Mote::admit`] checks the network document and finds this node in it.
//! 3. Lend memory for the node: [`Running::new`], then [`Running::start`]. The network document is
//!    not needed any more, and on a small board the link's memory lies where it was.
//! 4. Call [`Running::poll`] again and again, and sleep in between, until it says [`Next::Stop`];
//!    then go back to 2. After [`Next::TookIn`] read the time again, because a packet has been
//!    computed.
//!
//! # The path of a packet through the files
//!
//! ```text
//! radio ─ (motemix-link) ─ running ─ (motemix-node) ─┬─ store: replay tag ─ running ─ radio
//!                                                    └─ store: message ─ running ─ acknowledgement
//! console ─ command ─┬─ mote: keys, clock, network document ─ store
//!                    └─ running ─ (motemix-node) ─ radio
//! sensor ─ readings: signature ─ store ─ running ─ (motemix-node) ─ radio
//! ```
//!
//! [`pair`] is another application, without a network: two neighbours that have never met.
//!
//! A tag is in flash before its packet leaves, and a message before it is acknowledged.
//! Deliberately absent: drivers, interrupts, and any knowledge of which board this is.

#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

mod board;
mod command;
mod console;
pub mod limits;
mod link;
mod mote;
mod network;
pub mod pair;
mod readings;
mod running;
pub mod store;
mod tables;

pub use board::{Board, Flash, packet_len, run};
pub use command::{Command, Misread};
pub use console::{Console, KeyMaker, LINE_LEN, News, Warning};
pub use limits::Limits;
pub use link::{Link, OnAir, Received};
pub use mote::device::{INTRODUCTION_LEN, introduce};
pub use mote::{Mote, RATCHET_STEPS, StartAsked};
pub use motemix_directory::Entry;
pub use motemix_node::{Empty, Lengths};
pub use motemix_object::{Decimal, Record};
pub use network::{PlaceInNetwork, Refusal, Route};
pub use readings::{Measured, Readings, WithReadings};
pub use running::{Next, NotSent, Running};
pub use tables::{Room, Tables};

/// The snippets of the package's front page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
