//! A Loopix network to which anything is sent, whose datagrams are changed, repeated and lost, and
//! whose clocks are set back: no node ends, nothing grows beyond its bound, and a message still
//! gets through afterwards.
#![cfg_attr(fuzzing, no_main)]

use motemix_fuzz::fuzz_target;

// Stories use more of these.
#[allow(dead_code)]
#[path = "../../../loopix/protocol/tests/roles/forge.rs"]
mod forge;
#[path = "../../../loopix/protocol/tests/roles/noise.rs"]
mod noise;
#[allow(dead_code)]
#[path = "../../../loopix/protocol/tests/roles/world.rs"]
mod world;

fuzz_target!(|bytes: &[u8]| noise::run(bytes));
