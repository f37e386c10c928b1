//! Short frames that neighbours wait for: which fragments came, and where this station is. They leave before
//! datagrams and without pauses, because somebody's memory is occupied until they arrive.

use core::time::Duration;

use crate::frame::{Frame, LinkAddress};
use crate::lowpan::neighbour::write_advertisement;
use crate::lowpan::recover::Acknowledgement;
use crate::serial::ExtendedAddress;

/// Answers that wait.
const PLACES: usize = 4;

/// What is answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    Acknowledgement(Acknowledgement),
    Advertisement,
}

/// An answer, and how it fares.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub(crate) to: LinkAddress,
    pub(crate) what: What,
    pub(crate) sequence: u8,
    pub(crate) requeues: u8,
    /// It may leave from then on.
    pub(crate) ready: Duration,
}

impl Answer {
    pub(crate) fn frame(&self, me: ExtendedAddress) -> Frame {
        let mut frame = Frame::new(me, self.to, self.sequence);
        match self.what {
            What::Acknowledgement(acknowledgement) => acknowledgement.write(&mut frame),
            What::Advertisement => write_advertisement(&mut frame, me, self.to),
        }
        frame
    }

    /// Whether the other one says the same, or more.
    fn is_overtaken_by(&self, other: &Self) -> bool {
        let is_same = match (self.what, other.what) {
            (What::Acknowledgement(one), What::Acknowledgement(other)) => one.tag == other.tag,
            (What::Advertisement, What::Advertisement) => true,
            _ => false,
        };
        self.to == other.to && is_same
    }
}

/// Those that wait.
pub(crate) struct Answers([Option<Answer>; PLACES]);

impl Answers {
    pub(crate) const NONE: Self = Self([None; PLACES]);

    /// `false` if there is no place.
    pub(crate) fn push(&mut self, answer: Answer) -> bool {
        let Self(places) = self;
        let overtaken = places.iter().position(|place| place.is_some_and(|it| it.is_overtaken_by(&answer)));
        let index = overtaken.or_else(|| places.iter().position(Option::is_none));
        let place = index.and_then(|index| places.get_mut(index));
        place.map(|place| *place = Some(answer)).is_some()
    }

    /// One that is put back, unless a later one took its place.
    pub(crate) fn put_back(&mut self, answer: Answer) -> bool {
        let Self(places) = self;
        places.iter().flatten().any(|waiting| answer.is_overtaken_by(waiting)) || self.push(answer)
    }

    /// Takes one out that may leave.
    pub(crate) fn next(&mut self, now: Duration) -> Option<Answer> {
        let Self(places) = self;
        places.iter_mut().find(|place| place.is_some_and(|answer| answer.ready <= now))?.take()
    }

    /// When the first may leave.
    pub(crate) fn due(&self) -> Option<Duration> {
        let Self(places) = self;
        places.iter().flatten().map(|answer| answer.ready).min()
    }
}
