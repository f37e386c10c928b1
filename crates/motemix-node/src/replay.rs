//! A set of 64-bit tags in lent memory: the replay filter of a mix key, and the memory of messages.

use motemix_sphinx::{ReplayError, ReplayFilter, ReplayTag};
use siphasher::sip::SipHasher13;

/// An empty place. Tags are made nonzero by [`nonzero`].
const EMPTY: u64 = 0;

/// Tags differ in all bits but these, which the owner may use.
const FLAG_BITS: u64 = 0b11;

/// What a look-up finds.
pub(crate) enum Found<'t> {
    /// The tag is in the set; its place, flags included.
    Present(&'t mut u64),
    /// The tag is not in the set; where it may be written.
    Vacant(&'t mut u64),
    /// The tag is not in the set, and the set takes no more.
    Full,
}

/// Open addressing with linear probing, at most three quarters full. The place of a tag depends on a
/// key, so that nobody outside can choose tags that crowd together.
pub(crate) struct TagTable<'s> {
    places: &'s mut [u64],
    used: usize,
    key: SipHasher13,
}

impl<'s> TagTable<'s> {
    pub(crate) fn new(places: &'s mut [u64], key: SipHasher13) -> Self {
        places.fill(EMPTY);
        Self { places, used: 0, key }
    }

    pub(crate) fn clear(&mut self) {
        self.places.fill(EMPTY);
        self.used = 0;
    }

    pub(crate) const fn len(&self) -> usize {
        self.used
    }

    pub(crate) const fn capacity(&self) -> usize {
        self.places.len() / 4 * 3
    }

    /// Looks for `tag` without its flag bits. Writing to a vacant place must be told to [`Self::added`].
    pub(crate) fn find(&mut self, tag: u64) -> Found<'_> {
        let tag = nonzero(tag);
        let (capacity, used) = (self.capacity(), self.used);
        if self.places.is_empty() {
            return Found::Full;
        }
        let hash = self.key.hash(&tag.to_le_bytes());
        // Multiply-and-shift: the high bits of the hash scaled to the number of places.
        let mut at = ((u128::from(hash) * self.places.len() as u128) >> 64) as usize;
        // A quarter of the places is empty, so this ends.
        while self.places[at] != EMPTY && self.places[at] & !FLAG_BITS != tag {
            at += 1;
            if at == self.places.len() {
                at = 0;
            }
        }
        match &mut self.places[at] {
            place if *place != EMPTY => Found::Present(place),
            _ if used >= capacity => Found::Full,
            place => Found::Vacant(place),
        }
    }

    pub(crate) fn added(&mut self) {
        self.used += 1;
    }

    /// Adds `tag`, if it is new and there is room.
    pub(crate) fn insert(&mut self, tag: u64) -> Result<(), ReplayError> {
        match self.find(tag) {
            Found::Present(_) => Err(ReplayError::Replayed),
            Found::Full => Err(ReplayError::Full),
            Found::Vacant(place) => {
                *place = nonzero(tag);
                self.added();
                Ok(())
            }
        }
    }
}

impl ReplayFilter for TagTable<'_> {
    fn admit(&mut self, tag: &ReplayTag) -> Result<(), ReplayError> {
        self.insert(shorten(tag))
    }
}

/// Without flag bits, and not zero.
pub(crate) const fn nonzero(tag: u64) -> u64 {
    let tag = tag & !FLAG_BITS;
    if tag == EMPTY { FLAG_BITS + 1 } else { tag }
}

/// Sixty-two bits tell tags apart: an honest packet is taken for a replay once in 2^62 / n, and a
/// forger gains nothing by a collision, because only a fresh packet is refused for it.
pub(crate) fn shorten(tag: &ReplayTag) -> u64 {
    let [first, ..] = tag.0.as_chunks::<8>().0 else { return EMPTY };
    u64::from_le_bytes(*first)
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::collections::HashSet;

    fn key() -> SipHasher13 {
        SipHasher13::new_with_keys(1, 2)
    }

    #[test]
    fn the_table_agrees_with_a_set_until_it_says_that_it_is_full() {
        let mut places = [0; 64];
        let mut table = TagTable::new(&mut places, key());
        let mut set = HashSet::new();
        let mut tag = 0_u64;
        for n in 0..200_u64 {
            tag = tag.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(n << 7);
            let tag = tag % 97 * 4;
            let expected = if set.contains(&nonzero(tag)) {
                Err(ReplayError::Replayed)
            } else if set.len() == 48 {
                Err(ReplayError::Full)
            } else {
                set.insert(nonzero(tag));
                Ok(())
            };
            assert_eq!(table.insert(tag), expected, "step {n}");
        }
        assert_eq!(table.len(), 48, "three quarters of the places");
    }

    #[test]
    fn memory_of_no_length_is_full_and_not_a_panic() {
        assert_eq!(TagTable::new(&mut [], key()).insert(5), Err(ReplayError::Full));
    }

    #[test]
    fn a_full_table_still_knows_what_it_has_seen() {
        let mut places = [0; 4];
        let mut table = TagTable::new(&mut places, key());
        for tag in [4, 8, 12] {
            assert_eq!(table.insert(tag), Ok(()));
        }
        assert_eq!(table.insert(16), Err(ReplayError::Full));
        assert_eq!(table.insert(8), Err(ReplayError::Replayed));
        table.clear();
        assert_eq!(table.insert(8), Ok(()));
    }
}
