//! Which key signed a reading: a hint of six bytes, and the same shape on every path.

use crate::identity::Identity;
use crate::labelled::{Hash, KEY_ID, first};

/// Key ids of one device's readings on anonymous paths, one after another.
pub(crate) struct Rotating {
    device: Hash,
    /// The first six bytes of numbers, and the hash with them. They end a block, so each number
    /// takes one block more and not two.
    block: Option<(u64, Hash)>,
}

impl Rotating {
    pub(crate) fn of(identity: &Identity) -> Self {
        Self { device: Hash::new(&KEY_ID).raw(identity.as_bytes()), block: None }
    }

    pub(crate) fn at(&mut self, sequence: u64) -> KeyId {
        let [high @ .., a, b] = sequence.to_be_bytes();
        let block = sequence >> 16;
        let hash = match &self.block {
            Some((of, hash)) if *of == block => hash.clone(),
            _ => {
                let hash = self.device.clone().raw(&high);
                self.block = Some((block, hash.clone()));
                hash
            }
        };
        KeyId(first(&hash.raw(&[a, b]).finish()))
    }
}

/// A reading's key id. On a direct path it is the first four bytes of the identity and the low 16
/// bits of the sequence number. On an anonymous path it is six bytes of a hash of both, another
/// one for each reading: a constant one, or a number that counts, would link all readings.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct KeyId([u8; KeyId::LEN]);

impl KeyId {
    /// Bytes of a key id.
    pub const LEN: usize = 6;

    /// Who signed, for all to see, and the low bits of the sequence number.
    pub fn direct(identity: &Identity, sequence: u64) -> Self {
        let [a, b, c, d] = first(identity.as_bytes());
        let [.., high, low] = sequence.to_be_bytes();
        Self([a, b, c, d, high, low])
    }

    /// A name for one reading. Who knows the identity finds it by computing those of the next
    /// numbers.
    pub fn rotating(identity: &Identity, sequence: u64) -> Self {
        Rotating::of(identity).at(sequence)
    }

    /// A key id of a signed object; `None` if it has another length.
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// The bytes.
    pub const fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }

    /// The first bytes of the identity, of a direct one.
    pub fn named(&self) -> &[u8; 4] {
        let [named @ .., _, _] = &self.0;
        named
    }

    /// Whether it is a direct one of this identity.
    pub fn names(&self, identity: &Identity) -> bool {
        *self.named() == first(identity.as_bytes())
    }

    /// The low bits of the sequence number, of a direct one.
    pub const fn low(&self) -> u16 {
        let [.., high, low] = self.0;
        u16::from_be_bytes([high, low])
    }
}
