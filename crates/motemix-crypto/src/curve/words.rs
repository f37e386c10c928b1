//! X25519 in eight words, for boards: little code and little stack. See `docs/constant-time.md`.

pub(crate) mod field;
pub mod product;

use core::marker::PhantomData;

use subtle::Choice;
use zeroize::zeroize_stack;

use super::{Curve, PublicKey, SharedSecret};
use crate::Secret;
use field::Element;
use product::Product;

/// The Montgomery ladder of RFC 7748 §5 with the core's products; both operations cost one
/// variable-base multiplication.
#[derive(Debug, Clone, Copy)]
pub struct Words<M>(PhantomData<M>);

impl<M: Product> Curve for Words<M> {
    fn public_key(secret: &Secret<32>) -> PublicKey {
        let mut base = [0; 32];
        base[0] = 9;
        let mut product = Secret::zero();
        multiply::<M>(secret, &base, &mut product);
        PublicKey(*product.expose())
    }

    fn diffie_hellman(secret: &Secret<32>, point: &PublicKey) -> Option<SharedSecret> {
        let mut product = Secret::zero();
        multiply::<M>(secret, &point.0, &mut product);
        SharedSecret::of_product(&product)
    }
}

/// More than the ladder and what it calls keep on the stack: 1,000 bytes on x86-64, 956 on a
/// Cortex-M3. Wiping must not reach much deeper than that: on a board, packets are handled near the
/// end of the stack.
const STACK_LEN: usize = if cfg!(target_pointer_width = "64") { 1536 } else { 1024 };
/// (A + 2) / 4 of the curve.
const CURVE_CONSTANT: u32 = 121_666;

// The product is written where it is wiped later: returned, it would leave copies in frames that
// nobody wipes.
#[inline(never)]
fn multiply<M: Product>(secret: &Secret<32>, point: &[u8; 32], product: &mut Secret<32>) {
    ladder::<M>(secret, point, product);
    // The words do not wipe themselves; they lay here.
    zeroize_stack::<STACK_LEN>();
}

/// In a frame of its own, so that the frame can be wiped.
#[inline(never)]
#[allow(clippy::many_single_char_names)] // those of RFC 7748
fn ladder<M: Product>(secret: &Secret<32>, point: &[u8; 32], product: &mut Secret<32>) {
    let x1 = Element::<M>::from_bytes(point);
    let (mut x2, mut z2) = (Element::ONE, Element::ZERO);
    let (mut x3, mut z3) = (x1, Element::ONE);
    let mut swapped = 0;
    for bit in (0..255).rev() {
        let set = clamped_bit(secret, bit);
        swap_if(swapped ^ set, &mut x2, &mut x3);
        swap_if(swapped ^ set, &mut z2, &mut z3);
        swapped = set;

        // A = x2 + z2, B = x2 − z2
        let mut b = x2;
        b.subtract(&z2);
        x2.add(&z2);
        // DA = (x3 − z3)·A, CB = (x3 + z3)·B
        let mut da = x3;
        da.subtract(&z3);
        x3.add(&z3);
        da.multiply(&x2);
        x3.multiply(&b);
        z3 = da;
        z3.subtract(&x3);
        x3.add(&da);
        x3.square();
        z3.square();
        z3.multiply(&x1);
        // E = A² − B², x2 = A²·B², z2 = E·(B² + (a24 + 1)·E), which is RFC 7748's.
        x2.square();
        b.square();
        let mut e = x2;
        e.subtract(&b);
        x2.multiply(&b);
        z2 = e;
        z2.multiply_by_small(CURVE_CONSTANT);
        z2.add(&b);
        z2.multiply(&e);
    }
    swap_if(swapped, &mut x2, &mut x3);
    swap_if(swapped, &mut z2, &mut z3);
    x2.multiply(&z2.inverted());
    *product.expose_mut() = x2.to_bytes();
}

fn swap_if<M: Product>(choice: u8, a: &mut Element<M>, b: &mut Element<M>) {
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
