//! Integers modulo p = 2²²⁴ − 2⁹⁶ + 1 (SEC 2, 2.2.1), in constant time: no branch and no address
//! depends on one.

/// Bits of a limb. Four of them are the bits of p, and one is seven bytes.
const BITS: usize = 56;
const MASK: i64 = (1 << BITS) - 1;
const LIMBS: usize = 4;
/// Bytes of an element on the wire.
pub const ELEMENT_LEN: usize = 28;

/// p.
const MODULUS: [i64; LIMBS] = [1, MASK - (1 << 40) + 1, MASK, MASK];
/// 2²²⁴ modulo p: 2⁹⁶ − 1.
const RADIX_SQUARED: Element = Element([-1, 1 << 40, 0, 0]);

/// x · 2¹¹² modulo p, in four signed limbs.
///
/// A reduced product has limbs of at most 2⁵⁶ + 2⁵² in magnitude, and is of *weight* 1. Sums and
/// differences are not carried: a sum of k reduced elements is of weight k. Factors may have
/// weights whose product is at most 1024: then columns stay below 2¹²⁶, and what is folded down
/// last below 2⁵². The formulas of P-224 stay below 200.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Element([i64; LIMBS]);

impl Element {
    pub const ZERO: Self = Self([0; LIMBS]);
    pub const ONE: Self = Self([0, 0, 1, 0]);

    /// From 28 bytes, big-endian. `None` if they are p or more, in variable time.
    pub const fn from_be_bytes(bytes: &[u8; ELEMENT_LEN]) -> Option<Self> {
        let mut limbs = [0; LIMBS];
        let mut at = 0;
        while at < ELEMENT_LEN {
            let limb = LIMBS - 1 - at / 7;
            limbs[limb] = limbs[limb] << 8 | bytes[at] as i64;
            at += 1;
        }
        if carried(minus(&limbs, &MODULUS))[LIMBS - 1] >= 0 {
            return None;
        }
        Some(Self(limbs).times(&RADIX_SQUARED))
    }

    /// The number between 0 and p − 1, big-endian.
    pub const fn to_be_bytes(self) -> [u8; ELEMENT_LEN] {
        let Self(limbs) = self.times(&Self([1, 0, 0, 0])).canonical();
        let mut bytes = [0; ELEMENT_LEN];
        let mut at = 0;
        while at < ELEMENT_LEN {
            bytes[at] = limbs[LIMBS - 1 - at / 7].to_be_bytes()[1 + at % 7];
            at += 1;
        }
        bytes
    }

    /// The same element with the only limbs that are those of a number from 0 to p − 1. Takes
    /// reduced elements, and the negatives of canonical ones.
    pub const fn canonical(self) -> Self {
        // −2p to p, then −p to p, then 0 to p.
        let less = carried(minus(&self.0, &MODULUS));
        Self(made_positive(made_positive(less)))
    }

    /// Whether two reduced elements are the same, in variable time.
    pub fn is(&self, other: &Self) -> bool {
        self.minus(other).times(&Self::ONE).canonical().0 == [0; LIMBS]
    }

    /// Whether the number between 0 and p − 1 is odd, in constant time.
    pub const fn is_odd(&self) -> bool {
        self.to_be_bytes()[ELEMENT_LEN - 1] & 1 == 1
    }

