//! P-256 of the crate `p256`.

#![no_std]
#![no_main]

use motemix_object_bench::operations::p256_crate;
use motemix_object_bench::{nothing, operations};

operations! {
    prepare_sign bench_sign: p256_crate::prepare_sign, p256_crate::sign;
    prepare_verify bench_verify: p256_crate::prepare_verify, p256_crate::verify;
    prepare_agree bench_agree: nothing, p256_crate::agree;
}
