//! The node's replay filter beside a set that keeps whole digests: the filter may say "seen" too
//! often, and never "new".

use std::collections::HashSet;

use arbitrary::Arbitrary;

use crate::journal::Digest;
use crate::replay::{FilterFull, FingerprintBits, Fingerprints, Owner};

/// Which of the two epochs that share the memory.
#[derive(Clone, Copy, Arbitrary, Debug)]
pub enum Epoch {
    One,
    Two,
}

impl Epoch {
    const ALL: [Self; 2] = [Self::One, Self::Two];

    const fn owner(self) -> Owner {
        match self {
            Self::One => Owner::One,
            Self::Two => Owner::Two,
        }
    }
}

/// The filter and what it must not contradict.
pub struct Filter<'m> {
    filter: Fingerprints<'m>,
    truth: [HashSet<Digest>; 2],
    inserted: [u32; 2],
}

impl<'m> Filter<'m> {
    /// `None` for a length that fingerprints do not have.
    pub fn new(memory: &'m mut [u8], bits: u8) -> Option<Self> {
        let filter = Fingerprints::new(memory, FingerprintBits::new(bits)?);
        Some(Self { filter, truth: Default::default(), inserted: [0; 2] })
    }

    /// What a node does with a tag: looks it up, and adds it if it seems new.
    pub fn admit(&mut self, epoch: Epoch, bits: u64) {
        let (owner, digest) = (epoch.owner(), self.filter.digest(bits));
        let room = self.filter.room(owner);
        if self.filter.contains(owner, digest) {
            return;
        }
        assert!(!self.truth[epoch as usize].contains(&digest), "the filter forgot a tag");
        match self.filter.insert(owner, digest) {
            Ok(()) => {
                assert!(room > 0, "there was no room, and the tag was taken");
                assert!(self.filter.contains(owner, digest), "a tag that was just taken is new");
                self.truth[epoch as usize].insert(digest);
                self.inserted[epoch as usize] += 1;
            }
            Err(FilterFull) => assert_eq!(self.filter.room(owner), 0, "full, and there is room"),
        }
        self.check(epoch);
    }

    /// The epoch's key is gone, and its tags with it.
    pub fn release(&mut self, epoch: Epoch) {
        self.filter.release(epoch.owner());
        self.truth[epoch as usize].clear();
        self.inserted[epoch as usize] = 0;
        self.check(epoch);
    }

    /// All that was taken is still known.
    pub fn check_all(&self) {
        for epoch in Epoch::ALL {
            let known = |digest: &Digest| self.filter.contains(epoch.owner(), *digest);
            assert!(self.truth[epoch as usize].iter().all(known), "the filter forgot a tag");
            self.check(epoch);
        }
    }

    fn check(&self, epoch: Epoch) {
        assert_eq!(self.filter.tags(epoch.owner()), self.inserted[epoch as usize]);
    }
}
