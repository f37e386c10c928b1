//! Who is there.

use super::Counters;
use super::sender::{Attempt, Sender};
use crate::Instant;
use crate::frame::Addresses;
use motemix_link::serial::ExtendedAddress;

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

/// What a radio's antenna picks up.
#[derive(Default)]
pub(super) struct Ear {
    /// Transmissions on the air that can be heard here.
    pub audible: u32,
    /// When the last of them ended.
    pub quiet_since: Instant,
}

impl Ear {
    pub fn falls_quiet(&mut self, now: Instant) {
        self.audible = self.audible.saturating_sub(1);
        self.quiet_since = now;
    }
}

pub(super) struct Member {
    /// `None` for one outside, who hears everything.
    pub addresses: Option<Addresses>,
    pub ear: Ear,
    pub sender: Option<Sender>,
    /// Of the frame under way or the last one.
    pub attempt: Attempt,
    /// Until then it sends or turns round, and hears nothing.
    pub busy_until: Instant,
    /// Until then the gap after its last frame lasts.
    pub free_at: Instant,
    pub counters: Counters,
}

impl Member {
    pub fn radio(extended: ExtendedAddress) -> Self {
        let [low, high, ..] = extended.0;
        // The first bit is 0 in a short address that is not a group's: RFC 4944, section 9.
        let short = Some(u16::from_le_bytes([low, high & 0x7f]));
        Self { addresses: Some(Addresses { extended, short, pan: None }), ..Self::outside() }
    }

    pub fn outside() -> Self {
        Self {
            addresses: None,
            ear: Ear::default(),
            sender: None,
            attempt: Attempt::FIRST,
            busy_until: Instant::default(),
            free_at: Instant::default(),
            counters: Counters::default(),
        }
    }

    /// Whether a clear-channel assessment since `begin` finds the channel in use.
    pub fn is_busy_since(&self, begin: Instant) -> bool {
        self.ear.audible > 0 || self.ear.quiet_since > begin || self.busy_until > begin
    }
}

/// All stations, each at its place as long as it stays.
#[derive(Default)]
pub(super) struct Members {
    places: Vec<Place>,
}

#[derive(Default)]
struct Place {
    generation: u32,
    member: Option<Member>,
}

impl Members {
    /// `None` if there are `most` already.
    pub fn add(&mut self, member: Member, most: u16) -> Option<Station> {
        let free = self.places.iter().position(|place| place.member.is_none());
        let index = match free {
            Some(index) => index,
            None if self.places.len() < usize::from(most) => {
                self.places.push(Place::default());
                self.places.len() - 1
            }
            None => return None,
        };
        let place = self.places.get_mut(index)?;
        place.member = Some(member);
        Some(Station { index: u16::try_from(index).ok()?, generation: place.generation })
    }

    pub fn remove(&mut self, station: Station) -> Option<Member> {
        let place = self.places.get_mut(station.index())?;
        if place.generation != station.generation {
            return None;
        }
        place.generation = place.generation.wrapping_add(1);
        place.member.take()
    }

    pub fn has(&self, address: ExtendedAddress) -> bool {
        let mut present = self.places.iter().filter_map(|place| place.member.as_ref()?.addresses);
        present.any(|own| own.extended == address)
    }

    pub fn get(&self, station: Station) -> Option<&Member> {
        let place = self.places.get(station.index())?;
        if place.generation == station.generation { place.member.as_ref() } else { None }
    }

    pub fn get_mut(&mut self, station: Station) -> Option<&mut Member> {
        let place = self.places.get_mut(station.index())?;
        if place.generation == station.generation { place.member.as_mut() } else { None }
    }

    pub fn addresses_mut(&mut self, station: Station) -> Option<&mut Addresses> {
        self.get_mut(station)?.addresses.as_mut()
    }

    /// The station, if this attempt is the one that it is at.
    pub fn sending(&mut self, station: Station, attempt: Attempt) -> Option<&mut Member> {
        let member = self.get_mut(station)?;
        let current = member.sender.as_ref().is_some_and(|sender| sender.attempt == attempt);
        current.then_some(member)
    }

    pub fn at_mut(&mut self, index: usize) -> Option<&mut Member> {
        self.places.get_mut(index)?.member.as_mut()
    }

    pub fn with_id(&mut self, index: usize) -> Option<(Station, &mut Member)> {
        let place = self.places.get_mut(index)?;
        let station = Station { index: u16::try_from(index).ok()?, generation: place.generation };
        Some((station, place.member.as_mut()?))
    }

    /// Each station and its place.
    pub fn each(&mut self) -> impl Iterator<Item = (usize, Station, &mut Member)> {
        self.places.iter_mut().enumerate().filter_map(|(index, place)| {
            let station = Station { index: u16::try_from(index).ok()?, generation: place.generation };
            Some((index, station, place.member.as_mut()?))
        })
    }
}
