//! The primitives of a link: P-256, AES-128 and SHA-256. A [`Suite`] is a value, because an
//! accelerator has registers, and each call may fail, because an accelerator can
//! ([`Refused::Engine`]). `boards/drivers/cc2538-crypto` has the suite of one. Two compute in
//! software:
//!
//! | suite | P-256 | for |
//! |---|---|---|
//! | [`P256`] | the crate `p256`: 64-bit or 32-bit products | hosts |
//! | [`HalfWordsP256`] | [`motemix_crypto::p256`]: products of 13-bit numbers | boards; constant time on a Cortex-M3 too |
//!
//! Keys are checked with the arithmetic of [`motemix_crypto::p256`], whichever suite uses them: a
//! program links no other for it.

mod half_words;
mod nonces;
mod software;
mod symmetric;

use core::fmt;
use motemix_crypto::Secret;
use motemix_crypto::p256::{Point, Scalar};
use rand_core::CryptoRng;
use sha2::{Digest, Sha256};

pub use half_words::HalfWordsP256;
pub use nonces::Nonces;
pub use software::P256;
pub use symmetric::SoftwareAes;

/// Bytes of a private key: a scalar, big-endian.
pub const PRIVATE_KEY_LEN: usize = 32;
/// Bytes of a compressed point (SEC 1, 2.3.3).
pub const PUBLIC_KEY_LEN: usize = 33;
/// Bytes of a point's two coordinates, as TinyCrypt has public keys.
pub const COORDINATES_LEN: usize = 64;
/// Bytes of an ECDSA signature: r and s, big-endian (FIPS 186-5).
pub const SIGNATURE_LEN: usize = 64;
/// Bytes of an AES-128 key.
pub const KEY_LEN: usize = 16;
/// Bytes of a block of AES.
pub const BLOCK_LEN: usize = 16;
/// Bytes of the nonce of AES-CCM-16-64-128 (RFC 9053, section 4.2).
pub const NONCE_LEN: usize = 13;
/// Bytes of its tag.
pub const TAG_LEN: usize = 8;

/// Why a suite, or the protocol on top of it, refuses bytes. A peer is told none of this.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Refused {
    /// The bytes are too short or too long for what they should be.
    Length,
    /// The message is of another kind.
    Kind,
    /// A private key is zero or not below the group's order.
    PrivateKey,
    /// A public key is no point of the curve.
    PublicKey,
    /// A signature was not made by this key over these bytes.
    Signature,
    /// A ciphertext was altered, or is under another key.
    Ciphertext,
    /// The message has arrived before, or is too old to tell.
    Replayed,
    /// The message that came last has come once more, byte for byte: its receipt was lost, perhaps.
    Repeated,
    /// The peer's identity is not admitted.
    Stranger,
    /// All message numbers of the session are used; another handshake is due.
    Exhausted,
    /// The accelerator failed, or what it gave is wrong. Nobody is to blame for the bytes: they may
    /// be tried again.
    Engine,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Length => "the length is wrong",
            Self::Kind => "the message is of another kind",
            Self::PrivateKey => "not a private key",
            Self::PublicKey => "the public key is no point of the curve",
            Self::Signature => "the signature is wrong",
            Self::Ciphertext => "the ciphertext was altered, or its key is another",
            Self::Replayed => "the message arrived before, or is too old",
            Self::Repeated => "the last message came once more",
            Self::Stranger => "the peer is not admitted",
            Self::Exhausted => "the session's message numbers are used up; begin another handshake",
            Self::Engine => "the accelerator failed; try again",
        })
    }
}

impl core::error::Error for Refused {}

/// A scalar of P-256, which is wiped when it is dropped.
#[derive(Debug)]
pub struct PrivateKey(Scalar);

impl PrivateKey {
    /// A uniformly random key. Takes 32 bytes from the generator, and as many again with a
    /// probability of 2⁻³².
    pub fn generate<R: CryptoRng + ?Sized>(rng: &mut R) -> Self {
        loop {
            let mut bytes = Secret::zero();
            rng.fill_bytes(bytes.expose_mut());
            if let Ok(key) = Self::new(bytes) {
                return key;
            }
        }
    }

    /// A key that was kept. [`Refused::PrivateKey`] if it is zero or not below the group's order.
    #[allow(clippy::needless_pass_by_value)] // the caller's is to be wiped
    pub fn new(bytes: Secret<PRIVATE_KEY_LEN>) -> Result<Self, Refused> {
        Scalar::from_be_bytes(&bytes).map(Self).ok_or(Refused::PrivateKey)
    }

    /// The scalar, to be kept.
    pub const fn expose(&self) -> &[u8; PRIVATE_KEY_LEN] {
        self.0.expose()
    }

