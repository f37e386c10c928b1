//! The clock of exchanges, which only goes forward.

use std::time::Duration;

use motemix_time::Instant;

/// Waits are cut to this: a wall clock that was set is noticed within it.
pub const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Counts from its start.
#[derive(Debug)]
pub struct Clock {
    start: tokio::time::Instant,
}

impl Clock {
    /// Begins now.
    pub fn start() -> Self {
        Self { start: tokio::time::Instant::now() }
    }

    /// Now. Zero is before the start.
    pub fn now(&self) -> Instant {
        Instant::from_micros(1) + self.start.elapsed()
    }

    /// When a moment is.
    pub fn at(&self, at: Instant) -> tokio::time::Instant {
        (self.start + (at - Instant::from_micros(1)).min(self.start.elapsed() + LONGEST_WAIT)).min(far())
    }
}

/// The longest wait.
pub fn far() -> tokio::time::Instant {
    tokio::time::Instant::now() + LONGEST_WAIT
}
