//! Integers modulo p = 2²²⁴ − 2⁹⁶ + 1 (SEC 2, 2.2.1), in constant time: no branch and no address depends on one.

/// Bits of a limb. Four of them are the bits of p, and one is seven bytes.
const BITS: usize = 56;
const MASK: i64 = (1 << BITS) - 1;
const LIMBS: usize = 4;
/// Bytes of an element on the wire.
pub const ELEMENT_LEN: usize = 28;

/// p.
const MODULUS: [i64; LIMBS] = [1, MASK - (1 << 40) + 1, MASK, MASK];
/// 2²²⁴, squared, modulo p: 2¹⁹² − 2⁹⁷ + 1.
const RADIX_SQUARED: Element = Element([1, -(1 << 41), 0, 1 << 24]);

/// x · 2²²⁴ modulo p, in four signed limbs.
///
/// A product is *reduced*: its limbs are at most 2⁵⁶ + 2⁵² in magnitude. Sums and differences are not carried; a
/// sum of k reduced elements is of *weight* k. Factors may have weights whose product is at most 2048: the columns
/// of their product then stay below 2¹²⁶. No formula of this module comes near it, and a test at the limit
/// shows that it holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Element([i64; LIMBS]);

impl Element {
    pub const ZERO: Self = Self([0; LIMBS]);
    /// 2²²⁴ modulo p: 2⁹⁶ − 1.
    pub const ONE: Self = Self([MASK, (1 << 40) - 1, 0, 0]);

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

    /// The representative between 0 and p − 1, big-endian.
    pub const fn to_be_bytes(self) -> [u8; ELEMENT_LEN] {
        let Self(limbs) = self.times(&Self([1, 0, 0, 0])).canonical();
        let mut bytes = [0; ELEMENT_LEN];
        let mut at = 0;
        while at < ELEMENT_LEN {
            bytes[at] = (limbs[LIMBS - 1 - at / 7] >> (8 * (6 - at % 7))) as u8;
            at += 1;
        }
        bytes
    }

    /// The same element in the only form whose limbs are those of a number from 0 to p − 1. Takes reduced elements.
    pub const fn canonical(self) -> Self {
        // From −p to 2p before the first step, from −p to p before the second.
        let limbs = carried(minus(&self.0, &MODULUS));
        let limbs = add_if_negative(limbs);
        Self(add_if_negative(limbs))
    }

    /// Whether two reduced elements are the same, in variable time.
    pub fn is(&self, other: &Self) -> bool {
        self.minus(other).times(&Self::ONE).canonical().0 == [0; LIMBS]
    }

    /// Whether the representative between 0 and p − 1 is odd; in constant time.
    pub const fn is_odd(&self) -> bool {
        self.to_be_bytes()[ELEMENT_LEN - 1] & 1 == 1
    }

    pub const fn plus(&self, other: &Self) -> Self {
        let (Self([a, b, c, d]), Self([e, f, g, h])) = (self, other);
        Self([*a + *e, *b + *f, *c + *g, *d + *h])
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
        let (Self([a0, a1, a2, a3]), Self([b0, b1, b2, b3])) = (*self, *by);
        reduced([
            wide(a0, b0),
            wide(a0, b1) + wide(a1, b0),
            wide(a0, b2) + wide(a1, b1) + wide(a2, b0),
            wide(a0, b3) + wide(a1, b2) + wide(a2, b1) + wide(a3, b0),
            wide(a1, b3) + wide(a2, b2) + wide(a3, b1),
            wide(a2, b3) + wide(a3, b2),
            wide(a3, b3),
        ])
    }

    pub const fn squared(&self) -> Self {
        let Self([a0, a1, a2, a3]) = *self;
        let (twice_a0, twice_a1, twice_a2) = (2 * a0, 2 * a1, 2 * a2);
        reduced([
            wide(a0, a0),
            wide(twice_a0, a1),
            wide(twice_a0, a2) + wide(a1, a1),
            wide(twice_a0, a3) + wide(twice_a1, a2),
            wide(twice_a1, a3) + wide(a2, a2),
            wide(twice_a2, a3),
            wide(a3, a3),
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

    /// x^(2¹²⁷ − 1) and x^(2⁹⁶ − 1), on the way to which everything is that has a longer exponent.
    const fn powers_of_ones(&self) -> (Self, Self) {
        let ones_2 = self.squared().times(self);
        let ones_3 = ones_2.squared().times(self);
        let ones_6 = ones_3.squared_times(3).times(&ones_3);
        let ones_12 = ones_6.squared_times(6).times(&ones_6);
        let ones_24 = ones_12.squared_times(12).times(&ones_12);
        let ones_48 = ones_24.squared_times(24).times(&ones_24);
        let ones_96 = ones_48.squared_times(48).times(&ones_48);
        let ones_120 = ones_96.squared_times(24).times(&ones_24);
        let ones_126 = ones_120.squared_times(6).times(&ones_6);
        (ones_126.squared().times(self), ones_96)
    }

    /// x^(2¹²⁷ − 1): (q − 1) / 2 where p − 1 = 2⁹⁶ q.
    pub const fn half_odd_power(&self) -> Self {
        self.powers_of_ones().0
    }

    /// The inverse by Fermat, x^(p − 2); of zero, zero. p − 2 is 127 ones, a zero, and 96 ones.
    pub const fn inverted(&self) -> Self {
        let (ones_127, ones_96) = self.powers_of_ones();
        ones_127.squared_times(97).times(&ones_96)
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

    /// Adds `other` where `mask` is −1: of a row of elements, takes one.
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

const fn add_if_negative(limbs: [i64; LIMBS]) -> [i64; LIMBS] {
    let [a, b, c, d] = limbs;
    let negative = d >> 63;
    let [p, q, r, s] = MODULUS;
    carried([a + (p & negative), b + (q & negative), c + (r & negative), d + (s & negative)])
}

/// The columns of a product, divided by 2²²⁴ modulo p.
///
/// P. Montgomery's reduction (1985), which is cheap here because p is 1 modulo 2⁹⁶: the factor that clears a limb is
/// the limb itself. Then what lies above 2²²⁴ is folded down, t · 2²²⁴ = t · 2⁹⁶ − t.
const fn reduced(columns: [i128; 7]) -> Element {
    let [c0, c1, c2, c3, c4, c5, c6] = columns;
    let m0 = c0 as i64 & MASK;
    let c1 = c1 + (c0 >> BITS) + ((m0 as i128) << 40);
    let m1 = c1 as i64 & MASK;
    let c2 = c2 + (c1 >> BITS) + ((m1 as i128) << 40);
    let m2 = c2 as i64 & MASK;
    let c3 = c3 + (c2 >> BITS) + ((m2 as i128) << 40);
    let m3 = c3 as i64 & MASK;
    let c4 = c4 + (c3 >> BITS) + ((m3 as i128) << 40) - m0 as i128;
    let c5 = c5 + (c4 >> BITS) - m1 as i128;
    let c6 = c6 + (c5 >> BITS) - m2 as i128;
    let c7 = (c6 >> BITS) - m3 as i128;
    let above = (c7 >> BITS) as i64;
    Element([
        (c4 as i64 & MASK) - above,
        (c5 as i64 & MASK) + (above << 40),
        c6 as i64 & MASK,
        c7 as i64 & MASK,
    ])
}