    pub const fn plus(&self, other: &Self) -> Self {
        let (Self(a), Self(b)) = (self, other);
        Self([a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]])
    }

    pub const fn minus(&self, other: &Self) -> Self {
        Self(minus(&self.0, &other.0))
    }

    pub const fn negated(&self) -> Self {
        Self::ZERO.minus(self)
    }

    /// A small multiple, whose weight is as many times as large.
    pub const fn small_multiple(&self, factor: i64) -> Self {
        let Self([a, b, c, d]) = self;
        Self([*a * factor, *b * factor, *c * factor, *d * factor])
    }

    pub const fn times(&self, by: &Self) -> Self {
        self.product(by).reduced()
    }

    pub const fn squared(&self) -> Self {
        self.square().reduced()
    }

    pub const fn product(&self, by: &Self) -> Product {
        let (Self(a), Self(b)) = (self, by);
        Product([
            wide(a[0], b[0]),
            wide(a[0], b[1]) + wide(a[1], b[0]),
            wide(a[0], b[2]) + wide(a[1], b[1]) + wide(a[2], b[0]),
            wide(a[0], b[3]) + wide(a[1], b[2]) + wide(a[2], b[1]) + wide(a[3], b[0]),
            wide(a[1], b[3]) + wide(a[2], b[2]) + wide(a[3], b[1]),
            wide(a[2], b[3]) + wide(a[3], b[2]),
            wide(a[3], b[3]),
        ])
    }

    pub const fn square(&self) -> Product {
        self.square_multiple(1)
    }

    /// A small multiple of the square.
    pub const fn square_multiple(&self, factor: i64) -> Product {
        let (Self(a), Self(b), Self(twice)) =
            (self, self.small_multiple(factor), self.small_multiple(2 * factor));
        Product([
            wide(b[0], a[0]),
            wide(twice[0], a[1]),
            wide(twice[0], a[2]) + wide(b[1], a[1]),
            wide(twice[0], a[3]) + wide(twice[1], a[2]),
            wide(twice[1], a[3]) + wide(b[2], a[2]),
            wide(twice[2], a[3]),
            wide(b[3], a[3]),
        ])
    }

    /// The power 2^`times`.
    pub const fn squared_times(&self, times: usize) -> Self {
        let mut power = *self;
        let mut done = 0;
        while done < times {
            power = power.squared();
            done += 1;
        }
        power
    }

    /// x^(2¹²⁷ − 1) and x^(2⁹⁶ − 1): exponents of so many ones, the second on the way to the first.
    const fn powers_of_ones(&self) -> (Self, Self) {
        let two = self.squared().times(self);
        let three = two.squared().times(self);
        let six = three.squared_times(3).times(&three);
        let twelve = six.squared_times(6).times(&six);
        let half_of_48 = twelve.squared_times(12).times(&twelve);
        let half_of_96 = half_of_48.squared_times(24).times(&half_of_48);
        let all_96 = half_of_96.squared_times(48).times(&half_of_96);
        let first_120 = all_96.squared_times(24).times(&half_of_48);
        let first_126 = first_120.squared_times(6).times(&six);
        (first_126.squared().times(self), all_96)
    }

    /// x^(2¹²⁷ − 1): (q − 1) / 2 where p − 1 = 2⁹⁶ q.
    pub const fn half_odd_power(&self) -> Self {
        self.powers_of_ones().0
    }

    /// The inverse by Fermat, x^(p − 2); of zero, zero. p − 2 is 127 ones, a zero, and 96 ones.
    pub const fn inverted(&self) -> Self {
        let (upper, lower) = self.powers_of_ones();
        upper.squared_times(97).times(&lower)
    }

    /// The limbs; of a canonical element, always the same.
    pub const fn limbs(&self) -> &[i64; LIMBS] {
        &self.0
    }

    /// `self` where `mask` is zero, `other` where it is −1.
    pub const fn select(&self, other: &Self, mask: i64) -> Self {
        let mut limbs = self.0;
        let mut at = 0;
        while at < LIMBS {
            limbs[at] ^= (limbs[at] ^ other.0[at]) & mask;
            at += 1;
        }
        Self(limbs)
    }

    /// Takes `other` where `mask` is −1, if `self` is zero: one of a row of elements, whichever it
    /// is.
    pub const fn take(&mut self, other: &Self, mask: i64) {
        let mut at = 0;
        while at < LIMBS {
            self.0[at] |= other.0[at] & mask;
            at += 1;
        }
    }
}

