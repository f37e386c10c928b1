//! P-256 of `motemix-crypto`.

#![no_std]
#![no_main]

use motemix_object_bench::operations::own_p256;
use motemix_object_bench::{nothing, operations};

operations! {
    prepare_sign bench_sign: own_p256::prepare_sign, own_p256::sign;
    prepare_verify bench_verify: own_p256::prepare_verify, own_p256::verify;
    prepare_agree bench_agree: nothing, own_p256::agree;
}
