//! What a mote is told and what it says, during one call.

use core::time::Duration;

use motemix_mote::{Console, KeyMaker, News, Warning};
use motemix_node::{Event, Instant};

use super::platform::{Platform, WarningKind};
use super::readings::Lent;
use crate::status::Status;

/// Callbacks for what happens to a node that runs. It makes no text: a program that types no
/// commands has none in its flash.
pub(super) struct Ear<'c> {
    pub(super) platform: &'c Platform,
    /// Who hears of messages besides: the mote's own readings.
    pub(super) readings: Option<Lent>,
}

impl Console for Ear<'_> {
    const SAYS: bool = false;

    fn read(&mut self) -> Option<u8> {
        None
    }

    fn write(&mut self, _text: &str) {}

    fn notice(&mut self, news: News<'_>) {
        let Platform { received, acknowledged, discarded, epoch_begins, warned, context, .. } =
            *self.platform;
        if let (News::Event(event), Some(readings)) = (&news, self.readings) {
            // SAFETY: they are used by nobody else while the node says what happens.
            unsafe { readings.get() }.hear(event);
        }
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
        Warning::ReadingsDropped(error) => (WarningKind::ReadingsDropped, error.into()),
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
    readings: Option<Lent>,
    now: Instant,
    /// What is still to be read of the line.
    line: &'c [u8],
    /// Whether the line still has to be ended.
    is_open: bool,
}

impl<'c> Terminal<'c> {
    /// One line, without its end.
    pub(super) const fn new(
        platform: &'c Platform,
        readings: Option<Lent>,
        now: Instant,
        line: &'c [u8],
    ) -> Self {
        Self { platform, readings, now, line, is_open: true }
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

    fn key_maker(&self) -> Option<KeyMaker> {
        // SAFETY: nobody else uses them while a line is obeyed.
        self.readings.map(|readings| unsafe { readings.get() }.key_maker())
    }

    fn notice(&mut self, news: News<'_>) {
        if let (News::ReadingsAsked { to, seconds }, Some(readings)) = (news, self.readings) {
            // SAFETY: the same.
            unsafe { readings.get() }.ask(self.now, to, seconds);
        }
    }

    fn write(&mut self, text: &str) {
        if let Some(print) = self.platform.print {
            // SAFETY: motemix_mote_open asks that the callback can be called for as long as the
            // mote is there; it reads as many bytes.
            unsafe { print(self.platform.context, text.as_ptr(), text.len()) }
        }
    }
}

/// A terminal, for `write!`.
pub(super) struct Text<'t, 'c>(pub(super) &'t mut Terminal<'c>);

impl core::fmt::Write for Text<'_, '_> {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        self.0.write(text);
        Ok(())
    }
}
