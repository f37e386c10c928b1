//! The modules of `motemix-crypto` that an AVR can hold, from the same files. The whole crate does not
//! compile for it: dalek's table of multiples of the base point is larger than an array may be where
//! addresses have 16 bits.

#![no_std]
#![forbid(unsafe_code)]

#[path = "../../../../../base/crypto/src/curve/mod.rs"]
pub mod curve;
#[path = "../../../../../base/crypto/src/ed25519/mod.rs"]
pub mod ed25519;
#[path = "../../../../../base/crypto/src/p256/mod.rs"]
pub mod p256;
#[path = "../../../../../base/crypto/src/secret.rs"]
pub mod secret;

pub use curve::{Curve, PublicKey, SharedSecret, portable::Portable, words::BoardCurve};
pub use secret::Secret;
