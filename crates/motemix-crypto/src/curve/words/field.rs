//! Integers modulo p = 2²⁵⁵ − 19 in eight words, below 2²⁵⁶ and not always below p.

// A sum is cut into a word and what is carried. The step of a row is written out eight times.
#![allow(clippy::cast_sign_loss, clippy::inline_always)]

use core::marker::PhantomData;

use subtle::{Choice, ConditionallySelectable};

use super::product::Product;

const WORDS: usize = 8;
/// 2²⁵⁶ ≡ 2·19.
const AROUND: u32 = 38;

/// The least word first.
pub(crate) struct Element<M> {
    words: [u32; WORDS],
    product: PhantomData<M>,
}

// Not derived: that would ask the same of `M`.
impl<M> Clone for Element<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Element<M> {}

impl<M: Product> Element<M> {
    pub(crate) const ZERO: Self = Self::new([0; WORDS]);
    pub(crate) const ONE: Self = Self::new([1, 0, 0, 0, 0, 0, 0, 0]);

    pub(crate) const fn new(words: [u32; WORDS]) -> Self {
        Self { words, product: PhantomData }
    }

    /// Little-endian; bit 255 is ignored (RFC 7748 §5).
    pub(crate) fn from_bytes(bytes: &[u8; 32]) -> Self {
        let mut words = [0; WORDS];
        let (chunks, _) = bytes.as_chunks::<4>();
        words.iter_mut().zip(chunks).for_each(|(word, chunk)| *word = u32::from_le_bytes(*chunk));
        words[WORDS - 1] &= u32::MAX >> 1;
        Self::new(words)
    }

    /// The representative below p, little-endian.
    pub(crate) fn to_bytes(self) -> [u8; 32] {
        let mut words = self.words;
        // Below 2²⁵⁵ + 19, so below 2p.
        take_above(&mut words);
        // 19 more reach 2²⁵⁵ exactly if there is a p to subtract.
        let mut more = words;
        add_small(&mut more, 19);
        add_small(&mut words, 19 * (more[WORDS - 1] >> 31));
        words[WORDS - 1] &= u32::MAX >> 1;
        let mut bytes = [0; 32];
        let (chunks, _) = bytes.as_chunks_mut::<4>();
        chunks.iter_mut().zip(words).for_each(|(chunk, word)| *chunk = word.to_le_bytes());
        bytes
    }

    /// Twice it.
    pub(crate) fn double(&mut self) {
        let once = *self;
        self.add(&once);
    }

    #[inline(never)]
    pub(crate) fn add(&mut self, other: &Self) {
        let mut carried = 0;
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            let total = u64::from(*word) + u64::from(*other) + carried;
            *word = total as u32;
            carried = total >> 32;
        }
        self.wrap(carried as u32);
    }

    #[inline(never)]
    pub(crate) fn subtract(&mut self, other: &Self) {
        // Minus one where something was borrowed.
        let mut borrowed = 0;
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            let total = i64::from(*word) - i64::from(*other) + borrowed;
            *word = total as u32;
            borrowed = total >> 32;
        }
        // What was borrowed is 2²⁵⁶. If it has to be borrowed twice, all words but the least are
        // ones then.
        for _ in 0..2 {
            // Not a product: on a Cortex-M3 the time of a long one depends on what is multiplied.
            borrowed = -(borrowed & i64::from(AROUND));
            for word in &mut self.words {
                let total = i64::from(*word) + borrowed;
                *word = total as u32;
                borrowed = total >> 32;
            }
        }
    }

    pub(crate) fn negate(&mut self) {
        let mut negative = Self::ZERO;
        negative.subtract(self);
        *self = negative;
    }

    #[inline(never)]
    pub(crate) fn multiply(&mut self, by: &Self) {
        let mut product = [0; 2 * WORDS];
        let (pairs, _) = self.words.as_chunks::<2>();
        for (at, pair) in pairs.iter().enumerate() {
            let (rows, above) = halves(&mut product[2 * at..]);
            let sums = add_two_rows::<M>(rows, *pair, &by.words);
            above[..2].copy_from_slice(&sums);
        }
        self.reduce(&product);
    }

    #[inline(never)]
    pub(crate) fn square(&mut self) {
        let factor = *self;
        self.multiply(&factor);
    }

    /// By a number below 2³¹.
    pub(crate) fn multiply_by_small(&mut self, by: u32) {
        let mut product = [0; 2 * WORDS];
        let (row, above) = halves(&mut product);
        above[0] = add_row::<M>(row, by, &self.words);
        self.reduce(&product);
    }

    /// 38 times the upper half, and the lower.
    #[inline(never)]
    fn reduce(&mut self, product: &[u32; 2 * WORDS]) {
        let (lower, upper) = product.split_at(WORDS);
        self.words.copy_from_slice(lower);
        let above = add_row::<M>(&mut self.words, AROUND, upper.first_chunk().expect("a half"));
        self.wrap(above);
    }

    /// Takes what is at 2²⁵⁶, at most 38 times that, around.
    fn wrap(&mut self, above: u32) {
        let above = add_small(&mut self.words, AROUND * above);
        // If there is something again, the rest is small.
        self.words[0] += AROUND * above;
    }

    /// self^(2^squarings) · factor.
    #[inline(never)]
    fn power(&mut self, squarings: usize, factor: &Self) {
        for _ in 0..squarings {
            self.square();
        }
        self.multiply(factor);
    }

    /// To the power of 2²⁵⁰ − 1. A name is the number of ones in the exponent.
    #[inline(never)]
    fn power_of_ones(&self) -> Self {
        let mut ones = *self;
        for _ in 1..5 {
            ones.power(1, self);
        }
        let ones_5 = ones;
        ones.power(5, &ones_5);
        let ones_10 = ones;
        ones.power(10, &ones_10);
        let ones_20 = ones;
        ones.power(20, &ones_20);
        ones.power(10, &ones_10);
        let ones_50 = ones;
        ones.power(50, &ones_50);
        let ones_100 = ones;
        ones.power(100, &ones_100);
        ones.power(50, &ones_50);
        ones
    }

    /// To the power of p − 2 = (2²⁵⁰ − 1)·2⁵ + 11; zero stays zero.
    #[inline(never)]
    pub(crate) fn inverted(&self) -> Self {
        let mut eleven = *self;
        eleven.power(2, self);
        eleven.power(1, self);
        let mut inverse = self.power_of_ones();
        inverse.power(5, &eleven);
        inverse
    }

    /// To the power of (p − 5) / 8 = (2²⁵⁰ − 1)·2² + 1, for square roots.
    pub(crate) fn power_for_root(&self) -> Self {
        let mut power = self.power_of_ones();
        power.power(2, self);
        power
    }

    pub(crate) fn swap_if(choice: Choice, a: &mut Self, b: &mut Self) {
        for (a, b) in a.words.iter_mut().zip(&mut b.words) {
            u32::conditional_swap(a, b, choice);
        }
    }
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
fn add_small(words: &mut [u32; WORDS], summand: u32) -> u32 {
    let mut carried = summand;
    for word in words {
        let total = u64::from(*word) + u64::from(carried);
        *word = total as u32;
        carried = (total >> 32) as u32;
    }
    carried
}

