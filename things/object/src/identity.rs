//! I = h(P|O): an identity that its owner made (RFC 8387, 4.1).

use core::fmt;

use sha2::{Digest, Sha256};

use crate::key::PublicKey;
use crate::labelled::{Hash, IDENTITY, TEMPORARY, first};

/// The longest value of [`Other`], in bytes.
pub const MAX_OTHER_LEN: usize = 64;
/// The most values beside a key.
pub const MAX_OTHERS: usize = 8;

/// What a value beside the key says: the type of a part of O.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum OtherKind {
    /// The serial number that the maker gave the device.
    Serial,
    /// Who made it.
    Maker,
    /// What it is.
    Model,
    /// Something of one's own, from 128 on.
    Private(u8),
}

impl OtherKind {
    /// The type's number (`docs/spec/identity.md`).
    pub const fn number(self) -> u8 {
        match self {
            Self::Serial => 1,
            Self::Maker => 2,
            Self::Model => 3,
            Self::Private(number) => number,
        }
    }

    /// The type of a number.
    pub const fn of_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Serial),
            2 => Some(Self::Maker),
            3 => Some(Self::Model),
            128..=255 => Some(Self::Private(number)),
            _ => None,
        }
    }
}

/// A part of O: other information that the identity covers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Other<'a> {
    /// What it says.
    pub kind: OtherKind,
    /// The value, of up to [`MAX_OTHER_LEN`] bytes.
    pub value: &'a [u8],
}

/// A value beside the key is too long, or there are too many.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooMuch;

impl fmt::Display for TooMuch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at most {MAX_OTHERS} values of up to {MAX_OTHER_LEN} bytes stand beside a key")
    }
}

impl core::error::Error for TooMuch {}

/// The hash of a public key and of what stands beside it.
///
/// An identity is no secret, and says nothing about the device. Whoever knows it can check the key
/// that a device shows. People read its first 16 bytes ([`short`](Self::short)); for 2⁶⁴ work
/// somebody can make two keys of the same short identity, and for 2¹²⁸ one of a given one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity([u8; Identity::LEN]);

impl Identity {
    /// Bytes of an identity in full.
    pub const LEN: usize = 32;
    /// Bytes of the short form: RFC 8387's 32 hexadecimal digits.
    pub const SHORT_LEN: usize = 16;

    /// An identity that somebody else computed.
    pub const fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        Self(bytes)
    }

    /// The identity of a key and of what stands beside it, in the order that it is given in.
    ///
    /// # Errors
    /// There is too much beside it.
    pub fn new(key: &PublicKey, others: &[Other<'_>]) -> Result<Self, TooMuch> {
        if others.len() > MAX_OTHERS || others.iter().any(|other| other.value.len() > MAX_OTHER_LEN) {
            return Err(TooMuch);
        }
        let mut hash = Hash::new(&IDENTITY).key(key);
        for other in others {
            hash = hash.raw(&[other.kind.number()]).string(other.value);
        }
        Ok(Self(hash.finish()))
    }

    /// The identity of a key that nothing stands beside.
    pub fn of_key(key: &PublicKey) -> Self {
        Self(Hash::new(&IDENTITY).key(key).finish())
    }

    /// The identity as RFC 8387 has it to the letter: the hash of one behind the other. It does not
    /// say where the key ends, so bytes may move from one to the other; for devices of others.
    pub fn raw(key: &[u8], others: &[u8]) -> Self {
        Self(Sha256::new().chain_update(key).chain_update(others).finalize().into())
    }

    /// All bytes.
    pub const fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }

    /// The first [`SHORT_LEN`](Self::SHORT_LEN) bytes.
    pub fn short(&self) -> [u8; Self::SHORT_LEN] {
        first(&self.0)
    }

    /// A name for one period of operation, so that the identity itself is only used to provision
    /// (RFC 8387, 4.1). Who knows the identity can compute it, and others cannot tell whose it is.
    pub fn temporary(&self, period: u64) -> [u8; 8] {
        first(&Hash::new(&TEMPORARY).raw(&self.0).raw(&period.to_be_bytes()).finish())
    }
}

impl fmt::Display for Identity {
    /// 64 hexadecimal digits, or as many as the precision says (`{:.32}`), in whole bytes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = f.precision().map_or(Self::LEN, |digits| digits.div_ceil(2));
        self.0.iter().take(bytes).try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
