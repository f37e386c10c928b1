//! One radio: one frame is under way at a time, and each has an ending, even if its outcome is
//! lost.
//!
//! The five clear-channel assessments of one attempt span about 18 ms, the train of a neighbour's
//! fragments holds the air for longer. A frame that gives up then takes its whole datagram with it,
//! so the stack puts it back a few times, ever further apart.

use core::time::Duration;

use motemix_time::Instant;

use crate::pacing::Attempt;
use crate::serial::{MAX_FRAME, Outcome};

/// For how long the transceiver may say nothing of a frame. It needs a tenth of it at most.
pub const OUTCOME_WITHIN: Duration = Duration::from_secs(2);

/// A transceiver: the part that knows a frame only as bytes. It does CSMA/CA, checks the frame
/// check sequence, and acknowledges frames that ask for it.
pub trait Transceiver {
    /// A frame that arrived, without its check sequence, written to the beginning of `out`; how
    /// many bytes it has.
    fn receive(&mut self, out: &mut [u8; MAX_FRAME]) -> Option<usize>;

    /// Begins to send a frame, which has no check sequence yet. Not called again before the frame's
    /// outcome was polled, or [`OUTCOME_WITHIN`] has passed without one.
    fn transmit(&mut self, frame: &[u8]);

    /// What became of the frame, once.
    fn poll_outcome(&mut self) -> Option<Outcome>;
}

/// What a radio has seen.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RadioCounters {
    /// Frames that arrived.
    pub received: u32,
    /// Frames that were sent, and acknowledged if they asked for it.
    pub sent: u32,
    /// Attempts that failed and were made again.
    pub requeued: u32,
    /// Frames given up after the last attempt, or because nothing was heard of them any more.
    pub given_up: u32,
}

/// How a frame's attempt ended: an [`Outcome`], or nothing was heard of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ending {
    Sent,
    ChannelBusy,
    NoAcknowledgement,
    Refused,
    /// The transceiver has not said in time. The frame may have been sent.
    Unknown,
}

impl From<Outcome> for Ending {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Sent => Self::Sent,
            Outcome::ChannelBusy => Self::ChannelBusy,
            Outcome::NoAcknowledgement => Self::NoAcknowledgement,
            Outcome::Refused => Self::Refused,
        }
    }
}

/// A transceiver, and the frame that it sends. It outlives the stacks that use it one after the
/// other.
pub struct Radio<T> {
    transceiver: T,
    /// A frame is under way, and waited for until then: its outcome may be lost on a serial line.
    busy_until: Option<Instant>,
    counters: RadioCounters,
}

impl<T: Transceiver> Radio<T> {
    /// A radio with nothing to send.
    pub const fn new(transceiver: T) -> Self {
        Self {
            transceiver,
            busy_until: None,
            counters: RadioCounters { received: 0, sent: 0, requeued: 0, given_up: 0 },
        }
    }

    /// What happened so far.
    pub const fn counters(&self) -> &RadioCounters {
        &self.counters
    }

    /// The transceiver.
    pub const fn transceiver(&self) -> &T {
        &self.transceiver
    }

    /// The transceiver.
    pub const fn transceiver_mut(&mut self) -> &mut T {
        &mut self.transceiver
    }

    /// Until when the frame under way is waited for.
    pub(crate) const fn busy_until(&self) -> Option<Instant> {
        self.busy_until
    }

    /// A frame that arrived.
    ///
    /// # Panics
    /// The transceiver says that it is longer than a frame can be.
    pub(crate) fn receive<'b>(&mut self, buffer: &'b mut [u8; MAX_FRAME]) -> Option<&'b [u8]> {
        let len = self.transceiver.receive(buffer)?;
        self.counters.received += 1;
        Some(&buffer[..len])
    }

    /// Begins to send a frame.
    ///
    /// # Panics
    /// Another frame is still under way.
    pub(crate) fn transmit(&mut self, now: Instant, frame: &[u8]) {
        assert!(self.busy_until.is_none(), "one frame at a time");
        // An outcome that came too late is none of this frame's.
        let _ = self.transceiver.poll_outcome();
        self.transceiver.transmit(frame);
        self.busy_until = Some(now + OUTCOME_WITHIN);
    }

    /// How the attempt of the frame under way ended, once.
    pub(crate) fn poll_ending(&mut self, now: Instant) -> Option<Ending> {
        let until = self.busy_until?;
        let unknown = (until <= now).then_some(Ending::Unknown);
        let ending = self.transceiver.poll_outcome().map(Ending::from).or(unknown)?;
        self.busy_until = None;
        Some(ending)
    }

    /// Counts an attempt.
    pub(crate) const fn count(&mut self, attempt: Attempt) {
        let count = match attempt {
            Attempt::Sent => &mut self.counters.sent,
            Attempt::Requeued(_) => &mut self.counters.requeued,
            Attempt::GivenUp(_) => &mut self.counters.given_up,
        };
        *count += 1;
    }
}