const fn wide(a: i64, b: i64) -> i128 {
    a as i128 * b as i128
}

const fn minus(a: &[i64; LIMBS], b: &[i64; LIMBS]) -> [i64; LIMBS] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3]]
}

/// All limbs but the uppermost between 0 and 2⁵⁶ − 1.
const fn carried(limbs: [i64; LIMBS]) -> [i64; LIMBS] {
    let [a, b, c, d] = limbs;
    let b = b + (a >> BITS);
    let c = c + (b >> BITS);
    let d = d + (c >> BITS);
    [a & MASK, b & MASK, c & MASK, d]
}

/// Adds p to what is negative.
const fn made_positive(limbs: [i64; LIMBS]) -> [i64; LIMBS] {
    let [a, b, c, d] = limbs;
    let negative = d >> 63;
    carried([
        a + (MODULUS[0] & negative),
        b + (MODULUS[1] & negative),
        c + (MODULUS[2] & negative),
        d + (MODULUS[3] & negative),
    ])
}

/// A product before it is reduced, in columns of 56 bits. In a sum of products, weights are added.
#[derive(Clone, Copy)]
pub struct Product([i128; 2 * LIMBS - 1]);

impl Product {
    pub const fn plus(&self, other: &Self) -> Self {
        let (Self(a), Self(b)) = (self, other);
        Self([a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5], a[6] + b[6]])
    }

    pub const fn minus(&self, other: &Self) -> Self {
        let (Self(a), Self(b)) = (self, other);
        Self([a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3], a[4] - b[4], a[5] - b[5], a[6] - b[6]])
    }

    /// Divides by 2¹¹² modulo p.
    ///
    /// Half from above and half from below, at the same time, so that fewer steps wait for each
    /// other. Above, 2²²⁴ is 2⁹⁶ − 1: this folds down the two uppermost columns. Below, p is 1
    /// modulo 2⁹⁶, so what clears a column in P. Montgomery's reduction (1985) is p times the
    /// column itself: −m, m · 2⁹⁶ and −m · 2²²⁴. Of the four columns between, what lies above
    /// 2²²⁴ is folded down last.
    pub const fn reduced(&self) -> Element {
        let Self([c0, c1, c2, c3, c4, c5, c6]) = *self;
        // 2⁹⁶ begins 40 bits up in a column, so 16 bits go there and the others to the next.
        let (c1, c2, c3) = (c1 - c5, c2 + ((c5 & 0xffff) << 40), c3 + (c5 >> 16));
        let (c2, c3, c4) = (c2 - c6, c3 + ((c6 & 0xffff) << 40), c4 + (c6 >> 16));
        let m0 = c0 & MASK as i128;
        let c1 = c1 + (c0 >> BITS) + (m0 << 40);
        let m1 = c1 & MASK as i128;
        let c2 = c2 + (c1 >> BITS) + (m1 << 40);
        let c3 = c3 + (c2 >> BITS);
        let c4 = c4 + (c3 >> BITS) - m0;
        let c5 = (c4 >> BITS) - m1;
        let above = (c5 >> BITS) as i64;
        Element([
            (c2 as i64 & MASK) - above,
            (c3 as i64 & MASK) + (above << 40),
            c4 as i64 & MASK,
            c5 as i64 & MASK,
        ])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A number below p, 32 bits a digit, the lowest first: as slow and plain as can be.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    struct Plain([u32; 7]);

    impl Plain {
        const P: Self = Self([1, 0, 0, u32::MAX, u32::MAX, u32::MAX, u32::MAX]);

        fn of(element: &Element) -> Self {
            let bytes = element.to_be_bytes();
            Self(core::array::from_fn(|at| {
                bytes[24 - 4 * at..28 - 4 * at].iter().fold(0, |digit, byte| digit << 8 | u32::from(*byte))
            }))
        }

        fn plus(self, other: Self) -> Self {
            let mut carry = 0;
            let sum = Self(core::array::from_fn(|at| {
                carry += u64::from(self.0[at]) + u64::from(other.0[at]);
                let digit = carry as u32;
                carry >>= 32;
                digit
            }));
            let is_above = carry != 0 || sum.0.iter().rev().ge(Self::P.0.iter().rev());
            if is_above { sum.less_p() } else { sum }
        }

        fn less_p(self) -> Self {
            let mut borrow = 0;
            Self(core::array::from_fn(|at| {
                let difference = i64::from(self.0[at]) - i64::from(Self::P.0[at]) + borrow;
                borrow = difference >> 32;
                difference.cast_unsigned() as u32
            }))
        }

        fn times(self, by: Self) -> Self {
            let bits = (0..224).rev().map(|bit| by.0[bit / 32] >> (bit % 32) & 1);
            bits.fold(Self([0; 7]), |product, bit| {
                let twice = product.plus(product);
                if bit == 1 { twice.plus(self) } else { twice }
            })
        }
    }

    /// Limbs as large as those of a reduced element may be, and ordinary ones.
    fn reduced() -> impl Strategy<Value = Element> {
        const MOST: i64 = (1 << 56) + (1 << 52);
        let limb = || prop_oneof![1 => Just(MOST), 1 => Just(-MOST), 1 => Just(0), 3 => -MOST..=MOST];
        [limb(), limb(), limb(), limb()].prop_map(Element)
    }

    fn weighed(element: &Element, weight: i64) -> Plain {
        (0..weight).fold(Plain([0; 7]), |sum, _| sum.plus(Plain::of(element)))
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64 / crate::ONE_IN as u32) })]

        #[test]
        fn products_hold_up_to_the_weight_that_is_said(a in reduced(), b in reduced(), weight in 1..=32_i64) {
            for weight in [weight, 32] {
                let (heavy_a, heavy_b) = (a.small_multiple(weight), b.small_multiple(weight));
                let (plain_a, plain_b) = (weighed(&a, weight), weighed(&b, weight));
                let product = heavy_a.times(&heavy_b);
                prop_assert_eq!(Plain::of(&product), plain_a.times(plain_b));
                prop_assert_eq!(Plain::of(&heavy_a.squared()), plain_a.times(plain_a));
                for limb in product.limbs() {
                    prop_assert!(limb.abs() <= (1 << 56) + (1 << 52), "{limb:#x}");
                }
            }
            let sum = a.product(&b).plus(&a.square_multiple(8)).minus(&b.square());
            let minus_one = Plain::of(&Element::ONE.negated().times(&Element::ONE));
            let expected = Plain::of(&a).times(Plain::of(&b))
                .plus(weighed(&a, 8).times(Plain::of(&a)))
                .plus(Plain::of(&b).times(Plain::of(&b)).times(minus_one));
            prop_assert_eq!(Plain::of(&sum.reduced()), expected);
        }

        #[test]
        fn an_inverse_times_its_element_is_one(a in reduced()) {
            let product = a.inverted().times(&a);
            let expected = if a.is(&Element::ZERO) { Element::ZERO } else { Element::ONE };
            prop_assert_eq!(product.canonical(), expected);
        }
    }

    #[test]
    fn bytes_are_numbers_below_p() {
        let mut p = [0; ELEMENT_LEN];
        p[..16].fill(0xff);
        p[27] = 1;
        assert!(Element::from_be_bytes(&p).is_none());
        p[27] = 0;
        let minus_one = Element::from_be_bytes(&p).expect("p − 1");
        assert_eq!(minus_one.to_be_bytes(), p);
        assert!(minus_one.is(&Element::ONE.negated()));
        assert!(!minus_one.is_odd() && Element::ONE.is_odd());
        assert_eq!(Element::ZERO.inverted().canonical(), Element::ZERO);
    }
}
