//! Poisson streams: when something is sent next.

use std::time::Duration;

use motemix_crypto::uniform::below;
use motemix_node::Instant;
use rand_core::CryptoRng;

/// The longest interval that is drawn. A stream whose mean is beyond it is as good as off.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// What the clock can tell apart.
const CLOCK_STEP: Duration = Duration::from_micros(1);

const TWO_TO_53: f64 = 9_007_199_254_740_992.0;

/// A stream of events with exponential intervals.
#[derive(Debug)]
pub(super) struct Stream {
    mean: Duration,
    next: Option<Instant>,
}

impl Stream {
    /// A stream that begins at `now`. With a mean of zero it is off: nobody can send without pause.
    pub(super) fn new(mean: Duration, now: Instant, rng: &mut impl CryptoRng) -> Self {
        let next = (!mean.is_zero()).then(|| now + exponential(mean, rng));
        Self { mean, next }
    }

    /// Whether an event is due; the next one is drawn then. After a pause, missed events are not
    /// made up for: a burst would say how long the pause was.
    pub(super) fn take(&mut self, now: Instant, rng: &mut impl CryptoRng) -> bool {
        let due = self.next.is_some_and(|next| next <= now);
        if due {
            let after = self.next.map(|next| next + exponential(self.mean, rng));
            let after =
                after.map(|after| if after <= now { now + exponential(self.mean, rng) } else { after });
            // The caller asks until nothing is due: with a mean below the clock's step there would
            // be no end.
            self.next = after.map(|after| after.max(now + CLOCK_STEP));
        }
        due
    }

    pub(super) const fn due(&self) -> Option<Instant> {
        self.next
    }
}

/// An exponentially distributed time.
pub(super) fn exponential(mean: Duration, rng: &mut impl CryptoRng) -> Duration {
    if mean.is_zero() {
        return Duration::ZERO;
    }
    // 53 random bits in (0, 1]: the logarithm is finite.
    let (high, low) = (rng.next_u32(), rng.next_u32() >> 11);
    let uniform = (f64::from(high) * f64::from(1_u32 << 21) + f64::from(low) + 1.0) / TWO_TO_53;
    let seconds = -libm::log(uniform) * mean.as_secs_f64();
    Duration::try_from_secs_f64(seconds).unwrap_or(LONGEST).min(LONGEST)
}

/// One of a list that is not empty, each as likely as every other.
pub(super) fn one_of<'a, T>(list: &'a [T], rng: &mut impl CryptoRng) -> &'a T {
    let count = u32::try_from(list.len()).unwrap_or(u32::MAX);
    &list[below(rng, count) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha20Rng;
    use rand_core::SeedableRng as _;

    #[test]
    fn intervals_have_the_mean_that_was_asked_for() {
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        let mean = Duration::from_millis(250);
        let rounds = 20_000;
        let sum: Duration = (0..rounds).map(|_| exponential(mean, &mut rng)).sum();
        let measured = sum.as_secs_f64() / f64::from(rounds);
        // The standard error is 0.7 %.
        assert!((measured - 0.25).abs() < 0.25 * 0.03, "{measured}");
    }

    #[test]
    fn a_mean_of_zero_is_off_and_a_pause_is_no_burst() {
        let mut rng = ChaCha20Rng::from_seed([2; 32]);
        let start = Instant::from_micros(0);
        assert_eq!(Stream::new(Duration::ZERO, start, &mut rng).due(), None);
        let mut stream = Stream::new(Duration::from_secs(1), start, &mut rng);
        let late = start + Duration::from_secs(1000);
        assert!(stream.take(late, &mut rng));
        assert!(!stream.take(late, &mut rng));
        assert!(stream.due().unwrap() > late);
    }

    #[test]
    fn a_mean_below_the_clocks_step_does_not_spin() {
        let mut rng = ChaCha20Rng::from_seed([3; 32]);
        let now = Instant::from_micros(5);
        let mut stream = Stream::new(Duration::from_nanos(1), now, &mut rng);
        assert!(stream.take(now, &mut rng));
        assert!(!stream.take(now, &mut rng));
    }
}
