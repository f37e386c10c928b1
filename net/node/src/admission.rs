//! Who gets the places of the replay filter, and when: so that a flood costs its sender's share,
//! and not the rest of the epoch.
//!
//! What is left of the filter is spread over what is left of the epoch, as by a token bucket whose
//! rate follows from both; an eighth of the capacity may be used in advance. The bucket is shared
//! by classes of neighbours as switches share a buffer: a class that is ahead of its turn may be so
//! as long as the others together still have as much (Choudhury and Hahne, "Dynamic Queue Length
//! Thresholds for Shared-Memory Packet Switches", IEEE/ACM Transactions on Networking 6(2), 1998,
//! with α = 1), and what time brings is divided equally among the classes that are ahead. Who sends
//! little is never ahead, and always admitted. A neighbour's class is a keyed hash of its link
//! (McKenney, "Stochastic Fairness Queueing", INFOCOM 1990), new in each epoch. It has two, in two
//! rows that are counted apart, and the one that is less ahead decides (as in Feng, Kandlur, Saha,
//! Shin, "Stochastic Fair Blue", INFOCOM 2001): so one neighbour in 256, and not one in 16, shares
//! its fate with a flooder.
//!
//! What it does not protect against: where links are plain, a sender that forges the addresses of
//! many neighbours is in many classes, and takes the share of each.

use siphasher::sip::SipHasher13;

use crate::Instant;

/// Names the neighbour that a datagram came from: any number that is the same for the same
/// neighbour and differs between neighbours, such as an EUI-64 or a hash of an address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LinkId(pub u64);

/// In each of the rows.
const CLASSES: usize = 16;
const ROWS: usize = 2;
/// The part of the capacity that may be used in advance.
const BURST: u32 = 8;
/// The least part of an epoch over which places are spread: when its end is near or past.
const LATE: u64 = 64;

/// Sorts neighbours into classes.
pub(crate) struct Classes(SipHasher13);

/// Classes of a neighbour, one in each row.
#[derive(Clone, Copy)]
pub(crate) struct Class([usize; ROWS]);

impl Classes {
    pub(crate) fn new(keys: [u64; 2]) -> Self {
        Self(SipHasher13::new_with_keys(keys[0], keys[1]))
    }

    pub(crate) fn of(&self, link: LinkId) -> Class {
        let hash = self.0.hash(&link.0.to_le_bytes()) as usize;
        Class([hash % CLASSES, hash / CLASSES % CLASSES])
    }
}

/// For how long the places have to last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Term {
    /// The epoch has not begun: an eighth of the capacity is all for now.
    Ahead,
    /// Nobody said. Places go to whoever comes first.
    Unknown,
    /// From here until there.
    Known { from: Instant, until: Instant },
}

/// The places of one epoch.
pub(crate) struct Admission {
    term: Term,
    /// By how many places each class is ahead of its turn. The rows have one sum.
    ahead: [[u32; CLASSES]; ROWS],
    paid: Instant,
    /// What is too little for a place, in places times microseconds that are left.
    rest: u64,
}

/// What the filter says of the epoch.
#[derive(Clone, Copy)]
pub(crate) struct Places {
    pub(crate) capacity: u32,
    pub(crate) left: u32,
}

impl Admission {
    pub(crate) const fn ahead() -> Self {
        Self { term: Term::Ahead, ahead: [[0; CLASSES]; ROWS], paid: Instant::from_micros(0), rest: 0 }
    }

    /// The places are to last until then; [`Instant::NEVER`] if nobody knows when that is.
    pub(crate) fn last_until(&mut self, now: Instant, until: Instant) {
        self.term = if until == Instant::NEVER { Term::Unknown } else { Term::Known { from: now, until } };
        (self.paid, self.rest) = (now, 0);
    }

    /// Whether a packet of this class may take a place now.
    pub(crate) fn admits(&mut self, now: Instant, class: Class, places: Places) -> bool {
        if self.term == Term::Unknown {
            return true;
        }
        let burst = (places.capacity / BURST).max(1);
        let unused = burst.saturating_sub(self.total());
        self.pass(now, places.left.saturating_sub(unused));
        let ahead = self.ahead.iter().zip(class.0).map(|(row, class)| row[class]).min().unwrap_or(0);
        ahead < burst.saturating_sub(self.total())
    }

    /// A packet of this class took a place.
    pub(crate) fn took(&mut self, class: Class) {
        if self.term != Term::Unknown {
            for (row, class) in self.ahead.iter_mut().zip(class.0) {
                row[class] += 1;
            }
        }
    }

    fn total(&self) -> u32 {
        self.ahead[0].iter().sum()
    }

