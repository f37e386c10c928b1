//! Who may sign a document.

use core::fmt;

use blake2::{Blake2s256, Digest};
use motemix_crypto::ed25519;

use crate::signature::{self, Signer};
use crate::types::MAX_SIGNATURES;

/// The first 8 bytes of BLAKE2s-256 of a public key: says which key to try.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct KeyId(pub [u8; 8]);

impl KeyId {
    #[inline(never)]
    pub(crate) fn of(key: &[u8; 32]) -> Self {
        let mut id = [0; 8];
        id.iter_mut().zip(Blake2s256::digest(key)).for_each(|(to, from)| *to = from);
        Self(id)
    }
}

impl fmt::Display for KeyId {
    /// In hexadecimal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// An authority's Ed25519 public key (RFC 8032 §5.1), checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AuthorityKey {
    key: [u8; 32],
    id: KeyId,
}

impl AuthorityKey {
    /// # Errors
    /// The bytes are not a point of the curve, one of small order, for which anybody can sign, or
    /// no way in which RFC 8032 (§5.1.3) writes a point: erased flash, all ones, would pass
    /// otherwise.
    pub fn from_bytes(key: &[u8; 32]) -> Result<Self, AuthorityKeyError> {
        // The smaller check of both, as one of a key is rare.
        if ed25519::is_key(key) { Ok(Self::of(key)) } else { Err(AuthorityKeyError) }
    }

    fn of(key: &[u8; 32]) -> Self {
        Self { key: *key, id: KeyId::of(key) }
    }

    /// The key's 32 bytes.
    pub fn to_bytes(&self) -> [u8; 32] {
        self.key
    }

    /// What signatures name the key by.
    pub fn id(&self) -> KeyId {
        self.id
    }

    /// Whether `signature` is by this key over the concatenated parts.
    pub(crate) fn verifies(&self, parts: &[&[u8]], signature: &[u8; 64]) -> bool {
        signature::is_valid(&self.key, parts, signature)
    }
}

/// The bytes are not a public key that only its owner can sign with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AuthorityKeyError;

impl fmt::Display for AuthorityKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a usable Ed25519 public key; copy it from the authority again")
    }
}

impl core::error::Error for AuthorityKeyError {}

/// An authority's Ed25519 secret key. Wiped when dropped; prints as `AuthoritySecret(..)`.
pub struct AuthoritySecret(Signer);

impl AuthoritySecret {
    /// From 32 random bytes: the private key of RFC 8032 §5.1.5.
    pub fn from_bytes(seed: &[u8; 32]) -> Self {
        Self(Signer::from_bytes(seed))
    }

    /// The public key.
    pub fn public_key(&self) -> AuthorityKey {
        AuthorityKey::of(&self.0.public_key())
    }

    /// What signs for it.
    pub(crate) const fn signer(&self) -> &Signer {
        &self.0
    }
}

impl fmt::Debug for AuthoritySecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AuthoritySecret(..)")
    }
}

/// The authorities that a node trusts, and how many of them it takes.
#[derive(Clone, Copy, Debug)]
pub struct Authorities<'k> {
    keys: &'k [AuthorityKey],
    threshold: u8,
}

impl<'k> Authorities<'k> {
    /// `threshold` of `keys` must sign a document.
    ///
    /// # Errors
    /// See [`AuthoritiesError`].
    pub fn new(keys: &'k [AuthorityKey], threshold: u8) -> Result<Self, AuthoritiesError> {
        if keys.len() > MAX_SIGNATURES {
            return Err(AuthoritiesError::TooMany);
        }
        if threshold == 0 || usize::from(threshold) > keys.len() {
            return Err(AuthoritiesError::Threshold);
        }
        let mut later = keys;
        while let Some((key, rest)) = later.split_first() {
            if rest.iter().any(|other| other.id == key.id) {
                return Err(AuthoritiesError::Repeated(key.id));
            }
            later = rest;
        }
        Ok(Self { keys, threshold })
    }

    /// How many must sign.
    pub fn threshold(&self) -> u8 {
        self.threshold
    }

    /// How many need not sign.
    pub(crate) fn dispensable(&self) -> u8 {
        // At most MAX_SIGNATURES, and the threshold is not above it: `new`.
        (self.keys.len() as u8).saturating_sub(self.threshold)
    }

    /// The index and key that a key id names.
    pub(crate) fn find(&self, id: KeyId) -> Option<(usize, &'k AuthorityKey)> {
        self.keys.iter().enumerate().find(|(_, key)| key.id == id)
    }
}

/// A set of authorities that cannot be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum AuthoritiesError {
    /// More than [`MAX_SIGNATURES`] keys.
    TooMany,
    /// The threshold is zero, or above the number of keys.
    Threshold,
    /// Two keys are the same, or have the same id.
    Repeated(KeyId),
}

impl fmt::Display for AuthoritiesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany => write!(f, "too many authorities; name at most {MAX_SIGNATURES}"),
            Self::Threshold => f.write_str("threshold out of range; use 1 up to the number of authorities"),
            Self::Repeated(id) => write!(f, "authority {id} appears twice; name each once"),
        }
    }
}

impl core::error::Error for AuthoritiesError {}
