//! Keys that sign, and the two algorithms that there are.

mod canonical;
mod ed25519;
mod private;

pub use ed25519::Ed25519Key;
pub use private::PrivateKey;

use core::fmt;

use motemix_crypto::ed25519::is_key;
use p256::ecdsa::signature::hazmat::PrehashVerifier;
use p256::elliptic_curve::sec1::ToSec1Point;
use sha2::{Digest, Sha256};

/// Bytes of a signature of either algorithm.
pub const SIGNATURE_LEN: usize = 64;
/// Bytes of a private key: a seed (RFC 8032, 5.1.5), or a scalar, big-endian.
pub const PRIVATE_KEY_LEN: usize = 32;
/// Bytes of the longest public key.
pub const MAX_PUBLIC_KEY_LEN: usize = 33;

/// How a key signs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Algorithm {
    /// Ed25519 (RFC 8032); COSE's algorithm −8 on its curve 6 (RFC 9053). A public key has 32
    /// bytes.
    Ed25519,
    /// ECDSA over P-256 with SHA-256; COSE's algorithm −7 on its curve 1, for secure elements that
    /// have no other. A public key is a compressed point of 33 bytes (SEC 1, 2.3.3). Whoever has a
    /// signature can compute the key that made it (SEC 1, 4.1.6), so it is not for anonymous paths.
    Es256,
}

impl Algorithm {
    /// The algorithm's number in COSE's registry (RFC 9053, 2.1 and 2.2).
    pub const fn cose(self) -> i8 {
        match self {
            Self::Ed25519 => -8,
            Self::Es256 => -7,
        }
    }

    /// The number of the curve in COSE's registry (RFC 9053, 7.1): what keys are typed with.
    pub const fn curve(self) -> u8 {
        match self {
            Self::Ed25519 => 6,
            Self::Es256 => 1,
        }
    }

    /// The algorithm of a COSE number.
    pub const fn of_cose(number: i64) -> Option<Self> {
        match number {
            -8 => Some(Self::Ed25519),
            -7 => Some(Self::Es256),
            _ => None,
        }
    }

    /// Bytes of a public key.
    pub const fn public_key_len(self) -> usize {
        match self {
            Self::Ed25519 => 32,
            Self::Es256 => 33,
        }
    }

    /// The name that people read and write.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ed25519 => "ed25519",
            Self::Es256 => "es256",
        }
    }

    /// The algorithm that has this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Ed25519, Self::Es256].into_iter().find(|algorithm| algorithm.name() == name)
    }
}

/// The bytes are no key of this algorithm that only its owner can sign with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadKey(pub Algorithm);

impl fmt::Display for BadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a usable {} key", self.0.name())
    }
}

impl core::error::Error for BadKey {}

/// A public key, checked: a point of its curve, in its one form, and not of small order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey {
    algorithm: Algorithm,
    /// The last byte is zero for Ed25519.
    bytes: [u8; MAX_PUBLIC_KEY_LEN],
}

impl PublicKey {
    /// # Errors
    /// The length is another, or the bytes are no key that only its owner can sign with.
    pub fn new(algorithm: Algorithm, bytes: &[u8]) -> Result<Self, BadKey> {
        let bad = BadKey(algorithm);
        let usable = match algorithm {
            Algorithm::Ed25519 => return Self::ed25519(bytes),
            // The library takes other forms too, one of which has as many bytes: a key with two
            // forms would have two identities.
            Algorithm::Es256 => {
                bytes.len() == algorithm.public_key_len()
                    && matches!(bytes.first(), Some(2 | 3))
                    && p256::PublicKey::from_sec1_bytes(bytes).is_ok()
            }
        };
        if usable { Self::of(algorithm, bytes).ok_or(bad) } else { Err(bad) }
    }

