//! For how long a packet stays at a node, as the observer expects it.

use libm::{exp, log};
use std::time::Duration;

/// Stages of the Erlang time.
const STAGES: u32 = 3;
const BINS: usize = 1 << 14;
/// The table ends where less than this share of packets is still inside.
const REST: f64 = 1e-7;

/// What a dwell time is made of.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Parts {
    /// No packet is faster.
    pub least: Duration,
    /// Mean of the Erlang time that comes on top, for waiting for the channel.
    pub busy: Duration,
    /// Mean of the exponential delay.
    pub delay: Duration,
    /// Share of the packets that wait for others besides, or for a frame that was put back, and the
    /// mean of that wait.
    pub stalled: (f64, Duration),
}

/// The distribution of a sum of [`Parts`]. Tabulated; beyond the table nobody is left.
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
    /// All hazard until now: the logarithm of the survival, with the sign changed.
    pub risk: f64,
}

impl Dwell {
    #[allow(clippy::cast_precision_loss, reason = "a few thousand bins")]
    pub fn new(parts: Parts) -> Self {
        let [stage, delay] = [parts.busy / STAGES, parts.delay].map(|mean| mean.as_secs_f64());
        let (share, stall) = (parts.stalled.0, parts.stalled.1.as_secs_f64());
        let stall = if share > 0.0 { stall } else { 0.0 };
        // The tail of the slowest part decides; the others add little behind it.
        let horizon = 18.0 * delay.max(stall).max(stage) + 3.0 * (delay + stall + 3.0 * stage) + 1e-3;
        let step = horizon / BINS as f64;
        let mut density = vec![0.0; BINS];
        density[0] = 1.0;
        for mean in [stage, stage, stage, delay] {
            follow(&mut density, mean, step);
        }
        let mut stalled = density.clone();
        follow(&mut stalled, stall, step);
        let mut inside = 1.0;
        let mut bins = Vec::with_capacity(BINS);
        for (undisturbed, stalled) in density.into_iter().zip(stalled) {
            if inside < REST {
                break;
            }
            let leaving = undisturbed * (1.0 - share) + stalled * share;
            bins.push(Bin { hazard: leaving / inside / step, survival: inside, risk: -log(inside) });
            inside -= leaving;
        }
        Self { least: parts.least, step, bins }
    }

    /// The mean, seconds.
    pub fn mean(&self) -> f64 {
        let beyond: f64 = self.bins.iter().map(|bin| bin.survival * self.step).sum();
        self.least.as_secs_f64() + beyond
    }

    /// What holds for a packet that is here for so long; `None` if none stays so long.
    #[allow(clippy::cast_sign_loss, reason = "neither is negative")]
    pub fn at(&self, stayed: Duration) -> Option<Bin> {
        let Some(beyond) = stayed.checked_sub(self.least) else {
            return Some(Bin { hazard: 0.0, survival: 1.0, risk: 0.0 });
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

    fn millis(least: u64, busy: u64, delay: u64, stalled: (f64, u64)) -> (Dwell, f64) {
        let [least, busy, delay] = [least, busy, delay].map(Duration::from_millis);
        let stalled = (stalled.0, Duration::from_millis(stalled.1));
        let sum = (least + busy + delay).as_secs_f64() + stalled.0 * stalled.1.as_secs_f64();
        (Dwell::new(Parts { least, busy, delay, stalled }), sum)
    }

    #[test]
    fn its_mean_is_the_sum_of_the_means() {
        for (dwell, expected) in [
            millis(100, 60, 0, (0.0, 0)),
            millis(0, 0, 1000, (0.0, 0)),
            millis(100, 60, 500, (0.1, 300)),
            millis(170, 40, 10_000, (0.2, 250)),
        ] {
            assert!((dwell.mean() / expected - 1.0).abs() < 0.02, "{} for {expected}", dwell.mean());
        }
    }

    #[test]
    fn a_pure_delay_has_no_memory() {
        let (dwell, _) = millis(0, 0, 2000, (0.0, 0));
        for millis in [0, 10, 500, 2000, 9000] {
            let bin = dwell.at(Duration::from_millis(millis)).expect("inside");
            assert!((bin.hazard - 0.5).abs() < 0.005, "{millis} ms: {}", bin.hazard);
        }
    }

    #[test]
    fn nobody_leaves_before_the_least_time_and_nobody_stays_for_ever() {
        let (dwell, _) = millis(100, 60, 0, (0.0, 0));
        assert_eq!(dwell.at(Duration::from_millis(99)), Some(Bin { hazard: 0.0, survival: 1.0, risk: 0.0 }));
        assert_eq!(dwell.at(Duration::from_secs(10)), None);
    }
}
