//! How many packets of each neighbour are read that turn out to be none, or old ones: each costs a
//! scalar multiplication, which is a quarter of a second of a small board, and costs its sender
//! nothing.
//!
//! A neighbour may be wrong [`MOST`] times at once, and once more for each [`FORGIVEN_AFTER`] that
//! passes. What comes beyond that is not read. So whoever sends in the name of one neighbour takes
//! that neighbour's share, and no other's. Neighbours are sorted into classes as for the places of
//! the replay filter: by a keyed hash, in two rows, and the row decides in which less went wrong.

use crate::admission::LinkId;
use crate::{Instant, WindowKey};

/// Packets in vain that a neighbour may bring at once.
const MOST: u8 = 4;
/// One of them is forgiven after this time. That leaves fifteen sixteenths of its time to a board
/// that needs a quarter of a second for each.
const FORGIVEN_AFTER: u64 = 4_000_000; // µs
/// In each of the rows.
const CLASSES: usize = 16;

/// What is left of each neighbour's share.
pub struct ReadingShares {
    key: WindowKey,
    /// Packets in vain that were not forgiven yet.
    in_vain: [[u8; CLASSES]; 2],
    forgiven: Instant,
}

impl ReadingShares {
    /// All of them whole. The key keeps strangers from choosing addresses that share a class.
    pub const fn new(key: WindowKey) -> Self {
        Self { key, in_vain: [[0; CLASSES]; 2], forgiven: Instant::from_micros(0) }
    }

    /// Whether another packet of this neighbour is to be read.
    pub fn admits(&mut self, now: Instant, from: LinkId) -> bool {
        let times = now.as_micros().saturating_sub(self.forgiven.as_micros()) / FORGIVEN_AFTER;
        if times > 0 {
            let times = u8::try_from(times).unwrap_or(u8::MAX);
            self.in_vain.as_flattened_mut().iter_mut().for_each(|count| *count = count.saturating_sub(times));
            self.forgiven = now;
        }
        let counts = self.in_vain.iter().zip(self.classes(from)).map(|(row, class)| row[class]);
        counts.min().unwrap_or(0) < MOST
    }

    /// A packet of this neighbour was read in vain.
    pub fn was_in_vain(&mut self, from: LinkId) {
        let classes = self.classes(from);
        for (row, class) in self.in_vain.iter_mut().zip(classes) {
            row[class] = row[class].saturating_add(1).min(MOST);
        }
    }

    fn classes(&self, LinkId(from): LinkId) -> [usize; 2] {
        let hash = self.key.hasher().hash(&from.to_le_bytes()) as usize;
        [hash % CLASSES, hash / CLASSES % CLASSES]
    }
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng;

    use super::*;

    fn shares() -> ReadingShares {
        ReadingShares::new(WindowKey::draw(&mut ChaCha8Rng::seed_from_u64(1)))
    }

    fn at(seconds: u64) -> Instant {
        Instant::from_micros(seconds * 1_000_000)
    }

    /// How many of so many packets in vain are read, a hundred a second.
    fn read(shares: &mut ReadingShares, from: LinkId, seconds: u64) -> u32 {
        let mut read = 0;
        for hundredth in 0..seconds * 100 {
            if shares.admits(Instant::from_micros(hundredth * 10_000), from) {
                shares.was_in_vain(from);
                read += 1;
            }
        }
        read
    }

    #[test]
    fn who_brings_nothing_but_noise_is_read_once_in_four_seconds() {
        assert_eq!(read(&mut shares(), LinkId(7), 100), 4 + 24);
    }

    #[test]
    fn noise_in_the_name_of_one_neighbour_costs_hardly_any_other_its_share() {
        let mut shares = shares();
        read(&mut shares, LinkId(7), 100);
        let others = (100..1100).filter(|other| shares.admits(at(99), LinkId(*other))).count();
        assert!(others > 985, "{others} of 1000");
    }

    #[test]
    fn who_is_silent_for_a_while_has_all_of_its_share_again() {
        let mut shares = shares();
        read(&mut shares, LinkId(7), 1);
        assert!(!shares.admits(at(1), LinkId(7)));
        assert!(shares.admits(at(5), LinkId(7)));
        for _ in 0..4 {
            assert!(shares.admits(at(60), LinkId(7)));
            shares.was_in_vain(LinkId(7));
        }
        assert!(!shares.admits(at(60), LinkId(7)));
    }

    #[test]
    fn no_time_is_too_long() {
        let mut shares = shares();
        read(&mut shares, LinkId(7), 1);
        assert!(shares.admits(Instant::NEVER, LinkId(7)));
        assert!(shares.admits(at(0), LinkId(7)), "and a clock that goes back is none's loss");
    }
}
