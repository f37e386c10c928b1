//! Operations on many operands in one call: a call of the stopwatch costs more than an operation.
//!
//! Operands lie in one buffer, `N` elements for each operation, and what comes out lies in their
//! place. Each function takes how many operations it is to do, and returns zero when it did them.

use core::hint::black_box;
use motemix_board_calls::place::Place;
use motemix_board_calls::{BAD, GOOD};
use motemix_crypto::curve::words::arithmetic::{
    Arithmetic, COORDINATES, Ladder, OfPublicNumbers, OfThisCore,
};
use motemix_crypto::curve::words::combed::Combed;
use motemix_crypto::curve::words::{Words, hazmat};
use motemix_crypto::{Curve, PublicKey, PublicPoint, Secret};
use motemix_multiply as _;

/// Eight words, the least first.
pub type Element = [u32; 8];

/// Elements of the buffer. `MOST` of the stopwatch's test is this number.
const MOST: usize = 512;

static BUFFER: Place<[Element; MOST]> = Place::empty();

/// Where the operands come to.
#[unsafe(no_mangle)]
extern "C" fn mote_buffer() -> *mut Element {
    if BUFFER.with(|_| ()).is_none() {
        BUFFER.put_new(|| [[0; 8]; MOST]);
    }
    BUFFER.with(|buffer| buffer.as_mut_ptr()).unwrap_or(core::ptr::null_mut())
}

/// Does an operation `count` times, on `N` elements each.
#[expect(
    clippy::inline_always,
    reason = "each operation has a loop of its own, without calls that others lack"
)]
#[inline(always)]
pub fn each<const N: usize>(count: usize, operation: impl Fn(&mut [Element; N])) -> u32 {
    let done = BUFFER.with(|buffer| {
        let (operands, _) = buffer.as_chunks_mut::<N>();
        operands.get_mut(..count)?.iter_mut().for_each(operation);
        Some(())
    });
    if done.flatten().is_some() { GOOD } else { BAD }
}

/// Nothing: what the loop costs.
#[unsafe(no_mangle)]
extern "C" fn mote_nothing(count: usize) -> u32 {
    each(count, |[a, b]| {
        black_box((a, b));
    })
}

/// The first becomes the sum of both.
#[unsafe(no_mangle)]
extern "C" fn mote_add(count: usize) -> u32 {
    each(count, |[a, b]| OfThisCore::add(a, b))
}

/// The first becomes the difference of both.
#[unsafe(no_mangle)]
extern "C" fn mote_subtract(count: usize) -> u32 {
    each(count, |[a, b]| OfThisCore::subtract(a, b))
}

/// The first becomes the sum of both, the second the difference.
#[unsafe(no_mangle)]
extern "C" fn mote_sum_and_difference(count: usize) -> u32 {
    each(count, |[a, b]| OfThisCore::sum_and_difference(a, b))
}

/// The first becomes the last coordinate of one of the eight points that follow: the second's least
/// word says which one.
#[unsafe(no_mangle)]
extern "C" fn mote_choose(count: usize) -> u32 {
    each(count, |operands: &mut [Element; 2 + 8 * COORDINATES]| {
        let [chosen, [index, ..], points @ ..] = operands;
        let (points, _) = points.as_chunks::<COORDINATES>();
        if let Some(table) = points.first_chunk() {
            OfThisCore::choose(chosen, table, *index, COORDINATES - 1);
        }
    })
}

/// The first becomes the product of both.
#[unsafe(no_mangle)]
extern "C" fn mote_multiply(count: usize) -> u32 {
    each(count, |[a, b]| OfThisCore::multiply(a, b))
}

/// The first becomes its square.
#[unsafe(no_mangle)]
extern "C" fn mote_square(count: usize) -> u32 {
    each(count, |[a, _]| OfThisCore::square(a))
}

/// The first becomes the product of it and the second's least word, which is below 2³¹.
#[unsafe(no_mangle)]
extern "C" fn mote_multiply_by_small(count: usize) -> u32 {
    each(count, |[a, [by, ..]]| OfThisCore::multiply_by_small(a, *by))
}

