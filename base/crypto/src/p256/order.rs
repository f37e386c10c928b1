//! Integers modulo n, the order of the group.

use super::inverse::inverse_vartime;
use super::product::{add_product, set_square};
use super::scalar::PublicScalar;
use crate::curve::half_words::limbs::{BITS, COLUMNS, LIMBS, MASK, carry, pack, settle, unpack};

/// n, big-endian.
pub const ORDER_BYTES: [u8; 32] = [
    0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xbc,
    0xe6, 0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51,
];
/// n, whose upper half has but three terms.
const ORDER: [i32; LIMBS] =
    [1361, 793, -3905, -3178, 3900, 3906, -930, -2635, 1787, -537, 0, 0, 0, 0, 1024, 0, 0, -8, 0, 512];
/// −n⁻¹ modulo 2¹³.
const FACTOR: i32 = 7247;
/// 2²⁶⁰ modulo n.
const ONE: [i32; LIMBS] =
    [2800, 3693, -3058, 1704, 3142, 3032, -1512, 1202, -4011, 397, 1, 0, 0, 0, 0, -2, 0, 128, 0, 0];
/// 2⁵²⁰ modulo n.
const RADIX_SQUARED: [i32; LIMBS] = [
    -407, -4011, -3396, -2045, -3767, 3971, 3003, 3440, 2752, 3268, -2472, -2087, -3401, -1763, 1303, 1016,
    -1706, 2775, 2917, -62,
];

/// A number modulo n. What is made of it is between −n and n, each limb at most 2¹² in magnitude.
/// It does not wipe itself: whoever works with secrets wipes the stack afterwards.
#[derive(Clone, Copy)]
pub struct Residue([i32; LIMBS]);

impl Residue {
    /// From big-endian bytes, any of 32. Not reduced: between 0 and 2²⁵⁶, of limbs below 2¹³.
    pub fn from_be_bytes(bytes: &[u8; 32]) -> Self {
        let mut reversed = *bytes;
        reversed.reverse();
        Self(unpack(&reversed))
    }

    /// The representative between 0 and n − 1, big-endian.
    pub fn to_be_bytes(self) -> [u8; 32] {
        let mut limbs = self.divided_product(&Self(ONE)).0;
        // What is left above is −1 or 0: all bits, or none.
        let negative = settle(&mut limbs);
        for (limb, order) in limbs.iter_mut().zip(&ORDER) {
            *limb += order & negative;
        }
        settle(&mut limbs);
        let mut bytes = pack(&limbs);
        bytes.reverse();
        bytes
    }

    /// 2²⁶⁰ times itself: what [`Self::divided_product`] takes away again.
    pub fn raised(&self) -> Self {
        self.divided_product(&Self(RADIX_SQUARED))
    }

    pub fn plus(&self, other: &Self) -> Self {
        Self(core::array::from_fn(|limb| self.0[limb] + other.0[limb]))
    }

    /// a·b / 2²⁶⁰, where |a·b| < 2⁵¹⁴ and limbs are up to 3·2¹² and 2¹² or up to 2¹³.
    #[inline(never)]
    pub fn divided_product(&self, by: &Self) -> Self {
        let mut columns = [0; COLUMNS];
        add_product(&mut columns, &self.0, &by.0);
        divided(&mut columns)
    }

    /// Becomes self² / 2²⁶⁰, as [`Self::divided_product`].
    fn square(&mut self) {
        let mut columns = [0; COLUMNS];
        set_square(&mut columns, &self.0);
        *self = divided(&mut columns);
    }

    /// The inverse, raised. In variable time.
    pub fn inverted_vartime(number: &PublicScalar) -> Self {
        Self::from_be_bytes(&inverse_vartime(number.as_bytes(), &ORDER_BYTES)).raised()
    }

    /// Becomes self·b / 2²⁶⁰, as [`Self::divided_product`].
    fn multiply(&mut self, by: &Self) {
        *self = self.divided_product(by);
    }

