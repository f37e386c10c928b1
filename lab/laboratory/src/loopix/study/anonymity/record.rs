//! What an observer of every link notes, and what it concludes.
//!
//! The observer numbers the packets that it sees on links, and notes when each comes to a mix or
//! leaves one. Whoever leaves an honest mix is each of those inside with the same probability;
//! that holds for exponential delays, which have no memory, and for a mix that shuffles what it
//! sends at once. So each packet that leaves is given the mean of the masses inside. Of a corrupt
//! mix the observer knows which packet is which, so each keeps its own.
//!
//! [`Forwards`] follows one packet that entered to all that left: who gets it? [`backwards`]
//! follows one that left to all that entered: whose is it? The second is the first run backwards,
//! with the same weights, so that one pass answers for all senders at once.
//!
//! Simulated networks write such a record, and so do the sockets around networks of processes.

/// Something that the observer sees. Packets on links are numbered in the order in which they are
/// first seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A packet came to a mix.
    Came {
        /// The mix.
        mix: u32,
        /// The packet's number on the link that it came by.
        link: u32,
    },
    /// A packet left a mix.
    Left {
        /// The mix.
        mix: u32,
        /// The packet's number on the link that it took.
        link: u32,
        /// Its number on the link that it came by. A corrupt mix tells it; of an honest one it is
        /// not known, and not read.
        was: u32,
    },
}

/// What an observer noted about a network.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record {
    /// Whether each mix works for the observer.
    pub corrupt: Vec<bool>,
    /// In the order of their time.
    pub events: Vec<Event>,
    /// How many packets on links were numbered.
    pub links: u32,
}

/// The packets in a mix and what is known of them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Pool {
    packets: u32,
    mass: f64,
}

impl Pool {
    fn came(&mut self, mass: f64) {
        self.packets += 1;
        self.mass += mass;
    }

    /// The mean of the masses inside, which goes with the packet that leaves.
    fn left(&mut self) -> f64 {
        let mass = self.mass / f64::from(self.packets);
        self.packets -= 1;
        // What remains of subtracting is not mass.
        self.mass = if self.packets == 0 { 0.0 } else { (self.mass - mass).max(0.0) };
        mass
    }
}

/// The mass of one packet, followed event by event.
#[derive(Debug, Clone)]
pub struct Forwards {
    pools: Vec<Pool>,
    /// By number on a link, from `first` on.
    masses: Vec<f64>,
    first: u32,
}

impl Forwards {
    /// Nothing is known of anything yet. The mixes are empty.
    pub fn new(mixes: usize) -> Self {
        Self { pools: vec![Pool::default(); mixes], masses: Vec::new(), first: 0 }
    }

    /// Marks a packet on a link as the one to follow.
    pub fn mark(&mut self, link: u32) {
        *self.mass_mut(link) = 1.0;
    }

    /// The mass on a link.
    pub fn mass(&self, link: u32) -> f64 {
        let place = link.checked_sub(self.first);
        place.and_then(|place| self.masses.get(place as usize)).copied().unwrap_or(0.0)
    }

    fn mass_mut(&mut self, link: u32) -> &mut f64 {
        // Whatever came before the packet that is followed is not this packet.
        let place = link.saturating_sub(self.first) as usize;
        if place >= self.masses.len() {
            self.masses.resize(place + 1, 0.0);
        }
        &mut self.masses[place]
    }

    /// Takes account of an event.
    pub fn see(&mut self, event: Event, corrupt: &[bool]) {
        match event {
            Event::Came { mix, link } => {
                let mass = self.mass(link);
                self.pools[mix as usize].came(mass);
            }
            Event::Left { mix, link, was } => {
                let mean = self.pools[mix as usize].left();
                let mass = if corrupt[mix as usize] { self.mass(was) } else { mean };
                *self.mass_mut(link) = mass;
            }
        }
    }
}

impl Record {
    /// Entropy, bits, of which packet is the target when it has left, for every packet that enters
    /// at one of the events `targets`. `is_last` says which mixes are in the last layer. The record
    /// has to begin with empty mixes; there is nothing for a packet that may still be inside at its
    /// end.
    pub fn entropies(
        &self,
        targets: std::ops::Range<usize>,
        is_last: impl Fn(u32) -> bool,
    ) -> Vec<Option<f64>> {
        /// So much of a packet may be inside and not be missed.
        const NOTHING: f64 = 1e-6;
        let mut known = vec![false; self.links as usize];
        let mut now = Forwards::new(self.corrupt.len());
        let mut entropies = Vec::new();
        for (at, event) in self.events.iter().enumerate() {
            if let Event::Came { link, .. } = *event
                && !known[link as usize]
                && targets.contains(&at)
            {
                let mut forwards = Forwards { first: link, ..now.clone() };
                forwards.mark(link);
                let (mut left, mut bits) = (0.0, 0.0);
                for event in &self.events[at..] {
                    forwards.see(*event, &self.corrupt);
                    if let Event::Left { mix, link, .. } = *event
                        && is_last(mix)
                    {
                        left += forwards.mass(link);
                        bits += part(forwards.mass(link));
                    }
                    if left > 1.0 - NOTHING {
                        break;
                    }
                }
                entropies.push(Some(bits).filter(|_| left > 1.0 - NOTHING));
            }
            match *event {
                Event::Came { mix, link } => {
                    known[link as usize] = true;
                    now.pools[mix as usize].came(0.0);
                }
                Event::Left { mix, link, .. } => {
                    known[link as usize] = true;
                    now.pools[mix as usize].left();
                }
            }
        }
        entropies
    }
}

