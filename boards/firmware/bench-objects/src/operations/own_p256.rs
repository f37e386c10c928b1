//! ECDSA and ECDH of `motemix_crypto::p256`: products of half words, in constant time on each core of
//! the boards. The nonce is the vector's: who signs makes it elsewhere.

use core::hint::black_box;

use motemix_crypto::Secret;
use motemix_crypto::p256::{Point, Scalar, diffie_hellman, ecdsa};
use sha2::{Digest as _, Sha256};

use super::vectors::{
    AGREE_POINT, AGREE_SECRET, AGREE_SHARED, ECDSA_MESSAGE, ECDSA_NONCE, ECDSA_PUBLIC, ECDSA_SECRET,
    ECDSA_SIGNATURE,
};
use crate::place::Place;

static KEY: Place<Scalar> = Place::empty();
static NONCE: Place<Scalar> = Place::empty();
static PUBLIC: Place<Point> = Place::empty();

fn scalar(bytes: &[u8; 32]) -> Option<Scalar> {
    Scalar::from_be_bytes(&Secret::new(*bytes))
}

fn digest() -> [u8; 32] {
    Sha256::digest(black_box(&ECDSA_MESSAGE)).into()
}

/// Its private key and the nonce.
pub fn prepare_sign() -> bool {
    let (Some(key), Some(nonce)) = (scalar(&ECDSA_SECRET), scalar(&ECDSA_NONCE)) else { return false };
    KEY.put(key);
    NONCE.put(nonce);
    true
}

/// Hashes and signs.
pub fn sign() -> bool {
    let signature = KEY.with(|key| NONCE.with(|nonce| ecdsa::sign(key, nonce, &digest())));
    signature.flatten().flatten() == Some(ECDSA_SIGNATURE)
}

/// A public key as it is kept.
pub fn prepare_verify() -> bool {
    Point::from_coordinates(&ECDSA_PUBLIC).map(|point| PUBLIC.put(point)).is_some()
}

/// Hashes and checks.
pub fn verify() -> bool {
    PUBLIC.with(|key| ecdsa::verify_vartime(key, &digest(), black_box(&ECDSA_SIGNATURE))) == Some(true)
}

/// Reads the other's point and multiplies it.
pub fn agree() -> bool {
    let secret = scalar(black_box(&AGREE_SECRET));
    let point = Point::from_coordinates(black_box(&AGREE_POINT));
    let (Some(secret), Some(point)) = (secret, point) else { return false };
    *diffie_hellman(&secret, &point).expose() == AGREE_SHARED
}
