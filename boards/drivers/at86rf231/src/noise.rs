//! Whether noise is noise: the continuous tests of NIST SP 800-90B, 4.4.

use core::fmt;

/// A sample of two bits is taken to have half a bit of entropy at least, a quarter of what it could
/// have.
const REPEATS: u8 = 41;
/// Samples in a window …
const WINDOW: u16 = 512;
/// … in which the first may come again this often. Cut-offs for a false alarm once in 2²⁰ at half a
/// bit a sample.
const APPEARANCES: u16 = 410;

/// Why noise is no noise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoiseError<E> {
    /// The chip could not be asked.
    Chip(E),
    /// The same value came too often in a row: the generator is stuck.
    Stuck,
    /// One value came far too often: the generator is biased.
    Biased,
}

impl<E: fmt::Display> fmt::Display for NoiseError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chip(error) => write!(f, "{error}"),
            Self::Stuck => f.write_str("the radio's generator is stuck; make no keys on this board"),
            Self::Biased => f.write_str("the radio's generator is biased; make no keys on this board"),
        }
    }
}

/// The repetition count test and the adaptive proportion test, on samples of any size.
#[derive(Clone, Debug, Default)]
pub struct Health {
    last: Option<u8>,
    repeats: u8,
    first: u8,
    seen: u16,
    appearances: u16,
}

impl Health {
    /// Takes one sample into account.
    ///
    /// # Errors
    /// The samples since the start cannot be noise.
    pub fn check<E>(&mut self, sample: u8) -> Result<(), NoiseError<E>> {
        self.repeats = if self.last == Some(sample) { self.repeats + 1 } else { 1 };
        self.last = Some(sample);
        if self.repeats >= REPEATS {
            self.repeats = 0;
            return Err(NoiseError::Stuck);
        }
        if self.seen == 0 {
            self.first = sample;
            self.appearances = 0;
        }
        self.appearances += u16::from(sample == self.first);
        self.seen = (self.seen + 1) % WINDOW;
        if self.appearances >= APPEARANCES {
            self.seen = 0;
            return Err(NoiseError::Biased);
        }
        Ok(())
    }
}
