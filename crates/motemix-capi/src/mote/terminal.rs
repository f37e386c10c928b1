//! What a mote is told and what it says, during one call.

use core::time::Duration;

use motemix_mote::{Console, News, Warning};
use motemix_node::Event;

use super::platform::{Platform, WarningKind};
use crate::status::Status;

/// Callbacks for what happens to a node that runs. It makes no text: a program that types no
/// commands has none in its flash.
pub(super) struct Ear<'c>(pub(super) &'c Platform);

impl Console for Ear<'_> {
    const SAYS: bool = false;

    fn read(&mut self) -> Option<u8> {
        None
    }

    fn write(&mut self, _text: &str) {}

    fn notice(&mut self, news: News<'_>) {
        let Platform { received, acknowledged, discarded, epoch_begins, warned, context, .. } = *self.0;
        // SAFETY, of all calls below: motemix_mote_open asks that the callbacks can be called for
        // as long as the mote is there.
        match news {
            News::Kept => {
                if let Some(received) = received {
                    // SAFETY: as above.
                    unsafe { received(context) }
                }
            }
            News::Event(Event::Acknowledged { message, round_trip, tries, .. }) => {
                if let Some(acknowledged) = acknowledged {
                    // SAFETY: as above.
                    unsafe { acknowledged(context, message.number(), micros(*round_trip), *tries) }
                }
            }
            News::Event(Event::Discarded { message, tries }) => {
                if let Some(discarded) = discarded {
                    // SAFETY: as above.
                    unsafe { discarded(context, message.number(), *tries) }
                }
            }
            News::EpochBegins(epoch) => {
                if let Some(epoch_begins) = epoch_begins {
                    // SAFETY: as above.
                    unsafe { epoch_begins(context, epoch.0) }
                }
            }
            News::Warning(warning) => {
                if let Some(warned) = warned {
                    let (kind, reason) = told(warning);
                    // SAFETY: as above.
                    unsafe { warned(context, kind, reason) }
                }
            }
            _ => {}
        }
    }
}

/// A warning for C, and its reason.
fn told(warning: Warning) -> (WarningKind, Status) {
    match warning {
        Warning::Expired => (WarningKind::Expired, Status::DocumentExpired),
        Warning::EpochEnded => (WarningKind::EpochEnded, Status::DocumentExpired),
        Warning::FilterFillsUp => (WarningKind::FilterFillsUp, Status::FilterFull),
        Warning::FilterRationed => (WarningKind::FilterRationed, Status::FilterFull),
        Warning::FilterFull => (WarningKind::FilterFull, Status::FilterFull),
        Warning::MessagesTurnedAway(error) => (WarningKind::MessagesTurnedAway, error.into()),
        Warning::TagNotKept(error) => (WarningKind::TagNotKept, error.into()),
        Warning::NoNextEpoch(refusal) => (WarningKind::NoNextEpoch, refusal.into()),
        _ => (WarningKind::Other, Status::Refused),
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// A line that was typed, and a callback for the answer.
pub(super) struct Terminal<'c> {
    platform: &'c Platform,
    /// What is still to be read of the line.
    line: &'c [u8],
    /// Whether the line still has to be ended.
    is_open: bool,
}

impl<'c> Terminal<'c> {
    /// One line, without its end.
    pub(super) const fn new(platform: &'c Platform, line: &'c [u8]) -> Self {
        Self { platform, line, is_open: true }
    }
}

impl Console for Terminal<'_> {
    fn read(&mut self) -> Option<u8> {
        if let Some((first, rest)) = self.line.split_first() {
            self.line = rest;
            return Some(*first);
        }
        core::mem::take(&mut self.is_open).then_some(b'\n')
    }

    fn write(&mut self, text: &str) {
        if let Some(print) = self.platform.print {
            // SAFETY: motemix_mote_open asks that the callback can be called for as long as the
            // mote is there; it reads as many bytes.
            unsafe { print(self.platform.context, text.as_ptr(), text.len()) }
        }
    }
}
