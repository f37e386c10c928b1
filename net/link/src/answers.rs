//! Short frames that neighbours wait for: RFRAG-ACKs and neighbour advertisements. They leave
//! without pauses, because somebody's memory is occupied until they arrive, and in turn with
//! datagrams, because somebody may ask without end.

use motemix_time::Instant;

use crate::counters::LinkDrop;
use crate::lowpan::neighbour::write_advertisement;
use crate::lowpan::rfrag::RfragAck;
use crate::mac::{Frame, LinkAddress};
use crate::serial::ExtendedAddress;

/// As many answers can wait.
const PLACES: usize = 4;

/// What an answer says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reply {
    /// Which fragments have arrived.
    RfragAck(RfragAck),
    /// Where this station is.
    Advertisement,
}

/// An answer that waits, or is under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub(crate) to: LinkAddress,
    pub(crate) reply: Reply,
    pub(crate) sequence: u8,
    /// How often it was put back.
    pub(crate) requeues: u8,
    /// It may leave from then on.
    pub(crate) ready: Instant,
}

impl Answer {
    /// Appends it to a frame.
    pub(crate) fn write(&self, me: ExtendedAddress, frame: &mut Frame) {
        match self.reply {
            Reply::RfragAck(ack) => ack.write(frame),
            Reply::Advertisement => write_advertisement(frame, me, self.to),
        }
    }

    /// Whether the other one says the same, or more.
    fn is_superseded_by(&self, other: &Self) -> bool {
        let is_same = match (self.reply, other.reply) {
            (Reply::RfragAck(one), Reply::RfragAck(other)) => one.datagram_tag == other.datagram_tag,
            (Reply::Advertisement, Reply::Advertisement) => true,
            _ => false,
        };
        self.to == other.to && is_same
    }
}

/// The answers that wait.
pub(crate) struct Answers([Option<Answer>; PLACES]);

impl Answers {
    pub(crate) const NONE: Self = Self([None; PLACES]);

    /// Takes an answer in, in the place of one that it supersedes.
    ///
    /// # Errors
    /// [`LinkDrop::Unanswered`]: there is no place.
    pub(crate) fn push(&mut self, answer: Answer) -> Result<(), LinkDrop> {
        let Self(places) = self;
        let superseded = places.iter().position(|place| place.is_some_and(|it| it.is_superseded_by(&answer)));
        let index = superseded.or_else(|| places.iter().position(Option::is_none));
        places[index.ok_or(LinkDrop::Unanswered)?] = Some(answer);
        Ok(())
    }

    /// Takes an answer in again that could not be sent, unless another superseded it meanwhile.
    ///
    /// # Errors
    /// [`LinkDrop::Unanswered`]: there is no place.
    pub(crate) fn put_back(&mut self, answer: Answer) -> Result<(), LinkDrop> {
        let Self(places) = self;
        let is_superseded = places.iter().flatten().any(|waiting| answer.is_superseded_by(waiting));
        if is_superseded { Ok(()) } else { self.push(answer) }
    }

    /// Takes an answer out that may leave.
    pub(crate) fn next(&mut self, now: Instant) -> Option<Answer> {
        let Self(places) = self;
        places.iter_mut().find(|place| place.is_some_and(|answer| answer.ready <= now))?.take()
    }

    /// When the first may leave.
    pub(crate) fn due(&self) -> Option<Instant> {
        let Self(places) = self;
        places.iter().flatten().map(|answer| answer.ready).min()
    }
}
