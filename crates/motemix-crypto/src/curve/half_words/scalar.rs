//! Integers modulo ℓ = 2²⁵² + 27742317777372353535851937790883648493, the order of the curve's
//! large subgroup.

use core::ops::MulAssign;

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
