//! The group of NIST P-256 (FIPS 186-4; SEC 2, 2.4.2) for boards: y² = x³ − 3x + b over the
//! integers modulo p = 2²⁵⁶ − 2²²⁴ + 2¹⁹² + 2⁹⁶ − 1, of prime order n.
//!
//! | module | what |
//! |---|---|
//! | `product` | products of numbers of twenty limbs, from MUL and MLA |
//! | `field` | the coordinates |
//! | `order` | the integers modulo n |
//! | `inverse` | inverses of public numbers, in variable time |
//! | `scalar` | secrets |
//! | `point` | a point as bytes and as coordinates |
//! | `addition` | doubling and addition |
//! | `multiply` | multiplication, in constant time but for that of a verification |
//! | `digits` | digits of public numbers, in variable time |
//! | `generator` | its table for the generator |
//! | `ecdsa` | signatures |
//!
//! Whatever is done with a scalar takes the same time for all scalars, on a Cortex-M3 too: limbs
//! are of 13 bits, as those of [the scalars](crate::curve::half_words)
//! (`docs/explanation/constant-time.md`). Products are written out, so they stay fast where
//! compilers make little code.

mod addition;
mod digits;
pub mod ecdsa;
mod field;
mod generator;
mod inverse;
mod multiply;
mod order;
mod point;
mod product;
mod scalar;

pub use point::{COMPRESSED_LEN, COORDINATES_LEN, Point};
pub use scalar::{SCALAR_LEN, Scalar};

use crate::{Secret, secret};

/// More than a multiplication and what it calls keep on the stack.
const STACK_LEN: usize = if cfg!(target_pointer_width = "64") { 8192 } else { 4096 };

/// The x-coordinate of the product of a secret and a point, big-endian (SP 800-56A, 5.7.1.2). In
/// constant time.
pub fn diffie_hellman(secret: &Scalar, point: &Point) -> Secret<32> {
    let mut shared = Secret::zero();
    wiped(|| *shared.expose_mut() = multiply::variable_base(point, &secret.odd()).x_bytes());
    // Moved, it would leave a copy here that nobody wipes.
    shared.duplicate()
}

/// Wipes the stack below after the work was done: coordinates and limbs do not wipe themselves.
fn wiped<T>(work: impl FnOnce() -> T) -> T {
    secret::wiped::<STACK_LEN, T>(work)
}
