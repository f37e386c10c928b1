//! The generator. This part has none; the radio has one of two bits, which observes noise and about
//! whose quality its data sheet says little (see `motemix_at86rf231`). So a generator of software
//! is seeded, once at each start: 1,024 samples only have to pass the tests of health (NIST SP
//! 800-90B, 4.3), and the next 2,048 are hashed to the 256 bits of the seed. That is four times
//! what is needed if a sample has half a bit of entropy, which is what the tests assume; nobody has
//! measured how much it has, nor what somebody who transmits beside the board can do to it.

use core::cell::RefCell;
use core::convert::Infallible;

use blake2::{Blake2s256, Digest as _};
use chacha20::ChaCha20Rng;
use motemix_at86rf231::{Error, Health, NoiseError};
use rand_core::{Rng as _, SeedableRng as _, TryCryptoRng, TryRng};
use zeroize::Zeroize as _;

use crate::radio::Chip;

/// Four samples a byte.
const TESTED: usize = 1_024 / 4;
const USED: usize = 2_048 / 4;
const CHUNK: usize = 64;

pub(crate) fn seed(radio: &mut Chip) -> Result<ChaCha20Rng, NoiseError<Error>> {
    let mut health = Health::default();
    let mut noise = [0; CHUNK];
    for _ in 0..TESTED / CHUNK {
        radio.noise(&mut health, &mut noise)?;
    }
    let mut hash = Blake2s256::new();
    hash.update(b"motemix seed of a board\0");
    for _ in 0..USED / CHUNK {
        radio.noise(&mut health, &mut noise)?;
        hash.update(noise);
    }
    noise.zeroize();
    let mut seed = <[u8; 32]>::from(hash.finalize());
    let generator = ChaCha20Rng::from_seed(seed);
    seed.zeroize();
    Ok(generator)
}

/// A handle; all of them are the same generator.
#[derive(Clone, Copy)]
pub(crate) struct Random<'r>(pub(crate) &'r RefCell<ChaCha20Rng>);

impl TryRng for Random<'_> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.0.borrow_mut().next_u32())
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.0.borrow_mut().next_u64())
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        self.0.borrow_mut().fill_bytes(out);
        Ok(())
    }
}

impl TryCryptoRng for Random<'_> {}
