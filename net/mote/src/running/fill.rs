//! How full the replay filter is, and what the console hears of it.

use core::fmt;

use embedded_storage::nor_flash::MultiwriteNorFlash;
use motemix_directory::UnixTime;
use motemix_node::{Counters, DropReason, Instant};
use motemix_sphinx::Profile;
use rand_core::CryptoRng;

use super::Running;
use crate::console::{Console, News, Warning, say};

/// The part of an epoch after which its rest can be foreseen.
const FORESEEN_AFTER: u32 = 16;

/// How it stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Level {
    /// It lasts.
    Lasts,
    /// At this rate it is full before the epoch ends.
    Foreseen,
    /// Packets were turned away, so that it lasts.
    Rationed,
    /// It takes no packet of others.
    Full,
}

/// What was seen and said in this epoch.
pub(super) struct Fill {
    began: Instant,
    ends: Instant,
    turned_away: u64,
    level: Level,
}

/// How it stands, until when, and what follows from it.
pub(super) struct Said {
    level: Level,
    until: UnixTime,
}

impl Fill {
    /// Without an epoch.
    pub(super) const fn new() -> Self {
        Self { began: Instant::NEVER, ends: Instant::NEVER, turned_away: 0, level: Level::Lasts }
    }

    pub(super) fn begin(&mut self, now: Instant, ends: Instant, counters: &Counters) {
        let turned_away = counters.dropped(DropReason::AdmissionRate);
        *self = Self { began: now, ends, turned_away, level: Level::Lasts };
    }
}

impl<P: Profile, F: MultiwriteNorFlash, R: CryptoRng + Clone> Running<'_, P, F, R> {
    /// Says it when it gets worse; once each.
    #[inline(never)]
    pub(super) fn watch_fill<C: Console>(&mut self, now: Instant, console: &mut C) {
        let level = self.level(now);
        if level > self.fill.level {
            self.fill.level = level;
            console.notice(News::Warning(match level {
                Level::Lasts | Level::Foreseen => Warning::FilterFillsUp,
                Level::Rationed => Warning::FilterRationed,
                Level::Full => Warning::FilterFull,
            }));
            say!(console, "warning: {}", self.said());
        }
    }

    fn level(&self, now: Instant) -> Level {
        if self.expiry.is_over() {
            return Level::Lasts;
        }
        let fill = self.node.replay_fill().current;
        if fill.is_full() {
            return Level::Full;
        }
        if self.node.counters().dropped(DropReason::AdmissionRate) > self.fill.turned_away {
            return Level::Rationed;
        }
        if now < self.fill.began || self.fill.ends == Instant::NEVER {
            return Level::Lasts;
        }
        let (length, passed) = (self.fill.ends - self.fill.began, now - self.fill.began);
        let all = u128::from(fill.tags) * length.as_micros();
        if passed >= length / FORESEEN_AFTER && all > u128::from(fill.capacity) * passed.as_micros() {
            return Level::Foreseen;
        }
        Level::Lasts
    }

    pub(super) const fn said(&self) -> Said {
        Said { level: self.fill.level, until: self.network.valid_until }
    }
}

impl Said {
    /// Whether others' packets are dropped.
    pub(super) fn drops(&self) -> bool {
        self.level >= Level::Rationed
    }

    /// Whether there is anything to say.
    pub(super) fn is_news(&self) -> bool {
        self.level > Level::Lasts
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let until = self.until.0;
        match self.level {
            Level::Lasts => write!(f, "the replay filter lasts until {until}"),
            Level::Foreseen => write!(
                f,
                "at this rate the replay filter is full before {until}: packets of others are dropped then"
            ),
            Level::Rationed => write!(
                f,
                "more packets come than the replay filter holds until {until}: some of others are dropped, replies \
                 to own messages come"
            ),
            Level::Full => write!(
                f,
                "the replay filter is full until {until}: packets of others are dropped, replies to own messages \
                 come"
            ),
        }
    }
}
