//! Keys that sign, and the two algorithms that there are.

use core::fmt;

use motemix_crypto::{Secret, ed25519};
use p256::ecdsa::signature::hazmat::{PrehashSigner, PrehashVerifier};
use p256::elliptic_curve::sec1::ToSec1Point;
use rand_core::CryptoRng;
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
    /// Ed25519 (RFC 8032); COSE's algorithm −8 on its curve 6 (RFC 9053). A public key has 32 bytes.
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
            Algorithm::Ed25519 => bytes.try_into().is_ok_and(ed25519::is_key),
            Algorithm::Es256 => {
                bytes.len() == algorithm.public_key_len() && p256::PublicKey::from_sec1_bytes(bytes).is_ok()
            }
        };
        if usable { Self::of(algorithm, bytes).ok_or(bad) } else { Err(bad) }
    }

    fn of(algorithm: Algorithm, bytes: &[u8]) -> Option<Self> {
        let mut key = Self { algorithm, bytes: [0; MAX_PUBLIC_KEY_LEN] };
        key.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(key)
    }

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
fn ed25519_verifies(key: &[u8; 32], parts: &[&[u8]], signature: &[u8; SIGNATURE_LEN]) -> bool {
    use ed25519_dalek::ed25519::signature::MultipartVerifier as _;
    let signature = ed25519_dalek::Signature::from_bytes(signature);
    ed25519_dalek::VerifyingKey::from_bytes(key)
        .is_ok_and(|key| key.multipart_verify(parts, &signature).is_ok())
}

#[cfg(target_os = "none")]
fn ed25519_verifies(key: &[u8; 32], parts: &[&[u8]], signature: &[u8; SIGNATURE_LEN]) -> bool {
    ed25519::is_signed(key, parts, signature)
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
    fn sign(&mut self, parts: &[&[u8]]) -> Result<[u8; SIGNATURE_LEN], Self::Error>;
}

/// A private key in memory, which is wiped when it is dropped. Its signatures are deterministic
/// (RFC 8032; RFC 6979): a poor generator cannot give the key away.
pub struct PrivateKey {
    secret: Secret<PRIVATE_KEY_LEN>,
    public: PublicKey,
    signing: Signing,
}

enum Signing {
    #[cfg(not(target_os = "none"))]
    Ed25519(ed25519_dalek::SigningKey),
    #[cfg(target_os = "none")]
    Ed25519(ed25519::SigningKey),
    Es256(p256::ecdsa::SigningKey),
}

impl PrivateKey {
    /// A new key. Takes 32 bytes from the generator, and for ES256 as many again with a probability
    /// of 2⁻³².
    pub fn generate<R: CryptoRng + ?Sized>(algorithm: Algorithm, rng: &mut R) -> Self {
        loop {
            let mut secret = Secret::zero();
            rng.fill_bytes(secret.expose_mut());
            if let Ok(key) = Self::new(algorithm, secret) {
                return key;
            }
        }
    }

    /// A key that was kept.
    ///
    /// # Errors
    /// A scalar of P-256 is zero or not below the group's order.
    pub fn new(algorithm: Algorithm, secret: Secret<PRIVATE_KEY_LEN>) -> Result<Self, BadKey> {
        let bad = BadKey(algorithm);
        let (signing, public) = match algorithm {
            Algorithm::Ed25519 => {
                let (key, public) = ed25519_key(&secret);
                (Signing::Ed25519(key), PublicKey::of(algorithm, &public))
            }
            Algorithm::Es256 => {
                let key = p256::ecdsa::SigningKey::from_slice(secret.expose()).map_err(|_| bad)?;
                let public = key.verifying_key().to_sec1_point(true);
                let public = PublicKey::of(algorithm, public.as_bytes());
                (Signing::Es256(key), public)
            }
        };
        Ok(Self { secret, public: public.ok_or(bad)?, signing })
    }

    /// The bytes, to be kept.
    pub const fn expose(&self) -> &[u8; PRIVATE_KEY_LEN] {
        self.secret.expose()
    }
}

#[cfg(not(target_os = "none"))]
fn ed25519_key(secret: &Secret<PRIVATE_KEY_LEN>) -> (ed25519_dalek::SigningKey, [u8; 32]) {
    let key = ed25519_dalek::SigningKey::from_bytes(secret.expose());
    let public = key.verifying_key().to_bytes();
    (key, public)
}

#[cfg(target_os = "none")]
fn ed25519_key(secret: &Secret<PRIVATE_KEY_LEN>) -> (ed25519::SigningKey, [u8; 32]) {
    let key = ed25519::SigningKey::from_seed(secret);
    let public = *key.public_key();
    (key, public)
}

/// Software does not fail to sign.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NeverFails(());

impl Signer for PrivateKey {
    type Error = NeverFails;

    fn public_key(&self) -> PublicKey {
        self.public
    }

    fn sign(&mut self, parts: &[&[u8]]) -> Result<[u8; SIGNATURE_LEN], NeverFails> {
        match &self.signing {
            #[cfg(not(target_os = "none"))]
            Signing::Ed25519(key) => {
                use ed25519_dalek::ed25519::signature::MultipartSigner as _;
                Ok(key.try_multipart_sign(parts).map_err(|_| NeverFails(()))?.to_bytes())
            }
            #[cfg(target_os = "none")]
            Signing::Ed25519(key) => Ok(key.sign(parts)),
            Signing::Es256(key) => {
                let signature: p256::ecdsa::Signature =
                    key.sign_prehash(&digest(parts)).map_err(|_| NeverFails(()))?;
                Ok(signature.to_bytes().into())
            }
        }
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PrivateKey(..)")
    }
}

fn digest(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
    }
    hash.finalize().into()
}
