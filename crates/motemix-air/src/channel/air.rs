//! What is on the air, and how each station hears it.

use super::station::{Members, Station};
use crate::Instant;
use crate::frame::{Frame, Header};

/// How a station hears a transmission.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fate {
    /// As yet, whole.
    Intact,
    /// Something else was on the air at the same time.
    Collided,
    /// The station sends, sent or turned round meanwhile, or came later.
    Deaf,
}

/// A frame on the air.
pub(super) struct Transmission {
    pub from: Station,
    pub begin: Instant,
    pub collided: bool,
    pub frame: Frame,
    pub header: Header,
    /// By the station's place; `None` out of reach.
    fates: Vec<Option<Fate>>,
}

impl Transmission {
    /// The places of those in reach.
    pub fn hearers(&self) -> impl Iterator<Item = (usize, Fate)> {
        self.fates.iter().enumerate().filter_map(|(index, fate)| Some((index, (*fate)?)))
    }

    fn is_heard_at(&self, index: usize) -> bool {
        self.fates.get(index).is_some_and(Option::is_some)
    }

    fn change(&mut self, index: usize, from: Fate, to: Fate) {
        if let Some(Some(fate)) = self.fates.get_mut(index)
            && *fate == from
        {
            *fate = to;
        }
    }
}

/// All transmissions that have begun and not ended.
#[derive(Default)]
pub(super) struct Air {
    places: Vec<Option<Transmission>>,
    /// Tables of transmissions that ended, to use again.
    spare: Vec<Vec<Option<Fate>>>,
}

impl Air {
    fn present(&mut self) -> impl Iterator<Item = &mut Transmission> {
        self.places.iter_mut().flatten()
    }

    /// A transmission begins; returns its place.
    pub fn begin(
        &mut self,
        from: Station,
        now: Instant,
        what: (Frame, Header),
        members: &mut Members,
        reaches: impl Fn(Station) -> bool,
    ) -> usize {
        let transmission = self.spread(from, (now, now), what, members, reaches);
        for (index, _) in transmission.hearers() {
            if let Some(member) = members.at_mut(index) {
                member.ear.audible += 1;
            }
        }
        if let Some(place) = self.places.iter().position(Option::is_none) {
            self.places[place] = Some(transmission);
            place
        } else {
            self.places.push(Some(transmission));
            self.places.len() - 1
        }
    }

    /// A transmission ends now that nobody knew of.
    pub fn overlay(
        &mut self,
        from: Station,
        now: Instant,
        what: (Frame, Header),
        members: &mut Members,
        reaches: impl Fn(Station) -> bool,
    ) -> Transmission {
        let begin = now - what.0.airtime();
        let transmission = self.spread(from, (begin, now), what, members, reaches);
        for (index, _) in transmission.hearers() {
            if let Some(member) = members.at_mut(index) {
                member.ear.quiet_since = now;
            }
        }
        transmission
    }

    /// How it stands with each station, and with what else is on the air.
    fn spread(
        &mut self,
        from: Station,
        (begin, now): (Instant, Instant),
        (frame, header): (Frame, Header),
        members: &mut Members,
        reaches: impl Fn(Station) -> bool,
    ) -> Transmission {
        let mut fates = self.spare.pop().unwrap_or_default();
        fates.clear();
        for (index, to, member) in members.each() {
            fates.resize(index, None);
            let ear = &member.ear;
            let fate = if to == from || !reaches(to) {
                None
            } else if member.busy_until > now {
                Some(Fate::Deaf)
            } else if ear.audible > 0 {
                Some(Fate::Collided)
            } else {
                Some(Fate::Intact)
            };
            fates.push(fate);
        }
        let mut collided = false;
        for other in self.present() {
            collided = true;
            other.collided = true;
            for (index, fate) in fates.iter_mut().enumerate() {
                if fate.is_some() && other.is_heard_at(index) {
                    other.change(index, Fate::Intact, Fate::Collided);
                }
            }
        }
        Transmission { from, begin, collided, frame, header, fates }
    }

    /// A transmission ends.
    pub fn end(&mut self, place: usize) -> Option<Transmission> {
        self.places.get_mut(place)?.take()
    }

    /// Keeps the memory of a transmission.
    pub fn recycle(&mut self, transmission: Transmission) {
        self.spare.push(transmission.fates);
    }

    /// The station hears nothing more of what is on the air.
    pub fn deafen(&mut self, index: usize) {
        for transmission in self.present() {
            transmission.change(index, Fate::Intact, Fate::Deaf);
        }
    }

    /// The station is not there any more.
    pub fn forget(&mut self, index: usize) {
        for transmission in self.present() {
            if let Some(fate) = transmission.fates.get_mut(index) {
                *fate = None;
            }
        }
    }

    /// A station comes while something is on the air: it hears that the channel is busy, and no frame.
    /// Returns how many transmissions it hears.
    pub fn admit(&mut self, index: usize, reaches: impl Fn(Station) -> bool) -> u32 {
        let mut audible = 0;
        for transmission in self.present().filter(|transmission| reaches(transmission.from)) {
            if transmission.fates.len() <= index {
                transmission.fates.resize(index + 1, None);
            }
            transmission.fates[index] = Some(Fate::Deaf);
            audible += 1;
        }
        audible
    }
}
