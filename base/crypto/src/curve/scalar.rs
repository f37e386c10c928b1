//! The sender's blinded scalars: products of clamped X25519 scalars modulo the group order, brought
//! into a form that X25519 leaves alone when it clamps. This is what makes a packet of n hops cost
//! n + 1 multiplications on any X25519 implementation (`docs/spec/packet.md`, "Creating a header").

use core::fmt;

#[cfg(target_pointer_width = "64")]
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::scalar::clamp_integer;
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::Secret;
// The library's is made of 64-bit products, which take a Cortex-M3 a time that depends on the
// factors.
#[cfg(not(target_pointer_width = "64"))]
use crate::curve::half_words::scalar::Scalar;

/// 8⁻¹ mod ℓ, little-endian.
const INVERSE_OF_EIGHT: [u8; 32] = [
    0x79, 0x2f, 0xdc, 0xe2, 0x29, 0xe5, 0x06, 0x61, 0xd0, 0xda, 0x1c, 0x7d, 0xb3, 0x9d, 0xd3, 0x07, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x06,
];

/// 8ℓ, little-endian; it is a little above 2²⁵⁵.
const EIGHT_TIMES_ORDER: [u8; 32] = [
    0x68, 0x9f, 0xae, 0xe7, 0xd2, 0x18, 0x93, 0xc0, 0xb2, 0xe6, 0xbc, 0x17, 0xf5, 0xce, 0xf7, 0xa6, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80,
];

/// A product of clamped scalars modulo ℓ.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct BlindedScalar(Scalar);

impl BlindedScalar {
    /// The scalar that X25519 multiplies by when given `secret`, modulo ℓ.
    pub fn from_clamped(secret: &Secret<32>) -> Self {
        Self(reduce_clamped(secret))
    }

    /// Multiplies by the scalar that X25519 would use for `blinding`.
    pub fn blind(&mut self, blinding: &Secret<32>) {
        let mut factor = reduce_clamped(blinding);
        self.0 *= &factor;
        factor.zeroize();
    }

    /// A scalar r that X25519's clamping leaves as it is, with `r·P = ±self·P` for every point P of
    /// prime order: r ≡ 0 (mod 8), 2²⁵⁴ ≤ r < 2²⁵⁵. Holds but for one scalar in 2¹²⁰, for which
    /// the packet cannot be opened by anybody.
    pub fn to_clamped(&self) -> Secret<32> {
        let mut inverse = Scalar::from_bytes_mod_order(INVERSE_OF_EIGHT);
        inverse *= &self.0;
        let mut multiple = Secret::new(shift_left_three(&inverse.to_bytes()));
        inverse.zeroize();

        // Below 2^254 the negative has bit 254 set, and the same u-coordinate.
        let negative = Secret::new(subtract(&EIGHT_TIMES_ORDER, multiple.expose()));
        let too_small = (multiple.expose()[31] & 0xc0).ct_eq(&0);
        conditional_assign(multiple.expose_mut(), negative.expose(), too_small);
        multiple
    }
}

impl fmt::Debug for BlindedScalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BlindedScalar(..)")
    }
}

fn reduce_clamped(secret: &Secret<32>) -> Scalar {
    let mut clamped = clamp_integer(*secret.expose());
    let scalar = Scalar::from_bytes_mod_order(clamped);
    clamped.zeroize();
    scalar
}

fn shift_left_three(bytes: &[u8; 32]) -> [u8; 32] {
    let mut shifted = [0; 32];
    let mut carry = 0;
    for (out, byte) in shifted.iter_mut().zip(bytes) {
        *out = (byte << 3) | carry;
        carry = byte >> 5;
    }
    shifted
}

fn subtract(from: &[u8; 32], what: &[u8; 32]) -> [u8; 32] {
    let mut difference = [0; 32];
    let mut borrow = 0_u16;
    for ((out, a), b) in difference.iter_mut().zip(from).zip(what) {
        let step = u16::from(*a).wrapping_sub(u16::from(*b)).wrapping_sub(borrow);
        *out = step as u8;
        borrow = (step >> 8) & 1;
    }
    difference
}

fn conditional_assign(to: &mut [u8; 32], from: &[u8; 32], choice: Choice) {
    for (a, b) in to.iter_mut().zip(from) {
        a.conditional_assign(b, choice);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Curve, Portable};

    #[test]
    fn the_constants_are_what_they_are_called() {
        assert_eq!(Scalar::from_bytes_mod_order(INVERSE_OF_EIGHT) * Scalar::from(8_u8), Scalar::ONE);
        // 8ℓ mod ℓ is zero, and one less is −1.
        assert_eq!(Scalar::from_bytes_mod_order(EIGHT_TIMES_ORDER), Scalar::ZERO);
        let one = {
            let mut one = [0; 32];
            one[0] = 1;
            one
        };
        assert_eq!(Scalar::from_bytes_mod_order(subtract(&EIGHT_TIMES_ORDER, &one)), -Scalar::ONE);
    }

    #[test]
    fn one_multiplication_by_the_product_equals_one_after_the_other() {
        let mut seed = [7_u8; 32];
        for _ in 0..50_usize.div_ceil(crate::ONE_IN) {
            let [a, b, c] = [1, 2, 3].map(|n| {
                seed = *crate::hash::blake2s_256(&seed, &[n]).expose();
                Secret::new(seed)
            });
            let node = Portable::public_key(&c);
            let step = Portable::diffie_hellman(&a, &node).unwrap();
            let stepwise = Portable::diffie_hellman(&b, &crate::PublicKey(*step.expose())).unwrap();

            let mut product = BlindedScalar::from_clamped(&a);
            product.blind(&b);
            let clamped = product.to_clamped();
            assert_eq!(clamp_integer(*clamped.expose()), *clamped.expose(), "clamping changes nothing");
            let at_once = Portable::diffie_hellman(&clamped, &node).unwrap();
            assert_eq!(at_once.expose(), stepwise.expose());
        }
    }
}
