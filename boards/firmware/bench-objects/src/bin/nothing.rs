//! What every program has.

#![no_std]
#![no_main]

use motemix_object_bench::{nothing, operations};

operations! {
    prepare_nothing bench_nothing: nothing, nothing;
}
