//! Multiplication in constant time.
//!
//! A number k is made odd, k | 1, and taken apart into odd digits, k | 1 = Σ dᵢ 32ⁱ (M. Joye, M.
//! Tunstall, 2009): from every fifth bit on, six bits are read, the lowest of which counts as set,
//! and 32 is subtracted. So dᵢ is ±1, ±3, … ±31; the uppermost digit takes what is there, and is
//! positive. None is zero, so that the work is always the same. In the end P is taken off again if
//! k was even.
//!
//! Additions go wrong where both points are equal, or each other's negatives, or one is infinity.
//! Let S be the sum of some dᵢ 32ⁱ that were added already, d₄₄ 32⁴⁴ among them, and a = dᵢ 32ⁱ the
//! next. If all digits that are still missing were negative or positive, the sum of all would yet
//! be from 1 to n + 2²²¹, so 0 < S ± a < 2n. If i > 0, then S and a are multiples of 32, and n is
//! not: neither S nor S ± a is zero modulo n. So only d₀, and P in the end, need formulas that hold
//! for all points. (Doubling in between divides S and a by the same power of 32; a short k has its
//! d₂₅ for d₄₄.)

use core::array;
use core::hint::black_box;

use super::addition::{Jacobian, Projective};
use super::field::Element;
use super::generator::{ODD_MULTIPLES, SPACING};
use super::point::Point;

/// Bits of a digit.
pub const WINDOW: usize = 5;
/// P, 3 P, … 31 P.
pub const TABLE_LEN: usize = 1 << (WINDOW - 1);

/// Digits of a number below 2²²⁴.
pub const DIGITS: usize = 45;
/// Digits of a number below 2¹²⁸.
pub const SHORT_DIGITS: usize = 26;

/// 64 bits each, the lowest first.
pub type Words = [u64; 4];

/// The product of a point and a number from 1 to n − 1.
pub fn variable_base(point: &Point, number: &Words, digits: usize) -> Point {
    let table = odd_multiples(point);
    let mut sum = at(&table, top_digit(number, digits - 1));
    for position in (1..digits - 1).rev() {
        sum = shifted(sum).plus_another(&at(&table, digit(number, position)));
    }
    let last = at(&table, digit(number, 0)).to_projective();
    finished(&shifted(sum).to_projective(), &last, point, number)
}

/// Adds the last digit, and takes off what made the number odd.
fn finished(sum: &Projective, last: &Projective, point: &Point, number: &Words) -> Point {
    let odd = sum.plus(last);
    let even = odd.plus(&Projective::from_point(point).negated());
    odd.select(&even, is_even(number)).to_affine()
}

/// The product of [`Point::GENERATOR`] and a number from 1 to n − 1.
pub fn fixed_base(number: &Words) -> Point {
    const TOP: usize = DIGITS - 1;
    let taken = |position: usize, digit| point_at(&ODD_MULTIPLES[position / SPACING], digit);
    let mut sum = Jacobian::from_point(&taken(TOP, top_digit(number, TOP)));
    for shift in (0..SPACING).rev() {
        let positions = (shift..TOP).step_by(SPACING).rev().filter(|position| *position != 0);
        for position in positions {
            sum = sum.plus_point(&taken(position, digit(number, position)));
        }
        if shift != 0 {
            sum = shifted(sum);
        }
    }
    let last = Projective::from_point(&taken(0, digit(number, 0)));
    finished(&sum.to_projective(), &last, &Point::GENERATOR, number)
}

fn shifted(mut sum: Jacobian) -> Jacobian {
    for _ in 0..WINDOW {
        sum = sum.doubled();
    }
    sum
}

/// P, 3 P, … 31 P.
pub const fn odd_multiples(point: &Point) -> [Jacobian; TABLE_LEN] {
    let (mut twice, first) = Jacobian::twice_and_once(point);
    let mut table = [first; TABLE_LEN];
    let mut at = 1;
    while at < TABLE_LEN {
        (table[at], twice) = twice.sum_and_self(&table[at - 1]);
        at += 1;
    }
    table
}

/// An odd number from −31 to 31.
#[derive(Clone, Copy)]
struct Digit {
    /// Half of the magnitude: where it is in a table.
    index: i64,
    /// −1 if it is negative, or 0.
    sign: i64,
}

fn digit(number: &Words, position: usize) -> Digit {
    let value = (bits(number, position * WINDOW) | 1) - (1 << WINDOW);
    let sign = value >> 63;
    Digit { index: ((value ^ sign) - sign) >> 1, sign }
}

/// What is left for the uppermost digit: fewer than five bits, and not negative.
fn top_digit(number: &Words, position: usize) -> Digit {
    Digit { index: bits(number, position * WINDOW) >> 1, sign: 0 }
}

/// Six bits from there on.
fn bits(number: &Words, from: usize) -> i64 {
    let (word, shift) = (from / 64, from % 64);
    let above = number.get(word + 1).map_or(0, |above| above << 1 << (63 - shift));
    (number[word] >> shift | above).cast_signed() & ((1 << (WINDOW + 1)) - 1)
}

/// −1 or 0.
fn is_even(number: &Words) -> i64 {
    (number[0] & 1).cast_signed() - 1
}

/// Looks at every entry, whichever it is.
fn at(table: &[Jacobian; TABLE_LEN], digit: Digit) -> Jacobian {
    let mut taken = Jacobian { x: Element::ZERO, y: Element::ZERO, z: Element::ZERO };
    for (entry, mask) in table.iter().zip(masks(digit)) {
        taken.x.take(&entry.x, mask);
        taken.y.take(&entry.y, mask);
        taken.z.take(&entry.z, mask);
    }
    taken.negated_if(digit.sign)
}

/// The same for points.
fn point_at(table: &[Point; TABLE_LEN], digit: Digit) -> Point {
    let (mut x, mut y) = (Element::ZERO, Element::ZERO);
    for (entry, mask) in table.iter().zip(masks(digit)) {
        let (entry_x, entry_y) = entry.coordinates();
        x.take(entry_x, mask);
        y.take(entry_y, mask);
    }
    Point::unreduced(x, y.select(&y.negated(), digit.sign))
}

/// −1 where the digit is in a table, and 0 elsewhere. The compiler does not see that, and makes no
/// branch of what is done with it; one by one, hiding them would cost more than taking the entry.
fn masks(digit: Digit) -> [i64; TABLE_LEN] {
    black_box(array::from_fn(|at| (((at as u64).cast_signed() ^ digit.index) - 1) >> 63))
}
