//! The two clocks of a node: one that never goes back, and the one on the wall.

use std::time::{Duration, Instant, SystemTime};

/// Counts microseconds from its start. Delays and timers run on it, whatever happens to the wall clock.
#[derive(Debug, Clone, Copy)]
pub struct HostClock {
    origin: Instant,
}

impl HostClock {
    /// A clock that is at 0 µs now.
    pub fn start() -> Self {
        Self { origin: Instant::now() }
    }

    /// Microseconds since the start.
    pub fn micros(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// The moment that is `micros` µs after the start; a year from now if it is beyond what the platform can say.
    pub fn at(&self, micros: u64) -> Instant {
        let far = || Instant::now() + Duration::from_hours(365 * 24);
        self.origin.checked_add(Duration::from_micros(micros)).unwrap_or_else(far)
    }
}

/// Wall-clock time since the Unix epoch; zero if this machine believes that it is earlier.
pub fn unix_time() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_and_microseconds_agree() {
        let clock = HostClock::start();
        let before = clock.micros();
        assert!(clock.at(before) <= Instant::now());
        assert!(clock.at(before + 60_000_000) > Instant::now());
        assert!(clock.at(u64::MAX) > Instant::now());
    }
}
