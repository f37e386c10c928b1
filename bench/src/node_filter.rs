//! The replay filter as a node uses it: a digest of the tag under a secret key, then fingerprints
//! in lent bytes. Both are private to the node, so they are compiled from its own files.

use siphasher::sip::SipHasher13;

use crate::journal::Digest;
use crate::replay::{FingerprintBits, Fingerprints, Owner};

/// A filter of one epoch.
pub struct NodeFilter<'m> {
    hash: SipHasher13,
    fingerprints: Fingerprints<'m>,
}

impl<'m> NodeFilter<'m> {
    /// What an epoch of so many packets needs on a host, in bytes.
    pub fn bytes_for(packets: usize) -> Option<usize> {
        FingerprintBits::HOST.bytes_for(packets)
    }

    /// An empty filter.
    pub fn new(memory: &'m mut [u8]) -> Self {
        let fingerprints = Fingerprints::new(memory, FingerprintBits::HOST);
        Self { hash: SipHasher13::new_with_key(&[7; 16]), fingerprints }
    }

    fn digest(&self, tag: u64) -> Digest {
        self.fingerprints.digest(self.hash.hash(&tag.to_le_bytes()))
    }

    /// Whether the tag was seen, or may have been.
    pub fn contains(&self, tag: u64) -> bool {
        self.fingerprints.contains(Owner::One, self.digest(tag))
    }

    /// What a node does with each packet: `false` if its tag may have been seen, or found no place.
    pub fn admit(&mut self, tag: u64) -> bool {
        let digest = self.digest(tag);
        !self.fingerprints.contains(Owner::One, digest)
            && self.fingerprints.insert(Owner::One, digest).is_ok()
    }
}
