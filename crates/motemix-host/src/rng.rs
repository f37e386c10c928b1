//! Random numbers for the node: `ChaCha20`, seeded and reseeded by the platform.

use std::convert::Infallible;
use std::fmt;

use chacha20::ChaCha20Rng;
use rand_core::{Rng as _, SeedableRng as _, TryCryptoRng, TryRng};
use zeroize::Zeroizing;

/// Output after which the platform is asked for fresh entropy, in bytes.
const RESEED_AFTER: usize = 1 << 20;

/// A cryptographically secure generator of one thread.
///
/// After a reseeding, earlier output says nothing about later output even to somebody who has seen
/// the whole state before it. If the platform fails then, the generator goes on with its present
/// state, which is sound by itself, and asks again later.
pub struct HostRng {
    inner: ChaCha20Rng,
    left: usize,
}

impl HostRng {
    /// A generator seeded by the platform.
    ///
    /// # Errors
    /// The platform has no entropy.
    pub fn new() -> std::io::Result<Self> {
        let mut seed = Zeroizing::new([0; 32]);
        getrandom::fill(&mut *seed)?;
        Ok(Self { inner: ChaCha20Rng::from_seed(*seed), left: RESEED_AFTER })
    }

    fn spend(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(bytes);
        if self.left > 0 {
            return;
        }
        self.left = RESEED_AFTER;
        let mut fresh = Zeroizing::new([0_u8; 32]);
        if getrandom::fill(&mut *fresh).is_ok() {
            let mut seed = Zeroizing::new([0_u8; 32]);
            self.inner.fill_bytes(&mut *seed);
            seed.iter_mut().zip(fresh.iter()).for_each(|(byte, fresh)| *byte ^= fresh);
            self.inner = ChaCha20Rng::from_seed(*seed);
        }
    }
}

impl TryRng for HostRng {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.spend(4);
        Ok(self.inner.next_u32())
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.spend(8);
        Ok(self.inner.next_u64())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.spend(bytes.len());
        self.inner.fill_bytes(bytes);
        Ok(())
    }
}

impl TryCryptoRng for HostRng {}

impl fmt::Debug for HostRng {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HostRng(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_for_keys(_: &impl rand_core::CryptoRng) {}

    #[test]
    fn output_goes_on_across_a_reseeding() {
        let mut rng = HostRng::new().unwrap();
        is_for_keys(&rng);
        let mut earlier = [0; 32];
        for _ in 0..RESEED_AFTER / 16 {
            let mut later = [0; 32];
            rng.fill_bytes(&mut later);
            assert_ne!(earlier, later);
            earlier = later;
        }
    }
}
