//! A reading of this machine, as a mote of its network would send one.

use std::time::{Duration, Instant};

use rand_core::Rng;

use crate::clock::unix_seconds;
use crate::config::ReadingsConfig;

/// Readings at random times, so that their times say nothing about the machine.
#[derive(Debug)]
pub(super) struct Readings {
    pub(super) to: String,
    mean: Duration,
    next: Instant,
}

impl Readings {
    pub(super) fn new(config: &ReadingsConfig, rng: &mut impl Rng) -> Self {
        let mut readings = Self { to: config.to.clone(), mean: config.every, next: Instant::now() };
        readings.schedule(rng);
        readings
    }

    /// When the next one is due.
    pub(super) fn next(&self) -> Instant {
        self.next
    }

    /// The reading that is due, if one is. Times that were missed are not made up for.
    pub(super) fn take(&mut self, now: Instant, rng: &mut impl Rng) -> Option<String> {
        if now < self.next {
            return None;
        }
        self.schedule(rng);
        Some(reading())
    }

    fn schedule(&mut self, rng: &mut impl Rng) {
        // Uniform in (0, 1]: the logarithm is finite.
        let uniform = (f64::from(rng.next_u32()) + 1.0) / 4_294_967_296.0;
        self.next = Instant::now() + self.mean.mul_f64(-uniform.ln());
    }
}

/// `SenML` (RFC 8428) with the load of the last minute, without a name: the network hides who sends.
fn reading() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").ok();
    let load = load.as_deref().and_then(|text| text.split(' ').next()?.parse::<f32>().ok());
    format!("[{{\"n\":\"load\",\"t\":{},\"v\":{}}}]", unix_seconds(), load.unwrap_or(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::HostRng;

    #[test]
    fn readings_come_at_random_times_with_the_mean_that_was_asked_for() {
        let mut rng = HostRng::new().unwrap();
        let config = ReadingsConfig { to: "receiver".into(), every: Duration::from_secs(10) };
        let before = Instant::now();
        let mut readings = Readings::new(&config, &mut rng);
        assert_eq!(readings.take(before, &mut rng), None);
        let mut sum = Duration::ZERO;
        for _ in 0..2000 {
            let at = readings.next();
            assert!(readings.take(at, &mut rng).is_some());
            sum += readings.next().saturating_duration_since(Instant::now());
        }
        let mean = sum / 2000;
        assert!((9..=11).contains(&mean.as_secs()), "{mean:?}");
    }

    #[test]
    fn a_reading_is_json_and_fits_into_the_smallest_packet() {
        let reading = reading();
        assert!(reading.len() <= 103, "{reading}");
        let senml: serde_json::Value = serde_json::from_str(&reading).unwrap();
        assert_eq!(senml[0]["n"], "load");
    }
}
