//! Ed25519 of the crate `ed25519-dalek`, on the second vector of RFC 8032, section 7.1.

use core::hint::black_box;

use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};

use super::vectors::{ED25519_MESSAGE, ED25519_PUBLIC, ED25519_SECRET, ED25519_SIGNATURE};
use crate::place::Place;

static KEY: Place<SigningKey> = Place::empty();
static PUBLIC: Place<VerifyingKey> = Place::empty();

/// The key pair of a device that has signed before.
pub fn prepare_sign() -> bool {
    KEY.put(SigningKey::from_bytes(&ED25519_SECRET));
    true
}

/// Hashes and signs.
pub fn sign() -> bool {
    let signature = KEY.with(|key| key.sign(black_box(&ED25519_MESSAGE)));
    signature.is_some_and(|signature| signature.to_bytes() == ED25519_SIGNATURE)
}

/// A public key as it is kept: bytes are read and checked once.
pub fn prepare_verify() -> bool {
    let key = VerifyingKey::from_bytes(&ED25519_PUBLIC);
    key.map(|key| PUBLIC.put(key)).is_ok()
}

/// Hashes and checks.
pub fn verify() -> bool {
    let signature = Signature::from_bytes(black_box(&ED25519_SIGNATURE));
    PUBLIC.with(|key| key.verify_strict(black_box(&ED25519_MESSAGE), &signature).is_ok()) == Some(true)
}
