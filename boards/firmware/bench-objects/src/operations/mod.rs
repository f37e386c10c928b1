//! The operations. Each takes published vectors and says whether the vectors' result came out.

pub mod ed25519;
pub mod own_curve25519;
pub mod own_p256;
pub mod p256_crate;
pub mod vectors;
pub mod x25519;
