//! The replay filter as a node uses it: a digest of the tag under a secret key, then fingerprints
//! in lent bytes. Both are private to the node, so they are compiled from its own files.

use motemix_sphinx::{ReplayError, ReplayFilter, ReplayTag};
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

/// The filter for a packet that comes again and again as if it were another one each time.
pub struct FreshTags<'m> {
    filter: NodeFilter<'m>,
    asked: u64,
}

impl<'m> FreshTags<'m> {
    /// Asks this filter.
    pub fn new(filter: NodeFilter<'m>) -> Self {
        Self { filter, asked: 0 }
    }
}

impl ReplayFilter for FreshTags<'_> {
    fn admit(&mut self, tag: &ReplayTag) -> Result<(), ReplayError> {
        self.asked += 1;
        let start = tag.0.first_chunk().map_or(0, |start| u64::from_le_bytes(*start));
        if self.filter.admit(start ^ self.asked) { Ok(()) } else { Err(ReplayError::Replayed) }
    }
}
