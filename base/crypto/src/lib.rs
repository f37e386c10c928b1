//! The cryptography below the motemix packet: one curve, one stream cipher, one hash family and the
//! wide block built from them. Every derivation that uses these is named in `docs/spec/packet.md`.
//!
//! | module | what | source |
//! |---|---|---|
//! | [`curve`] | X25519 behind a trait, and the sender's blinded scalars | RFC 7748 |
//! | [`ed25519`] | Ed25519 signatures made and checked on boards | RFC 8032 |
//! | [`p224`] | NIST P-224, for packets of Loopix | FIPS 186-4 |
//! | [`p256`] | NIST P-256 and ECDSA in half words, for boards | FIPS 186-5 |
//! | [`stream`] | `ChaCha20` with a labelled nonce | RFC 8439 |
//! | [`aes_ccm`] | AES-CCM between neighbours | RFC 3610, RFC 9053 |
//! | [`hash`] | keyed BLAKE2s and BLAKE2b | RFC 7693 |
//! | [`wide_block`] | LIONESS | Anderson and Biham, FSE 1996 |
//! | [`uniform`] | random numbers below a bound | Lemire, TOMACS 29(1), 2019 |
//! | [`secret`] | bytes that wipe themselves and say nothing | |
//!
//! Deliberately absent: an allocator, a source of entropy, a clock, and any choice made at run
//! time but one: batches take the lanes that the processor has ([`curve::lanes`]). Curves arrive as
//! types ([`Curve`]), so a board's accelerator or a host's assembly takes
//! the place of the portable one without a feature flag.

#![no_std]
#![deny(unsafe_code)]

pub mod aes_ccm;
pub mod curve;
pub mod ed25519;
pub mod hash;
pub mod p224;
pub mod p256;
pub mod secret;
pub mod stream;
pub mod uniform;
pub mod wide_block;

pub use curve::words::{BoardCurve, BoardCurveWithoutTable};
pub use curve::{AsReceived, Curve, Pair, PublicKey, PublicPoint, SharedSecret, portable::Portable};
pub use hash::{WideBlake2b, WideBlake2s, WideHash};
pub use secret::Secret;

/// Tests take one case of so many in Miri, which needs seconds for a multiplication.
#[cfg(test)]
const ONE_IN: usize = if cfg!(miri) { 64 } else { 1 };

/// The snippets of the package's front page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