/// The first is squared five times in a row.
#[unsafe(no_mangle)]
extern "C" fn mote_square_5_times(count: usize) -> u32 {
    each(count, |[a, _]| OfThisCore::square_times(a, black_box(5)))
}

/// The first becomes the product of both, which are public.
#[unsafe(no_mangle)]
extern "C" fn mote_multiply_public(count: usize) -> u32 {
    each(count, |[a, b]| OfPublicNumbers::multiply(a, b))
}

/// The first, which is public, becomes its square.
#[unsafe(no_mangle)]
extern "C" fn mote_square_public(count: usize) -> u32 {
    each(count, |[a, _]| OfPublicNumbers::square(a))
}

/// The first, which is public, is squared five times in a row.
#[unsafe(no_mangle)]
extern "C" fn mote_square_public_5_times(count: usize) -> u32 {
    each(count, |[a, _]| OfPublicNumbers::square_times(a, black_box(5)))
}

/// The first becomes its inverse.
#[unsafe(no_mangle)]
extern "C" fn mote_invert(count: usize) -> u32 {
    each(count, |[a, _]| *a = hazmat::inverted::<OfThisCore>(a))
}

/// The first becomes the bytes of its representative below p.
#[unsafe(no_mangle)]
extern "C" fn mote_to_bytes(count: usize) -> u32 {
    each(count, |[a, _]| *a = words(&hazmat::to_bytes::<OfThisCore>(a)))
}

/// x1, x2, z2, x3 and z3 after a step of the ladder.
#[unsafe(no_mangle)]
extern "C" fn mote_ladder_step(count: usize) -> u32 {
    each(count, |[x1, x2, z2, x3, z3]| {
        let mut ladder = Ladder { x1: *x1, x2: *x2, z2: *z2, x3: *x3, z3: *z3 };
        OfThisCore::ladder_step(&mut ladder);
        (*x1, *x2, *z2, *x3, *z3) = (ladder.x1, ladder.x2, ladder.z2, ladder.x3, ladder.z3);
    })
}

/// The first, a scalar, becomes the bytes of its product with the second, a point; zeros if the
/// product is refused.
#[unsafe(no_mangle)]
extern "C" fn mote_x25519(count: usize) -> u32 {
    each(count, |[scalar, point]| {
        let shared =
            Words::<OfThisCore>::diffie_hellman(&Secret::new(bytes(scalar)), &PublicKey(bytes(point)));
        *scalar = shared.map_or([0; 8], |shared| words(shared.expose()));
    })
}

/// The same of a point that is public, from a comb of its multiples.
#[unsafe(no_mangle)]
extern "C" fn mote_combed(count: usize) -> u32 {
    each(count, |[scalar, point]| {
        let mut combed = Combed::default();
        combed.set(&PublicKey(bytes(point)));
        let shared = combed.diffie_hellman(&Secret::new(bytes(scalar)));
        *scalar = shared.map_or([0; 8], |shared| words(shared.expose()));
    })
}

/// The first, a scalar, becomes the bytes of its public key.
#[unsafe(no_mangle)]
extern "C" fn mote_public_key(count: usize) -> u32 {
    each(count, |[scalar, _]| {
        *scalar = words(&Words::<OfThisCore>::public_key(&Secret::new(bytes(scalar))).0);
    })
}

fn bytes(words: &Element) -> [u8; 32] {
    let mut bytes = [0; 32];
    let (chunks, _) = bytes.as_chunks_mut::<4>();
    chunks.iter_mut().zip(words).for_each(|(chunk, word)| *chunk = word.to_le_bytes());
    bytes
}

fn words(bytes: &[u8; 32]) -> Element {
    let mut words = [0; 8];
    let (chunks, _) = bytes.as_chunks::<4>();
    words.iter_mut().zip(chunks).for_each(|(word, chunk)| *word = u32::from_le_bytes(*chunk));
    words
}
