//! The portable backend without its table of multiples of the base point: 30 kB less flash, and a
//! public key costs as much as any other multiplication.

use curve25519_dalek::constants::X25519_BASEPOINT;

use super::{Curve, PublicKey, SharedSecret, portable::Portable};
use crate::Secret;

/// curve25519-dalek's ladder for both operations.
pub enum Compact {}

impl Curve for Compact {
    fn public_key(secret: &Secret<32>) -> PublicKey {
        PublicKey(X25519_BASEPOINT.mul_clamped(*secret.expose()).to_bytes())
    }

    fn diffie_hellman(secret: &Secret<32>, point: &PublicKey) -> Option<SharedSecret> {
        Portable::diffie_hellman(secret, point)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_backends_give_the_same_public_keys() {
        for byte in [0, 1, 0x55, 0x80, 0xff] {
            let secret = Secret::new([byte; 32]);
            assert_eq!(Compact::public_key(&secret), Portable::public_key(&secret));
        }
    }
}
