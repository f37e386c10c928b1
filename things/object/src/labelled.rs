//! What is hashed or signed here is told apart by a label, and every field has a length before it,
//! so that no two things have the same bytes (`docs/spec/identity.md`).

use sha2::{Digest, Sha256};

use crate::key::PublicKey;

/// Bytes that everything begins with: what it is for.
pub(crate) struct Label(pub(crate) &'static [u8]);

pub(crate) const IDENTITY: Label = Label(b"motemix/1 identity");
pub(crate) const GROUP: Label = Label(b"motemix/1 group");
pub(crate) const MEMBER: Label = Label(b"motemix/1 group member");
pub(crate) const TEMPORARY: Label = Label(b"motemix/1 temporary identity");
pub(crate) const KEY_ID: Label = Label(b"motemix/1 reading key id");
pub(crate) const REQUEST: Label = Label(b"motemix/1 request");

/// SHA-256 over fields.
#[derive(Clone)]
pub(crate) struct Hash(Sha256);

impl Hash {
    pub(crate) fn new(label: &Label) -> Self {
        Self(Sha256::new()).string(label.0)
    }

    /// Bytes with their length before them, in two bytes, big-endian. All callers have fewer than
    /// 65,536 bytes.
    pub(crate) fn string(self, bytes: &[u8]) -> Self {
        let [.., high, low] = bytes.len().to_be_bytes();
        self.raw(&[high, low]).raw(bytes)
    }

    /// Bytes of a length that is known.
    pub(crate) fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.update(bytes);
        self
    }

    /// A key: its curve's number in COSE, then its bytes as a string.
    pub(crate) fn key(self, key: &PublicKey) -> Self {
        self.raw(&[key.algorithm().curve()]).string(key.as_bytes())
    }

    pub(crate) fn finish(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}

/// The first bytes of a hash.
pub(crate) fn first<const N: usize>(hash: &[u8; 32]) -> [u8; N] {
    const { assert!(N <= 32, "a hash has 32 bytes") };
    let mut bytes = [0; N];
    bytes.iter_mut().zip(hash).for_each(|(to, from)| *to = *from);
    bytes
}
