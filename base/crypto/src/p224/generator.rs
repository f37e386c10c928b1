//! Multiples of the generator, which the compiler computes.

use super::addition::Jacobian;
use super::field::Element;
use super::multiply::{DIGITS, TABLE_LEN, WINDOW, odd_multiples};
use super::point::Point;

/// Digits that share a row: what is between them is made by doubling.
pub const SPACING: usize = 3;
const ROWS: usize = DIGITS / SPACING;

/// In row i, the odd multiples of 32^(3 i) · G: 15 kB. A row for each digit would be 46 kB, to save
/// ten doublings.
pub static ODD_MULTIPLES: [[Point; TABLE_LEN]; ROWS] = rows();

const fn rows() -> [[Point; TABLE_LEN]; ROWS] {
    let mut rows = [[Point::GENERATOR; TABLE_LEN]; ROWS];
    let mut first = Point::GENERATOR;
    let mut row = 0;
    while row < ROWS {
        let multiples = odd_multiples(&first);
        let mut next = Jacobian::from_point(&first);
        let mut doubled = 0;
        while doubled < SPACING * WINDOW {
            next = next.doubled();
            doubled += 1;
        }
        (rows[row], first) = affine(&multiples, &next);
        row += 1;
    }
    rows
}

/// Makes points of all of them with one inversion (P. Montgomery, 1987): its inverse, times the
/// products of the others.
const fn affine(multiples: &[Jacobian; TABLE_LEN], next: &Jacobian) -> ([Point; TABLE_LEN], Point) {
    let mut product = next.z;
    let mut before = [Element::ONE; TABLE_LEN];
    let mut at = 0;
    while at < TABLE_LEN {
        before[at] = product;
        product = product.times(&multiples[at].z);
        at += 1;
    }
    let mut inverse = product.inverted();
    let mut points = [Point::GENERATOR; TABLE_LEN];
    while at > 0 {
        at -= 1;
        points[at] = multiples[at].to_affine(&inverse.times(&before[at]));
        inverse = inverse.times(&multiples[at].z);
    }
    (points, next.to_affine(&inverse))
}