/// The probability that a packet which left was seen before on each link, by number. Events after
/// it left do not matter; the record has to begin with empty mixes.
pub fn backwards(record: &Record, target: u32) -> Vec<f64> {
    let mut masses = vec![0.0; record.links as usize];
    masses[target as usize] = 1.0;
    let left = |event: &Event| matches!(event, Event::Left { link, .. } if *link == target);
    let end = record.events.iter().position(left).map_or(0, |at| at + 1);
    let (mut pools, mut inside) = (vec![0.0; record.corrupt.len()], vec![0_u32; record.corrupt.len()]);
    for event in &record.events[..end] {
        match event {
            Event::Came { mix, .. } => inside[*mix as usize] += 1,
            Event::Left { mix, .. } => inside[*mix as usize] -= 1,
        }
    }
    for event in record.events[..end].iter().rev() {
        match *event {
            Event::Came { mix, link } => {
                inside[mix as usize] -= 1;
                if !record.corrupt[mix as usize] {
                    masses[link as usize] = pools[mix as usize];
                }
            }
            Event::Left { mix, link, was } => {
                inside[mix as usize] += 1;
                if record.corrupt[mix as usize] {
                    masses[was as usize] = masses[link as usize];
                } else {
                    let share = 1.0 / f64::from(inside[mix as usize]);
                    let pool = &mut pools[mix as usize];
                    *pool += (masses[link as usize] - *pool) * share;
                }
            }
        }
    }
    masses
}

/// −p log₂ p.
pub fn part(probability: f64) -> f64 {
    if probability > 0.0 { -probability * libm::log2(probability) } else { 0.0 }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "halves and quarters are exact")]
mod tests {
    use super::*;
    use Event::{Came, Left};

    /// Two packets in one mix, and then one of those that left with a third in another.
    fn record(corrupt: [bool; 2]) -> Record {
        let events = vec![
            Came { mix: 0, link: 0 },
            Came { mix: 0, link: 1 },
            Left { mix: 0, link: 2, was: 1 },
            Came { mix: 1, link: 2 },
            Left { mix: 0, link: 3, was: 0 },
            Came { mix: 1, link: 4 },
            Left { mix: 1, link: 5, was: 2 },
            Left { mix: 1, link: 6, was: 4 },
        ];
        Record { corrupt: corrupt.into(), events, links: 7 }
    }

    fn forwards(record: &Record, from: u32, to: u32) -> f64 {
        let mut forwards = Forwards::new(record.corrupt.len());
        forwards.mark(from);
        record.events.iter().for_each(|event| forwards.see(*event, &record.corrupt));
        forwards.mass(to)
    }

    #[test]
    fn a_packet_is_each_of_those_it_met() {
        let record = record([false, false]);
        let found = [2, 3, 5, 6].map(|to| forwards(&record, 0, to));
        assert_eq!(found, [0.5, 0.5, 0.25, 0.25]);
        assert_eq!(backwards(&record, 5), [0.25, 0.25, 0.5, 0.0, 0.5, 1.0, 0.0]);
    }

    #[test]
    fn a_corrupt_mix_tells_which_is_which() {
        let record = record([true, false]);
        assert_eq!([2, 3, 5, 6].map(|to| forwards(&record, 0, to)), [0.0, 1.0, 0.0, 0.0]);
        assert_eq!(backwards(&record, 6), [0.0, 0.5, 0.5, 0.0, 0.5, 0.0, 1.0]);
    }

    #[test]
    fn the_entropy_of_a_packet_is_that_of_all_that_it_may_have_become() {
        let bits = record([false, false]).entropies(0..6, |mix| mix == 1);
        // The first two may be what left and never came to the second mix; the third is one of two.
        assert_eq!(bits, [None, None, Some(1.0)]);
        let bits = record([true, false]).entropies(1..6, |mix| mix == 1);
        assert_eq!(bits, [Some(1.0), Some(1.0)]);
    }

    #[test]
    fn both_directions_give_the_same_weights() {
        for corrupt in [[false, false], [false, true], [true, false]] {
            let record = record(corrupt);
            for to in [3, 5, 6] {
                let back = backwards(&record, to);
                for from in [0, 1, 4] {
                    let there = forwards(&record, from, to);
                    assert!((there - back[from as usize]).abs() < 1e-12, "{corrupt:?} {from} {to}");
                }
            }
        }
    }
}
