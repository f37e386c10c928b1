//! Multiplication of the base point, in constant time.
//!
//! A number k below 2²⁵⁵, or k + ℓ if k is even, is Σ sᵢ·2ⁱ for i < 256 with sᵢ = ±1: sᵢ is
//! positive if bit i + 1 of the odd number is set, and so is s₂₅₅. A comb of four teeth (C.
//! Lim, P. Lee, 1994) takes sⱼ, s₆₄₊ⱼ, s₁₂₈₊ⱼ and s₁₉₂₊ⱼ at once, j from 63 down to 0.
//! Additions are complete: none is of a special case.

use core::hint::black_box;

use subtle::Choice;

use super::comb::COMB;
use super::point::{Addend, Point};
use crate::Secret;

/// ℓ, little-endian.
const ORDER: [u8; 32] = [
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
];
/// Columns of the comb.
const COLUMNS: usize = 64;

/// The product of the base point and a number below 2²⁵⁵, little-endian. The frames below it keep
/// what is secret: whoever calls wipes them.
#[inline(never)]
pub(super) fn base_times(number: &Secret<32>) -> [u8; 32] {
    product(number).encoded()
}

/// The u-coordinate of the product on the Montgomery form of the curve, little-endian, for a number
/// below 2²⁵⁵ that is no multiple of ℓ.
#[inline(never)]
pub(crate) fn base_times_montgomery(number: &Secret<32>) -> [u8; 32] {
    product(number).u_coordinate()
}

fn product(number: &Secret<32>) -> Point {
    let odd = odd(number);
    let mut sum = Point::ZERO;
    for position in (0..COLUMNS).rev() {
        sum.double();
        sum.add_addend(&column(&odd, position));
    }
    sum
}

/// The number, or the sum of it and ℓ: whichever is odd.
fn odd(number: &Secret<32>) -> Secret<32> {
    // All bits if it is even. Hidden, or the compiler may make a branch of it.
    let mask = black_box((number.expose()[0] & 1).wrapping_sub(1));
    let mut odd = number.duplicate();
    let mut carried = 0;
    for (byte, order) in odd.expose_mut().iter_mut().zip(ORDER) {
        let sum = u16::from(*byte) + u16::from(order & mask) + carried;
        *byte = sum as u8;
        carried = sum >> 8;
    }
    odd
}

/// The column's point.
fn column(odd: &Secret<32>, position: usize) -> Addend {
    let sign = |tooth: usize| sign(odd, COLUMNS * tooth + position);
    let upper = sign(3);
    let [one, two, four] = [0, 1, 2].map(|tooth| (sign(tooth) ^ upper ^ 1) << tooth);
    let mut point = at(one | two | four);
    point.negate_if(Choice::from(upper ^ 1));
    point
}

/// Whether 2^`at` is added or taken off, 1 or 0.
fn sign(odd: &Secret<32>, at: usize) -> u8 {
    match odd.expose().get((at + 1) / 8) {
        Some(byte) => byte >> ((at + 1) % 8) & 1,
        None => 1,
    }
}

/// Looks at every entry of the table, whichever it is.
#[inline(never)]
fn at(index: u8) -> Addend {
    // Neither how great the index may be nor that masks are all bits or none is seen by the
    // compiler: of either it could make branches.
    let index = black_box(u32::from(index));
    let mut taken = [[0; 8]; 3];
    for (at, entry) in (0_u32..).zip(&COMB) {
        let mask = black_box(((index ^ at).wrapping_sub(1).cast_signed() >> 31).cast_unsigned());
        for (word, entry) in taken.as_flattened_mut().iter_mut().zip(entry.as_flattened()) {
            *word |= entry & mask;
        }
    }
    Addend::new(taken)
}

#[cfg(test)]
mod tests {
    use super::*;
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
        for (signs, entry) in COMB.iter().enumerate() {
            let lower = (0..3).map(|tooth| match signs >> tooth & 1 {
                1 => power_of_two(COLUMNS * tooth),
                _ => -power_of_two(COLUMNS * tooth),
            });
            let multiple = power_of_two(COLUMNS * 3) + lower.sum::<Theirs>();
            let bytes = EdwardsPoint::mul_base(&multiple).compress().to_bytes();
            let (x, y) = Point::from_bytes(&bytes).expect("a point").affine();
            let (mut minus, mut plus, mut product) = (y, y, x);
            minus.subtract(&x);
            plus.add(&x);
            product.multiply(&y);
            product.multiply(&twice_d);
            let found = entry.map(|words| Field::new(words).to_bytes());
            assert_eq!(found, [minus, plus, product].map(Field::to_bytes), "{signs:03b}");
        }
    }

    #[test]
    fn multiples_are_the_other_crates() {
        let check = |number: Theirs| {
            let ours = base_times(&Secret::new(number.to_bytes()));
            assert_eq!(ours, EdwardsPoint::mul_base(&number).compress().to_bytes(), "{number:?}");
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
