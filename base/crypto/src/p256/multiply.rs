//! Multiplication, in constant time but for [`sum_vartime`], which takes no secret.
//!
//! Of k and n − k one is odd, and their products are each other's negatives. So the number that is
//! multiplied, K, is odd and from 1 to n − 1. Odd numbers have digits none of which is zero, so
//! that the work is always the same.
//!
//! **Any point.** K = Σ dᵢ 16ⁱ with odd digits (M. Joye, M. Tunstall, 2009): from every fourth bit
//! on, five bits are read, the lowest of which counts as set, and 16 is subtracted. So dᵢ is ±1,
//! ±3, … ±15; the uppermost digit takes what is there, and is positive.
//!
//! **The generator.** K = Σ sᵢ 2ⁱ for i < 256 with sᵢ = ±1: sᵢ is positive if bit i + 1 of K is
//! set, and so is s₂₅₅. A comb of four teeth (C. Lim, P. Lee, 1994) takes sⱼ, s₆₄₊ⱼ, s₁₂₈₊ⱼ and
//! s₁₉₂₊ⱼ at once, j from 63 down to 0.
//!
//! Additions go wrong where both points are equal, or each other's negatives, or one is infinity.
//! Let S be the sum so far, doubled as it is when a is added to it. Both are multiples of the point
//! that is multiplied; their factors be called the same.
//!
//! - *Any point*, digit i < 63: 16ⁱ·(S ± a) differs from K by the digits below i, less than 16ⁱ
//!   together, and perhaps by 2·16ⁱ·|a|, which is up to 30·16ⁱ. So it is between −2²⁵⁴ and
//!   n + 2²⁵⁴, where 0 and n are the only multiples of n. S is even and a is odd, so it is not 0.
//!   It is n only if 16ⁱ divides n, which is odd: if i = 0.
//! - *The generator*, column j < 63: the teeth's lower signs and 2·2ʲ·|a| make less than
//!   2^(194 + j) of difference. So 2ʲ·(S ± a) is between −2²⁵⁶ and n + 2²⁵⁶, where −n, 0, n and 2 n
//!   are the only multiples of n. It is not 0, as before. 2ʲ divides none of the others if j > 1.
//!   It divides 2 n if j = 1, but n + 2¹⁹⁵ is less than that.
//! - S itself is no multiple of n: before it was doubled it was the odd sum of an addition, of
//!   which the same holds, or what the sum began with.
//!
//! So S and a are neither equal nor negatives of each other, but in the last addition (i = 0, j =
//! 0). S + a is K there, and not a multiple of n; S and a may be equal.

use core::array;
use core::hint::black_box;

use subtle::Choice;

use super::addition::Jacobian;
use super::digits::{Digits, POSITIONS};
use super::field::{Element, Packed};
use super::generator::COMB;
use super::point::Point;
use super::scalar::{Odd, PublicScalar};

/// Points of a table.
pub const TABLE_LEN: usize = 8;
/// Bits of a digit.
const WINDOW: usize = 4;
/// Digits of a number.
const DIGITS: usize = 64;
/// Columns of the comb.
const COLUMNS: usize = 64;

/// x and y of points.
pub type Table = [Packed; TABLE_LEN];
const EMPTY: Table = [[0; 20]; TABLE_LEN];

/// The product of a point.
pub fn variable_base(point: &Point, odd: &Odd) -> Point {
    let mut table = EMPTY;
    set_odd_multiples(&mut table, point, Element::invert);
    let mut sum = Jacobian::from_point(&digit(&table, odd, DIGITS - 1));
    for position in (1..DIGITS - 1).rev() {
        shift(&mut sum);
        sum.add_point(&digit(&table, odd, position));
    }
    shift(&mut sum);
    sum.add_any_point(&digit(&table, odd, 0));
    affine(sum, odd)
}

/// The product of the generator.
pub fn fixed_base(odd: &Odd) -> Point {
    let mut sum = Jacobian::from_point(&column(odd, COLUMNS - 1));
    for position in (1..COLUMNS - 1).rev() {
        sum.double();
        sum.add_point(&column(odd, position));
    }
    sum.double();
    sum.add_any_point(&column(odd, 0));
    affine(sum, odd)
}

