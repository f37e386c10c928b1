//! X25519 and the check of Ed25519 signatures of `motemix-crypto`.

#![no_std]
#![no_main]

use motemix_object_bench::operations::own_curve25519;
use motemix_object_bench::{nothing, operations};

operations! {
    prepare_agree bench_agree: nothing, own_curve25519::agree;
    prepare_verify bench_verify: own_curve25519::prepare_verify, own_curve25519::verify;
}
