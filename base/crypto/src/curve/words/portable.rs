//! The reference: arithmetic in Rust over any product of two words.

// A sum is cut into a word and what is carried. The step of a row is written out eight times.
#![allow(clippy::cast_sign_loss, clippy::inline_always)]

use core::hint::black_box;

use super::arithmetic::{Arithmetic, ConstantTime, WORDS};
use super::product::Product;

/// 2²⁵⁶ ≡ 2·19.
const AROUND: u32 = 38;

/// Where the product is: see each.
impl<M: Product> ConstantTime for M {}

impl<M: Product> Arithmetic for M {
    #[inline(never)]
    fn add(a: &mut [u32; WORDS], b: &[u32; WORDS]) {
        let mut carried = 0;
        for (word, other) in a.iter_mut().zip(b) {
            let total = u64::from(*word) + u64::from(*other) + carried;
            *word = total as u32;
            carried = total >> 32;
        }
        wrap(a, carried as u32);
    }

    #[inline(never)]
    fn subtract(a: &mut [u32; WORDS], b: &[u32; WORDS]) {
        // Minus one where something was borrowed.
        let mut borrowed = 0;
        for (word, other) in a.iter_mut().zip(b) {
            let total = i64::from(*word) - i64::from(*other) + borrowed;
            *word = total as u32;
            borrowed = total >> 32;
        }
        // What was borrowed is 2²⁵⁶. If it has to be borrowed twice, all words but the least are
        // ones then.
        for _ in 0..2 {
            // Not a product: on a Cortex-M3 the time of a long one depends on what is multiplied.
            borrowed = -(borrowed & i64::from(AROUND));
            for word in &mut *a {
                let total = i64::from(*word) + borrowed;
                *word = total as u32;
                borrowed = total >> 32;
            }
        }
    }

    #[inline(never)]
    fn multiply(a: &mut [u32; WORDS], b: &[u32; WORDS]) {
        let mut product = [0; 2 * WORDS];
        let (pairs, _) = a.as_chunks::<2>();
        for (at, pair) in pairs.iter().enumerate() {
            let (rows, above) = halves(&mut product[2 * at..]);
            let sums = add_two_rows::<M>(rows, *pair, b);
            above[..2].copy_from_slice(&sums);
        }
        reduce::<M>(a, &product);
    }

    #[inline(never)]
    fn square(a: &mut [u32; WORDS]) {
        let factor = *a;
        Self::multiply(a, &factor);
    }

    fn multiply_by_small(a: &mut [u32; WORDS], by: u32) {
        let mut product = [0; 2 * WORDS];
        let (row, above) = halves(&mut product);
        above[0] = add_row::<M>(row, by, a);
        reduce::<M>(a, &product);
    }
}

/// 38 times the upper half, and the lower.
#[inline(never)]
fn reduce<M: Product>(words: &mut [u32; WORDS], product: &[u32; 2 * WORDS]) {
    let (lower, upper) = product.split_at(WORDS);
    words.copy_from_slice(lower);
    let above = add_row::<M>(words, AROUND, upper.first_chunk().expect("a half"));
    wrap(words, above);
}

/// Takes what is at 2²⁵⁶, at most 38 times that, around.
fn wrap(words: &mut [u32; WORDS], above: u32) {
    let above = add_small(words, AROUND * above);
    // If there is something again, the rest is small.
    words[0] += AROUND * black_box(above);
}

/// The first words, and what follows them.
fn halves(product: &mut [u32]) -> (&mut [u32; WORDS], &mut [u32]) {
    product.split_first_chunk_mut().expect("a half and more")
}

/// Adds `word` times `by` to `row`. Returns what is above it.
#[inline(never)]
fn add_row<M: Product>(row: &mut [u32; WORDS], word: u32, by: &[u32; WORDS]) -> u32 {
    let mut carried = 0;
    // Written out: a loop would cost as much again as what it does, and compilers for size make
    // one.
    macro_rules! add {
        ($($at:literal)*) => { $( add_product::<M>(&mut row[$at], word, by[$at], &mut carried); )* };
    }
    add!(0 1 2 3 4 5 6 7);
    carried
}

/// Adds a pair of words times `by` to `rows`. Returns what is above them. Each word of `by` and of
/// `rows` is read once for two products.
#[inline(never)]
fn add_two_rows<M: Product>(rows: &mut [u32; WORDS], pair: [u32; 2], by: &[u32; WORDS]) -> [u32; 2] {
    let [low, high] = pair;
    let (mut carried, mut carried_high) = (0, 0);
    macro_rules! add {
        ($($below:literal $at:literal),*) => { $(
            add_product::<M>(&mut rows[$at], low, by[$at], &mut carried);
            add_product::<M>(&mut rows[$at], high, by[$below], &mut carried_high);
        )* };
    }
    add_product::<M>(&mut rows[0], low, by[0], &mut carried);
    add!(0 1, 1 2, 2 3, 3 4, 4 5, 5 6, 6 7);
    add_product::<M>(&mut carried, high, by[7], &mut carried_high);
    [carried, carried_high]
}

#[inline(always)]
fn add_product<M: Product>(sum: &mut u32, word: u32, by: u32, carried: &mut u32) {
    let total = M::product(word, by) + u64::from(*sum) + u64::from(*carried);
    *sum = total as u32;
    *carried = (total >> 32) as u32;
}

/// Adds to the least word. Returns what is at 2²⁵⁶.
pub(super) fn add_small(words: &mut [u32; WORDS], summand: u32) -> u32 {
    // Hidden: if it is a constant, or one of two, the compiler makes a comparison and a branch of
    // the carry on a Cortex-M0+. Random words carry here too seldom to show it.
    let mut carried = black_box(summand);
    for word in words {
        let total = u64::from(*word) + u64::from(carried);
        *word = total as u32;
        carried = (total >> 32) as u32;
    }
    carried
}