    /// A second copy, which wipes itself as well.
    #[must_use]
    pub const fn duplicate(&self) -> Self {
        Self(self.0.duplicate())
    }
}

/// A point of P-256 that is not the point at infinity, compressed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PublicKey([u8; PUBLIC_KEY_LEN]);

impl PublicKey {
    /// [`Refused::PublicKey`] if no point of the curve has these bytes.
    pub fn new(bytes: [u8; PUBLIC_KEY_LEN]) -> Result<Self, Refused> {
        let key = Self(bytes);
        key.point().map(|_| key)
    }

    /// From both coordinates, big-endian. [`Refused::PublicKey`] if the point is not on the curve.
    pub fn from_coordinates(bytes: &[u8; COORDINATES_LEN]) -> Result<Self, Refused> {
        Ok(Self::of(&Point::from_coordinates(bytes).ok_or(Refused::PublicKey)?))
    }

    /// Both coordinates, big-endian.
    pub fn coordinates(&self) -> [u8; COORDINATES_LEN] {
        // A value of this type is a point.
        self.point().map_or([0; COORDINATES_LEN], |point| point.to_coordinates())
    }

    /// The compressed point.
    pub const fn as_bytes(&self) -> &[u8; PUBLIC_KEY_LEN] {
        &self.0
    }

    fn of(point: &Point) -> Self {
        Self(point.compress())
    }

    fn point(&self) -> Result<Point, Refused> {
        Point::decompress(&self.0).ok_or(Refused::PublicKey)
    }
}

/// An ECDSA signature over a SHA-256 digest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Signature(pub [u8; SIGNATURE_LEN]);

/// What a link computes with. Key pairs, signatures and shared secrets are P-256's, messages are
/// AES-128's. Each function may say [`Refused::Engine`], which a suite in software never does; the
/// bytes that it would have changed are then not to be used.
pub trait Suite {
    /// AES: [`SoftwareAes`], or an accelerator's engine while it is borrowed.
    type Aes<'s>: Aes
    where
        Self: 's;

    /// The public key of a private one. One scalar multiplication.
    fn public_key(&mut self, private: &PrivateKey) -> Result<PublicKey, Refused>;

    /// The x-coordinate of the shared point (SP 800-56A, 5.7.1.2). One scalar multiplication.
    fn agree(&mut self, private: &PrivateKey, peer: &PublicKey) -> Result<Secret<32>, Refused>;

    /// Signs a digest. The nonce is RFC 6979's with random bytes added (its section 3.6), so a
    /// weak generator gives no key away, and a fault in one signature repeats in no other.
    fn sign<R: CryptoRng + ?Sized>(
        &mut self,
        private: &PrivateKey,
        digest: &[u8; 32],
        rng: &mut R,
    ) -> Result<Signature, Refused>;

    /// Checks a signature of a digest: [`Refused::Signature`].
    fn verify(&mut self, public: &PublicKey, digest: &[u8; 32], signature: &Signature)
    -> Result<(), Refused>;

    /// What computes AES.
    fn aes(&mut self) -> Self::Aes<'_>;
}

/// AES-128. Each function may say [`Refused::Engine`]; the bytes that it would have changed are
/// then not to be used.
pub trait Aes {
    /// One block of AES-128, in place.
    fn encrypt_block(&mut self, key: &Secret<KEY_LEN>, block: &mut [u8; BLOCK_LEN]) -> Result<(), Refused>;

    /// The inverse.
    fn decrypt_block(&mut self, key: &Secret<KEY_LEN>, block: &mut [u8; BLOCK_LEN]) -> Result<(), Refused>;

    /// AES-CCM-16-64-128 in place (RFC 3610, RFC 9053). [`Refused::Length`] if the message is
    /// longer than 65,535 bytes, or than an accelerator takes. A nonce may be used once with a key.
    fn seal(
        &mut self,
        key: &Secret<KEY_LEN>,
        nonce: &[u8; NONCE_LEN],
        associated: &[u8],
        message: &mut [u8],
    ) -> Result<[u8; TAG_LEN], Refused>;

    /// The inverse. [`Refused::Ciphertext`] if the tag is wrong; the bytes are then not to be used.
    fn open(
        &mut self,
        key: &Secret<KEY_LEN>,
        nonce: &[u8; NONCE_LEN],
        associated: &[u8],
        ciphertext: &mut [u8],
        tag: &[u8; TAG_LEN],
    ) -> Result<(), Refused>;
}

/// SHA-256 of several pieces.
pub(crate) fn digest(pieces: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for piece in pieces {
        hash.update(piece);
    }
    hash.finalize().into()
}
