//! X25519 of the crate `curve25519-dalek`.

#![no_std]
#![no_main]

use motemix_avr_bench::chip::stop;
use motemix_avr_bench::operations::x25519;
use motemix_avr_bench::{measure, nothing};

// Unsafe: the C library's start calls it, once.
#[unsafe(no_mangle)]
extern "C" fn main() -> ! {
    measure("agree", nothing, x25519::agree);
    stop()
}
