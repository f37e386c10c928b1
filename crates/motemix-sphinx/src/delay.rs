//! The exponential delay of a hop, in integers, from the hop's shared secret.

use core::time::Duration;

use subtle::{Choice, ConditionallySelectable};

/// ln 2 with 32 fractional bits.
const LN_2: u64 = 2_977_044_472;
/// Fractional bits of the logarithm.
const FRACTION_BITS: u32 = 24;

/// How long a hop keeps a packet, as a factor of the network's mean delay; exponentially distributed.
/// Sender and hop derive it from the hop's shared secret, so it takes no bytes (`docs/spec/packet.md`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct HopDelay(u64);

impl HopDelay {
    /// −ln(seed / 2⁶⁴), 24 fractional bits. The lowest bit of the seed is taken as one.
    pub fn from_seed(seed: u64) -> Self {
        let (normal, zeros) = normalise(seed | 1);
        let mut mantissa = normal >> 32;
        let mut fraction = 0_u64;
        let mut bit = 0;
        while bit < FRACTION_BITS {
            // Squaring doubles the logarithm; its integer part is the next bit.
            let square = mantissa * mantissa;
            let carry = square >> 63;
            fraction = (fraction << 1) | carry;
            let halved = square >> 31;
            mantissa = choose(carry, halved >> 1, halved);
            bit += 1;
        }
        let log2 = ((zeros + 1) << FRACTION_BITS) - fraction;
        Self((log2 * LN_2) >> 32)
    }

    /// The factor with 24 fractional bits, at most 45·2²⁴.
    pub const fn factor(self) -> u64 {
        self.0
    }

    /// The delay at a mean delay, in whole microseconds of both.
    pub fn of_mean(self, mean: Duration) -> Duration {
        let mean = mean.as_micros();
        Duration::from_micros(u64::try_from((mean * u128::from(self.0)) >> FRACTION_BITS).unwrap_or(u64::MAX))
    }

    /// The delay of two hops one after the other.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

/// Shifts a seed, not zero, until its highest bit is set; how far. Every step is made, and none shifts by a
/// secret: a Cortex-M0+ shifts 64 bits in a function with branches.
fn normalise(seed: u64) -> (u64, u64) {
    let (mut shifted, mut zeros) = (seed, 0);
    for step in [32, 16, 8, 4, 2, 1] {
        let is_empty = (shifted >> (64 - step)).wrapping_sub(1) >> 63;
        shifted = choose(is_empty, shifted << step, shifted);
        zeros += is_empty * step;
    }
    (shifted, zeros)
}

/// `one` if `which` is 1, `zero` if it is 0; the compiler does not see that it is a choice.
fn choose(which: u64, one: u64, zero: u64) -> u64 {
    u64::conditional_select(&zero, &one, Choice::from(which as u8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delay_is_exponential() {
        // Halves, quarters, … of the seeds lie below ln 2, 2·ln 2, … of the mean.
        let second = Duration::from_secs(1);
        assert_eq!(HopDelay::from_seed(1 << 63).of_mean(second).as_micros(), 693_147);
        assert_eq!(HopDelay::from_seed(1 << 62).of_mean(second).as_micros(), 1_386_294);
        assert_eq!(HopDelay::from_seed(u64::MAX).of_mean(second).as_micros(), 0);
        assert_eq!(HopDelay::from_seed(0).of_mean(second).as_micros(), 44_361_419);

        // The mean over evenly spread seeds is the mean.
        let steps = 1_u64 << 14;
        let total: u128 =
            (0..steps).map(|n| HopDelay::from_seed(n << 50 | 1 << 49).of_mean(second).as_micros()).sum();
        let mean = total / u128::from(steps);
        assert!((999_900..=1_000_100).contains(&mean), "{mean}");
    }

    #[test]
    fn a_smaller_seed_never_waits_less() {
        let mut last = HopDelay::from_seed(u64::MAX);
        for n in (0..10_000_u64).rev() {
            let delay = HopDelay::from_seed(n << 50);
            assert!(delay >= last);
            last = delay;
        }
    }
}
