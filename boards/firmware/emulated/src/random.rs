//! Random numbers on a board that has no generator: the host's.

use core::convert::Infallible;

use rand_core::utils::next_word_via_fill;
use rand_core::{TryCryptoRng, TryRng};
use semihosting::fs::File;
use semihosting::io::Read as _;

/// The host's generator. All clones are the same one.
#[derive(Clone, Copy, Debug)]
pub struct HostRandom;

impl TryRng for HostRandom {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        next_word_via_fill(self)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        next_word_via_fill(self)
    }

    /// # Panics
    /// If the host has no `/dev/urandom`: no key may be made of anything else.
    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        let filled = File::open(c"/dev/urandom").and_then(|mut file| file.read_exact(out));
        assert!(filled.is_ok(), "the host's /dev/urandom cannot be read");
        Ok(())
    }
}

impl TryCryptoRng for HostRandom {}
