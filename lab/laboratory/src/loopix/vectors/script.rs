//! A generator that hands out what the file says was drawn.

use std::convert::Infallible;

use rand_core::utils::next_word_via_fill;
use rand_core::{TryCryptoRng, TryRng};

/// Handed out after the end: not zero, so that whoever draws until a number is not zero comes to an
/// end.
const AFTER: u8 = 1;

/// Hands out its bytes, and notices whether they were all that was drawn.
#[derive(Debug)]
pub struct Script {
    left: Vec<u8>,
    is_overdrawn: bool,
}

impl Script {
    /// Hands out the bytes of `draws`, one after the other.
    pub fn new(draws: &[&[u8]]) -> Self {
        let mut left = draws.concat();
        left.reverse();
        Self { left, is_overdrawn: false }
    }

    /// Whether exactly these bytes were drawn.
    pub const fn is_used_up(&self) -> bool {
        self.left.is_empty() && !self.is_overdrawn
    }
}

impl TryRng for Script {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        next_word_via_fill(self)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        next_word_via_fill(self)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for byte in bytes {
            let next = self.left.pop();
            self.is_overdrawn |= next.is_none();
            *byte = next.unwrap_or(AFTER);
        }
        Ok(())
    }
}

// What it hands out is as unpredictable as the file; nothing made from it leaves the checks.
impl TryCryptoRng for Script {}
