//! Multiplication in constant time.
//!
//! A number k is made odd, k | 1, and taken apart into odd digits: at each multiple of five bits, six bits are read, the
//! lowest of which is taken as set, and 32 subtracted. That gives ±1, ±3, … ±31, and the five bits are handed on to
//! the next digit; the uppermost takes what is there. So the sum is never infinity before its last digit, and doubling
//! five times and adding one of sixteen odd multiples is always the same work.
//!
//! Additions of two points that are equal or each other's negatives need care. With the sum at s · P, 1 ≤ s, the next
//! digit d adds d · P to 32 s · P. As integers 32 s > 31 ≥ |d|, so they can be ±equal only modulo n, the
//! order; but before the last digit, 32 s + |d| is at most k / 32 + 62, which is below n. So the last
//! digit, and P itself, which is taken off again if k was even, are added by formulas that hold for all points, and
//! nothing else.

use subtle::ConstantTimeEq;

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

/// Adds the last digit, and takes off what made the number odd: where two points may be equal.
fn finished(sum: &Projective, last: &Projective, point: &Point, number: &Words) -> Point {
    let odd = sum.plus(last);
    let even = odd.plus(&Projective::from_point(point).negated());
    odd.select(&even, is_even(number)).to_affine()
}

/// The product of [`Point::GENERATOR`] and a number from 1 to n − 1.
pub fn fixed_base(number: &Words) -> Point {
    let last = SPACING - 1;
    let (rows, top) = (&ODD_MULTIPLES, DIGITS - 1);
    let mut sum = Jacobian::from_point(&point_at(&rows[top / SPACING], top_digit(number, top)));
    for shift in (0..SPACING).rev() {
        if shift != last {
            sum = shifted(sum);
        }
        let rows = rows.iter().enumerate().rev();
        for (row, multiples) in rows.map(|(row, multiples)| (row * SPACING + shift, multiples)) {
            if row != 0 && row != top {
                sum = sum.plus_point(&point_at(multiples, digit(number, row)));
            }
        }
    }
    finished(
        &sum.to_projective(),
        &Projective::from_point(&point_at(&rows[0], digit(number, 0))),
        &Point::GENERATOR,
        number,
    )
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
    /// Half of the magnitude.
    index: u64,
    /// −1 if it is negative, or 0.
    sign: i64,
}

fn digit(number: &Words, position: usize) -> Digit {
    let value = bits(number, position * WINDOW).cast_signed() | 1;
    let value = value - (1 << WINDOW);
    let sign = value >> 63;
    Digit { index: ((value ^ sign) - sign).cast_unsigned() >> 1, sign }
}

/// What is left for the uppermost digit: fewer than five bits, and not negative.
fn top_digit(number: &Words, position: usize) -> Digit {
    Digit { index: bits(number, position * WINDOW) >> 1, sign: 0 }
}

/// Six bits from there. The lowest is not looked at.
fn bits(number: &Words, from: usize) -> u64 {
    let (word, shift) = (from / 64, from % 64);
    let above = number.get(word + 1).map_or(0, |above| above << 1 << (63 - shift));
    (number[word] >> shift | above) & ((1 << (WINDOW + 1)) - 1)
}

/// −1 or 0.
fn is_even(number: &Words) -> i64 {
    (number[0] & 1).cast_signed() - 1
}

/// Looks at every entry, whichever it is.
fn at(table: &[Jacobian; TABLE_LEN], digit: Digit) -> Jacobian {
    let mut taken = Jacobian { x: Element::ZERO, y: Element::ZERO, z: Element::ZERO };
    for (index, entry) in table.iter().enumerate() {
        let mask = -i64::from((index as u64).ct_eq(&digit.index).unwrap_u8());
        taken.x.take(&entry.x, mask);
        taken.y.take(&entry.y, mask);
        taken.z.take(&entry.z, mask);
    }
    taken.negated_if(digit.sign)
}

/// The same for points.
fn point_at(table: &[Point; TABLE_LEN], digit: Digit) -> Point {
    let (mut x, mut y) = (Element::ZERO, Element::ZERO);
    for (index, entry) in table.iter().enumerate() {
        let mask = -i64::from((index as u64).ct_eq(&digit.index).unwrap_u8());
        let (entry_x, entry_y) = entry.coordinates();
        x.take(entry_x, mask);
        y.take(entry_y, mask);
    }
    Point::unreduced(x, y.select(&y.negated(), digit.sign))
}
