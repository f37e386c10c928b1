//! Integers modulo ℓ = 2²⁵² + 27742317777372353535851937790883648493, the order of the curve's
//! large subgroup.

use core::ops::{AddAssign, MulAssign};

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::limbs::{BITS, COLUMNS, LIMBS, MASK, add_product, carry, pack, settle, unpack};

/// ℓ.
const ORDER: [i32; LIMBS] =
    [5101, 1966, 1687, 1222, 1409, 3691, 3038, 7124, 7929, 166, 0, 0, 0, 0, 0, 0, 0, 0, 0, 32];
/// −ℓ⁻¹ modulo 2¹³.
const FACTOR: i32 = 7707;
/// 2²⁶⁰ modulo ℓ.
const ONE: [i32; LIMBS] = [
    1773, 6415, 3929, 7825, 1114, 831, 3435, 1909, 1307, 6575, 8186, 8191, 8191, 8191, 8191, 8191, 8191,
    8191, 8191, 31,
];
/// 2⁵²⁰ modulo ℓ.
const ONE_SQUARED: [i32; LIMBS] = [
    4411, 2710, 6522, 5028, 1695, 3573, 4549, 6855, 5636, 6979, 6514, 2940, 383, 6633, 7089, 1977, 4250,
    7137, 4166, 18,
];

/// 2²⁵⁶ modulo ℓ, little-endian.
const ABOVE: [u8; 32] = [
    0x1d, 0x95, 0x98, 0x8d, 0x74, 0x31, 0xec, 0xd6, 0x70, 0xcf, 0x7d, 0x73, 0xf4, 0x5b, 0xef, 0xc6, 0xfe,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f,
];

/// Between −ℓ and ℓ, each limb at most 2¹² in magnitude.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct Scalar([i32; LIMBS]);

impl Scalar {
    /// From any 32 bytes, little-endian.
    pub fn from_bytes_mod_order(bytes: [u8; 32]) -> Self {
        let mut limbs = unpack(&bytes);
        carry_upwards(&mut limbs);
        let scalar = Self(montgomery(&limbs, &ONE));
        limbs.zeroize();
        scalar
    }

    /// From any 64 bytes, little-endian: a hash.
    pub fn from_bytes_mod_order_wide(bytes: &[u8; 64]) -> Self {
        let (low, high) = bytes.split_at(32);
        let half = |half: &[u8]| {
            let mut bytes = [0; 32];
            bytes.copy_from_slice(half);
            let scalar = Self::from_bytes_mod_order(bytes);
            bytes.zeroize();
            scalar
        };
        let mut scalar = half(high);
        scalar *= &Self::from_bytes_mod_order(ABOVE);
        scalar += &half(low);
        scalar
    }

    /// The representative between 0 and ℓ − 1, little-endian.
    pub fn to_bytes(&self) -> [u8; 32] {
        let mut limbs = self.0;
        // What is left above is −1 or 0: all bits, or none.
        let negative = settle(&mut limbs);
        for (limb, order) in limbs.iter_mut().zip(&ORDER) {
            *limb += order & negative;
        }
        settle(&mut limbs);
        let bytes = pack(&limbs);
        limbs.zeroize();
        bytes
    }
}

impl AddAssign<&Self> for Scalar {
    fn add_assign(&mut self, other: &Self) {
        for (limb, other) in self.0.iter_mut().zip(&other.0) {
            *limb += other;
        }
        // Between −2·ℓ and 2·ℓ.
        self.0 = montgomery(&self.0, &ONE);
    }
}

impl MulAssign<&Self> for Scalar {
    fn mul_assign(&mut self, by: &Self) {
        self.0 = montgomery(&self.0, &by.0);
        self.0 = montgomery(&self.0, &ONE_SQUARED);
    }
}

/// a·b / 2²⁶⁰ modulo ℓ, between −ℓ and ℓ, if |a·b| < 2⁵¹⁰: multiples of ℓ are added so that the
/// lower half becomes zero. Their factors are at most 2¹² in magnitude, so all together are not
/// much more than ℓ/2.
fn montgomery(a: &[i32; LIMBS], b: &[i32; LIMBS]) -> [i32; LIMBS] {
    let mut columns = [0; COLUMNS];
    add_product(&mut columns, a, b);
    let mut carried = 0;
    for at in 0..LIMBS {
        columns[at] += carried;
        let factor = carry(((columns[at] & MASK) * FACTOR) & MASK, &mut 0);
        for (column, order) in columns[at..].iter_mut().zip(&ORDER) {
            *column += factor * order;
        }
        carried = columns[at] >> BITS;
    }
    columns[LIMBS] += carried;
    let mut limbs = core::array::from_fn(|at| columns[LIMBS + at]);
    columns.zeroize();
    carry_upwards(&mut limbs);
    limbs
}

/// The uppermost limb keeps what it is given: the number is far below 2²⁶⁰.
fn carry_upwards(limbs: &mut [i32; LIMBS]) {
    let mut carried = 0;
    for limb in &mut limbs[..LIMBS - 1] {
        *limb = carry(*limb, &mut carried);
    }
    limbs[LIMBS - 1] += carried;
}
