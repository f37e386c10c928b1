//! Ed25519 of the crate `ed25519-dalek`.

#![no_std]
#![no_main]

use motemix_avr_bench::chip::stop;
use motemix_avr_bench::measure;
use motemix_avr_bench::operations::ed25519;

// Unsafe: the C library's start calls it, once.
#[unsafe(no_mangle)]
extern "C" fn main() -> ! {
    measure("sign", ed25519::prepare_sign, ed25519::sign);
    measure("verify", ed25519::prepare_verify, ed25519::verify);
    stop()
}
