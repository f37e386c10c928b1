//! Who is there.

use super::sender::{Attempt, Sender};
use super::{Access, Counters};
use crate::Instant;
use crate::frame::{Addresses, BROADCAST, To};
use chacha20::ChaCha8Rng;
use motemix_link::serial::ExtendedAddress;
use rand_core::SeedableRng as _;
use std::collections::{BTreeMap, BTreeSet};

/// A station of one channel. The number of one that left is never used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Station {
    index: u16,
    generation: u32,
}

impl Station {
    pub(super) fn index(self) -> usize {
        usize::from(self.index)
    }

    /// A number that no other station has at the same time.
    pub fn number(self) -> u16 {
        self.index
    }
}

pub(super) struct Member {
    /// `None` for one outside, who hears everything.
    pub addresses: Option<Addresses>,
    pub access: Access,
    /// Since then it hears what begins.
    pub joined: Instant,
    pub sender: Option<Sender>,
    /// How the frame under way, or the last one, is tried.
    pub attempt: Attempt,
    /// The last time in which it sent or turned round, and heard nothing.
    deaf: (Instant, Instant),
    /// Since when, and if it is over until when, it begins to receive; see [`Self::listen`].
    listened: (Instant, Option<Instant>),
    /// Until then the gap after its last frame lasts.
    pub free_at: Instant,
    /// For its backoffs.
    pub backoffs: ChaCha8Rng,
    /// For what it does not hear.
    pub losses: ChaCha8Rng,
    pub counters: Counters,
}

/// A stream of chance of its own for each station and purpose: what one draws never changes what
/// another one gets.
fn stream(seed: u64, number: u64, purpose: u8) -> ChaCha8Rng {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..16].copy_from_slice(&number.to_le_bytes());
    key[16] = purpose;
    ChaCha8Rng::from_seed(key)
}

impl Member {
    pub fn radio(extended: ExtendedAddress, access: Access, seed: u64, number: u64) -> Self {
        let [low, high, ..] = extended.0;
        // The first bit is 0 in a short address that is not a group's: RFC 4944, section 9.
        let short = Some(u16::from_le_bytes([low, high & 0x7f]));
        Self {
            addresses: Some(Addresses { extended, short, pan: None }),
            ..Self::outside(access, seed, number)
        }
    }

    pub fn outside(access: Access, seed: u64, number: u64) -> Self {
        Self {
            addresses: None,
            access,
            joined: Instant::default(),
            sender: None,
            attempt: Attempt::FIRST,
            deaf: (Instant::default(), Instant::default()),
            listened: (Instant::default(), None),
            free_at: Instant::default(),
            backoffs: stream(seed, number, 1),
            losses: stream(seed, number, 2),
            counters: Counters::default(),
        }
    }

    /// From now until then it sends or turns round.
    pub fn deafen(&mut self, now: Instant, until: Instant) {
        self.deaf = (now, until);
    }

    /// Whether it begins to receive what begins from now on.
    pub fn listen(&mut self, now: Instant, listens: bool) {
        self.listened = match (self.listened, listens) {
            ((since, None), false) => (since, Some(now)),
            ((_, Some(_)), true) => (now, None),
            (same, _) => same,
        };
    }

    /// Whether it listened when something began that has lately ended. The last time of listening
    /// is enough: what began in an earlier one was cut off when that ended and all of a frame
    /// to send went by before this one.
    pub fn listened_at(&self, begin: Instant) -> bool {
        let (since, until) = self.listened;
        since <= begin && until.is_none_or(|until| begin < until)
    }

    /// What it does itself follows one after the other, so the last time is enough.
    pub fn is_deaf_during(&self, begin: Instant, end: Instant) -> bool {
        let (since, until) = self.deaf;
        since < end && until > begin
    }
}

/// All stations, each at its place as long as it stays.
#[derive(Default)]
pub(super) struct Members {
    places: Vec<Place>,
    by_address: BTreeMap<ExtendedAddress, u16>,
    /// Several may have the same in different networks.
    by_short: BTreeSet<(u16, u16)>,
    outside: Vec<u16>,
}

