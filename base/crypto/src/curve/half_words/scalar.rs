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
/// 2⁵¹⁶ modulo ℓ.
const UPPER_HALF: [i32; LIMBS] = [
    5193, 5883, 6476, 5097, 4994, 3835, 7625, 6995, 1228, 1554, 6551, 7863, 4631, 926, 5051, 5243, 777, 3518,
    1284, 19,
];

/// Between −ℓ and ℓ, each limb at most 2¹² in magnitude.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct Scalar([i32; LIMBS]);

impl Scalar {
    /// From any 32 bytes, little-endian.
    pub fn from_bytes_mod_order(bytes: [u8; 32]) -> Self {
        Self::product_mod_order(&bytes, &ONE)
    }

    /// From any 64 bytes, little-endian.
    pub fn from_wide_bytes(bytes: &[u8; 64]) -> Self {
        let [lower, upper]: &[[u8; 32]; 2] = bytes.as_chunks().0.as_array().expect("two halves are all");
        let mut scalar = Self::product_mod_order(upper, &UPPER_HALF);
        scalar += &Self::product_mod_order(lower, &ONE);
        scalar
    }

    /// The product of any 32 bytes and a number below ℓ, divided by 2²⁶⁰.
    fn product_mod_order(bytes: &[u8; 32], factor: &[i32; LIMBS]) -> Self {
        let mut limbs = unpack(bytes);
        carry_upwards(&mut limbs);
        let scalar = Self(montgomery(&limbs, factor));
        limbs.zeroize();
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

impl MulAssign<&Self> for Scalar {
    fn mul_assign(&mut self, by: &Self) {
        self.0 = montgomery(&self.0, &by.0);
        self.0 = montgomery(&self.0, &ONE_SQUARED);
    }
}

impl AddAssign<&Self> for Scalar {
    fn add_assign(&mut self, other: &Self) {
        for (limb, other) in self.0.iter_mut().zip(&other.0) {
            *limb += other;
        }
        carry_upwards(&mut self.0);
        // Between −2ℓ and 2ℓ until here.
        self.0 = montgomery(&self.0, &ONE);
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
