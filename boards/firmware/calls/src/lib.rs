//! What the ELF files of the boards have in common: how they start, and where they keep things.
//!
//! The stopwatch calls functions by their names: `prepare_x` before, `bench_x` measured, `check_x`
//! after it. Each returns zero when all is well.

#![no_std]

pub mod place;
pub mod start;
pub mod steps;

/// What a function that the stopwatch calls returns.
pub const GOOD: u32 = 0;
/// What it returns when something is not as it has to be.
pub const BAD: u32 = 1;

/// [`GOOD`] if it held.
pub const fn verdict(held: bool) -> u32 {
    if held { GOOD } else { BAD }
}
