//! A small network in which packets can be made and followed, and the tables of each board.

#![no_std]

pub mod world;

/// The tables of the board of the thesis that has this core.
#[cfg(core = "m0")]
pub const LIMITS: motemix_mote::Limits = motemix_mote::limits::SAMR21_XPRO;
/// The tables of the board of the thesis that has this core.
#[cfg(core = "m3")]
pub const LIMITS: motemix_mote::Limits = motemix_mote::limits::IOTLAB_M3;
/// The tables of the board of the thesis that has this core.
#[cfg(core = "m4")]
pub const LIMITS: motemix_mote::Limits = motemix_mote::limits::NRF52840DK;
