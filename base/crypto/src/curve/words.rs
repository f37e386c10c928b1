//! X25519 in eight words of 32 bits, for boards: over the arithmetic of each core. See
//! `docs/research/curve-arithmetic.md` and `docs/explanation/constant-time.md`.

pub mod arithmetic;
#[cfg(armv6m)]
mod armv6m;
#[cfg(armv7em)]
mod armv7em;
#[cfg(armv7m)]
mod armv7m;
pub mod combed;
pub(crate) mod field;
#[doc(hidden)]
pub mod hazmat;
mod portable;
pub mod product;

use core::marker::PhantomData;

use subtle::{Choice, ConditionallySelectable};

use super::{AsReceived, Curve, PublicKey, SharedSecret};
use crate::Secret;
use crate::ed25519::{base_times_montgomery, clamp};
use crate::secret::wiped;
use arithmetic::{Arithmetic, ConstantTime, Ladder, OfThisCore, WORDS};
use field::Element;

/// The Montgomery ladder of RFC 7748 §5; a public key goes by way of the table that signatures
/// have, on the Edwards form of the curve.
#[derive(Debug, Clone, Copy)]
pub struct Words<A>(PhantomData<A>);

/// The curve of boards: constant time on the core that this is compiled for.
pub type BoardCurve = Words<OfThisCore>;
/// The same in 5 kB less flash, where nothing else needs the table.
pub type BoardCurveWithoutTable = WordsWithoutTable<OfThisCore>;

impl<A: ConstantTime> Curve for Words<A> {
    /// The other cores have a ladder that is as fast, or no memory for a table.
    #[cfg(all(armv7m, not(little_code)))]
    type Point = combed::Combed;
    #[cfg(not(all(armv7m, not(little_code))))]
    type Point = AsReceived<Self>;

    fn public_key(secret: &Secret<32>) -> PublicKey {
        let clamped = clamp(secret);
        PublicKey(wiped::<BASE_STACK_LEN, _>(|| base_times_montgomery(&clamped)))
    }

    fn diffie_hellman(secret: &Secret<32>, point: &PublicKey) -> Option<SharedSecret> {
        let mut product = Secret::zero();
        multiply_and_wipe::<A>(secret, &point.0, &mut product);
        SharedSecret::of_product(&product)
    }
}

/// The same without the table, for boards that have no flash for it and do not sign: a public key
/// costs a ladder, which is three times as much.
#[derive(Debug, Clone, Copy)]
pub struct WordsWithoutTable<A>(PhantomData<A>);

impl<A: ConstantTime> Curve for WordsWithoutTable<A> {
    type Point = AsReceived<Self>;

    fn public_key(secret: &Secret<32>) -> PublicKey {
        let mut base = [0; 32];
        base[0] = 9;
        let mut product = Secret::zero();
        multiply_and_wipe::<A>(secret, &base, &mut product);
        PublicKey(*product.expose())
    }

    fn diffie_hellman(secret: &Secret<32>, point: &PublicKey) -> Option<SharedSecret> {
        Words::<A>::diffie_hellman(secret, point)
    }
}

/// More than the ladder and what it calls keep on the stack: 1,000 bytes on x86-64, 956 on a
/// Cortex-M3. Wiping must not reach much deeper than that: on a board, packets are handled near the
/// end of the stack.
const STACK_LEN: usize = if cfg!(target_pointer_width = "64") { 1536 } else { 1024 };
/// The same of a public key, whose points have four coordinates.
const BASE_STACK_LEN: usize = if cfg!(target_pointer_width = "64") { 2560 } else { 1536 };
/// (A + 2) / 4 of the curve.
const CURVE_CONSTANT: u32 = 121_666;

/// The product is written where it is wiped later: returned, it would leave copies in frames that
/// nobody wipes.
fn multiply_and_wipe<A: Arithmetic>(secret: &Secret<32>, point: &[u8; 32], product: &mut Secret<32>) {
    wiped::<STACK_LEN, _>(|| multiply::<A>(secret, point, product));
}

fn multiply<A: Arithmetic>(secret: &Secret<32>, point: &[u8; 32], product: &mut Secret<32>) {
    let x1 = Element::<A>::from_bytes(point).words();
    let [zero, one] = [Element::<A>::ZERO, Element::ONE].map(Element::words);
    let mut ladder = Ladder { x1, x2: one, z2: zero, x3: x1, z3: one };
    A::ladder(&mut ladder, &clamped(secret));
    let mut x = Element::<A>::new(ladder.x2);
    x.multiply(&Element::new(ladder.z2).inverted());
    *product.expose_mut() = x.to_bytes();
}

/// All steps of the ladder.
fn steps<A: Arithmetic>(ladder: &mut Ladder, clamped: &[u32; WORDS]) {
    let mut swapped = 0;
    for bit in (0..255).rev() {
        let set = (clamped[bit / 32] >> (bit % 32)) as u8 & 1;
        A::exchange_and_step(ladder, swapped ^ set);
        swapped = set;
    }
    exchange_if(swapped, ladder);
}

fn exchange_if(choice: u8, Ladder { x2, z2, x3, z3, .. }: &mut Ladder) {
    let choice = Choice::from(choice);
    for (a, b) in x2.iter_mut().zip(x3).chain(z2.iter_mut().zip(z3)) {
        u32::conditional_swap(a, b, choice);
    }
}

/// A step of the ladder from the other operations.
fn step<A: Arithmetic>(ladder: &mut Ladder) {
    let Ladder { x1, x2, z2, x3, z3 } = ladder;
    // A = x2 + z2, B = x2 − z2
    let mut b = *x2;
    A::subtract(&mut b, z2);
    A::add(x2, z2);
    // DA = (x3 − z3)·A, CB = (x3 + z3)·B
    let mut da = *x3;
    A::subtract(&mut da, z3);
    A::add(x3, z3);
    A::multiply(&mut da, x2);
    A::multiply(x3, &b);
    *z3 = da;
    A::subtract(z3, x3);
    A::add(x3, &da);
    A::square(x3);
    A::square(z3);
    A::multiply(z3, x1);
    // E = A² − B², x2 = A²·B², z2 = E·(B² + (a24 + 1)·E), which is RFC 7748's.
    A::square(x2);
    A::square(&mut b);
    let mut e = *x2;
    A::subtract(&mut e, &b);
    A::multiply(x2, &b);
    *z2 = e;
    A::multiply_by_small(z2, CURVE_CONSTANT);
    A::add(z2, &b);
    A::multiply(z2, &e);
}

/// The words of the clamped secret (RFC 7748 §5).
fn clamped(secret: &Secret<32>) -> [u32; WORDS] {
    let mut words = [0; WORDS];
    let (chunks, _) = secret.expose().as_chunks::<4>();
    words.iter_mut().zip(chunks).for_each(|(word, chunk)| *word = u32::from_le_bytes(*chunk));
    words[0] &= !7;
    words[WORDS - 1] = words[WORDS - 1] & u32::MAX >> 1 | 1 << 30;
    words
}
