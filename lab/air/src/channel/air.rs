//! What is on the air and what lately was, and who could hear it.
//!
//! Nothing is worked out for a station before somebody asks: whether it finds the channel in use,
//! or whether a frame that has ended reached it. So what a frame costs does not depend on how many
//! stations there are.

use super::Settings;
use super::link::Links;
use super::station::{Member, Station};
use super::timing::ASSESSMENT;
use crate::Instant;
use crate::frame::{Frame, Header};
use std::collections::VecDeque;

/// How a transmission reached a station.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fate {
    /// Whole.
    Intact,
    /// Something that was on the air at the same time was too strong for it.
    Collided,
    /// The station sent or turned round meanwhile, or came later.
    Deaf,
    /// Out of reach.
    Silent,
}

/// When somebody had the air.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub from: Station,
    pub begin: Instant,
    pub end: Instant,
}

impl Span {
    fn overlaps(&self, other: &Self) -> bool {
        self.begin < other.end && self.end > other.begin
    }
}

/// A frame on the air, or on its way there.
pub(super) struct Transmission {
    pub span: Span,
    pub frame: Frame,
    pub header: Header,
}

/// Names a transmission until it ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ticket {
    place: u32,
    serial: u32,
}

/// All transmissions that have not ended, and those that ended so lately that they still matter.
#[derive(Default)]
pub(super) struct Air {
    places: Vec<Option<(u32, Transmission)>>,
    serial: u32,
    /// By their end.
    past: VecDeque<Span>,
}

impl Air {
    fn spans(&self) -> impl Iterator<Item = &Span> {
        self.past.iter().chain(self.places.iter().flatten().map(|(_, transmission)| &transmission.span))
    }

    /// A transmission is decided; it begins now or after the turnaround.
    pub fn begin(&mut self, transmission: Transmission) -> Ticket {
        self.serial = self.serial.wrapping_add(1);
        let entry = Some((self.serial, transmission));
        let place = if let Some(place) = self.places.iter().position(Option::is_none) {
            self.places[place] = entry;
            place
        } else {
            self.places.push(entry);
            self.places.len() - 1
        };
        Ticket { place: place as u32, serial: self.serial }
    }

    /// A transmission ends, if it was not taken back before.
    pub fn end(&mut self, ticket: Ticket) -> Option<Transmission> {
        let place = self.places.get_mut(ticket.place as usize)?;
        place.take_if(|(serial, _)| *serial == ticket.serial).map(|(_, transmission)| transmission)
    }

    /// Remembers a transmission that has ended, and forgets what matters to nobody any more.
    pub fn remember(&mut self, now: Instant, span: Span) {
        self.past.push_back(span);
        let begun = self.places.iter().flatten().map(|(_, transmission)| transmission.span.begin).min();
        let oldest = begun.unwrap_or(now).min(now - ASSESSMENT);
        while self.past.front().is_some_and(|span| span.end <= oldest) {
            self.past.pop_front();
        }
    }

    /// The later of `begin` and the end of what ended last.
    pub fn quiet_before(&self, begin: Instant) -> Instant {
        self.past.back().map_or(begin, |span| span.end.max(begin))
    }

    /// Takes back what a station has not begun to send.
    pub fn withdraw(&mut self, now: Instant, from: Station) {
        for place in &mut self.places {
            place
                .take_if(|(_, transmission)| transmission.span.from == from && transmission.span.begin > now);
        }
    }

    /// Whether a clear-channel assessment of a station, until now, finds the channel in use.
    pub fn is_busy(&self, now: Instant, station: Station, links: &Links, settings: &Settings) -> bool {
        let begin = now - ASSESSMENT;
        self.spans().any(|span| {
            span.begin <= now
                && span.end > begin
                && span.from != station
                && links.get(span.from, station).is_above(settings.assessment_threshold)
        })
    }

    /// Whether anything else was on the air during a transmission.
    pub fn is_overlapped(&self, span: &Span) -> bool {
        self.spans().any(|other| other.overlaps(span))
    }

    /// How a transmission that has ended, and is not among these any more, reached a station.
    pub fn fate(
        &self,
        span: &Span,
        to: Station,
        member: &Member,
        links: &Links,
        settings: &Settings,
    ) -> Fate {
        let link = links.get(span.from, to);
        if to == span.from || !link.is_above(settings.sensitivity) {
            return Fate::Silent;
        }
        if member.joined > span.begin || member.is_deaf_during(span.begin, span.end) {
            return Fate::Deaf;
        }
        for other in self.spans().filter(|other| other.overlaps(span) && other.from != to) {
            let interference = links.get(other.from, to);
            if !interference.is_heard() {
                continue;
            }
            let Some(capture) = settings.capture else { return Fate::Collided };
            // A receiver that has locked to a frame stays with it.
            let was_locked = other.begin < span.begin && interference.is_above(settings.sensitivity);
            if was_locked || !link.exceeds(interference, capture) {
                return Fate::Collided;
            }
        }
        Fate::Intact
    }
}
