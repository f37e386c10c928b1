//! The group of NIST P-224 (FIPS 186-4; SEC 2, 2.2.2) for hosts: y² = x³ − 3x + b over the integers
//! modulo 2²²⁴ − 2⁹⁶ + 1, of prime order. The packets of Loopix are made with it.
//!
//! | module | what |
//! |---|---|
//! | `field` | the coordinates |
//! | `root` | square roots, in variable time: only of what is on the wire |
//! | `point` | a point as bytes and as coordinates |
//! | `addition` | doubling and addition |
//! | `multiply` | multiplication, in constant time |
//! | `generator` | its table for the generator |
//! | `scalar` | secrets |
//!
//! Whatever is done with a scalar takes the same time for all scalars
//! (`docs/explanation/constant-time.md`). It is made of 64-bit products, so it is for hosts: on
//! boards those are slow, and on a Cortex-M3 their time depends on what is multiplied.

mod addition;
mod field;
mod generator;
mod multiply;
mod point;
mod root;
mod scalar;

use zeroize::zeroize_stack;

pub use point::{COMPRESSED_LEN, Point, UNCOMPRESSED_LEN};
pub use scalar::{SCALAR_LEN, SHORT_SCALAR_LEN, Scalar, ShortScalar};

use crate::Secret;

/// More than a multiplication and what it calls keep on the stack.
const STACK_LEN: usize = 8192;

/// The product of a secret and a point, as its uncompressed bytes, which do not depend on the form
/// in which the point came.
pub fn diffie_hellman(secret: &Scalar, point: &Point) -> Secret<UNCOMPRESSED_LEN> {
    let mut product = Secret::zero();
    into_bytes(secret, point, &mut product);
    // Coordinates do not wipe themselves; they lay here.
    zeroize_stack::<STACK_LEN>();
    product
}

/// In a frame of its own, so that the frame can be wiped.
#[inline(never)]
fn into_bytes(secret: &Scalar, point: &Point, product: &mut Secret<UNCOMPRESSED_LEN>) {
    *product.expose_mut() =
        multiply::variable_base(point, secret.words(), multiply::DIGITS).to_uncompressed();
}
