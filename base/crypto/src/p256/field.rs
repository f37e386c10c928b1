//! Integers modulo p = 2²⁵⁶ − 2²²⁴ + 2¹⁹² + 2⁹⁶ − 1, in Montgomery's form: an element is kept as
//! 2²⁶⁰ times itself (P. Montgomery, 1985).
//!
//! An element has *weight* w if its limbs are at most w·2¹² in magnitude. It is *carried* if that
//! is 1 and the uppermost limb below 2¹¹; products are. Sums and differences add the weights of
//! their terms. Factors may have weights whose product is 6, and products that are added before
//! they are reduced may have 6 together (`product::add_product`).
//!
//! Nor may the number itself grow. What is reduced is less than 15 p² in magnitude. It is divided
//! by 2²⁶⁰, which is 16 p and a little, and less than p is added: so a product is between −p and
//! 2 p. What [`Element::combine_and_carry`] leaves is between −0.6 p and 0.6 p. `addition` says how
//! great coordinates are.

use core::array;
use core::hint::black_box;

use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

use super::inverse::inverse_vartime;
use super::product::{add_product, set_square};
use crate::curve::half_words::limbs::{BITS, COLUMNS, LIMBS, MASK, carry, pack, settle, unpack};

/// p, big-endian.
pub const MODULUS_BYTES: [u8; 32] = [
    0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
];
/// p.
const MODULUS: [i32; LIMBS] = [-1, 0, 0, 0, 0, 0, 0, 32, 0, 0, 0, 0, 0, 0, 1024, 0, 0, -8, 0, 512];
/// 2⁵²⁰ modulo p.
const RADIX_SQUARED: [i32; LIMBS] = [768, 0, 0, 0, 0, -128, 0, 0, -4, 0, -64, 0, 0, 0, 0, -64, 0, 2048, 1, 0];

