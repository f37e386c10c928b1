//! Multiplication of the base point, and of other points that have a comb, in constant time.
//!
//! A number k below 2²⁵⁵, or k + ℓ if k is even, is Σ sᵢ·2ⁱ for i < 256 with sᵢ = ±1: sᵢ is
//! positive if bit i + 1 of the odd number is set, and so is s₂₅₅. A comb of four teeth (C.
//! Lim, P. Lee, 1994) takes sⱼ, s₆₄₊ⱼ, s₁₂₈₊ⱼ and s₁₉₂₊ⱼ at once. There are four combs, each for 16
//! of the 64 j, so that only every fourth addition follows a doubling; or the first of them alone,
//! for all j, where code is to be small. Additions are complete: none is of a special case.

use core::hint::black_box;
use core::slice;

use subtle::Choice;

use super::comb::COMBS;
use super::point::{Addend, Next, Point};
use crate::Secret;
use crate::curve::words::arithmetic::Table;

/// ℓ, the least word first.
const ORDER: [u32; 8] = [0x5cf5_d3ed, 0x5812_631a, 0xa2f7_9cd6, 0x14de_f9de, 0, 0, 0, 0x1000_0000];
/// 8·ℓ
const EIGHT_TIMES_ORDER: [u32; 8] =
    [0xe7ae_9f68, 0xc093_18d2, 0x17bc_e6b2, 0xa6f7_cef5, 0, 0, 0, 0x8000_0000];
/// Bits from one tooth to the next.
const TOOTH: usize = 64;
/// The same for numbers below 2²⁵².
pub(crate) const SHORT_TOOTH: usize = 63;

/// The product of the base point and a number below 2²⁵⁵, little-endian. The frames below it keep
/// what is secret: whoever calls wipes them.
#[inline(never)]
pub(super) fn base_times(number: &Secret<32>) -> [u8; 32] {
    base_product(number).encoded()
}

/// The u-coordinate of the product on the Montgomery form of the curve, little-endian, for a number
/// below 2²⁵⁵ that is no multiple of ℓ.
#[inline(never)]
pub(crate) fn base_times_montgomery(number: &Secret<32>) -> [u8; 32] {
    base_product(number).u_coordinate()
}

/// The u-coordinate of the product of a point of order ℓ and an eighth of a clamped number, for the
/// point's comb with [`SHORT_TOOTH`] bits from one tooth to the next.
#[inline(never)]
pub(crate) fn eighth_times_montgomery(comb: &Table, clamped: &Secret<32>, u: &mut Secret<32>) {
    let digits = Digits::OfEighth.of(clamped);
    *u.expose_mut() = product(slice::from_ref(comb), &digits, SHORT_TOOTH, 4).u_coordinate();
}

#[inline(never)]
fn base_product(number: &Secret<32>) -> Point {
    product(&COMBS, &Digits::OfNumber.of(number), TOOTH / COMBS.len(), 1)
}

/// The sum of the powers of two, each added or taken off as its digit says. The digits begin with
/// the bit `first`, and each comb takes so many columns of them.
// A Cortex-M3 has it once for all combs. Elsewhere there are those of the base point alone, and
// distances that the compiler knows save a thirtieth.
#[cfg_attr(armv7m, inline(never))]
#[cfg_attr(not(armv7m), inline)]
fn product(combs: &[Table], digits: &Secret<32>, columns: usize, first: usize) -> Point {
    // Not the other way round: no division, whose time depends on its operands.
    let tooth = columns * combs.len();
    let mut addend = Addend::ZERO;
    let mut sum = Point::ZERO;
    for column in (0..columns).rev() {
        let is_first = column + 1 == columns;
        if !is_first {
            sum.double(Next::Addition);
        }
        for (at, comb) in combs.iter().enumerate() {
            choose(&mut addend, digits, comb, tooth, first + columns * at + column);
            if is_first && at == 0 {
                sum = Point::of_addend(&addend);
            } else {
                let is_last = at + 1 == combs.len();
                sum.add_addend(&addend, if is_last { Next::Doubling } else { Next::Addition });
            }
        }
    }
    sum
}

/// Which of two numbers is odd, and where its bits begin.
#[derive(Clone, Copy)]
enum Digits {
    /// The number k, or k + ℓ.
    OfNumber,
    /// An eighth m of the clamped number, or ℓ − m, times 8. Their products differ in sign alone,
    /// which u-coordinates do not have. Both are below 2²⁵², so that there are 252 digits.
    OfEighth,
}

