//! ECDSA and ECDH of the crate `p256`.

use core::hint::black_box;

use p256::ecdsa::signature::{Signer as _, Verifier as _};
use p256::ecdsa::{Signature, SigningKey, VerifyingKey};
use p256::{PublicKey, SecretKey};

use super::vectors::{
    AGREE_POINT, AGREE_SECRET, AGREE_SHARED, ECDSA_MESSAGE, ECDSA_PUBLIC, ECDSA_SECRET, ECDSA_SIGNATURE,
    uncompressed,
};
use crate::place::Place;

static KEY: Place<SigningKey> = Place::empty();
static PUBLIC: Place<VerifyingKey> = Place::empty();

/// The key pair of a device that has signed before.
pub fn prepare_sign() -> bool {
    SigningKey::from_slice(&ECDSA_SECRET).map(|key| KEY.put(key)).is_ok()
}

/// Hashes, makes the nonce (RFC 6979) and signs.
pub fn sign() -> bool {
    let signature = KEY.with(|key| -> Signature { key.sign(black_box(&ECDSA_MESSAGE)) });
    signature.is_some_and(|signature| signature.to_bytes().as_slice() == ECDSA_SIGNATURE)
}

/// A public key as it is kept.
pub fn prepare_verify() -> bool {
    VerifyingKey::from_sec1_bytes(&uncompressed(&ECDSA_PUBLIC)).map(|key| PUBLIC.put(key)).is_ok()
}

/// Hashes and checks.
pub fn verify() -> bool {
    let Ok(signature) = Signature::from_slice(black_box(&ECDSA_SIGNATURE)) else { return false };
    PUBLIC.with(|key| key.verify(black_box(&ECDSA_MESSAGE), &signature).is_ok()) == Some(true)
}

/// Reads the other's point and multiplies it.
pub fn agree() -> bool {
    let secret = SecretKey::from_slice(black_box(&AGREE_SECRET));
    let point = PublicKey::from_sec1_bytes(&uncompressed(black_box(&AGREE_POINT)));
    let (Ok(secret), Ok(point)) = (secret, point) else { return false };
    let shared = p256::ecdh::diffie_hellman(secret.to_nonzero_scalar(), point.as_affine());
    shared.raw_secret_bytes().as_slice() == AGREE_SHARED
}
