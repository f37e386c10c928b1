//! X25519 of the crate `curve25519-dalek`, on the first vector of RFC 7748, section 5.2.

use core::hint::black_box;

use curve25519_dalek::montgomery::MontgomeryPoint;

use super::vectors::{X25519_POINT, X25519_SECRET, X25519_SHARED};

/// One multiplication.
pub fn agree() -> bool {
    MontgomeryPoint(black_box(X25519_POINT)).mul_clamped(black_box(X25519_SECRET)).0 == X25519_SHARED
}
