//! The frame that a station has under way: CSMA/CA and retries.

use super::Access;
use super::station::Member;
use crate::frame::{Frame, Header};

/// Beyond it, the standard has no exponent, and a backoff would not fit.
const MAX_EXPONENT: u8 = 16;

/// Tells an appointment that still holds from those of an earlier try.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Attempt(u32);

impl Attempt {
    pub const FIRST: Self = Self(0);

    fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }
}

/// A frame under way.
pub(super) struct Sender {
    pub handle: u8,
    pub frame: Frame,
    pub header: Header,
    pub attempt: Attempt,
    pub exponent: u8,
    backoffs: u8,
    /// Times on the air without an answer.
    pub tries: u8,
    /// It was on the air and its acknowledgement may come.
    pub awaits: bool,
}

/// What to do about a frame that did not get through.
pub(super) enum Next {
    Again(Attempt),
    GiveUp,
}

fn first_exponent(access: Access) -> u8 {
    access.min_exponent.min(access.max_exponent).min(MAX_EXPONENT)
}

impl Member {
    /// Takes a frame on; `None` if there is one already.
    pub fn begin(&mut self, handle: u8, frame: Frame, header: Header) -> Option<Attempt> {
        if self.sender.is_some() {
            self.counters.under_way += 1;
            return None;
        }
        self.counters.frames += 1;
        self.attempt = self.attempt.next();
        let (attempt, exponent) = (self.attempt, first_exponent(self.access));
        let sender =
            Sender { handle, frame, header, attempt, exponent, backoffs: 0, tries: 0, awaits: false };
        self.sender = Some(sender);
        Some(attempt)
    }

    /// The channel was busy.
    pub fn back_off_longer(&mut self) -> Next {
        let access = self.access;
        let Some(sender) = &mut self.sender else { return Next::GiveUp };
        if sender.backoffs >= access.max_backoffs {
            return Next::GiveUp;
        }
        sender.backoffs += 1;
        sender.exponent = (sender.exponent + 1).min(access.max_exponent).min(MAX_EXPONENT);
        Next::Again(sender.attempt)
    }

    /// No acknowledgement came.
    pub fn try_again(&mut self) -> Next {
        let access = self.access;
        let Some(sender) = &mut self.sender else { return Next::GiveUp };
        if sender.tries >= access.max_retries {
            return Next::GiveUp;
        }
        self.attempt = self.attempt.next();
        sender.attempt = self.attempt;
        sender.tries += 1;
        sender.backoffs = 0;
        sender.exponent = first_exponent(access);
        sender.awaits = false;
        Next::Again(sender.attempt)
    }

    /// Whether an acknowledgement with this sequence number ends the wait.
    pub fn awaits(&self, sequence: u8) -> bool {
        self.sender.as_ref().is_some_and(|sender| sender.awaits && sender.header.sequence == sequence)
    }
}
