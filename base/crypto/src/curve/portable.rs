//! The portable backend: curve25519-dalek. Constant time on every core whose multiplier is; a
//! Cortex-M3's long multiplication is not, see `docs/explanation/constant-time.md` and
//! [`super::words`].

use curve25519_dalek::montgomery::MontgomeryPoint;
use zeroize::Zeroizing;

use super::{AsReceived, Curve, PublicKey, SharedSecret};
use crate::Secret;

/// curve25519-dalek, in its serial 32- or 64-bit form by target.
pub enum Portable {}

impl Curve for Portable {
    type Point = AsReceived<Self>;

    fn public_key(secret: &Secret<32>) -> PublicKey {
        PublicKey(MontgomeryPoint::mul_base_clamped(*secret.expose()).to_bytes())
    }

    fn diffie_hellman(secret: &Secret<32>, point: &PublicKey) -> Option<SharedSecret> {
        let product = Zeroizing::new(MontgomeryPoint(point.0).mul_clamped(*secret.expose()));
        SharedSecret::contributory(product.to_bytes())
    }
}