    /// Pays back what time has brought, when so many places are to be spread over the time left.
    fn pass(&mut self, now: Instant, spread: u32) {
        let Term::Known { from, until } = self.term else { return };
        let (now, from, until) = (now.as_micros(), from.as_micros(), until.as_micros());
        let least = (until.saturating_sub(from) / LATE).max(1);
        let left = until.saturating_sub(now).max(least);
        let brought = u64::from(spread)
            .saturating_mul(now.saturating_sub(self.paid.as_micros()))
            .saturating_add(self.rest);
        (self.paid, self.rest) = (Instant::from_micros(now), brought % left);
        let places = u32::try_from(brought / left).unwrap_or(u32::MAX);
        if places >= self.total() {
            // Nobody is ahead, and nothing is saved up.
            (self.ahead, self.rest) = ([[0; CLASSES]; ROWS], 0);
        } else {
            self.ahead.iter_mut().for_each(|row| pay(row, places));
        }
    }
}

/// Divides what is paid back equally among the classes that are ahead.
fn pay(row: &mut [u32; CLASSES], mut places: u32) {
    // Each round uses up what there is, or ends a class.
    while places > 0 {
        let count = row.iter().filter(|ahead| **ahead > 0).count() as u32;
        if count == 0 {
            return;
        }
        let each = (places / count).max(1);
        // One place goes to who is furthest ahead.
        let most = if places < count { row.iter().copied().max().unwrap_or(0) } else { 1 };
        for ahead in row.iter_mut().filter(|ahead| **ahead >= most) {
            let paid = each.min(*ahead).min(places);
            *ahead -= paid;
            places -= paid;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::vec::Vec;

    const SECOND: u64 = 1_000_000;

    fn at(seconds: u64) -> Instant {
        Instant::from_micros(seconds * SECOND)
    }

    #[test]
    fn what_is_paid_back_is_divided_equally_and_the_furthest_ahead_comes_first() {
        let mut row = [0; CLASSES];
        row[..3].copy_from_slice(&[10, 2, 7]);
        pay(&mut row, 9);
        assert_eq!(row[..3], [6, 0, 4]);
        pay(&mut row, 1);
        assert_eq!(row[..3], [5, 0, 4]);
        pay(&mut row, u32::MAX);
        assert_eq!(row, [0; CLASSES]);
    }

    #[test]
    #[cfg_attr(miri, ignore = "it takes many packets")]
    fn one_class_alone_gets_half_a_burst_in_advance_and_then_the_rate() {
        let mut admission = Admission::ahead();
        admission.last_until(at(0), at(1000));
        let (capacity, mut used) = (8000, 0);
        let mut take = |now| {
            let mut taken = 0;
            while admission.admits(now, Class([3, 5]), Places { capacity, left: capacity - used }) {
                admission.took(Class([3, 5]));
                (taken, used) = (taken + 1, used + 1);
            }
            taken
        };
        assert_eq!(take(at(0)), 500);
        let per_second: Vec<_> = (1..980).map(|now| take(at(now))).collect();
        assert!(per_second.iter().all(|taken| (6..=8).contains(taken)), "{per_second:?}");
        // After the end it goes on, slower and slower.
        let after: u32 = (980..2000).map(|now| take(at(now))).sum();
        assert!((100..8000 - 7 * 980).contains(&after), "{after}");
        assert!(used < capacity);
    }

    #[test]
    fn who_shares_one_of_its_two_classes_with_a_flooder_does_not_suffer() {
        let mut admission = Admission::ahead();
        admission.last_until(at(0), at(1000));
        let (flooder, neighbour) = (Class([3, 5]), Class([3, 6]));
        let places = Places { capacity: 800, left: 800 };
        while admission.admits(at(0), flooder, places) {
            admission.took(flooder);
        }
        for now in 0..100 {
            assert!(admission.admits(at(now * 10), neighbour, places));
            admission.took(neighbour);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "it takes many packets")]
    fn before_its_epoch_begins_a_class_gets_its_part_of_the_burst_and_no_more() {
        let mut admission = Admission::ahead();
        let places = Places { capacity: 800, left: 800 };
        let mut taken = 0;
        for now in 0..10_000 {
            if admission.admits(at(now), Class([0, 1]), places) {
                admission.took(Class([0, 1]));
                taken += 1;
            }
        }
        assert_eq!(taken, 50);
    }

    #[test]
    fn places_without_a_term_are_for_whoever_comes() {
        let mut admission = Admission::ahead();
        admission.last_until(at(0), Instant::NEVER);
        assert!((0..100).all(|_| {
            admission.took(Class([0, 1]));
            admission.admits(at(0), Class([0, 1]), Places { capacity: 8, left: 0 })
        }));
    }
}
