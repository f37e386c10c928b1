//! A point that several secrets multiply: a packet's group element, of which a hop takes two
//! products. A ladder for each doubles 255 times; here most doublings are done once, for a table of
//! eight points. See `docs/research/curve-arithmetic.md`.
//!
//! The point is public, and so are its table and the time that it takes to make it. The products
//! are taken in one time for all secrets.

use core::hint::black_box;

use super::arithmetic::{Arithmetic as _, COORDINATES, OfPublicNumbers, OfThisCore, Table, WORDS};
use super::field::Element;
use super::multiply_and_wipe;
use crate::Secret;
use crate::curve::{POINT_LEN, PublicKey, PublicPoint, SharedSecret};
use crate::ed25519::point::{Cached, Next, Point, Sign, TWICE_D};
use crate::ed25519::{SHORT_TOOTH, clamp, eighth_times_montgomery};
use crate::secret::wiped;

/// More than what multiplies keeps on the stack: 1,136 bytes on a Cortex-M3. See
/// `words::STACK_LEN`.
const STACK_LEN: usize = if cfg!(target_pointer_width = "64") { 2048 } else { 1200 };
/// Powers of two that a point of the table adds and takes off.
const TEETH: usize = 4;

/// The sums 2¹⁸⁹ ± 2¹²⁶ ± 2⁶³ ± 1 of eight times a point, as a comb: bit t of an index says whether
/// 2^(63·t) is added or taken off. A point of the curve's twist, or zero, has no such sums: each of
/// its products is a ladder.
pub struct Combed {
    point: PublicKey,
    is_on_curve: bool,
    comb: Table,
}

impl Default for Combed {
    fn default() -> Self {
        Self {
            point: PublicKey([0; POINT_LEN]),
            is_on_curve: false,
            comb: [[[0; WORDS]; COORDINATES]; 1 << (TEETH - 1)],
        }
    }
}

impl PublicPoint for Combed {
    const SHARES: bool = true;

    fn set(&mut self, point: &PublicKey) {
        self.point = *point;
        self.is_on_curve = fill(&mut self.comb, point);
    }

    fn diffie_hellman(&self, secret: &Secret<32>) -> Option<SharedSecret> {
        let mut product = Secret::zero();
        if self.is_on_curve {
            let clamped = clamp(secret);
            wiped::<STACK_LEN, _>(|| eighth_times_montgomery(&self.comb, &clamped, &mut product));
        } else {
            multiply_and_wipe::<OfThisCore>(secret, &self.point.0, &mut product);
        }
        SharedSecret::of_product(&product)
    }
}

/// Whether there are such sums.
fn fill(comb: &mut Table, point: &PublicKey) -> bool {
    let mut multiple = Point::<OfPublicNumbers>::ZERO;
    if !multiple.set_u_coordinate(&point.0) {
        return false;
    }
    // A clamped number is a multiple of 8. Eight times the point has no part of small order, so
    // that what is left of the number may be taken modulo ℓ.
    multiple.double(Next::Doubling);
    multiple.double(Next::Doubling);
    multiple.double(Next::Addition);
    add_up(comb, &mut multiple);
    make_affine(comb);
    true
}

/// X, Y and Z of all sums, one after the other so that only one sign changes (F. Gray).
#[inline(never)]
fn add_up(comb: &mut Table, tooth: &mut Point<OfPublicNumbers>) {
    let mut sum = *tooth;
    sum.negate();
    // At first the teeth, then twice those that change their sign.
    let mut steps = [const { Cached::ZERO }; TEETH];
    for (at, step) in (1..).zip(&mut steps) {
        step.set(tooth);
        if at == TEETH {
            sum.add_cached(step, Sign::Plus);
            break;
        }
        if at > 1 {
            sum.add_cached(step, Sign::Minus);
        }
        tooth.double(Next::Addition);
        step.set(tooth);
        for left in (1..SHORT_TOOTH).rev() {
            tooth.double(if left == 1 { Next::Addition } else { Next::Doubling });
        }
    }
    let mut index = 0_usize;
    for number in 1..=comb.len() {
        for (to, from) in comb[index].iter_mut().zip(sum.coordinates()) {
            *to = from.words();
        }
        let tooth = number.trailing_zeros() as usize;
        if let Some(step) = steps[..TEETH - 1].get(tooth) {
            index ^= 1 << tooth;
            sum.add_cached(step, if index >> tooth & 1 == 1 { Sign::Plus } else { Sign::Minus });
        }
    }
}

/// From X, Y and Z to what is added, with one inversion (P. Montgomery, 1987): X and Y are
/// multiplied with all other Z and divided by the product of all. No Z is zero.
#[inline(never)]
fn make_affine(comb: &mut Table) {
    // A length that the compiler does not see, so that nothing is written out eight times.
    let comb = black_box(comb.as_mut_slice());
    let times = OfPublicNumbers::multiply;
    let mut product = Element::<OfPublicNumbers>::ONE.words();
    for [x, y, z] in comb.iter_mut() {
        times(x, &product);
        times(y, &product);
        times(&mut product, z);
    }
    OfPublicNumbers::invert(&mut product);
    for [x, y, z] in comb.iter_mut().rev() {
        times(x, &product);
        times(y, &product);
        times(&mut product, z);
        // y − x, y + x and 2·d·x·y, in the order of a table.
        *z = *x;
        times(z, y);
        times(z, &TWICE_D);
        OfPublicNumbers::sum_and_difference(y, x);
    }
}
