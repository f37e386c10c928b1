//! X25519 and the check of Ed25519 signatures of `motemix_crypto`.

use core::hint::black_box;

use motemix_crypto::{BoardCurve, Curve as _, PublicKey, Secret, ed25519};

use super::vectors::{
    ED25519_MESSAGE, ED25519_PUBLIC, ED25519_SIGNATURE, X25519_POINT, X25519_SECRET, X25519_SHARED,
};

/// One multiplication.
pub fn agree() -> bool {
    let secret = Secret::new(black_box(X25519_SECRET));
    let shared = BoardCurve::diffie_hellman(&secret, &PublicKey(black_box(X25519_POINT)));
    shared.is_some_and(|shared| *shared.expose() == X25519_SHARED)
}

/// The bytes of a public key are checked once.
pub fn prepare_verify() -> bool {
    ed25519::is_key(&ED25519_PUBLIC)
}

/// Hashes and checks.
pub fn verify() -> bool {
    ed25519::is_signed(black_box(&ED25519_PUBLIC), &[&ED25519_MESSAGE], black_box(&ED25519_SIGNATURE))
}
