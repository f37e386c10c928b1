//! When a replay filter will be full, by how fast it fills.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use motemix_directory::Epoch;

/// Fewer packets than these say nothing about a rate: one standard deviation of 32 is 6.
const LEAST: u64 = 32;
/// The longest time that a rate is taken over.
const LONGEST: Duration = Duration::from_mins(10);
/// The shortest.
const SHORTEST: Duration = Duration::from_secs(2);

/// Samples of one epoch's filter: what it admitted, and what it refused because that has to last.
/// Both together are what it would have needed.
#[derive(Debug, Default)]
pub(super) struct Forecast {
    epoch: Option<Epoch>,
    samples: VecDeque<Sample>,
    /// Packets admitted and refused at the end of the epoch before.
    before: (u64, u64),
}

#[derive(Debug, Clone, Copy)]
struct Sample {
    at: Instant,
    admitted: u64,
    refused: u64,
}

impl Forecast {
    /// Takes a sample, at most one a second; `span` is the length of the epoch, an eighth of which
    /// the rate is taken over.
    pub(super) fn sample(&mut self, at: Instant, epoch: Epoch, admitted: u64, refused: u64, span: Duration) {
        if self.epoch.replace(epoch) != Some(epoch) {
            self.before = self.lately();
            self.samples.clear();
        }
        self.samples.push_back(Sample { at, admitted, refused });
        let window = (span / 8).clamp(SHORTEST, LONGEST);
        while self.samples.get(1).is_some_and(|second| at.duration_since(second.at) >= window) {
            self.samples.pop_front();
        }
    }

    /// Packets admitted and refused in the time that the rate is taken over. One sample says
    /// nothing: until there are two, it is what the epoch before ended with.
    pub(super) fn lately(&self) -> (u64, u64) {
        match (self.samples.front(), self.samples.back()) {
            (Some(first), Some(last)) if self.samples.len() > 1 => {
                (last.admitted.saturating_sub(first.admitted), last.refused.saturating_sub(first.refused))
            }
            _ => self.before,
        }
    }

    /// How long it takes until so many more have come as there are places `left`; `None` if the
    /// rate is not known.
    pub(super) fn full_in(&self, left: u64) -> Option<Duration> {
        let time = self.samples.back()?.at.duration_since(self.samples.front()?.at);
        let (admitted, refused) = self.lately();
        let more = admitted + refused;
        if time < SHORTEST || more < LEAST {
            return None;
        }
        let micros = time.as_micros() * u128::from(left) / u128::from(more);
        Some(Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_hours(24);

    const EPOCH: Epoch = Epoch(7);

    #[test]
    fn a_filter_that_fills_evenly_is_full_when_the_rate_says() {
        let (mut forecast, start) = (Forecast::default(), Instant::now());
        for second in 0..1000 {
            forecast.sample(start + Duration::from_secs(second), EPOCH, second * 12, 0, DAY);
        }
        let full_in = forecast.full_in((1 << 20) - 12_000).unwrap();
        assert!((86_000..87_000).contains(&full_in.as_secs()), "{full_in:?}");
        assert_eq!(forecast.full_in(0).unwrap(), Duration::ZERO, "full already");
    }

    #[test]
    fn what_is_refused_would_have_filled_it_too() {
        let (mut forecast, start) = (Forecast::default(), Instant::now());
        for second in 0..100 {
            forecast.sample(start + Duration::from_secs(second), EPOCH, second, second * 9, DAY);
        }
        assert_eq!(forecast.full_in(1000).unwrap().as_secs(), 100);
        assert_eq!(forecast.lately(), (99, 99 * 9));
    }

    #[test]
    fn a_few_packets_and_a_new_epoch_say_nothing() {
        let (mut forecast, start) = (Forecast::default(), Instant::now());
        forecast.sample(start, EPOCH, 0, 0, DAY);
        forecast.sample(start + Duration::from_secs(100), EPOCH, 31, 0, DAY);
        assert_eq!(forecast.full_in(1000), None);
        forecast.sample(start + Duration::from_secs(110), EPOCH, 1000, 0, DAY);
        assert!(forecast.full_in(2000).is_some());
        forecast.sample(start + Duration::from_secs(111), Epoch(8), 1003, 0, DAY);
        assert_eq!(forecast.full_in(1000), None, "the next epoch's filter");
        assert_eq!(forecast.lately(), (1000, 0), "of it nothing is known yet");
        forecast.sample(start + Duration::from_secs(112), Epoch(8), 1004, 7, DAY);
        assert_eq!(forecast.lately(), (1, 7));
    }

    #[test]
    fn a_change_of_rate_is_seen_within_ten_minutes() {
        let (mut forecast, start) = (Forecast::default(), Instant::now());
        for second in 0..1200 {
            let admitted = if second < 600 { second } else { 600 + (second - 600) * 100 };
            forecast.sample(start + Duration::from_secs(second), EPOCH, admitted, 0, DAY);
        }
        assert!((9_900..10_200).contains(&forecast.full_in(1_000_000).unwrap().as_secs()));
    }
}