    /// The same for Ed25519 alone, for programs that have no room for P-256.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn ed25519(bytes: &[u8]) -> Result<Self, BadKey> {
        let bad = BadKey(Algorithm::Ed25519);
        if bytes.try_into().is_ok_and(is_key) { Self::of(bad.0, bytes).ok_or(bad) } else { Err(bad) }
    }

    fn of(algorithm: Algorithm, bytes: &[u8]) -> Option<Self> {
        let mut key = Self { algorithm, bytes: [0; MAX_PUBLIC_KEY_LEN] };
        key.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(key)
    }

    /// What memory for keys holds before there are any: no key, so do not check with it.
    pub const PLACE: Self = Self { algorithm: Algorithm::Ed25519, bytes: [0; MAX_PUBLIC_KEY_LEN] };

    /// How it checks.
    pub const fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The key's bytes: 32 for Ed25519, 33 for ES256.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.algorithm.public_key_len()).unwrap_or_default()
    }

    /// Both coordinates of a point of P-256, big-endian; `None` for Ed25519.
    pub fn coordinates(&self) -> Option<([u8; 32], [u8; 32])> {
        if self.algorithm != Algorithm::Es256 {
            return None;
        }
        let point = p256::PublicKey::from_sec1_bytes(self.as_bytes()).ok()?.to_sec1_point(false);
        let (_, coordinates) = point.as_bytes().split_first()?;
        let (x, y) = coordinates.split_first_chunk::<32>()?;
        Some((*x, y.try_into().ok()?))
    }

    /// Whether `signature` is by this key over the concatenated parts.
    #[must_use]
    pub fn verifies(&self, parts: &[&[u8]], signature: &[u8; SIGNATURE_LEN]) -> bool {
        match self.algorithm {
            Algorithm::Ed25519 => {
                self.as_bytes().try_into().is_ok_and(|key| ed25519_verifies(key, parts, signature))
            }
            Algorithm::Es256 => {
                let (Ok(key), Ok(signature)) = (
                    p256::ecdsa::VerifyingKey::from_sec1_bytes(self.as_bytes()),
                    p256::ecdsa::Signature::from_slice(signature),
                ) else {
                    return false;
                };
                key.verify_prehash(&digest(parts), &signature).is_ok()
            }
        }
    }
}

/// On a host by a library, which is faster; on a board by the smaller check.
#[cfg(not(target_os = "none"))]
pub(crate) fn ed25519_verifies(key: &[u8; 32], parts: &[&[u8]], signature: &[u8; SIGNATURE_LEN]) -> bool {
    use ed25519_dalek::ed25519::signature::MultipartVerifier as _;
    let signature = ed25519_dalek::Signature::from_bytes(signature);
    ed25519_dalek::VerifyingKey::from_bytes(key)
        .is_ok_and(|key| key.multipart_verify(parts, &signature).is_ok())
}

#[cfg(target_os = "none")]
pub(crate) fn ed25519_verifies(key: &[u8; 32], parts: &[&[u8]], signature: &[u8; SIGNATURE_LEN]) -> bool {
    motemix_crypto::ed25519::is_signed(key, parts, signature)
}

impl fmt::Display for PublicKey {
    /// The algorithm, a colon, and the bytes in hexadecimal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.algorithm.name())?;
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What signs: a key in memory, or a secure element that has one.
pub trait Signer {
    /// Why it could not sign.
    type Error: fmt::Debug;

    /// The key that checks what this one signs.
    fn public_key(&self) -> PublicKey;

    /// Signs the concatenated parts.
    ///
    /// # Errors
    /// What holds the key failed.
    fn sign(&mut self, parts: &[&[u8]], signature: &mut [u8; SIGNATURE_LEN]) -> Result<(), Self::Error>;
}

/// A key in memory that opens what was sealed to it, in its other form (`docs/spec/pairing.md`).
pub trait Agrees {
    /// The form that agrees on secrets.
    #[doc(hidden)]
    fn agreement_key(&self) -> crate::hpke::AgreementKey;
}

/// Software does not fail to sign.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NeverFails(());

fn digest(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
    }
    hash.finalize().into()
}
