//! P-256 of `motemix-crypto`.

#![no_std]
#![no_main]

use motemix_avr_bench::chip::stop;
use motemix_avr_bench::operations::own_p256;
use motemix_avr_bench::{measure, nothing};

// Unsafe: the C library's start calls it, once.
#[unsafe(no_mangle)]
extern "C" fn main() -> ! {
    measure("sign", own_p256::prepare_sign, own_p256::sign);
    measure("verify", own_p256::prepare_verify, own_p256::verify);
    measure("agree", nothing, own_p256::agree);
    stop()
}
