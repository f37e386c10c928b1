//! The exponential delay of a hop, in integers, from the hop's shared secret.

use core::time::Duration;

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
    pub const fn from_seed(seed: u64) -> Self {
        let seed = seed | 1;
        let zeros = seed.leading_zeros();
        let mut mantissa = (seed << zeros) >> 32;
        let mut fraction = 0_u64;
        let mut bit = 0;
        while bit < FRACTION_BITS {
            // Squaring doubles the logarithm; its integer part is the next bit.
            let square = mantissa * mantissa;
            let carry = square >> 63;
            fraction = (fraction << 1) | carry;
            mantissa = square >> (31 + carry);
            bit += 1;
        }
        let log2 = ((zeros as u64 + 1) << FRACTION_BITS) - fraction;
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
