//! The one form of a signature.
//!
//! If (r, s) is a signature of ES256, so is (r, n − s), and anybody can compute one from the other.
//! So half of them are refused: s is n/2 at most. A signature of Ed25519 has one form: both checks
//! refuse an s that is not below the group's order (RFC 8032, 5.1.7), and compare R as bytes.

use super::{Algorithm, SIGNATURE_LEN};

/// The order n of the group of P-256 (SEC 2, 2.4.2), big-endian.
const ORDER: [u8; 32] = [
    0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xbc,
    0xe6, 0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51,
];
/// The largest s: n/2, rounded down.
const MAX_S: [u8; 32] = [
    0x7f, 0xff, 0xff, 0xff, 0x80, 0x00, 0x00, 0x00, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xde,
    0x73, 0x7d, 0x56, 0xd3, 0x8b, 0xcf, 0x42, 0x79, 0xdc, 0xe5, 0x61, 0x7e, 0x31, 0x92, 0xa8,
];

impl Algorithm {
    /// Whether a signature is in the one form that objects and their twins have. That says nothing
    /// of whether it holds.
    #[must_use]
    pub fn is_canonical(self, signature: &[u8; SIGNATURE_LEN]) -> bool {
        let (_, s) = signature.as_slice().split_at(SIGNATURE_LEN / 2);
        self != Self::Es256 || s <= MAX_S.as_slice()
    }

    /// Brings a signature that holds into the one form, in which it holds as well.
    pub fn make_canonical(self, signature: &mut [u8; SIGNATURE_LEN]) {
        if self.is_canonical(signature) {
            return;
        }
        let (_, s) = signature.split_at_mut(SIGNATURE_LEN / 2);
        let mut borrow = false;
        for (digit, order) in s.iter_mut().zip(&ORDER).rev() {
            let (difference, first) = order.overflowing_sub(*digit);
            let (difference, second) = difference.overflowing_sub(borrow.into());
            (*digit, borrow) = (difference, first || second);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{PrivateKey, Signer as _};
    use motemix_crypto::Secret;

    #[test]
    fn of_two_signatures_that_hold_one_is_canonical() {
        let mut key = PrivateKey::new(Algorithm::Es256, Secret::new([7; 32])).expect("a key");
        let public = key.public_key();
        let mut high = 0;
        for message in 0..32_u8 {
            let (mut signature, mut other) = ([0; SIGNATURE_LEN], [0; SIGNATURE_LEN]);
            key.sign(&[&[message]], &mut signature).expect("software signs");
            let library = p256::ecdsa::Signature::from_slice(&signature).expect("a signature").normalize_s();
            high += u32::from(!Algorithm::Es256.is_canonical(&signature));
            Algorithm::Es256.make_canonical(&mut signature);
            assert_eq!(signature, *library.to_bytes());
            assert!(Algorithm::Es256.is_canonical(&signature) && public.verifies(&[&[message]], &signature));
            // The other one is computed by whoever likes.
            let (r, s) = library.split_scalars();
            let negated = p256::ecdsa::Signature::from_scalars(r.to_bytes(), (-s).to_bytes());
            other.copy_from_slice(&negated.expect("a signature").to_bytes());
            assert!(!Algorithm::Es256.is_canonical(&other) && public.verifies(&[&[message]], &other));
            Algorithm::Es256.make_canonical(&mut other);
            assert_eq!(other, signature);
        }
        assert!((1..32).contains(&high), "{high}");
    }

    #[test]
    fn the_largest_s_is_half_of_the_order() {
        let mut signature = [0; SIGNATURE_LEN];
        signature[32..].copy_from_slice(&MAX_S);
        assert!(Algorithm::Es256.is_canonical(&signature));
        // (n − 1)/2 + 1, whose negative is (n − 1)/2: the order is odd.
        signature[63] += 1;
        assert!(!Algorithm::Es256.is_canonical(&signature) && Algorithm::Ed25519.is_canonical(&signature));
        Algorithm::Es256.make_canonical(&mut signature);
        assert_eq!(signature[32..], MAX_S);
    }
}
