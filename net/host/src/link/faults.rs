//! Faults that an experiment injects between the socket and the node.

use chacha20::ChaCha20Rng;
use rand_core::{Rng as _, SeedableRng as _};

use super::Batch;

/// Drops arriving datagrams with a fixed probability, the same ones for the same seed.
#[derive(Debug)]
pub struct Loss {
    /// A draw of 32 bits below this is a loss.
    threshold: u64,
    rng: ChaCha20Rng,
    dropped: u64,
}

impl Loss {
    /// Loses datagrams with `probability`, which is brought into 0 to 1.
    #[expect(clippy::cast_sign_loss, reason = "the product is 0 to 2^32")]
    pub fn new(probability: f64, seed: u64) -> Self {
        let probability = if probability.is_nan() { 0.0 } else { probability.clamp(0.0, 1.0) };
        let threshold = (probability * 4_294_967_296.0) as u64;
        Self { threshold, rng: ChaCha20Rng::seed_from_u64(seed), dropped: 0 }
    }

    /// Applies the loss to a batch.
    pub fn apply(&mut self, batch: &mut Batch) {
        if self.threshold == 0 {
            return;
        }
        batch.retain(|| {
            let keep = u64::from(self.rng.next_u32()) >= self.threshold;
            self.dropped += u64::from(!keep);
            keep
        });
    }

    /// Datagrams dropped so far.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}
