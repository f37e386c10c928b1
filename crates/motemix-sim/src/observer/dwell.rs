//! For how long a packet stays at a node, as the observer expects it.

use libm::exp;
use std::time::Duration;

/// Stages of the time that processor and radio take beyond the least.
const STAGES: i32 = 3;
const BINS: usize = 1 << 14;
/// The table ends where less than this share of packets is still inside.
const REST: f64 = 1e-7;

/// The least time, then the sum of an Erlang time, for what the processor and the channel were busy with, and the
/// exponential delay. Tabulated; beyond the table nobody is left.
#[derive(Clone, Debug)]
pub(crate) struct Dwell {
    least: Duration,
    step: f64,
    bins: Vec<Bin>,
}

/// At one dwell time.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub(crate) struct Bin {
    /// Leaving, each second, of those that are still inside.
    pub hazard: f64,
    /// Probability of being still inside.
    pub survival: f64,
}

impl Dwell {
    /// `busy` is the mean of what comes on top of `least`, `delay` that of the exponential delay.
    #[allow(clippy::cast_precision_loss, reason = "a few thousand bins")]
    pub fn new(least: Duration, busy: Duration, delay: Duration) -> Self {
        let (stage, delay) = (busy.as_secs_f64() / f64::from(STAGES), delay.as_secs_f64());
        // The tail of the slowest stage decides; the others add little behind it.
        let horizon = 18.0 * delay.max(stage) + 3.0 * (busy.as_secs_f64() + delay) + 1e-3;
        let step = horizon / BINS as f64;
        let mut density = vec![0.0; BINS];
        density[0] = 1.0;
        for mean in std::iter::repeat_n(stage, STAGES as usize).chain([delay]) {
            follow(&mut density, mean, step);
        }
        let mut inside = 1.0;
        let mut bins = Vec::with_capacity(BINS);
        for share in density {
            if inside < REST {
                break;
            }
            bins.push(Bin { hazard: share / inside / step, survival: inside });
            inside -= share;
        }
        Self { least, step, bins }
    }

    /// Of a packet that is here for so long; `None` if none stays so long.
    #[allow(clippy::cast_sign_loss, reason = "neither is negative")]
    pub fn at(&self, stayed: Duration) -> Option<Bin> {
        let Some(beyond) = stayed.checked_sub(self.least) else {
            return Some(Bin { hazard: 0.0, survival: 1.0 });
        };
        self.bins.get((beyond.as_secs_f64() / self.step) as usize).copied()
    }
}

/// Adds an exponential time to a tabulated one.
fn follow(density: &mut [f64], mean: f64, step: f64) {
    if mean <= 0.0 {
        return;
    }
    let stays = exp(-step / mean);
    let mut inside = 0.0;
    for share in density {
        inside += *share;
        *share = inside * (1.0 - stays);
        inside *= stays;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(dwell: &Dwell) -> f64 {
        let beyond: f64 = dwell.bins.iter().map(|bin| bin.survival * dwell.step).sum();
        dwell.least.as_secs_f64() + beyond
    }

    #[test]
    fn its_mean_is_the_sum_of_the_means() {
        let millis = Duration::from_millis;
        for (least, busy, delay) in [(100, 60, 0), (0, 0, 1000), (100, 60, 500), (170, 40, 10_000)] {
            let dwell = Dwell::new(millis(least), millis(busy), millis(delay));
            let expected = millis(least + busy + delay).as_secs_f64();
            assert!((mean(&dwell) / expected - 1.0).abs() < 0.02, "{least} {busy} {delay}: {}", mean(&dwell));
        }
    }

    #[test]
    fn a_pure_delay_has_no_memory() {
        let dwell = Dwell::new(Duration::ZERO, Duration::ZERO, Duration::from_secs(2));
        for millis in [0, 10, 500, 2000, 9000] {
            let bin = dwell.at(Duration::from_millis(millis)).expect("inside");
            assert!((bin.hazard - 0.5).abs() < 0.005, "{millis} ms: {}", bin.hazard);
        }
    }

    #[test]
    fn nobody_leaves_before_the_least_time_and_nobody_stays_for_ever() {
        let dwell = Dwell::new(Duration::from_millis(100), Duration::from_millis(60), Duration::ZERO);
        assert_eq!(dwell.at(Duration::from_millis(99)), Some(Bin { hazard: 0.0, survival: 1.0 }));
        assert_eq!(dwell.at(Duration::from_secs(10)), None);
    }
}
