//! When a mote sends a reading; what it says comes from whoever runs the node.

use std::task::Poll;
use std::time::{Duration, Instant};

use rand_core::Rng;

use super::Source;
use crate::config::ReadingsConfig;

/// How soon a reading that is still being made is asked for again.
const AGAIN: Duration = Duration::from_millis(50);

/// Readings at random times, so that their times say nothing about the machine.
pub(super) struct Readings {
    pub(super) to: String,
    mean: Duration,
    next: Instant,
    source: Box<dyn Source>,
}

impl Readings {
    pub(super) fn new(config: &ReadingsConfig, source: Box<dyn Source>, rng: &mut impl Rng) -> Self {
        let mut readings = Self { to: config.to.clone(), mean: config.every, next: Instant::now(), source };
        readings.schedule(rng);
        readings
    }

    /// When the next one is due.
    pub(super) fn next(&self) -> Instant {
        self.next
    }

    /// The reading that is due, if one is, of at most `most` bytes. Times that were missed are not
    /// made up for.
    pub(super) fn take(&mut self, now: Instant, most: usize, rng: &mut impl Rng) -> Option<Vec<u8>> {
        if now < self.next {
            return None;
        }
        let Poll::Ready(reading) = self.source.poll(most) else {
            self.next = now + AGAIN;
            return None;
        };
        self.schedule(rng);
        Some(reading).filter(|reading| !reading.is_empty())
    }

    /// Why the last one could not be made.
    pub(super) fn problem(&self) -> Option<String> {
        self.source.problem()
    }

    fn schedule(&mut self, rng: &mut impl Rng) {
        // Uniform in (0, 1]: the logarithm is finite.
        let uniform = (f64::from(rng.next_u32()) + 1.0) / 4_294_967_296.0;
        self.next = Instant::now() + self.mean.mul_f64(-uniform.ln());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motemix_os::rng::HostRng;

    #[test]
    fn readings_come_at_random_times_with_the_mean_that_was_asked_for() {
        let mut rng = HostRng::new().unwrap();
        let config = ReadingsConfig::new("receiver", Duration::from_secs(10));
        let before = Instant::now();
        let mut readings = Readings::new(&config, Box::new(|most: usize| vec![1; most]), &mut rng);
        assert_eq!(readings.take(before, 9, &mut rng), None);
        let mut sum = Duration::ZERO;
        for _ in 0..2000 {
            let at = readings.next();
            assert_eq!(readings.take(at, 9, &mut rng).map(|reading| reading.len()), Some(9));
            sum += readings.next().saturating_duration_since(Instant::now());
        }
        let mean = sum / 2000;
        assert!((9..=11).contains(&mean.as_secs()), "{mean:?}");
    }
}