impl Digits {
    #[inline(never)]
    fn of(self, number: &Secret<32>) -> Secret<32> {
        let (order, bit, flipped, top) = match self {
            Self::OfNumber => (&ORDER, 0, 0, 0),
            Self::OfEighth => (&EIGHT_TIMES_ORDER, 3, u32::MAX, 0x80),
        };
        // All bits if it is even. Hidden, or the compiler may make a branch of it.
        let mask = black_box(u32::from(number.expose()[0] >> bit & 1).wrapping_sub(1));
        let mut digits = number.duplicate();
        let mut carried = u64::from(flipped & mask & 1);
        let (words, _) = digits.expose_mut().as_chunks_mut::<4>();
        for (word, order) in words.iter_mut().zip(order) {
            let kept = u32::from_le_bytes(*word) ^ flipped & mask;
            let sum = u64::from(kept) + u64::from(order & mask) + carried;
            *word = (sum as u32).to_le_bytes();
            carried = sum >> 32;
        }
        digits.expose_mut()[31] |= top;
        digits
    }
}

/// The comb's point for the bits at `position` and at every tooth above it.
#[cfg_attr(armv7m, inline(never))]
#[cfg_attr(not(armv7m), inline)]
fn choose(addend: &mut Addend, digits: &Secret<32>, comb: &Table, tooth: usize, position: usize) {
    let sign = |number: usize| sign(digits, tooth * number + position);
    let upper = sign(3);
    let [one, two, four] = [0, 1, 2].map(|number| (sign(number) ^ upper ^ 1) << number);
    addend.choose(comb, u32::from(one | two | four));
    addend.negate_if(Choice::from(upper ^ 1));
}

/// Whether a power of two is added or taken off, 1 or 0: the bit of this number, or 1 above the
/// highest.
fn sign(digits: &Secret<32>, bit: usize) -> u8 {
    match digits.expose().get(bit / 8) {
        Some(byte) => byte >> (bit % 8) & 1,
        None => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::words::arithmetic::OfThisCore;
    use crate::ed25519::comb::ALL;
    use crate::ed25519::point::Field;
    use curve25519_dalek::{EdwardsPoint, Scalar as Theirs};

    fn power_of_two(exponent: usize) -> Theirs {
        (0..exponent).fold(Theirs::ONE, |power, _| power + power)
    }

    /// The multiples are the other crate's; from its bytes, y and x are read.
    #[test]
    fn the_comb_is_what_it_is_called() {
        let twice_d = {
            let mut d = Field::new([121_666, 0, 0, 0, 0, 0, 0, 0]).inverted();
            d.multiply(&Field::new([121_665, 0, 0, 0, 0, 0, 0, 0]));
            d.double();
            d.negate();
            d
        };
        for (at, entry) in ALL.as_flattened().iter().enumerate().step_by(crate::ONE_IN) {
            let (comb, signs) = (at / 8, at % 8);
            let lower = (0..3).map(|tooth| match signs >> tooth & 1 {
                1 => power_of_two(TOOTH * tooth),
                _ => -power_of_two(TOOTH * tooth),
            });
            let multiple = power_of_two(TOOTH * 3) + lower.sum::<Theirs>();
            let multiple = power_of_two(TOOTH / ALL.len() * comb) * multiple;
            let bytes = EdwardsPoint::mul_base(&multiple).compress().to_bytes();
            let (x, y) = Point::<OfThisCore>::from_bytes(&bytes).expect("a point").affine();
            let (mut minus, mut plus, mut product) = (y, y, x);
            minus.subtract(&x);
            plus.add(&x);
            product.multiply(&y);
            product.multiply(&twice_d);
            let found = entry.map(|words| Field::new(words).to_bytes());
            assert_eq!(found, [minus, plus, product].map(Field::to_bytes), "{comb} {signs:03b}");
        }
    }

    #[test]
    fn multiples_are_the_other_crates() {
        let check = |number: Theirs| {
            let theirs = EdwardsPoint::mul_base(&number).compress().to_bytes();
            let digits = Digits::OfNumber.of(&Secret::new(number.to_bytes()));
            let with_all = product(&ALL, &digits, TOOTH / ALL.len(), 1).encoded();
            assert_eq!(with_all, theirs, "{number:?}");
            let with_one = product(&ALL[..1], &digits, TOOTH, 1).encoded();
            assert_eq!(with_one, theirs, "{number:?} with one comb");
        };
        for small in (0..20_u8).step_by(crate::ONE_IN) {
            check(Theirs::from(small));
            check(-Theirs::from(small));
        }
        for exponent in (0..253).step_by(crate::ONE_IN) {
            check(power_of_two(exponent));
            check(-power_of_two(exponent));
        }
    }
}