/// The sum of both products: `None` if it is infinity. In variable time: digits that are zero are
/// left out, and multiples are looked up where they are.
pub fn sum_vartime(
    point: &Point,
    by: &PublicScalar,
    of_generator: Option<&PublicScalar>,
) -> Option<Jacobian> {
    let comb = of_generator.map(PublicScalar::odd);
    let mut table = EMPTY;
    set_odd_multiples(&mut table, point, Element::invert_vartime);
    let mut digits = Digits::of(by);
    let mut sum = None;
    for position in (0..POSITIONS).rev() {
        if let Some(sum) = &mut sum {
            Jacobian::double(sum);
        }
        if let Some(digit) = digits.next_vartime(position) {
            add_vartime(&mut sum, &multiple_vartime(&table, digit));
        }
        if let Some(comb) = comb.as_ref().filter(|_| position < COLUMNS) {
            add_vartime(&mut sum, &column_vartime(comb, position));
        }
    }
    let sum = sum?;
    if !bool::from(sum.z.is_zero()) {
        return Some(sum);
    }
    // Z is zero from then on that an addition went wrong, which happens only to who wants it.
    let product = variable_base(point, &by.odd());
    match comb {
        Some(comb) => Jacobian::of_points_vartime(&product, &fixed_base(&comb)),
        None => Some(Jacobian::from_point(&product)),
    }
}

fn add_vartime(sum: &mut Option<Jacobian>, point: &Point) {
    match sum {
        Some(sum) => {
            sum.add_point(point);
        }
        None => *sum = Some(Jacobian::from_point(point)),
    }
}

/// An odd multiple from −15 to 15, looked up where it is.
fn multiple_vartime(table: &Table, digit: i32) -> Point {
    let mut point = Point::unpacked(&table[digit.unsigned_abs() as usize / 2 % TABLE_LEN]);
    point.negate_if(Choice::from(u8::from(digit < 0)));
    point
}

fn affine(mut product: Jacobian, odd: &Odd) -> Point {
    product.z.invert();
    let mut point = Point::new(product.x, product.y);
    point.make_affine(&product.z);
    signed(point, odd)
}

/// The negative if the number's negative was multiplied.
fn signed(mut point: Point, odd: &Odd) -> Point {
    point.negate_if(odd.is_negative());
    point
}

fn shift(sum: &mut Jacobian) {
    for _ in 0..WINDOW {
        sum.double();
    }
}

/// The digit's multiple.
fn digit(table: &Table, odd: &Odd, position: usize) -> Point {
    // The uppermost is positive: as if a bit were set above it.
    let bits = odd.bits(WINDOW * position) | u8::from(position == DIGITS - 1) << WINDOW;
    // −15 and 15 are next to each other, as −1 and 1 are.
    let is_negative = Choice::from(bits >> WINDOW & 1 ^ 1);
    let magnitude = bits ^ black_box((bits >> WINDOW & 1).wrapping_sub(1));
    at(table, magnitude >> 1 & 7, is_negative)
}

/// The column's point.
fn column(odd: &Odd, position: usize) -> Point {
    let (index, is_negative) = signs(odd, position);
    at(&COMB, index, is_negative)
}

/// The same, looked up where it is.
fn column_vartime(odd: &Odd, position: usize) -> Point {
    let (index, is_negative) = signs(odd, position);
    let mut point = Point::unpacked(&COMB[usize::from(index) % TABLE_LEN]);
    point.negate_if(is_negative ^ odd.is_negative());
    point
}

/// Where the column's point is, and whether its negative is meant.
fn signs(odd: &Odd, position: usize) -> (u8, Choice) {
    let bit = |tooth: usize| odd.sign(COLUMNS * tooth + position);
    let upper = bit(3);
    let index = [0, 1, 2].map(|tooth| (bit(tooth) ^ upper ^ 1) << tooth);
    (index[0] | index[1] | index[2], Choice::from(upper ^ 1))
}

/// Looks at every entry, whichever it is.
#[inline(never)]
fn at(table: &Table, index: u8, is_negative: Choice) -> Point {
    // The compiler sees neither how great the index may be, nor that masks are all bits or none: of
    // either it would make branches, on a Cortex-M0+ for one.
    let index = black_box(u32::from(index));
    let [m0, m1, m2, m3, m4, m5, m6, m7] = black_box(array::from_fn(|at| {
        ((index ^ at as u32).wrapping_sub(1).cast_signed() >> 31).cast_unsigned()
    }));
    let [t0, t1, t2, t3, t4, t5, t6, t7] = table;
    let taken = array::from_fn(|limb| {
        t0[limb] & m0
            | t1[limb] & m1
            | t2[limb] & m2
            | t3[limb] & m3
            | t4[limb] & m4
            | t5[limb] & m5
            | t6[limb] & m6
            | t7[limb] & m7
    });
    let mut point = Point::unpacked(&taken);
    point.negate_if(is_negative);
    point
}

