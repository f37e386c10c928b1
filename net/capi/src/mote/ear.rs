//! What a mote says by itself, as callbacks.

use core::time::Duration;

use motemix_mote::{Console, News, Warning};
use motemix_node::Event;

use super::platform::{Platform, WarningKind};
use super::readings::Lent;
use crate::status::Status;

/// Callbacks for what happens to a node that runs. It makes no text: that is the console's
/// (`terminal`), which a program with its own commands leaves out.
pub(super) struct Ear<'c> {
    pub(super) platform: &'c Platform,
    /// Who hears of messages besides: the mote's own readings.
    pub(super) readings: Option<Lent>,
}

impl Console for Ear<'_> {
    const SAYS: bool = false;
    const EXCHANGES: bool = super::EXCHANGES;

    fn read(&mut self) -> Option<u8> {
        None
    }

    fn write(&mut self, _text: &str) {}

    fn notice(&mut self, news: News<'_>) {
        let Platform {
            received, acknowledged, discarded, epoch_begins, document_came, warned, context, ..
        } = *self.platform;
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
            News::DocumentCame { epoch, .. } => {
                if let Some(document_came) = document_came {
                    // SAFETY: as above.
                    unsafe { document_came(context, epoch.0) }
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
        Warning::DocumentRefused(refusal) => (WarningKind::DocumentRefused, refusal.into()),
        Warning::LoopsLost => (WarningKind::LoopsLost, Status::Refused),
        _ => (WarningKind::Other, Status::Refused),
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
