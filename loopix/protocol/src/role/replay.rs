//! Replay tags of a key that nobody changes on a schedule, in less than five bytes each.
//!
//! A tag is kept as a fingerprint of 32 bits in a hash table with open addressing (Knuth, "The Art
//! of Computer Programming", volume 3, 6.4, algorithm L). A table is filled to seven eighths and
//! then followed by another one: memory grows with what is kept. Where a tag goes is a keyed hash
//! of it, so nobody can choose tags that crowd one place.
//!
//! A packet that is new is taken for a replay if one of about 33 fingerprints in each of 19 tables
//! at most is its own: one packet in six million, when the record is full. Its sender's next try
//! mends that.

use std::hash::{BuildHasher as _, RandomState};

use motemix_sphinx::{ReplayError, ReplayFilter, ReplayTag};

/// What to do when no more tags fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WhenFull {
    /// Take nothing more: the key has to be renewed.
    Refuse,
    /// Forget the older half, and count it: the originals never change their keys, and a node that
    /// stops would be worse for them.
    Forget,
}

/// The tags of the packets that a node has taken, cut to 64 bits.
#[derive(Debug)]
pub struct ReplayTags {
    capacity: usize,
    when_full: WhenFull,
    hash: RandomState,
    current: Fingerprints,
    older: Fingerprints,
    admitted: Vec<u64>,
    forgotten: u64,
}

impl ReplayTags {
    pub(crate) fn new(capacity: usize, when_full: WhenFull) -> Self {
        let capacity = capacity.max(2);
        Self {
            capacity,
            when_full,
            hash: RandomState::new(),
            current: Fingerprints::new(capacity),
            older: Fingerprints::new(capacity),
            admitted: Vec::new(),
            forgotten: 0,
        }
    }

    /// Takes over what a process before this one has admitted.
    pub(crate) fn restore(&mut self, tags: &[u64]) {
        for tag in tags {
            // Those beyond the capacity were forgotten, or refused, then as well.
            let _ = self.insert(*tag);
        }
    }

    pub(crate) fn take_admitted(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.admitted)
    }

    pub(crate) const fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// How many tags are kept.
    pub(crate) const fn held(&self) -> u64 {
        self.current.len as u64 + self.older.len as u64
    }

    /// How many tags can be kept.
    pub(crate) const fn most(&self) -> u64 {
        self.capacity as u64
    }

    fn insert(&mut self, tag: u64) -> Result<(), ReplayError> {
        let hash = self.hash.hash_one(tag);
        if self.current.contains(hash) || self.older.contains(hash) {
            return Err(ReplayError::Replayed);
        }
        match self.when_full {
            WhenFull::Refuse if self.current.len >= self.capacity => return Err(ReplayError::Full),
            WhenFull::Forget if self.current.len >= self.capacity / 2 => {
                self.forgotten += self.older.len as u64;
                let empty = Fingerprints::new(self.capacity);
                self.older = std::mem::replace(&mut self.current, empty);
            }
            _ => {}
        }
        self.current.insert(hash);
        Ok(())
    }
}

impl ReplayFilter for ReplayTags {
    fn admit(&mut self, tag: &ReplayTag) -> Result<(), ReplayError> {
        let tag = u64::from_le_bytes(*tag.0.first_chunk().expect("a tag of 16 bytes has 8"));
        self.insert(tag)?;
        self.admitted.push(tag);
        Ok(())
    }
}

/// Tables that a full record has about: few, as each is looked at for each packet, and not one, as
/// memory is to grow.
const TABLES: usize = 16;
/// Slots of the smallest and of the largest table.
const SLOTS: std::ops::RangeInclusive<usize> = 1 << 8..=1 << 26;
/// No fingerprint is this.
const EMPTY: u32 = 0;

/// Fingerprints of hashes.
#[derive(Debug)]
struct Fingerprints {
    /// The size of each table: a power of two.
    slots: usize,
    tables: Vec<Vec<u32>>,
    in_last: usize,
    len: usize,
}

impl Fingerprints {
    fn new(capacity: usize) -> Self {
        let slots = (capacity / TABLES).next_power_of_two().clamp(*SLOTS.start(), *SLOTS.end());
        Self { slots, tables: Vec::new(), in_last: 0, len: 0 }
    }

