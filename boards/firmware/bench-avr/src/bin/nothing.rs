//! What every program has, and what a measurement adds to what it measures.

#![no_std]
#![no_main]

use motemix_avr_bench::chip::stop;
use motemix_avr_bench::{measure, nothing};

// Unsafe: the C library's start calls it, once.
#[unsafe(no_mangle)]
extern "C" fn main() -> ! {
    measure("nothing", nothing, nothing);
    stop()
}