/// Takes the bit at 2²⁵⁵ around.
fn take_above(words: &mut [u32; WORDS]) {
    let above = words[WORDS - 1] >> 31;
    words[WORDS - 1] &= u32::MAX >> 1;
    add_small(words, 19 * above);
}

#[cfg(test)]
mod tests {
    use super::super::product::{Long, OfHalves};
    use super::*;
    use proptest::prelude::*;

    type Any = Element<Long>;

    /// 2²⁵⁵ − `less`.
    fn below_2_255(less: u8) -> [u8; 32] {
        let mut bytes = [0xff; 32];
        bytes[0] = 0_u8.wrapping_sub(less);
        bytes[31] = 0x7f;
        bytes
    }

    fn small(value: u8) -> [u8; 32] {
        let mut bytes = [0; 32];
        bytes[0] = value;
        bytes
    }

    #[test]
    fn the_bytes_are_those_of_the_representative_below_p() {
        for less in 1..=19 {
            assert_eq!(Any::from_bytes(&below_2_255(less)).to_bytes(), small(19 - less));
        }
        for less in 20..=255 {
            assert_eq!(Any::from_bytes(&below_2_255(less)).to_bytes(), below_2_255(less));
        }
        assert_eq!(Any::from_bytes(&[0xff; 32]).to_bytes(), small(18), "bit 255 is ignored");
        assert_eq!(difference(Any::ZERO, &Any::ONE).to_bytes(), below_2_255(20), "−1");
        assert_eq!(Element::<Long>::new([u32::MAX; 8]).to_bytes(), small(37), "2²⁵⁶ − 1");
    }

    fn sum(mut a: Any, b: &Any) -> Any {
        a.add(b);
        a
    }

    fn difference(mut a: Any, b: &Any) -> Any {
        a.subtract(b);
        a
    }

    fn product(mut a: Any, b: &Any) -> Any {
        a.multiply(b);
        a
    }

    #[test]
    fn what_leaves_256_bits_comes_around() {
        // Overflow would end this test: it runs with checks.
        let greatest = Any::new([u32::MAX; 8]);
        assert_eq!(sum(greatest, &greatest).to_bytes(), small(74));
        assert_eq!(sum(difference(Any::ZERO, &greatest), &greatest).to_bytes(), small(0));
        let mut negative = greatest;
        negative.negate();
        assert_eq!(negative.to_bytes(), below_2_255(19 + 37));
        let mut square = greatest;
        square.square();
        assert_eq!(square.to_bytes(), product(greatest, &greatest).to_bytes());
        let mut multiple = greatest;
        multiple.multiply_by_small(5);
        assert_eq!(multiple.to_bytes(), small(185));
        let minus_one = Any::from_bytes(&below_2_255(20));
        assert_eq!(product(minus_one, &minus_one).to_bytes(), small(1));
    }

    #[test]
    fn an_element_times_its_inverse_is_one() {
        for bytes in [small(1), small(2), below_2_255(20), below_2_255(200), [0x42; 32]] {
            let element = Any::from_bytes(&bytes);
            assert_eq!(product(element, &element.inverted()).to_bytes(), small(1));
        }
        assert_eq!(Any::ZERO.inverted().to_bytes(), small(0));
    }

    proptest! {
        #[test]
        fn the_laws_of_a_field_hold(a: [u32; 8], b: [u32; 8], c: [u32; 8]) {
            let [a, b, c] = [a, b, c].map(Any::new);
            prop_assert_eq!(difference(sum(a, &b), &b).to_bytes(), a.to_bytes());
            let distributed = sum(product(a, &c), &product(b, &c));
            prop_assert_eq!(product(sum(a, &b), &c).to_bytes(), distributed.to_bytes());
            prop_assert_eq!(product(a, &b).to_bytes(), product(b, &a).to_bytes());
            let mut of_halves = Element::<OfHalves>::new(a.words);
            of_halves.multiply(&Element::new(b.words));
            prop_assert_eq!(of_halves.to_bytes(), product(a, &b).to_bytes());
        }
    }
}
