//! Multiplication of the base point, in constant time.
//!
//! A number k below 2²⁵⁵, or k + ℓ if k is even, is Σ sᵢ·2ⁱ for i < 256 with sᵢ = ±1: sᵢ is
//! positive if bit i + 1 of the odd number is set, and so is s₂₅₅. A comb of four teeth (C.
//! Lim, P. Lee, 1994) takes sⱼ, s₆₄₊ⱼ, s₁₂₈₊ⱼ and s₁₉₂₊ⱼ at once. There are four combs, each for 16
//! of the 64 j, so that only every fourth addition follows a doubling; or the first of them alone,
//! for all j, where code is to be small. Additions are complete: none
//! is of a special case.

use core::hint::black_box;

use subtle::Choice;

use super::comb::COMBS;
use super::point::{Addend, Next, Point};
use crate::Secret;
use crate::curve::words::arithmetic::Table;

/// ℓ, little-endian.
const ORDER: [u8; 32] = [
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
];
/// Bits from one tooth to the next.
const TOOTH: usize = 64;

/// The product of the base point and a number below 2²⁵⁵, little-endian. The frames below it keep
/// what is secret: whoever calls wipes them.
#[inline(never)]
pub(super) fn base_times(number: &Secret<32>) -> [u8; 32] {
    product(&COMBS, number).encoded()
}

/// The u-coordinate of the product on the Montgomery form of the curve, little-endian, for a number
/// below 2²⁵⁵ that is no multiple of ℓ.
#[inline(never)]
pub(crate) fn base_times_montgomery(number: &Secret<32>) -> [u8; 32] {
    product(&COMBS, number).u_coordinate()
}

fn product(combs: &[Table], number: &Secret<32>) -> Point {
    let columns = TOOTH / combs.len();
    let odd = odd(number);
    let mut addend = Addend::ZERO;
    let mut sum = Point::ZERO;
    for column in (0..columns).rev() {
        let is_first = column + 1 == columns;
        if !is_first {
            sum.double(Next::Addition);
        }
        for (at, comb) in combs.iter().enumerate() {
            choose(&mut addend, &odd, comb, columns * at + column);
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

/// The comb's point for the signs at `position` and at every tooth above it.
fn choose(addend: &mut Addend, odd: &Secret<32>, comb: &Table, position: usize) {
    let sign = |tooth: usize| sign(odd, TOOTH * tooth + position);
    let upper = sign(3);
    let [one, two, four] = [0, 1, 2].map(|tooth| (sign(tooth) ^ upper ^ 1) << tooth);
    addend.choose(comb, u32::from(one | two | four));
    addend.negate_if(Choice::from(upper ^ 1));
}

/// Whether 2^`at` is added or taken off, 1 or 0.
fn sign(odd: &Secret<32>, at: usize) -> u8 {
    match odd.expose().get((at + 1) / 8) {
        Some(byte) => byte >> ((at + 1) % 8) & 1,
        None => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        for (at, entry) in ALL.as_flattened().iter().enumerate() {
            let (comb, signs) = (at / 8, at % 8);
            let lower = (0..3).map(|tooth| match signs >> tooth & 1 {
                1 => power_of_two(TOOTH * tooth),
                _ => -power_of_two(TOOTH * tooth),
            });
            let multiple = power_of_two(TOOTH * 3) + lower.sum::<Theirs>();
            let multiple = power_of_two(TOOTH / ALL.len() * comb) * multiple;
            let bytes = EdwardsPoint::mul_base(&multiple).compress().to_bytes();
            let (x, y) = Point::from_bytes(&bytes).expect("a point").affine();
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
            for combs in [&ALL[..], &ALL[..1]] {
                let ours = product(combs, &Secret::new(number.to_bytes())).encoded();
                assert_eq!(ours, theirs, "{number:?} with {} combs", combs.len());
            }
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
