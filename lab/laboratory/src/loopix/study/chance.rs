//! Chance that can be repeated: one generator for each seed and purpose.

use chacha20::ChaCha8Rng;
use rand_core::{Rng as _, SeedableRng as _};

/// What the numbers are for. Two purposes share no numbers, whatever their seeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// When a client sends.
    Traffic = 1,
    /// One mix and what passes it.
    Mix = 2,
    /// Layers of mixes.
    Network = 3,
    /// Who is there.
    Presence = 4,
    /// Which messages a sender sends.
    Messages = 5,
    /// Noise in rounds.
    Noise = 6,
}

/// A source of chance.
#[derive(Debug)]
pub struct Chance(ChaCha8Rng);

impl Chance {
    /// The numbers of this seed for this purpose.
    pub fn of(seed: u64, purpose: Purpose) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..16].copy_from_slice(&(purpose as u64).to_le_bytes());
        Self(ChaCha8Rng::from_seed(key))
    }

    /// Uniform in [0, 1), in steps of 2⁻⁵³.
    #[allow(clippy::cast_precision_loss, reason = "53 bits are exact")]
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Exponential with this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.unit())
    }

    /// Whether something of this probability happens.
    pub fn happens(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Uniform in 0 … `count` − 1; 0 of a count of 0. The bias is below 2⁻³² for any count that
    /// occurs.
    pub fn below(&mut self, count: u32) -> u32 {
        ((u64::from(count) * (self.0.next_u64() >> 32)) >> 32) as u32
    }

    /// Poisson with this mean: exponential gaps within a length of `mean`.
    pub fn poisson(&mut self, mean: f64) -> u32 {
        let (mut at, mut count) = (self.exponential(1.0), 0);
        while at < mean {
            at += self.exponential(1.0);
            count += 1;
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_gives_one_sequence_for_each_purpose() {
        let first = |seed, purpose| {
            let mut chance = Chance::of(seed, purpose);
            [chance.unit(), chance.unit()].map(f64::to_bits)
        };
        assert_eq!(first(7, Purpose::Mix), first(7, Purpose::Mix));
        assert_ne!(first(7, Purpose::Mix), first(7, Purpose::Network));
        assert_ne!(first(7, Purpose::Mix), first(8, Purpose::Mix));
    }

    #[test]
    fn means_are_what_they_are_called() {
        let mut chance = Chance::of(1, Purpose::Traffic);
        let count = 100_000;
        let mean =
            |values: &mut dyn FnMut() -> f64| (0..count).map(|_| values()).sum::<f64>() / f64::from(count);
        assert!((mean(&mut || chance.exponential(3.0)) - 3.0).abs() < 0.04);
        assert!((mean(&mut || f64::from(chance.poisson(5.0))) - 5.0).abs() < 0.03);
        assert!((mean(&mut || f64::from(chance.below(10))) - 4.5).abs() < 0.04);
        assert!((mean(&mut || f64::from(u8::from(chance.happens(0.25)))) - 0.25).abs() < 0.006);
    }
}
