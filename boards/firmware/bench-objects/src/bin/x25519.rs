//! X25519 of the crate `curve25519-dalek`.

#![no_std]
#![no_main]

use motemix_object_bench::operations::x25519;
use motemix_object_bench::{nothing, operations};

operations! {
    prepare_agree bench_agree: nothing, x25519::agree;
}
