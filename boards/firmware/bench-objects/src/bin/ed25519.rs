//! Ed25519 of the crate `ed25519-dalek`.

#![no_std]
#![no_main]

use motemix_object_bench::operations;
use motemix_object_bench::operations::ed25519;

operations! {
    prepare_sign bench_sign: ed25519::prepare_sign, ed25519::sign;
    prepare_verify bench_verify: ed25519::prepare_verify, ed25519::verify;
}
