//! Placeholder.
#![no_std]
/// A Curve25519 public key: the u-coordinate, as on the wire (RFC 7748 §5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PublicKey(pub [u8; 32]);