/// P, 3 P, … 15 P.
#[inline(never)]
fn set_odd_multiples(table: &mut Table, point: &Point, invert: fn(&mut Element)) {
    table[0] = point.packed();
    let mut steps = [Element::ZERO; TABLE_LEN - 1];
    let mut z = make_multiples(table, &mut steps, point);
    // One inversion for all of them (P. Montgomery, 1987).
    invert(&mut z);
    make_affine(table, &steps, z);
}

/// Writes X and Y of 3 P and of those that follow, and by what Z is multiplied from one to the
/// next. Returns the last Z.
#[inline(never)]
fn make_multiples(table: &mut Table, steps: &mut [Element; TABLE_LEN - 1], point: &Point) -> Element {
    let mut multiple = Jacobian::from_point(point);
    let mut twice = Jacobian::from_point(point);
    twice.double();
    multiple.scale(&twice.z);
    for (entry, step) in table[1..].iter_mut().zip(steps) {
        *step = multiple.add_alike(&mut twice);
        *entry = multiple.x.packed(&multiple.y);
    }
    multiple.z
}

/// Makes X and Y into x and y, given 1 / Z of the last.
#[inline(never)]
fn make_affine(table: &mut Table, steps: &[Element; TABLE_LEN - 1], mut inverse: Element) {
    for (entry, step) in table[1..].iter_mut().zip(steps).rev() {
        let mut point = Point::unpacked(entry);
        point.make_affine(&inverse);
        *entry = point.packed();
        inverse.multiply(step);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Secret;
    use crate::p256::Scalar;
    use ::p256::elliptic_curve::{PrimeField, sec1::ToSec1Point};
    use ::p256::{ProjectivePoint, PublicKey, Scalar as Theirs};

    fn power_of_two(exponent: usize) -> Theirs {
        (0..exponent).fold(Theirs::ONE, |power, _| power + power)
    }

    fn times_generator(by: Theirs) -> [u8; 64] {
        let point =
            PublicKey::from_affine((ProjectivePoint::GENERATOR * by).to_affine()).expect("not infinity");
        point.to_sec1_point(false).as_bytes()[1..].try_into().expect("two coordinates")
    }

    #[test]
    fn the_comb_is_what_it_is_called() {
        for (signs, entry) in COMB.iter().enumerate().step_by(crate::ONE_IN) {
            let lower = (0..3).map(|tooth| match signs >> tooth & 1 {
                1 => power_of_two(COLUMNS * tooth),
                _ => -power_of_two(COLUMNS * tooth),
            });
            let multiple = power_of_two(COLUMNS * 3) + lower.sum::<Theirs>();
            assert_eq!(Point::unpacked(entry).to_coordinates(), times_generator(multiple), "{signs:03b}");
        }
    }

    #[test]
    fn a_table_has_the_odd_multiples_in_order() {
        let point = Point::from_coordinates(&times_generator(Theirs::from(77_u32))).expect("a point");
        let mut table = EMPTY;
        set_odd_multiples(&mut table, &point, Element::invert);
        for (entry, multiple) in table.iter().zip((1_u32..).step_by(2)).step_by(crate::ONE_IN) {
            let expected = times_generator(Theirs::from(77_u32) * Theirs::from(multiple));
            assert_eq!(Point::unpacked(entry).to_coordinates(), expected, "{multiple} times");
        }
    }

    #[test]
    fn a_number_is_the_sum_of_its_digits_and_of_its_signs() {
        for value in [1, 2, 3, 4, 1000, u32::MAX].into_iter().step_by(crate::ONE_IN) {
            for scalar in [Theirs::from(value), -Theirs::from(value)] {
                let own = Scalar::from_be_bytes(&Secret::new(scalar.to_repr().into())).expect("not zero");
                let odd = own.odd();
                let signs = (0..256).fold(Theirs::ZERO, |sum, at| match odd.sign(at) {
                    1 => sum + power_of_two(at),
                    _ => sum - power_of_two(at),
                });
                let expected = if bool::from(odd.is_negative()) { -scalar } else { scalar };
                assert_eq!(signs, expected);
            }
        }
    }
}
