//! The two clocks: one that only goes forward, for exchanges, and the one on the wall, for what
//! expires.

use std::time::Duration;

use motemix_time::Instant;

use crate::Moment;

/// Waits are cut to this: a wall clock that was set is noticed within it.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(crate) struct Clock {
    start: tokio::time::Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { start: tokio::time::Instant::now() }
    }

    /// Now, for exchanges. Zero is before the start.
    pub(crate) fn now(&self) -> Instant {
        Instant::from_micros(1) + self.start.elapsed()
    }

    /// Now, on the wall.
    #[expect(clippy::unused_self, reason = "both clocks are read through it")]
    pub(crate) fn moment(&self) -> Moment {
        Moment::from_millis(u64::try_from(motemix_os::clock::unix_time().as_millis()).unwrap_or(u64::MAX))
    }

    /// When a moment for exchanges is.
    pub(crate) fn at(&self, at: Instant) -> tokio::time::Instant {
        (self.start + (at - Instant::from_micros(1)).min(self.start.elapsed() + LONGEST_WAIT)).min(self.far())
    }

    /// When a moment on the wall is, or before, should it be far away.
    pub(crate) fn at_moment(&self, at: Moment) -> tokio::time::Instant {
        let left = at.as_millis().saturating_sub(self.moment().as_millis());
        tokio::time::Instant::now() + Duration::from_millis(left).min(LONGEST_WAIT)
    }

    /// The longest wait.
    #[expect(clippy::unused_self, reason = "both clocks are read through it")]
    pub(crate) fn far(&self) -> tokio::time::Instant {
        tokio::time::Instant::now() + LONGEST_WAIT
    }
}