/// 1, whose form is 2²⁶⁰ times itself.
const ONE_DIVIDED: [i32; LIMBS] = [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// Limb i counts 2^(13·i).
#[derive(Clone, Copy, Debug)]
pub struct Element([i32; LIMBS]);

impl Element {
    pub const ZERO: Self = Self([0; LIMBS]);
    pub const ONE: Self = Self([16, 0, 0, 0, 0, 0, 0, -512, 0, 0, 0, 0, 0, 0, 0, -2, 0, 128, 0, 0]);

    /// From limbs of Montgomery's form, carried.
    pub const fn new(limbs: [i32; LIMBS]) -> Self {
        Self(limbs)
    }

    /// Big-endian, modulo p. Carried.
    pub fn from_be_bytes(bytes: &[u8; 32]) -> Self {
        let mut reversed = *bytes;
        reversed.reverse();
        Self(unpack(&reversed)).times(&Self(RADIX_SQUARED))
    }

    /// The representative below p, big-endian, of an element of weight 6 at most.
    pub fn to_be_bytes(self) -> [u8; 32] {
        // From 0 to p: what so small a factor adds is less than a half.
        let mut limbs = self.times(&Self(ONE_DIVIDED)).0;
        for (limb, modulus) in limbs.iter_mut().zip(&MODULUS) {
            *limb -= modulus;
        }
        // What is left above is −1 or 0: all bits, or none.
        let negative = settle(&mut limbs);
        for (limb, modulus) in limbs.iter_mut().zip(&MODULUS) {
            *limb += modulus & negative;
        }
        settle(&mut limbs);
        let mut bytes = pack(&limbs);
        bytes.reverse();
        bytes
    }

    /// Becomes the product. Carried.
    #[inline(never)]
    pub fn set_product(&mut self, a: &Self, b: &Self) {
        let mut columns = [0; COLUMNS];
        add_product(&mut columns, &a.0, &b.0);
        reduce(&columns, self);
    }

    /// Becomes the square. Carried.
    #[inline(never)]
    pub fn set_square(&mut self, a: &Self) {
        let mut columns = [0; COLUMNS];
        set_square(&mut columns, &a.0);
        reduce(&columns, self);
    }

    /// Becomes its product. Carried.
    #[inline(never)]
    pub fn multiply(&mut self, by: &Self) {
        let mut columns = [0; COLUMNS];
        add_product(&mut columns, &self.0, &by.0);
        reduce(&columns, self);
    }

    /// Becomes its square. Carried.
    #[inline(never)]
    pub fn square(&mut self) {
        let mut columns = [0; COLUMNS];
        set_square(&mut columns, &self.0);
        reduce(&columns, self);
    }

    /// Becomes a² + `factor` · `other`, less the multiple of p that is nearest to what is added: so
    /// that is between −0.6 p and 0.6 p. The factor's magnitude times its weight may be 64.
    /// Carried.
    #[inline(never)]
    pub fn set_square_and(&mut self, a: &Self, factor: i32, other: &Self) {
        let mut columns = [0; COLUMNS];
        set_square(&mut columns, &a.0);
        // From 2²⁶⁰ on, because the reduction divides by that.
        if let Some(upper) = columns.last_chunk_mut() {
            combine(upper, 1, factor, &other.0);
            take_off_modulus(upper, factor * other.0[LIMBS - 1]);
        }
        reduce(&columns, self);
    }

    /// Twice the square. Carried.
    #[inline(never)]
    pub fn twice_squared(&self) -> Self {
        let mut columns = [0; COLUMNS];
        set_square(&mut columns, &self.0);
        scale(&mut columns, 2);
        let mut twice = Self::ZERO;
        reduce(&columns, &mut twice);
        twice
    }

    /// Becomes a·b − 2 c², where the weights of both together are 6 at most. Carried.
    #[inline(never)]
    pub fn set_product_less_squares(&mut self, a: &Self, b: &Self, c: &Self) {
        let mut columns = [0; COLUMNS];
        set_square(&mut columns, &c.0);
        scale(&mut columns, -2);
        add_product(&mut columns, &a.0, &b.0);
        reduce(&columns, self);
    }

    /// Becomes its product and a·b, where the weights of both together are 6 at most. Carried.
    #[inline(never)]
    pub fn multiply_and_add_product(&mut self, by: &Self, a: &Self, b: &Self) {
        let mut columns = [0; COLUMNS];
        add_product(&mut columns, &self.0, &by.0);
        add_product(&mut columns, &a.0, &b.0);
        reduce(&columns, self);
    }

    /// The product. Carried.
    #[inline(never)]
    pub fn times(&self, by: &Self) -> Self {
        let mut product = Self::ZERO;
        product.set_product(self, by);
        product
    }

    /// The square. Carried.
    #[inline(never)]
    pub fn squared(&self) -> Self {
        let mut square = Self::ZERO;
        square.set_square(self);
        square
    }

    /// The sum; its weight is the sum of theirs.
    #[inline(never)]
    pub fn plus(&self, other: &Self) -> Self {
        Self(array::from_fn(|limb| self.0[limb] + other.0[limb]))
    }

    /// The difference; its weight is the sum of theirs.
    #[inline(never)]
    pub fn minus(&self, other: &Self) -> Self {
        Self(array::from_fn(|limb| self.0[limb] - other.0[limb]))
    }

    /// Becomes `factor` · self + `other_factor` · `other`.
    pub fn combine(&mut self, factor: i32, other_factor: i32, other: &Self) {
        combine(&mut self.0, factor, other_factor, &other.0);
    }

    /// The same, carried. The factors' magnitudes times the weights may be 64 together.
    #[inline(never)]
    pub fn combine_and_carry(&mut self, factor: i32, other_factor: i32, other: &Self) {
        self.combine(factor, other_factor, other);
        let uppermost = self.0[LIMBS - 1];
        take_off_modulus(&mut self.0, uppermost);
        let mut carried = 0;
        for limbs in self.0.as_chunks_mut::<5>().0 {
            macro_rules! each {
                ($($at:literal)+) => { $( limbs[$at] = carry(limbs[$at], &mut carried); )+ };
            }
            each!(0 1 2 3 4);
        }
        // The uppermost limb keeps what it has.
        self.0[LIMBS - 1] += carried << BITS;
    }

    /// Becomes self^(2^squarings) · factor. Carried.
    #[inline(never)]
    fn power(&mut self, squarings: usize, factor: &Self) {
        for _ in 0..squarings {
            self.square();
        }
        self.multiply(factor);
    }

    /// To the powers of 2³⁰ − 1 and of 2³² − 1. A name is the number of ones in the exponent.
    #[inline(never)]
    fn powers_of_ones(&self) -> [Self; 2] {
        let mut ones = *self;
        ones.power(1, self);
        let ones_2 = ones;
        ones.power(1, self);
        let ones_3 = ones;
        ones.power(3, &ones_3);
        let ones_6 = ones;
        ones.power(6, &ones_6);
        ones.power(3, &ones_3);
        let ones_15 = ones;
        ones.power(15, &ones_15);
        let ones_30 = ones;
        ones.power(2, &ones_2);
        [ones_30, ones]
    }

    /// Becomes its power of p − 2: its inverse, but zero stays zero. Carried.
    #[inline(never)]
    pub fn invert(&mut self) {
        let [ones_30, ones_32] = self.powers_of_ones();
        // p − 2 in words: ffffffff 00000001 00000000 00000000 00000000 ffffffff ffffffff fffffffd
        let mut inverse = ones_32;
        inverse.power(32, self);
        inverse.power(128, &ones_32);
        inverse.power(32, &ones_32);
        inverse.power(30, &ones_30);
        inverse.power(2, self);
        *self = inverse;
    }

    /// Becomes its inverse, but zero stays zero. Carried. In variable time: for what everybody
    /// knows.
    pub fn invert_vartime(&mut self) {
        *self = Self::from_be_bytes(&inverse_vartime(&self.to_be_bytes(), &MODULUS_BYTES));
    }

    /// Becomes its power of (p + 1) / 4: a root, if it is a square. Carried.
    pub fn set_root(&mut self) {
        let [_, mut root] = self.powers_of_ones();
        // (p + 1) / 4 = (2³² − 1)·2²²² + 2¹⁹⁰ + 2⁹⁴
        root.power(32, self);
        root.power(96, self);
        for _ in 0..94 {
            root.square();
        }
        *self = root;
    }

    /// Becomes `other` if `choice`, in constant time.
    pub fn assign_if(&mut self, other: &Self, choice: Choice) {
        for (limb, other) in self.0.iter_mut().zip(&other.0) {
            limb.conditional_assign(other, choice);
        }
    }

    /// Becomes its negative if `choice`, in constant time.
    pub fn negate_if(&mut self, choice: Choice) {
        let mask = black_box(-i32::from(choice.unwrap_u8()));
        for limb in &mut self.0 {
            *limb = (*limb ^ mask) - mask;
        }
    }

    /// Whether it is a multiple of p. Its weight is 6 at most.
    pub fn is_zero(&self) -> Choice {
        self.to_be_bytes().as_slice().ct_eq([0; 32].as_slice())
    }

    /// Two elements in the room of one. They are of weight 6 at most.
    pub fn packed(&self, other: &Self) -> Packed {
        array::from_fn(|limb| self.0[limb].cast_unsigned() & 0xffff | other.0[limb].cast_unsigned() << 16)
    }

    /// The inverse of [`Self::packed`]: becomes the first of them, and the other the second.
    #[inline(never)]
    pub fn unpack(&mut self, other: &mut Self, packed: &Packed) {
        for ((limb, other), pair) in self.0.iter_mut().zip(&mut other.0).zip(packed) {
            *limb = i32::from(*pair as i16);
            *other = pair.cast_signed() >> 16;
        }
    }
}

/// Limbs of two elements, those of the first in the lower halves of words.
pub type Packed = [u32; LIMBS];

/// Becomes a multiple of itself.
#[inline(never)]
fn scale(columns: &mut [i32; COLUMNS], factor: i32) {
    for columns in columns.as_chunks_mut::<8>().0 {
        macro_rules! each {
            ($($at:literal)+) => { $( columns[$at] *= factor; )+ };
        }
        each!(0 1 2 3 4 5 6 7);
    }
}

#[inline(never)]
fn combine(limbs: &mut [i32; LIMBS], factor: i32, other_factor: i32, others: &[i32; LIMBS]) {
    for (limbs, others) in limbs.as_chunks_mut::<4>().0.iter_mut().zip(others.as_chunks::<4>().0) {
        // Written out, as products are.
        macro_rules! each {
            ($($at:literal)+) => {
                $( limbs[$at] = factor * limbs[$at] + other_factor * others[$at]; )+
            };
        }
        each!(0 1 2 3);
    }
}

/// Takes p off as often as it is in a number whose uppermost limb that is, but for a little. The
/// terms are those of p.
fn take_off_modulus(limbs: &mut [i32; LIMBS], uppermost: i32) {
    let above = (uppermost + (1 << 8)) >> 9;
    limbs[0] += above;
    limbs[7] -= above << 5;
    limbs[14] -= above << 10;
    limbs[17] += above << 3;
    limbs[19] -= above << 9;
}

/// Divides by 2²⁶⁰: multiples of p are added so that the lower half becomes zero. p is −1 modulo
/// 2⁹⁶, so a factor of p is what its limb is, and p has but four more terms: 2⁹⁶ = 2^(13·7 + 5),
/// 2¹⁹² = 2^(13·14 + 10), −2²²⁴ = −2^(13·17 + 3), 2²⁵⁶ = 2^(13·19 + 9). To a column they add less
/// than 2²⁴, and what is carried less than 2¹⁹: columns of 6·20·2²⁴ stay below 2³¹.
#[inline(never)]
fn reduce(columns: &[i32; COLUMNS], element: &mut Element) {
    let Element(limbs) = element;
    let mut factors = [0; LIMBS];
    let mut carried = 0;
    macro_rules! each {
        ($($at:literal)+; $($above:literal)+) => {
            $(
                let sum = columns[$at] + multiple::<$at>(&factors) + carried;
                factors[$at] = sum & MASK;
                carried = sum >> BITS;
            )+
            $(
                let sum = columns[$above] + multiple::<$above>(&factors);
                limbs[$above - LIMBS] = carry(sum, &mut carried);
            )+
        };
    }
    each! {
        0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19;
        20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38
    }
    // The uppermost limb keeps what it is given.
    limbs[LIMBS - 1] = columns[COLUMNS - 1] + multiple::<{ COLUMNS - 1 }>(&factors) + carried;
}

/// What multiples of p, by their factors, have in a column; but for −1 times the column's own.
#[inline(always)]
#[allow(clippy::inline_always)] // a call for each column would cost more than what it does
fn multiple<const AT: usize>(factors: &[i32; LIMBS]) -> i32 {
    let factor = |distance: usize| match AT.checked_sub(distance) {
        Some(at) if at < LIMBS => factors[at],
        _ => 0,
    };
    (factor(7) << 5) + (factor(14) << 10) - (factor(17) << 3) + (factor(19) << 9)
}

#[cfg(test)]
impl Element {
    /// The same modulo p, and so many times p greater.
    pub fn and_multiple_of_p(&self, times: i32) -> Self {
        let mut carried = 0;
        let mut limbs = array::from_fn(|at| carry(self.0[at] + times * MODULUS[at], &mut carried));
        limbs[LIMBS - 1] += carried << BITS;
        Self(limbs)
    }

    /// How great it is in thousandths of p, by its uppermost limbs.
    pub fn size(&self) -> i64 {
        let upper = self.0.iter().rev().take(3).fold(0, |upper, limb| (upper << BITS) + i64::from(*limb));
        // p ends 9 bits above the uppermost limb.
        upper * 1000 / (1 << (9 + 2 * BITS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::p256::U256;
    use ::p256::elliptic_curve::bigint::NonZero;
    use proptest::prelude::*;

    fn modulus() -> NonZero<U256> {
        let p = U256::from_be_hex("ffffffff00000001000000000000000000000000ffffffffffffffffffffffff");
        NonZero::new(p).expect("not zero")
    }

    fn bytes(number: &U256) -> [u8; 32] {
        number.to_be_bytes().into()
    }

    /// Any number below p; and long runs of ones and zeros, which are at the ends of what limbs
    /// hold.
    fn numbers() -> impl Strategy<Value = U256> {
        let runs = prop::collection::vec((any::<bool>(), 1..100_usize), 1..8).prop_map(|runs| {
            let mut bits = runs.into_iter().flat_map(|(bit, len)| core::iter::repeat_n(bit, len)).cycle();
            core::array::from_fn(|_| {
                (0..8).fold(0, |byte, _| byte << 1 | u8::from(bits.next() == Some(true)))
            })
        });
        let small = (0..64_u32).prop_map(U256::from);
        let near = (1..64_u32).prop_map(|less| modulus().get().wrapping_sub(&U256::from(less)));
        let any = prop_oneof![any::<[u8; 32]>(), runs]
            .prop_map(|bytes| U256::from_be_slice(&bytes).rem(&modulus()));
        prop_oneof![any, small, near]
    }

    fn is_carried(element: &Element) -> bool {
        element.0[..LIMBS - 1].iter().all(|limb| limb.abs() <= 4096) && element.0[LIMBS - 1].abs() < 1 << 10
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512 / crate::ONE_IN as u32) })]

        #[test]
        fn elements_are_the_integers_modulo_p(a in numbers(), b in numbers()) {
            let p = modulus();
            let (x, y) = (Element::from_be_bytes(&bytes(&a)), Element::from_be_bytes(&bytes(&b)));
            prop_assert_eq!(x.to_be_bytes(), bytes(&a));
            prop_assert_eq!(x.plus(&y).to_be_bytes(), bytes(&a.add_mod(&b, &p)));
            prop_assert_eq!(x.minus(&y).to_be_bytes(), bytes(&a.sub_mod(&b, &p)));
            let product = x.times(&y);
            prop_assert!(is_carried(&product));
            prop_assert_eq!(product.to_be_bytes(), bytes(&a.mul_mod(&b, &p)));
            prop_assert!(is_carried(&x.squared()));
            prop_assert_eq!(x.squared().to_be_bytes(), bytes(&a.mul_mod(&a, &p)));
            let mut combined = x;
            combined.combine_and_carry(3, -8, &y);
            prop_assert!(is_carried(&combined));
            let eight = b.mul_mod(&U256::from(8_u8), &p);
            let expected = a.mul_mod(&U256::from(3_u8), &p).sub_mod(&eight, &p);
            prop_assert_eq!(combined.to_be_bytes(), bytes(&expected));
            prop_assert_eq!(x.minus(&x).is_zero().unwrap_u8(), 1);
            prop_assert_eq!(x.minus(&y).is_zero().unwrap_u8(), u8::from(a == b));
            let mut negative = x;
            negative.negate_if(Choice::from(1));
            prop_assert_eq!(negative.plus(&x).to_be_bytes(), [0; 32]);
            let (mut first, mut second) = (Element::ZERO, Element::ZERO);
            first.unpack(&mut second, &x.packed(&negative));
            prop_assert_eq!((first.0, second.0), (x.0, negative.0));
        }

        #[test]
        fn sums_that_are_reduced_once_are_the_integers_modulo_p(
            a in numbers(), b in numbers(), c in numbers(),
        ) {
            let p = modulus();
            let [x, y, z] = [a, b, c].map(|number| Element::from_be_bytes(&bytes(&number)));
            let (ab, cc) = (a.mul_mod(&b, &p), c.mul_mod(&c, &p));
            let two = U256::from(2_u8);

            prop_assert!(is_carried(&z.twice_squared()));
            prop_assert_eq!(z.twice_squared().to_be_bytes(), bytes(&cc.mul_mod(&two, &p)));

            let mut sum = x;
            sum.set_square_and(&z, -4, &y);
            prop_assert!(is_carried(&sum));
            let four = b.mul_mod(&U256::from(4_u8), &p);
            prop_assert_eq!(sum.to_be_bytes(), bytes(&cc.sub_mod(&four, &p)));

            sum.set_product_less_squares(&x, &y, &z);
            prop_assert!(is_carried(&sum));
            prop_assert_eq!(sum.to_be_bytes(), bytes(&ab.sub_mod(&cc.mul_mod(&two, &p), &p)));

            let mut sum = x;
            sum.multiply_and_add_product(&y, &z, &z);
            prop_assert!(is_carried(&sum));
            prop_assert_eq!(sum.to_be_bytes(), bytes(&ab.add_mod(&cc, &p)));
        }

        #[test]
        fn an_element_times_its_inverse_is_one_and_a_root_squared_is_it(a in numbers()) {
            let element = Element::from_be_bytes(&bytes(&a));
            let mut inverse = element;
            inverse.invert();
            let one = element.times(&inverse).to_be_bytes();
            prop_assert_eq!(one, bytes(&U256::from(u8::from(a != U256::ZERO))));
            let mut the_same = element;
            the_same.invert_vartime();
            prop_assert!(is_carried(&the_same));
            prop_assert_eq!(the_same.to_be_bytes(), inverse.to_be_bytes());
            let square = element.squared();
            let mut root = square;
            root.set_root();
            prop_assert_eq!(root.squared().to_be_bytes(), square.to_be_bytes());
        }
    }

    #[test]
    fn a_multiple_of_p_is_zero() {
        for multiple in -5..=5 {
            let element = Element(MODULUS.map(|limb| multiple * limb));
            assert_eq!(element.to_be_bytes(), [0; 32], "{multiple} p");
            assert!(bool::from(element.is_zero()));
            let mut carried = element;
            carried.combine_and_carry(1, 0, &element);
            assert_eq!(carried.to_be_bytes(), [0; 32], "{multiple} p, carried");
        }
    }

    #[test]
    fn the_greatest_weights_may_be_multiplied() {
        // Overflow would end this test: it runs with checks. Uppermost limbs are those of 6 p.
        let of_weight = |weight: i32, sign: i32| {
            let mut limbs = [sign * weight * (1 << 12); LIMBS];
            limbs[LIMBS - 1] = sign * weight * (1 << 9);
            Element(limbs)
        };
        for (v, w) in [(1, 6), (2, 3), (3, 2), (6, 1), (2, 2), (1, 1)] {
            for (a, b) in [(1, 1), (1, -1), (-1, -1)] {
                let (a, b) = (of_weight(v, a), of_weight(w, b));
                let product = a.times(&b);
                assert!(is_carried(&product), "{:?}", product.0);
                let [mut x, mut y] = [a, b];
                x.combine_and_carry(1, 0, &a);
                y.combine_and_carry(1, 0, &b);
                assert!(is_carried(&x) && is_carried(&y));
                assert_eq!(product.to_be_bytes(), x.times(&y).to_be_bytes());
            }
        }
        for sign in [1, -1] {
            let element = of_weight(2, sign);
            assert_eq!(element.squared().to_be_bytes(), element.times(&element).to_be_bytes());
        }
    }
}
