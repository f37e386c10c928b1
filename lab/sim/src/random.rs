//! A random stream for each node and purpose, so that what one node draws never changes what
//! another one gets.

use chacha20::ChaCha8Rng;
use motemix_crypto::uniform;
use rand_core::{Rng as _, SeedableRng as _};
use std::time::Duration;

/// What a stream is for. The numbers are part of what makes a run repeatable: they never change.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    Node = 2,
    Load = 3,
    Places = 5,
    Shadows = 6,
    Arrivals = 7,
    Authority = 8,
    Deliveries = 9,
    Attack = 10,
    Churn = 11,
    Spy = 12,
    Matching = 13,
}

/// The stream of a node.
pub(crate) fn stream(seed: u64, node: u32, purpose: Purpose) -> ChaCha8Rng {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..12].copy_from_slice(&node.to_le_bytes());
    key[12] = purpose as u8;
    ChaCha8Rng::from_seed(key)
}

/// A number below `bound`. A choice of one draws as well: what a seed gives stays what it was.
pub(crate) fn below(rng: &mut ChaCha8Rng, bound: u32) -> u32 {
    if bound <= 1 {
        rng.next_u32();
    }
    uniform::below(rng, bound)
}

/// A duration below `bound`.
pub(crate) fn part_of(rng: &mut ChaCha8Rng, bound: Duration) -> Duration {
    let micros = (u128::from(rng.next_u64()) * bound.as_micros()) >> 64;
    Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
}
