//! X25519 and its scalars from 32-bit products of 13-bit numbers: constant time on a Cortex-M3,
//! whose MUL takes one cycle and whose MLA takes two whatever they multiply, while UMULL and UMLAL
//! take fewer for small operands. On a Cortex-M0+, which has no 64-bit product, it is faster than
//! what is made of such. See `docs/constant-time.md`.

mod field;
pub(crate) mod limbs;
pub mod scalar;

use subtle::Choice;
use zeroize::zeroize_stack;

use super::{Curve, PublicKey, SharedSecret};
use crate::Secret;
use field::Element;

/// The Montgomery ladder of RFC 7748 §5 over limbs of 13 bits; both operations cost one
/// variable-base multiplication.
#[derive(Debug, Clone, Copy)]
pub enum HalfWords {}

impl Curve for HalfWords {
    fn public_key(secret: &Secret<32>) -> PublicKey {
        let mut base = [0; 32];
        base[0] = 9;
        PublicKey(*multiply(secret, &base).expose())
    }

    fn diffie_hellman(secret: &Secret<32>, point: &PublicKey) -> Option<SharedSecret> {
        SharedSecret::contributory(*multiply(secret, &point.0).expose())
    }
}

/// More than the ladder and what it calls keep on the stack.
const STACK_LEN: usize = 2048;

fn multiply(secret: &Secret<32>, point: &[u8; 32]) -> Secret<32> {
    let mut product = Secret::zero();
    ladder(secret, point, &mut product);
    // The limbs do not wipe themselves; they lay here.
    zeroize_stack::<STACK_LEN>();
    product
}

/// In a frame of its own, so that the frame can be wiped.
#[inline(never)]
#[allow(clippy::many_single_char_names)] // those of RFC 7748
fn ladder(secret: &Secret<32>, point: &[u8; 32], product: &mut Secret<32>) {
    let x1 = Element::from_bytes(point);
    let (mut x2, mut z2) = (Element::ONE, Element::ZERO);
    let (mut x3, mut z3) = (x1, Element::ONE);
    let mut swapped = 0;
    for bit in (0..255).rev() {
        let set = clamped_bit(secret, bit);
        swap_if(swapped ^ set, &mut x2, &mut x3);
        swap_if(swapped ^ set, &mut z2, &mut z3);
        swapped = set;

        // A = x2 + z2, B = x2 − z2, C = x3 + z3, D = x3 − z3
        let (mut a, mut b) = (x2.plus(&z2), x2.minus(&z2));
        let (mut c, mut d) = (x3.plus(&z3), x3.minus(&z3));
        d.multiply(&a);
        c.multiply(&b);
        (x3, z3) = (d.plus(&c), d.minus(&c));
        x3.square();
        z3.square();
        z3.multiply(&x1);
        a.square();
        b.square();
        z2 = a.minus(&b);
        let mut e = z2;
        e.multiply_by_curve_constant();
        z2.multiply(&a.plus(&e));
        x2 = a;
        x2.multiply(&b);
    }
    swap_if(swapped, &mut x2, &mut x3);
    swap_if(swapped, &mut z2, &mut z3);
    x2.multiply(&z2.inverted());
    *product.expose_mut() = x2.to_bytes();
}

fn swap_if(choice: u8, a: &mut Element, b: &mut Element) {
    Element::swap_if(Choice::from(choice), a, b);
}

/// Bit 0 to 254 of the clamped secret. Which bit is public.
fn clamped_bit(secret: &Secret<32>, bit: usize) -> u8 {
    match bit {
        0..3 => 0,
        254 => 1,
        _ => (secret.expose()[bit / 8] >> (bit % 8)) & 1,
    }
}
