//! The exponential delay of a hop, in integers, from the hop's shared secret.

use core::hint::black_box;
use core::time::Duration;

/// ln 2 with 32 fractional bits.
const LN_2: u32 = 2_977_044_472;
/// Fractional bits of the logarithm.
const FRACTION_BITS: u32 = 24;

/// How long a hop keeps a packet, as a factor of the network's mean delay; exponentially
/// distributed. Sender and hop derive it from the hop's shared secret, so it takes no bytes
/// (`docs/spec/packet.md`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct HopDelay(u64);

impl HopDelay {
    /// −ln(seed / 2⁶⁴), 24 fractional bits. The lowest bit of the seed is taken as one.
    ///
    /// In a time that does not depend on the seed, on boards as well: no shift by a variable number
    /// of bits, which is a branch on a Cortex-M0+, and no 64-bit product of a small number,
    /// which a Cortex-M3 ends early.
    pub const fn from_seed(seed: u64) -> Self {
        let (mut mantissa, zeros) = normalize(seed | 1);
        let mut fraction = 0_u32;
        let mut bit = 0;
        while bit < FRACTION_BITS {
            // Squaring doubles the logarithm; its integer part is the next bit.
            let square = mantissa as u64 * mantissa as u64;
            let (high, low) = ((square >> 32) as u32, square as u32);
            let carry = high >> 31;
            fraction = (fraction << 1) | carry;
            mantissa = select(carry, high, (high << 1) | (low >> 31));
            bit += 1;
        }
        Self(times_ln_2(((zeros + 1) << FRACTION_BITS) - fraction) as u64)
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

/// The 32 bits of `seed`, which is not zero, from its first one on, and how many zeros are before
/// that.
const fn normalize(seed: u64) -> (u32, u32) {
    let (mut high, mut low) = ((seed >> 32) as u32, seed as u32);
    let is_low = is_zero(high);
    high = select(is_low, low, high);
    low = select(is_low, 0, low);
    let mut zeros = is_low << 5;
    // By 16, 8, 4, 2 and 1, if so many bits are zero.
    let mut shift = 16;
    while shift > 0 {
        let is_small = is_zero(high >> (32 - shift));
        high = select(is_small, (high << shift) | (low >> (32 - shift)), high);
        low = select(is_small, low << shift, low);
        zeros += select(is_small, shift, 0);
        shift /= 2;
    }
    (high, zeros)
}

/// 1 if `word` is zero, else 0.
const fn is_zero(word: u32) -> u32 {
    !(word | word.wrapping_neg()) >> 31
}

/// `one` if `bit` is 1, `zero` if it is 0.
const fn select(bit: u32, one: u32, zero: u32) -> u32 {
    // The compiler would see that there are two cases, and branch to them.
    zero ^ ((one ^ zero) & black_box(bit).wrapping_neg())
}

/// Times ln 2, rounded down, from products of 16 bits.
const fn times_ln_2(log2: u32) -> u32 {
    let (high, low) = (log2 >> 16, log2 & 0xffff);
    let (ln_high, ln_low) = (LN_2 >> 16, LN_2 & 0xffff);
    let middle = (high * ln_low) as u64 + (low * ln_high) as u64 + ((low * ln_low) >> 16) as u64;
    high * ln_high + (middle >> 16) as u32
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

    /// The definition, written as briefly as it can be.
    fn by_definition(seed: u64) -> u64 {
        let seed = seed | 1;
        let zeros = seed.leading_zeros();
        let (mut mantissa, mut fraction) = ((seed << zeros) >> 32, 0);
        for _ in 0..FRACTION_BITS {
            let square = mantissa * mantissa;
            fraction = (fraction << 1) | (square >> 63);
            mantissa = square >> (31 + (square >> 63));
        }
        ((((u64::from(zeros) + 1) << FRACTION_BITS) - fraction) * u64::from(LN_2)) >> 32
    }

    #[test]
    fn the_delay_is_that_of_the_definition() {
        let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
        for turn in 0..20_000_u32 {
            // As many leading zeros as there can be; all ones behind them; one bit; any.
            let place = turn % 64;
            for seed in [seed >> place, u64::MAX >> place, 1 << place, seed] {
                assert_eq!(HopDelay::from_seed(seed).factor(), by_definition(seed), "{seed:#x}");
            }
            seed = seed.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1);
        }
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
