//! The X25519 form of a key of Ed25519: the curves of both are one curve, by the birational map of
//! RFC 7748 §4.1.

use curve25519_dalek::edwards::CompressedEdwardsY;
use sha2::{Digest as _, Sha512};
use zeroize::Zeroizing;

use super::PublicKey;
use crate::Secret;

/// The public key u = (1 + y) / (1 − y). `None` if the bytes are no point, or one of small order.
pub fn public_key(key: &[u8; 32]) -> Option<PublicKey> {
    let point = CompressedEdwardsY(*key).decompress()?;
    (!point.is_small_order()).then(|| PublicKey(point.to_montgomery().to_bytes()))
}

/// The secret of a seed, before it is clamped: the scalar that RFC 8032 §5.1.5 signs with.
pub fn secret(seed: &Secret<32>) -> Secret<32> {
    let digest = Zeroizing::new(<[u8; 64]>::from(Sha512::digest(seed.expose())));
    let mut secret = Secret::zero();
    secret.expose_mut().iter_mut().zip(digest.iter()).for_each(|(to, from)| *to = *from);
    secret
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::{Curve as _, portable::Portable};
    use crate::ed25519::SigningKey;

    #[test]
    fn secret_and_public_key_belong_together() {
        for byte in (0..32).step_by(crate::ONE_IN) {
            let seed = Secret::new([byte; 32]);
            let public = public_key(SigningKey::from_seed(&seed).public_key());
            assert_eq!(public, Some(Portable::public_key(&secret(&seed))));
        }
    }

    #[test]
    fn points_of_small_order_have_no_form() {
        let zero = [0; 32];
        let (mut one, mut minus_one) = (zero, [0xff; 32]);
        one[0] = 1;
        (minus_one[0], minus_one[31]) = (0xec, 0x7f);
        for point in [zero, one, minus_one] {
            assert_eq!(public_key(&point), None, "{point:?}");
        }
    }
}
