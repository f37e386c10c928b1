//! The operations, from the files that the other boards run too.

#[path = "../../bench-objects/src/operations/ed25519.rs"]
pub mod ed25519;
#[path = "../../bench-objects/src/operations/own_curve25519.rs"]
pub mod own_curve25519;
#[path = "../../bench-objects/src/operations/own_p256.rs"]
pub mod own_p256;
#[path = "../../bench-objects/src/operations/vectors.rs"]
pub mod vectors;
#[path = "../../bench-objects/src/operations/x25519.rs"]
pub mod x25519;
