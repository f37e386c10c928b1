//! A point that several secrets multiply: a packet's group element, of which a hop takes two
//! products. A ladder for each doubles 255 times; here most doublings are done once, for a table of
//! sixteen points. See `docs/curve-arithmetic.md`.
//!
//! The point is public, and so are its table and the time that it takes to make it. The products
//! are taken in one time for all secrets.

use core::hint::black_box;

use subtle::Choice;

use super::Words;
use super::arithmetic::{Arithmetic as _, COORDINATES, OfPublicNumbers, OfThisCore, Table, WORDS};
use super::field::Element;
use crate::Secret;
use crate::curve::{Curve as _, POINT_LEN, PublicKey, PublicPoint, SharedSecret};
use crate::ed25519::point::{Addend, Cached, Next, Point, Sign};
use crate::ed25519::{odd, sign};
use crate::secret::wiped;

/// What everybody may know: no secret becomes one.
type Public = Element<OfPublicNumbers>;

/// Digits of a number, each 1 or −1, that are taken at once.
const TEETH: usize = 5;
/// Digits from one tooth to the next.
const TOOTH: usize = 51;

/// More than what multiplies keeps on the stack.
const STACK_LEN: usize = if cfg!(target_pointer_width = "64") { 2048 } else { 1024 };

/// The sums 2²⁰⁴ ± 2¹⁵³ ± 2¹⁰² ± 2⁵¹ ± 1 of eight times a point, in the order in which each differs
/// from the one before in one sign (F. Gray): the sum at n has 2^(51·t) added if bit t of n ^ n/2 is
/// set, and taken off if it is not. A point of the curve's twist, or zero, has no such sums: each of
/// its products is a ladder.
pub struct Combed {
    point: PublicKey,
    is_on_curve: bool,
    tables: [Table; 2],
}

impl Default for Combed {
    fn default() -> Self {
        let tables = [[[[0; WORDS]; COORDINATES]; 8]; 2];
        Self { point: PublicKey([0; POINT_LEN]), is_on_curve: false, tables }
    }
}

impl PublicPoint for Combed {
    fn set(&mut self, point: &PublicKey) {
        self.point = *point;
        self.is_on_curve = fill(&mut self.tables, point);
    }

    fn diffie_hellman(&self, secret: &Secret<32>) -> Option<SharedSecret> {
        if !self.is_on_curve {
            return Words::<OfThisCore>::diffie_hellman(secret, &self.point);
        }
        let mut product = Secret::zero();
        wiped::<STACK_LEN, _>(|| multiply(&self.tables, secret, &mut product));
        SharedSecret::of_product(&product)
    }
}

/// Whether there are such sums.
fn fill(tables: &mut [Table; 2], point: &PublicKey) -> bool {
    let mut multiple = Point::<OfPublicNumbers>::ZERO;
    if !multiple.set_u_coordinate(&point.0) {
        return false;
    }
    // A clamped number is a multiple of 8. Eight times the point has no part of small order, so that
    // what is left of the number may be taken modulo ℓ.
    multiple.double(Next::Doubling);
    multiple.double(Next::Doubling);
    multiple.double(Next::Addition);
    add_up(tables, &mut multiple);
    make_affine(tables);
    true
}

/// X, Y and Z of all sums.
#[inline(never)]
fn add_up(tables: &mut [Table; 2], tooth: &mut Point<OfPublicNumbers>) {
    let mut sum = Point::ZERO;
    // At first the teeth, then twice those that change their sign.
    let mut steps = [const { Cached::ZERO }; TEETH];
    for (at, step) in (1..).zip(&mut steps) {
        step.set(tooth);
        if at == TEETH {
            sum.add_cached(step, Sign::Plus);
            break;
        }
        sum.add_cached(step, Sign::Minus);
        tooth.double(Next::Addition);
        step.set(tooth);
        for left in (1..TOOTH).rev() {
            tooth.double(if left == 1 { Next::Addition } else { Next::Doubling });
        }
    }
    for (number, point) in tables.as_flattened_mut().iter_mut().enumerate() {
        if number > 0 {
            let tooth = number.trailing_zeros() as usize;
            let is_added = (number ^ number >> 1) >> tooth & 1 == 1;
            sum.add_cached(&steps[tooth], if is_added { Sign::Plus } else { Sign::Minus });
        }
        for (to, from) in point.iter_mut().zip(sum.coordinates()) {
            *to = from.words();
        }
    }
}

/// From X, Y and Z to what is added, with one inversion (P. Montgomery, 1987): X and Y are multiplied
/// with all other Z and divided by the product of all. No Z is zero.
#[inline(never)]
fn make_affine(tables: &mut [Table; 2]) {
    let points = tables.as_flattened_mut();
    let mut product = Public::ONE;
    for [x, y, z] in &mut *points {
        for coordinate in [x, y] {
            OfPublicNumbers::multiply(coordinate, &product.words());
        }
        product.multiply(&Element::new(*z));
    }
    let mut rest = product.inverted();
    for point in points.iter_mut().rev() {
        let [mut x, mut y, z] = point.map(Public::new);
        x.multiply(&rest);
        y.multiply(&rest);
        rest.multiply(&z);
        *point = Addend::of_affine(&x, &y).words();
    }
}

/// The u-coordinate of the clamped secret's multiple.
#[inline(never)]
fn multiply(tables: &[Table; 2], secret: &Secret<32>, product: &mut Secret<32>) {
    let number = digits(secret);
    let mut addend = Addend::ZERO;
    choose(&mut addend, tables, &number, TOOTH - 1);
    let mut sum = Point::of_addend(&addend);
    for column in (0..TOOTH - 1).rev() {
        sum.double(Next::Addition);
        choose(&mut addend, tables, &number, column);
        sum.add_addend(&addend, Next::Doubling);
    }
    *product.expose_mut() = sum.u_coordinate();
}

/// The clamped secret divided by 8, or the sum of that and ℓ, whichever is odd: it is below 2²⁵⁴.
/// Such a number is Σ sᵢ·2ⁱ for i < 255 with sᵢ = ±1, where sᵢ is 1 if bit i + 1 is set, and so is
/// s₂₅₄, whose bit is therefore set here.
fn digits(secret: &Secret<32>) -> Secret<32> {
    let mut eighth = secret.duplicate();
    let bytes = eighth.expose_mut();
    bytes[31] = bytes[31] & 0x7f | 0x40;
    let mut above = 0;
    for byte in bytes.iter_mut().rev() {
        (*byte, above) = (*byte >> 3 | above << 5, *byte);
    }
    let mut digits = odd(&eighth);
    digits.expose_mut()[31] |= 0x80;
    digits
}

/// The table's point for the digits of a column.
fn choose(addend: &mut Addend, tables: &[Table; 2], digits: &Secret<32>, column: usize) {
    let sign = |tooth: usize| sign(digits, TOOTH * tooth + column);
    let upper = sign(TEETH - 1);
    // From the highest digit down, whether the number of those that differ from it is even.
    let mut index = 0;
    for tooth in (0..TEETH - 1).rev() {
        index = index << 1 | (index ^ sign(tooth) ^ upper ^ 1) & 1;
    }
    addend.choose_of_two(tables, black_box(u32::from(index)));
    addend.negate_if(Choice::from(upper ^ 1));
}