#[derive(Default)]
struct Place {
    generation: u32,
    member: Option<Member>,
}

impl Members {
    /// The place of the next one who comes, and a number that nobody else has or had; `None` if
    /// there are `most` already.
    pub fn next_place(&self, most: u16) -> Option<(u16, u64)> {
        let free = self.places.iter().position(|place| place.member.is_none());
        let index = free.or_else(|| {
            let next = self.places.len();
            (next < usize::from(most)).then_some(next)
        })?;
        let generation = self.places.get(index).map_or(0, |place| place.generation);
        Some((u16::try_from(index).ok()?, u64::from(generation) << 16 | index as u64))
    }

    /// Puts one at the place that [`next_place`](Self::next_place) has found.
    pub fn add(&mut self, index: u16, member: Member) -> Station {
        let at = usize::from(index);
        if self.places.len() <= at {
            self.places.resize_with(at + 1, Place::default);
        }
        match member.addresses {
            Some(own) => {
                self.by_address.insert(own.extended, index);
                self.by_short.extend(own.short.map(|short| (short, index)));
            }
            None => self.outside.push(index),
        }
        let place = &mut self.places[at];
        place.member = Some(member);
        Station { index, generation: place.generation }
    }

    pub fn remove(&mut self, station: Station) -> Option<Member> {
        let place = self.places.get_mut(station.index())?;
        if place.generation != station.generation {
            return None;
        }
        place.generation = place.generation.wrapping_add(1);
        let member = place.member.take()?;
        if let Some(own) = member.addresses {
            self.by_address.remove(&own.extended);
            self.by_short.retain(|(_, index)| *index != station.index);
        }
        self.outside.retain(|index| *index != station.index);
        Some(member)
    }

    pub fn has(&self, address: ExtendedAddress) -> bool {
        self.by_address.contains_key(&address)
    }

    pub fn get(&self, station: Station) -> Option<&Member> {
        let place = self.places.get(station.index())?;
        if place.generation == station.generation { place.member.as_ref() } else { None }
    }

    pub fn get_mut(&mut self, station: Station) -> Option<&mut Member> {
        let place = self.places.get_mut(station.index())?;
        if place.generation == station.generation { place.member.as_mut() } else { None }
    }

    /// Gives a radio another short address.
    pub fn set_short_address(&mut self, station: Station, short: Option<u16>) {
        let Some(own) = self.get_mut(station).and_then(|member| member.addresses.as_mut()) else { return };
        own.short = short;
        self.by_short.retain(|(_, index)| *index != station.index);
        self.by_short.extend(short.map(|short| (short, station.index)));
    }

    /// The station, if this attempt is the one that it is at.
    pub fn sending(&mut self, station: Station, attempt: Attempt) -> Option<&mut Member> {
        let member = self.get_mut(station)?;
        let current = member.sender.as_ref().is_some_and(|sender| sender.attempt == attempt);
        current.then_some(member)
    }

    pub fn with_id(&mut self, index: u16) -> Option<(Station, &mut Member)> {
        let place = self.places.get_mut(usize::from(index))?;
        let station = Station { index, generation: place.generation };
        Some((station, place.member.as_mut()?))
    }

    /// Writes the places of those who may accept a frame, in ascending order; whether they do is
    /// for them to say.
    pub fn candidates(&self, to: To, out: &mut Vec<u16>) {
        out.clear();
        match to {
            To::Nobody => {}
            To::Pan(_) | To::Short(_, BROADCAST) => {
                out.extend(0..u16::try_from(self.places.len()).unwrap_or(u16::MAX));
                return;
            }
            To::Short(_, short) => {
                out.extend(self.by_short.range((short, 0)..=(short, u16::MAX)).map(|(_, index)| *index));
            }
            To::Extended(_, address) => out.extend(self.by_address.get(&address)),
        }
        if !self.outside.is_empty() {
            out.extend(&self.outside);
            out.sort_unstable();
        }
    }
}
