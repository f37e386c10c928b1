//! X25519 and the check of Ed25519 signatures of `motemix-crypto`.

#![no_std]
#![no_main]

use motemix_avr_bench::chip::stop;
use motemix_avr_bench::operations::own_curve25519;
use motemix_avr_bench::{measure, nothing};

// Unsafe: the C library's start calls it, once.
#[unsafe(no_mangle)]
extern "C" fn main() -> ! {
    measure("agree", nothing, own_curve25519::agree);
    measure("verify", own_curve25519::prepare_verify, own_curve25519::verify);
    stop()
}