    /// To the power of n − 2, of a number that is raised, raised; zero stays zero.
    #[inline(never)]
    pub fn inverted(&self) -> Self {
        // To the powers of 0 to 15.
        let mut powers = [Self(ONE); 16];
        let mut power = Self(ONE);
        for place in &mut powers[1..] {
            power.multiply(self);
            *place = power;
        }
        let mut inverse = Self(ONE);
        let mut exponent = ORDER_BYTES;
        exponent[31] -= 2;
        for byte in exponent {
            // The exponent is known to everybody.
            for digit in [byte >> 4, byte & 15] {
                for _ in 0..4 {
                    inverse.square();
                }
                inverse.multiply(&powers[usize::from(digit)]);
            }
        }
        inverse
    }
}

/// Divides by 2²⁶⁰ (P. Montgomery, 1985): multiples of n are added so that the lower half becomes
/// zero. Their factors are at most 2¹² in magnitude, so all together are not much more than n/2.
#[inline(never)]
fn divided(columns: &mut [i32; COLUMNS]) -> Residue {
    let mut carried = 0;
    for at in 0..LIMBS {
        let Some(columns) = columns[at..].first_chunk_mut::<LIMBS>() else { continue };
        columns[0] += carried;
        let factor = carry(((columns[0] & MASK) * FACTOR) & MASK, &mut 0);
        add_order(columns, factor);
        carried = columns[0] >> BITS;
    }
    columns[LIMBS] += carried;
    let mut carried = 0;
    let mut limbs = core::array::from_fn(|at| carry(columns[LIMBS + at], &mut carried));
    // The uppermost limb keeps what it is given: the number is far below 2²⁶⁰.
    limbs[LIMBS - 1] += carried << BITS;
    Residue(limbs)
}

/// Adds `factor` times n.
#[inline(never)]
fn add_order(columns: &mut [i32; LIMBS], factor: i32) {
    macro_rules! add {
        ($($at:literal)+) => { $( columns[$at] += factor * ORDER[$at]; )+ };
    }
    add!(0 1 2 3 4 5 6 7 8 9 14 17 19);
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::p256::Scalar as Theirs;
    use ::p256::elliptic_curve::{PrimeField, ops::Reduce};
    use proptest::prelude::*;

    fn theirs(bytes: [u8; 32]) -> Theirs {
        <Theirs as Reduce<::p256::U256>>::reduce(&::p256::U256::from_be_slice(&bytes))
    }

    fn ours(scalar: &Theirs) -> [u8; 32] {
        scalar.to_repr().into()
    }

    fn check(a: [u8; 32], b: [u8; 32]) {
        let [x, y] = [a, b].map(|bytes| Residue::from_be_bytes(&bytes));
        let (their_x, their_y) = (theirs(a), theirs(b));
        assert_eq!(x.to_be_bytes(), ours(&their_x));
        assert_eq!(x.divided_product(&y.raised()).to_be_bytes(), ours(&(their_x * their_y)));
        let sum = x.divided_product(&y.raised()).plus(&x);
        assert_eq!(
            sum.divided_product(&y.raised()).to_be_bytes(),
            ours(&((their_x * their_y + their_x) * their_y))
        );
        let inverse = Option::<Theirs>::from(their_x.invert()).unwrap_or(Theirs::ZERO);
        let one = Residue(core::array::from_fn(|limb| i32::from(limb == 0)));
        assert_eq!(one.divided_product(&x.raised().inverted()).to_be_bytes(), ours(&inverse));
        if inverse != Theirs::ZERO {
            assert_eq!(inverse_vartime(&ours(&their_x), &ORDER_BYTES), ours(&inverse));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256 / crate::ONE_IN as u32) })]

        #[test]
        fn residues_are_the_other_crates_scalars(a: [u8; 32], b: [u8; 32]) {
            check(a, b);
        }
    }

    #[test]
    fn residues_near_zero_and_near_n_are_the_other_crates_scalars() {
        let near = |offset: i8| {
            let mut bytes = ORDER_BYTES;
            bytes[31] = bytes[31].checked_add_signed(offset).expect("no carry");
            bytes
        };
        let small = |value| core::array::from_fn(|at| if at == 31 { value } else { 0 });
        let ends = [near(-2), near(-1), near(0), near(1), small(0), small(1), small(2), [0xff; 32]];
        for a in ends {
            for b in ends {
                check(a, b);
            }
        }
    }
}
