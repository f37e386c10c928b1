//! The suite on a model of the CC2538's engines: what it computes, what it does when an engine
//! fails, and what it leaves behind.

mod aes;
mod agreement;
mod chip;
mod failures;
#[path = "../../../../../net/neighbour/tests/suites/known_answers.rs"]
mod known_answers;
mod links;
mod pka;
mod strict;
mod vectors;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use motemix_cc2538_crypto::{Cc2538, Limits};

use crate::chip::Chip;
use crate::known_answers::private;

/// More than the model takes for anything that ends.
const LIMITS: Limits = Limits { pka_polls: 60, aes_polls: 30 };

/// A chip and the suite on it.
fn accelerated() -> (Chip, Cc2538<Chip>) {
    let chip = Chip::new();
    let suite = Cc2538::new(chip.clone(), LIMITS).expect("engines that work");
    assert_eq!(chip.model().left(), [""; 0]);
    (chip, suite)
}

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}
