//! Random numbers for the node: `ChaCha20`, seeded and reseeded by the platform. Nobody computes
//! its earlier output from its memory ("fast key erasure", D. J. Bernstein, 2017).

use std::convert::Infallible;
use std::fmt;

use motemix_crypto::{Secret, stream};
use rand_core::{TryCryptoRng, TryRng};

/// Output after which the platform is asked for fresh entropy, in bytes.
const RESEED_AFTER: usize = 1 << 20;
/// Bytes of a key.
const KEY_LEN: usize = 32;
/// Bytes that are made at once: the next key, and output.
const BLOCK_LEN: usize = 1024;
const STREAM: &stream::Label = b"motemix/rand";

/// A cryptographically secure generator of one thread.
///
/// Output is wiped here when it is given out, and its key when it is made. So somebody who has seen
/// the whole state learns nothing of earlier output: of the keys that were made of it, for example.
///
/// After a reseeding, earlier output says nothing about later output even to somebody who has seen
/// the whole state before it. If the platform fails then, the generator goes on with its present
/// state, which is sound by itself, and asks again later.
pub struct HostRng {
    /// Where it stays, whoever has the generator moved.
    state: Box<State>,
}

struct State {
    key: Secret<KEY_LEN>,
    /// What of it is not given out yet is at its end; the rest is zeros.
    output: Secret<BLOCK_LEN>,
    left: usize,
    /// Bytes until the platform is asked.
    until_reseeding: usize,
}

impl HostRng {
    /// A generator seeded by the platform.
    ///
    /// # Errors
    /// The platform has no entropy.
    pub fn new() -> std::io::Result<Self> {
        let mut state = Box::new(State {
            key: Secret::zero(),
            output: Secret::zero(),
            left: 0,
            until_reseeding: RESEED_AFTER,
        });
        getrandom::fill(state.key.expose_mut())?;
        Ok(Self { state })
    }
}

impl State {
    fn fill(&mut self, mut bytes: &mut [u8]) {
        while !bytes.is_empty() {
            if self.left == 0 {
                self.refill();
            }
            let from = BLOCK_LEN - self.left;
            let count = self.left.min(bytes.len());
            let (now, rest) = bytes.split_at_mut(count);
            let output = &mut self.output.expose_mut()[from..from + count];
            now.copy_from_slice(output);
            output.fill(0);
            self.left -= count;
            bytes = rest;
        }
    }

    /// Makes output and the next key, in the place of the one that they are made with.
    fn refill(&mut self) {
        if self.until_reseeding == 0 {
            self.reseed();
        }
        stream::fill(self.key.expose(), STREAM, self.output.expose_mut());
        let (key, _) = self.output.expose_mut().split_at_mut(KEY_LEN);
        self.key.expose_mut().copy_from_slice(key);
        key.fill(0);
        self.left = BLOCK_LEN - KEY_LEN;
        self.until_reseeding = self.until_reseeding.saturating_sub(self.left);
    }

    fn reseed(&mut self) {
        let mut fresh = Secret::<KEY_LEN>::zero();
        if getrandom::fill(fresh.expose_mut()).is_ok() {
            self.key.expose_mut().iter_mut().zip(fresh.expose()).for_each(|(byte, fresh)| *byte ^= fresh);
        }
        self.until_reseeding = RESEED_AFTER;
    }
}

impl TryRng for HostRng {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.state.fill(&mut bytes);
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.state.fill(&mut bytes);
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.state.fill(bytes);
        Ok(())
    }
}

impl TryCryptoRng for HostRng {}

impl fmt::Debug for HostRng {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HostRng(..)")
    }
}

/// A seed for a generator that is given one, from the platform's entropy.
///
/// # Errors
/// The platform has none.
pub fn seed() -> std::io::Result<[u8; 32]> {
    let mut seed = [0; 32];
    rand_core::Rng::fill_bytes(&mut HostRng::new()?, &mut seed);
    Ok(seed)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use rand_core::Rng as _;

    use super::*;

    #[test]
    fn what_was_given_out_cannot_be_made_again_from_what_is_kept() {
        let mut rng = HostRng::new().unwrap();
        let mut given = Vec::new();
        for len in [32, 4, 1000, 32, 3000, 16] {
            let key = *rng.state.key.expose();
            let mut bytes = vec![0; len];
            rng.fill_bytes(&mut bytes);
            given.extend(bytes);
            let State { output, left, .. } = &*rng.state;
            let (gone, kept) = output.expose().split_at(BLOCK_LEN - left);
            assert!(gone.iter().all(|byte| *byte == 0));
            assert!(kept.is_empty() || !given.windows(kept.len()).any(|window| window == kept));
            // A key that made something that was given out is there no more.
            let mut again = [0; BLOCK_LEN];
            stream::fill(rng.state.key.expose(), STREAM, &mut again);
            let known: HashSet<&[u8]> = given.windows(16).collect();
            assert!(!again.windows(16).any(|window| known.contains(window)));
            assert!(len < BLOCK_LEN || key != *rng.state.key.expose());
        }
    }

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
