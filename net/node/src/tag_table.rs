//! A table of 64-bit digests with two flag bits each, in lent memory: what a receiver remembers of
//! messages.

use motemix_crypto::Secret;
use rand_core::CryptoRng;
use siphasher::sip::SipHasher13;

/// An empty place. Tags are made nonzero by [`nonzero`].
const EMPTY: u64 = 0;

/// Tags differ in all bits but these, which the owner may use.
const FLAG_BITS: u64 = 0b11;

/// What a node's digests of messages, and their places, depend on besides the messages.
#[derive(Clone, Copy)]
pub struct WindowKey([u64; 2]);

impl WindowKey {
    /// A fresh one.
    pub fn draw<R: CryptoRng>(rng: &mut R) -> Self {
        let mut bytes = Secret::<16>::zero();
        rng.fill_bytes(bytes.expose_mut());
        let (halves, _) = bytes.expose().as_chunks::<8>();
        let mut key = [0; 2];
        key.iter_mut().zip(halves).for_each(|(word, half)| *word = u64::from_le_bytes(*half));
        Self(key)
    }

    // Made anew each time: it is five times as large as its key.
    pub(crate) fn hasher(self) -> SipHasher13 {
        let Self([first, second]) = self;
        SipHasher13::new_with_keys(first, second)
    }
}

/// What a look-up finds.
pub(crate) enum Found<'t> {
    /// The tag is in the set; its place, flags included.
    Present(&'t mut u64),
    /// The tag is not in the set; where it may be written.
    Vacant(&'t mut u64),
    /// The tag is not in the set, and the set takes no more.
    Full,
}

/// Open addressing with linear probing, at most three quarters full. The place of a tag depends on
/// a key, so that nobody outside can choose tags that crowd together.
pub(crate) struct TagTable<'s> {
    places: &'s mut [u64],
    used: usize,
    key: WindowKey,
}

impl<'s> TagTable<'s> {
    pub(crate) fn new(places: &'s mut [u64], key: WindowKey) -> Self {
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

    /// Looks for `tag` without its flag bits. Writing to a vacant place must be told to
    /// [`Self::added`].
    pub(crate) fn find(&mut self, tag: u64) -> Found<'_> {
        let tag = nonzero(tag);
        let (capacity, used) = (self.capacity(), self.used);
        if self.places.is_empty() {
            return Found::Full;
        }
        let hash = self.key.hasher().hash(&tag.to_le_bytes());
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
}

/// Without flag bits, and not zero.
pub(crate) const fn nonzero(tag: u64) -> u64 {
    let tag = tag & !FLAG_BITS;
    if tag == EMPTY { FLAG_BITS + 1 } else { tag }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::collections::HashSet;

    fn key() -> WindowKey {
        WindowKey([1, 2])
    }

    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    enum Added {
        Now,
        Before,
        Never,
    }

    fn add(table: &mut TagTable<'_>, tag: u64) -> Added {
        match table.find(tag) {
            Found::Present(_) => Added::Before,
            Found::Full => Added::Never,
            Found::Vacant(place) => {
                *place = nonzero(tag);
                table.added();
                Added::Now
            }
        }
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
                Added::Before
            } else if set.len() == 48 {
                Added::Never
            } else {
                set.insert(nonzero(tag));
                Added::Now
            };
            assert_eq!(add(&mut table, tag), expected, "step {n}");
        }
        assert_eq!(table.len(), 48, "three quarters of the places");
    }

    #[test]
    fn memory_of_no_length_is_full_and_not_a_panic() {
        assert_eq!(add(&mut TagTable::new(&mut [], key()), 5), Added::Never);
    }

    #[test]
    fn a_full_table_still_knows_what_it_has_seen() {
        let mut places = [0; 4];
        let mut table = TagTable::new(&mut places, key());
        for tag in [4, 8, 12] {
            assert_eq!(add(&mut table, tag), Added::Now);
        }
        assert_eq!(add(&mut table, 16), Added::Never);
        assert_eq!(add(&mut table, 8), Added::Before);
        table.clear();
        assert_eq!(add(&mut table, 8), Added::Now);
    }
}
