//! Digits of a public number, few of which are not zero. In variable time: nothing here is for a
//! secret, whose digits are those of [`Odd`](super::scalar::Odd).
//!
//! Bit i of 2k − k is 1, 0 or −1: bit i − 1 of k less bit i. These signed bits stand for k, and
//! those that are not zero alternate in sign. From the uppermost on, five at a time make a window,
//! which begins with one that is not zero: so the window is from −16 to 16 and not zero, and is an
//! odd number from −15 to 15, shifted (K. Okeya et al., "Signed binary representations revisited",
//! 2004). A sixth of the positions have one, as in Solinas' NAF of width 5, whose digits come in
//! the wrong order and would have to be kept.

use super::scalar::PublicScalar;

/// Signed bits of a window.
const WINDOW: usize = 5;
/// Positions that may have a digit.
pub const POSITIONS: usize = 257;

/// A number whose digits are taken from the uppermost on.
pub struct Digits<'a> {
    number: &'a PublicScalar,
    /// The lowest position of the last window.
    end: usize,
    /// The digit of the last window, and where it is.
    digit: i32,
    position: usize,
}

impl<'a> Digits<'a> {
    pub const fn of(number: &'a PublicScalar) -> Self {
        Self { number, end: POSITIONS, digit: 0, position: POSITIONS }
    }

    /// The digit there, unless it is zero: odd, and from −15 to 15. Positions are asked for one
    /// after the other, from the uppermost down to 0.
    pub fn next_vartime(&mut self, position: usize) -> Option<i32> {
        if position < self.end && self.bit(position, 0) != self.bit(position, 1) {
            let bits = (0..=WINDOW).fold(0, |bits, below| bits << 1 | self.bit(position, below));
            let window = (bits & ((1 << WINDOW) - 1)) - (bits >> 1);
            let shift = window.trailing_zeros();
            self.end = (position + 1).saturating_sub(WINDOW);
            self.digit = window >> shift;
            // Bits below 0 are zero, so the digit is not there.
            self.position = position + shift as usize + 1 - WINDOW;
        }
        (position == self.position).then_some(self.digit)
    }

    /// A bit so far below the position; zero outside of the number.
    fn bit(&self, position: usize, below: usize) -> i32 {
        let byte =
            |at: usize| self.number.as_bytes().iter().rev().nth(at / 8).map(|byte| byte >> (at % 8) & 1);
        position.checked_sub(below).and_then(byte).map_or(0, i32::from)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use ::p256::Scalar as Theirs;
    use ::p256::elliptic_curve::PrimeField;
    use proptest::prelude::*;
    use std::vec::Vec;

    /// The digits by position.
    fn digits(number: &PublicScalar) -> Vec<(usize, i32)> {
        let mut digits = Digits::of(number);
        let positions = (0..POSITIONS).rev();
        positions.filter_map(|position| Some((position, digits.next_vartime(position)?))).collect()
    }

    fn check(number: Theirs) {
        let Some(scalar) = PublicScalar::from_be_bytes(&number.to_repr().into()) else { return };
        let digits = digits(&scalar);
        let power = |exponent| (0..exponent).fold(Theirs::ONE, |power, _| power + power);
        let sum = digits.iter().fold(Theirs::ZERO, |sum, (position, digit)| {
            let term = Theirs::from(digit.unsigned_abs()) * power(*position);
            if *digit < 0 { sum - term } else { sum + term }
        });
        assert_eq!(sum, number);
        assert!(digits.iter().all(|(_, digit)| digit.abs() < 16 && digit % 2 != 0), "{digits:?}");
        // Two windows have ten positions, and at most two digits.
        let thirds = digits.iter().zip(digits.iter().skip(2));
        assert!(thirds.into_iter().all(|((first, _), (third, _))| first - third > WINDOW), "{digits:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256 / crate::ONE_IN as u32) })]

        #[test]
        fn a_number_is_the_sum_of_its_digits(bytes: [u8; 32], shift in 0..256_u32) {
            let number = bytes.iter().fold(Theirs::ZERO, |sum, byte| {
                sum * Theirs::from(256_u32) + Theirs::from(u32::from(*byte))
            });
            check(number);
            // Of runs of zeros and of ones.
            let power = (0..shift).fold(Theirs::ONE, |power, _| power + power);
            check(number * power);
            check(-power);
            check(power - Theirs::ONE);
        }
    }

    #[test]
    fn small_numbers_and_those_near_n_are_the_sums_of_their_digits() {
        for small in (1..2000_u32).step_by(crate::ONE_IN) {
            check(Theirs::from(small));
            check(-Theirs::from(small));
        }
    }
}
