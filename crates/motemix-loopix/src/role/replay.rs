//! Replay tags of a key that nobody changes on a schedule.

use std::collections::HashSet;

use motemix_sphinx::{ReplayError, ReplayFilter, ReplayTag};

/// What to do when no more tags fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WhenFull {
    /// Take nothing more: the key has to be changed.
    Refuse,
    /// Forget the older half, and count it: the originals never change their keys, and a node that stops
    /// would be worse for them.
    Forget,
}

/// The tags of the packets that a node has taken, cut to 64 bits.
#[derive(Debug)]
pub struct ReplayTags {
    capacity: usize,
    when_full: WhenFull,
    current: HashSet<u64>,
    older: HashSet<u64>,
    admitted: Vec<u64>,
    forgotten: u64,
}

impl ReplayTags {
    pub(crate) fn new(capacity: usize, when_full: WhenFull) -> Self {
        Self {
            capacity: capacity.max(2),
            when_full,
            current: HashSet::new(),
            older: HashSet::new(),
            admitted: Vec::new(),
            forgotten: 0,
        }
    }

    /// Takes over what a process before this one has admitted.
    pub(crate) fn restore(&mut self, tags: impl IntoIterator<Item = u64>) {
        for tag in tags {
            // Those beyond the capacity were forgotten, or refused, then as well.
            let _ = self.insert(tag);
        }
    }

    pub(crate) fn take_admitted(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.admitted)
    }

    pub(crate) const fn forgotten(&self) -> u64 {
        self.forgotten
    }

    fn insert(&mut self, tag: u64) -> Result<(), ReplayError> {
        if self.current.contains(&tag) || self.older.contains(&tag) {
            return Err(ReplayError::Replayed);
        }
        match self.when_full {
            WhenFull::Refuse if self.current.len() >= self.capacity => return Err(ReplayError::Full),
            WhenFull::Forget if self.current.len() >= self.capacity / 2 => {
                self.forgotten += self.older.len() as u64;
                self.older = std::mem::take(&mut self.current);
            }
            _ => {}
        }
        self.current.insert(tag);
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
        assert_eq!(refuses.admit(&tag(4)), Err(ReplayError::Full));
        assert_eq!(refuses.admit(&tag(3)), Err(ReplayError::Replayed));
        assert_eq!(forgets.admit(&tag(4)), Ok(()));
        assert_eq!(forgets.forgotten(), 2);
        assert_eq!(forgets.admit(&tag(3)), Err(ReplayError::Replayed));
        assert_eq!(forgets.admit(&tag(0)), Ok(()), "this one was forgotten");
    }

    #[test]
    fn what_was_restored_is_known_and_is_not_written_again() {
        let mut filter = ReplayTags::new(10, WhenFull::Refuse);
        filter.restore([1, 2]);
        assert!(filter.take_admitted().is_empty());
        assert_eq!(filter.admit(&tag(2)), Err(ReplayError::Replayed));
        assert_eq!(filter.admit(&tag(3)), Ok(()));
        assert_eq!(filter.take_admitted(), [3]);
    }
}