    fn contains(&self, hash: u64) -> bool {
        self.tables.iter().any(|table| slot_of(table, hash).is_err())
    }

    /// Adds a hash that is not here.
    fn insert(&mut self, hash: u64) {
        if self.tables.is_empty() || self.in_last >= self.slots / 8 * 7 {
            self.tables.push(vec![EMPTY; self.slots]);
            self.in_last = 0;
        }
        if let Some(table) = self.tables.last_mut()
            && let Ok(slot) = slot_of(table, hash)
        {
            table[slot] = fingerprint(hash);
            self.in_last += 1;
            self.len += 1;
        }
    }
}

const fn fingerprint(hash: u64) -> u32 {
    let low = hash as u32;
    if low == EMPTY { 1 } else { low }
}

/// The slot where a fingerprint may be put; an error if it is in the table. An eighth of the slots
/// is empty, so this ends.
fn slot_of(table: &[u32], hash: u64) -> Result<usize, AlreadyThere> {
    let mask = table.len() - 1;
    let mut slot = (hash >> 32) as usize & mask;
    loop {
        match table[slot] {
            EMPTY => return Ok(slot),
            found if found == fingerprint(hash) => return Err(AlreadyThere),
            _ => slot = (slot + 1) & mask,
        }
    }
}

struct AlreadyThere;

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(number: u64) -> ReplayTag {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        ReplayTag(bytes)
    }

    #[test]
    fn a_full_filter_refuses_or_forgets_as_it_was_told() {
        let mut refuses = ReplayTags::new(4, WhenFull::Refuse);
        let mut forgets = ReplayTags::new(4, WhenFull::Forget);
        for number in 0..4 {
            assert_eq!(refuses.admit(&tag(number)), Ok(()));
            assert_eq!(forgets.admit(&tag(number)), Ok(()));
            assert_eq!(refuses.admit(&tag(number)), Err(ReplayError::Replayed));
            assert_eq!(forgets.admit(&tag(number)), Err(ReplayError::Replayed));
        }
        assert_eq!((refuses.held(), refuses.most()), (4, 4));
        assert_eq!(refuses.admit(&tag(4)), Err(ReplayError::Full));
        assert_eq!(refuses.admit(&tag(3)), Err(ReplayError::Replayed));
        assert_eq!(forgets.admit(&tag(4)), Ok(()));
        assert_eq!((forgets.forgotten(), forgets.held()), (2, 3));
        assert_eq!(forgets.admit(&tag(3)), Err(ReplayError::Replayed));
        assert_eq!(forgets.admit(&tag(0)), Ok(()), "this one was forgotten");
    }

    #[test]
    fn what_was_restored_is_known_and_is_not_written_again() {
        let mut filter = ReplayTags::new(10, WhenFull::Refuse);
        filter.restore(&[1, 2]);
        assert!(filter.take_admitted().is_empty());
        assert_eq!(filter.admit(&tag(2)), Err(ReplayError::Replayed));
        assert_eq!(filter.admit(&tag(3)), Ok(()));
        assert_eq!(filter.take_admitted(), [3]);
    }

    #[test]
    fn nothing_is_forgotten_up_to_the_last_place_and_memory_grows_with_what_is_kept() {
        const CAPACITY: u64 = 1 << 20;
        let bytes = |filter: &ReplayTags| filter.current.tables.len() * filter.current.slots * 4;
        let mut filter = ReplayTags::new(CAPACITY as usize, WhenFull::Refuse);
        let mut refused = 0;
        let mut number = 0;
        while filter.held() < CAPACITY {
            refused += u64::from(filter.admit(&tag(number)) == Err(ReplayError::Replayed));
            number += 1;
            if number == CAPACITY / 100 {
                assert!(bytes(&filter) < 300_000, "{} bytes for the first hundredth", bytes(&filter));
            }
        }
        // One in six million at most; the hash is keyed at random, so a few are allowed.
        assert!(refused <= 3, "{refused} new packets were taken for replays");
        assert!((0..number).all(|number| filter.admit(&tag(number)) == Err(ReplayError::Replayed)));
        assert_eq!(filter.admit(&tag(number)), Err(ReplayError::Full));
        assert!(bytes(&filter) < 5 * filter.capacity, "{} bytes", bytes(&filter));
    }
}
