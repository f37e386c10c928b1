//! What the ELF files of the boards have in common: how they start, where they keep things, and a
//! small network in which packets can be made and followed.
//!
//! The stopwatch calls functions by their names: `prepare_x` before, `bench_x` measured, `check_x`
//! after it. Each returns zero when all is well.

#![no_std]

pub mod place;
pub mod start;
pub mod steps;
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

/// What a function that the stopwatch calls returns.
pub const GOOD: u32 = 0;
/// What it returns when something is not as it has to be.
pub const BAD: u32 = 1;

/// [`GOOD`] if it held.
pub const fn verdict(held: bool) -> u32 {
    if held { GOOD } else { BAD }
}
