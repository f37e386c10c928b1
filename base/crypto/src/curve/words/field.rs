//! Integers modulo p = 2²⁵⁵ − 19 in eight words, below 2²⁵⁶ and not always below p.

use core::hint::black_box;
use core::marker::PhantomData;

use subtle::{Choice, ConditionallySelectable};

use super::arithmetic::{Arithmetic, Table, WORDS};
use super::portable::add_small;

/// The least word first.
pub(crate) struct Element<A> {
    words: [u32; WORDS],
    arithmetic: PhantomData<A>,
}

// Not derived: that would ask the same of `A`.
impl<A> Clone for Element<A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A> Copy for Element<A> {}

impl<A: Arithmetic> Element<A> {
    pub(crate) const ZERO: Self = Self::new([0; WORDS]);
    pub(crate) const ONE: Self = Self::new([1, 0, 0, 0, 0, 0, 0, 0]);

    pub(crate) const fn new(words: [u32; WORDS]) -> Self {
        Self { words, arithmetic: PhantomData }
    }

    pub(crate) const fn words(self) -> [u32; WORDS] {
        self.words
    }

    pub(crate) const fn words_mut(&mut self) -> &mut [u32; WORDS] {
        &mut self.words
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
        add_small(&mut words, 19 * top_bit(&more));
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

    pub(crate) fn add(&mut self, other: &Self) {
        A::add(&mut self.words, &other.words);
    }

    pub(crate) fn subtract(&mut self, other: &Self) {
        A::subtract(&mut self.words, &other.words);
    }

    /// `a` becomes the sum, `b` the difference of the two.
    pub(crate) fn sum_and_difference(a: &mut Self, b: &mut Self) {
        A::sum_and_difference(&mut a.words, &mut b.words);
    }

    /// The coordinate of the point of this index in the table, in the same time for all.
    pub(crate) fn choose(&mut self, table: &Table, index: u32, coordinate: usize) {
        A::choose(&mut self.words, table, index, coordinate);
    }

    pub(crate) fn negate(&mut self) {
        let mut negative = Self::ZERO;
        negative.subtract(self);
        *self = negative;
    }

    pub(crate) fn multiply(&mut self, by: &Self) {
        A::multiply(&mut self.words, &by.words);
    }

    pub(crate) fn square(&mut self) {
        A::square(&mut self.words);
    }

    /// self^(2^squarings) · factor.
    #[inline(never)]
    fn power(&mut self, squarings: usize, factor: &Self) {
        A::square_times(&mut self.words, squarings);
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

    /// Zero stays zero.
    pub(crate) fn inverted(&self) -> Self {
        let mut inverse = *self;
        A::invert(&mut inverse.words);
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

/// To the power of p − 2 = (2²⁵⁰ − 1)·2⁵ + 11.
#[inline(never)]
pub(super) fn invert_by_power<A: Arithmetic>(words: &mut [u32; WORDS]) {
    let element = Element::<A>::new(*words);
    let mut eleven = element;
    eleven.power(2, &element);
    eleven.power(1, &element);
    let mut inverse = element.power_of_ones();
    inverse.power(5, &eleven);
    *words = inverse.words;
}

/// The bit at 2²⁵⁵. Hidden: the compiler makes a branch of what is multiplied by it on a
/// Cortex-M0+.
fn top_bit(words: &[u32; WORDS]) -> u32 {
    black_box(words[WORDS - 1] >> 31)
}

/// Takes the bit at 2²⁵⁵ around.
fn take_above(words: &mut [u32; WORDS]) {
    let above = top_bit(words);
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
        Long::multiply_by_small(&mut multiple.words, 5);
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
