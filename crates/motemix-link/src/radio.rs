//! One radio, with patience: one frame is under way at a time, and one that found the channel busy, or was not
//! acknowledged, may try again later.
//!
//! The five clear-channel assessments of one attempt span about 18 ms, the train of a neighbour's fragments
//! holds the air for longer. A frame that gives up then takes its whole datagram with it, so it is put back a
//! few times, ever further apart.

use core::time::Duration;

use crate::pacing::Pace;
use crate::serial::{MAX_FRAME, Outcome};
use crate::settings::LinkSettings;

/// For how long the transceiver may say nothing of a frame. It needs a tenth of it at most.
pub const OUTCOME_WITHIN: Duration = Duration::from_secs(2);

/// A transceiver: the part that knows a frame only as bytes. It does CSMA/CA, checks the frame check
/// sequence, and acknowledges frames that ask for it.
pub trait Transceiver {
    /// A frame that arrived, without its check sequence, written to the beginning of `out`.
    fn receive(&mut self, out: &mut [u8; MAX_FRAME]) -> Option<usize>;

    /// Begins to send a frame, which has no check sequence yet. Not called again before the frame's outcome
    /// was polled, or [`OUTCOME_WITHIN`] has passed without one.
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

/// How a frame's attempt ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    Sent,
    /// It may try again at this time.
    PutBack(Duration),
    GivenUp(Outcome),
}

/// A transceiver, and what its reports taught. Time is the duration since any origin.
pub struct Radio<T> {
    transceiver: T,
    /// A frame is under way, and waited for until then: its outcome may be lost on a serial line.
    under_way: Option<Duration>,
    pub(crate) pace: Pace,
    counters: RadioCounters,
}

impl<T: Transceiver> Radio<T> {
    /// A radio with nothing to send.
    pub const fn new(transceiver: T) -> Self {
        Self {
            transceiver,
            under_way: None,
            pace: Pace::new(&LinkSettings::new(), 0, Duration::ZERO),
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
    pub(crate) const fn under_way(&self) -> Option<Duration> {
        self.under_way
    }

    pub(crate) fn receive(&mut self, out: &mut [u8; MAX_FRAME]) -> Option<usize> {
        let len = self.transceiver.receive(out)?;
        self.counters.received += 1;
        Some(len)
    }

    pub(crate) fn transmit(&mut self, now: Duration, frame: &[u8]) {
        // One that came too late is none of this frame's.
        let _ = self.transceiver.poll_outcome();
        self.transceiver.transmit(frame);
        self.under_way = Some(now.saturating_add(OUTCOME_WITHIN));
    }

    /// The outcome of the frame under way, once.
    pub(crate) fn poll_outcome(&mut self, now: Duration) -> Option<Outcome> {
        let until = self.under_way?;
        // One of which nothing is heard may have been sent, so it is not sent again.
        let silence = (until <= now).then_some(Outcome::Refused);
        let outcome = self.transceiver.poll_outcome().or(silence)?;
        self.under_way = None;
        Some(outcome)
    }

    /// What follows from the outcome for a frame that was put back so often before.
    pub(crate) fn fate(&mut self, now: Duration, outcome: Outcome, requeues: u8) -> Fate {
        let again = self.pace.attempted(now, outcome, requeues);
        let (count, fate) = match (outcome, again) {
            (Outcome::Sent, _) => (&mut self.counters.sent, Fate::Sent),
            (_, Some(again)) => (&mut self.counters.requeued, Fate::PutBack(again)),
            (_, None) => (&mut self.counters.given_up, Fate::GivenUp(outcome)),
        };
        *count += 1;
        fate
    }
}
