//! Time as all crates hand it to each other: a moment of a monotonic clock, a moment of the
//! calendar, and the number of an epoch.
//!
//! There is no clock here: the caller has one, which may be a board's counter, a host's monotonic
//! clock or the virtual time of a simulation.

#![no_std]
#![forbid(unsafe_code)]

mod calendar;

use core::ops::{Add, Sub};
use core::time::Duration;

pub use calendar::{Epoch, UnixTime};

/// A moment on the caller's monotonic clock, in microseconds since any origin.
///
/// Arithmetic saturates and drops fractions of a microsecond, so no sum of settings ends a program,
/// and whoever waits for a moment is never called a fraction too early.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Instant(u64);

impl Instant {
    /// The last moment there is.
    pub const NEVER: Self = Self(u64::MAX);

    /// `micros` microseconds after the origin.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// Microseconds since the origin.
    pub const fn as_micros(self) -> u64 {
        self.0
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

impl Add<Duration> for Instant {
    type Output = Self;

    /// [`Instant::NEVER`], if that is earlier.
    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(micros(duration)))
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;

    /// The origin, if that is later.
    fn sub(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(micros(duration)))
    }
}

impl Sub for Instant {
    type Output = Duration;

    /// Zero if `earlier` is the later one: a clock that was set back ends no program.
    fn sub(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

/// The snippets of the package's front page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Instant = Instant::from_micros(1_000_000);

    #[test]
    fn a_moment_has_whole_microseconds() {
        let later = SECOND + Duration::from_nanos(1999);
        assert_eq!(later.as_micros(), 1_000_001);
        assert_eq!(later - SECOND, Duration::from_micros(1));
        assert_eq!(SECOND - Duration::from_nanos(1999), Instant::from_micros(999_999));
    }

    #[test]
    fn nothing_is_after_the_last_moment_or_before_the_first() {
        assert_eq!(SECOND + Duration::MAX, Instant::NEVER);
        assert_eq!(SECOND - Duration::MAX, Instant::default());
        assert_eq!(SECOND - Instant::NEVER, Duration::ZERO);
    }
}
