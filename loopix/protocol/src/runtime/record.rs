//! How full the record of replay tags is, and when no more fit.
//!
//! A hardened mix or provider that cannot remember another packet takes none: forgetting would let
//! a stranger replay what he has recorded. So it says a day ahead that its key is due for renewal,
//! and again when it stops.

use std::time::{Duration, Instant};

use super::event::Event;
use crate::role::{Counters, WhenFull};

/// How long before it is full.
const WARN_BEFORE: Duration = Duration::from_hours(24);
/// The rate is that of the last one to two of these.
const WINDOW: Duration = Duration::from_hours(1);
/// A shorter time says little about the rate.
const SHORTEST: Duration = Duration::from_secs(30);

/// What is to be done.
const RENEW: &str =
    "renew the key (`motemix loopix renew --help`), or give [replay] in motemix.toml more room";

/// What has been said, in the order in which it gets worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Room,
    Soon,
    Full,
}

/// A number of tags at a time.
#[derive(Debug, Clone, Copy)]
struct Sample {
    at: Instant,
    held: u64,
}

/// The record of one node.
#[derive(Debug)]
pub(super) struct Record {
    when_full: WhenFull,
    /// Older first; the rate is measured from the first one.
    samples: Option<[Sample; 2]>,
    full_in: Option<Duration>,
    told: Level,
}

impl Record {
    pub(super) const fn new(when_full: WhenFull) -> Self {
        Self { when_full, samples: None, full_in: None, told: Level::Room }
    }

    /// When it is full, at the rate of the last hours; zero if it is.
    pub(super) const fn full_in(&self) -> Option<Duration> {
        self.full_in
    }

    /// Looks at what was counted; an event when it has got worse.
    pub(super) fn look(&mut self, now: Instant, counters: &Counters) -> Option<Event> {
        let (held, most) = (counters.replay_tags, counters.replay_tags_most);
        if self.when_full == WhenFull::Forget || most == 0 {
            return None;
        }
        self.full_in = self.forecast(Sample { at: now, held }, most);
        let level = match self.full_in {
            _ if held >= most => Level::Full,
            Some(time) if time < WARN_BEFORE => Level::Soon,
            // However slowly it fills: there is not much left.
            _ if held >= most / 8 * 7 => Level::Soon,
            _ => Level::Room,
        };
        if level <= self.told {
            return None;
        }
        self.told = level;
        let full_in = self.full_in;
        let hours = full_in.map_or_else(|| "unknown".to_owned(), |time| (time.as_secs() / 3600).to_string());
        if level == Level::Full {
            tracing::error!(
                "the record of replay tags is full with {held}: nothing is taken any more; {RENEW}"
            );
        } else {
            tracing::warn!(
                "the record of replay tags has {held} of {most}; hours until it is full and nothing more is \
                 taken: {hours}; {RENEW}"
            );
        }
        Some(Event::ReplayRecord { held, most, full_in })
    }

    fn forecast(&mut self, sample: Sample, most: u64) -> Option<Duration> {
        let [first, second] = self.samples.get_or_insert([sample; 2]);
        if sample.at.saturating_duration_since(second.at) >= WINDOW {
            (*first, *second) = (*second, sample);
        }
        let left = most.saturating_sub(sample.held);
        if left == 0 {
            return Some(Duration::ZERO);
        }
        let time = sample.at.saturating_duration_since(first.at);
        let came = sample.held.saturating_sub(first.held);
        if time < SHORTEST || came == 0 {
            return self.full_in;
        }
        let micros = time.as_micros().saturating_mul(left.into()) / u128::from(came);
        Some(Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a record says that fills with so many tags an hour, and when.
    fn said(most: u64, per_hour: u64, when_full: WhenFull) -> Vec<(u64, Option<u64>)> {
        let start = Instant::now();
        let mut record = Record::new(when_full);
        let mut said = Vec::new();
        for minute in 0..=most * 60 / per_hour + 120 {
            let held = (minute * per_hour / 60).min(most);
            let counters = Counters { replay_tags: held, replay_tags_most: most, ..Counters::default() };
            if let Some(event) = record.look(start + Duration::from_secs(minute * 60), &counters) {
                let Event::ReplayRecord { full_in, .. } = event else { panic!("{event:?}") };
                said.push((minute / 60, full_in.map(|time| time.as_secs() / 3600)));
            }
        }
        said
    }

    #[test]
    fn a_day_ahead_and_when_it_is_full_it_is_said_once() {
        // Full after a thousand hours, of which seven eighths are 875.
        assert_eq!(said(1_000_000, 1000, WhenFull::Refuse), [(875, Some(125)), (1000, Some(0))]);
        // Full after a hundred: a day before is earlier.
        assert_eq!(said(100_000, 1000, WhenFull::Refuse), [(76, Some(23)), (100, Some(0))]);
        // Who forgets goes on.
        assert_eq!(said(100_000, 1000, WhenFull::Forget), []);
    }

    #[test]
    fn a_flood_is_noticed_within_the_hour() {
        let start = Instant::now();
        let mut record = Record::new(WhenFull::Refuse);
        let mut held = 0;
        let mut look = |minute: u64, each: u64| {
            held += each;
            let counters =
                Counters { replay_tags: held, replay_tags_most: 50_000_000, ..Counters::default() };
            record.look(start + Duration::from_secs(minute * 60), &counters)
        };
        // Two weeks at a packet a second, then three thousand a second.
        let fortnight = 14 * 24 * 60;
        assert!((0..fortnight).all(|minute| look(minute, 60).is_none()));
        let noticed = (0..60).find(|minute| look(fortnight + minute, 180_000).is_some());
        assert!(noticed.is_some_and(|minutes| minutes < 60), "{noticed:?}");
    }
}
