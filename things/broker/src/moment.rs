//! When something happened, as clocks on walls have it.

/// Milliseconds since 1970 (UTC): what is stored, and what expires, needs a time that survives a
/// restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(u64);

/// Seconds by which clocks of one machine, or of brokers that share a store, may differ.
const TOLERANCE: u64 = 60;

impl Moment {
    /// Before this program was written no clock was right: 2026-01-01.
    pub(crate) const WRITTEN: Self = Self(1_767_225_600_000);

    /// Whether it was written by a clock that was ahead of this present one. A present before this
    /// program was written says nothing.
    pub(crate) const fn is_ahead_of(self, now: Self) -> bool {
        now.0 > Self::WRITTEN.0 && self.0 > now.plus_secs(TOLERANCE).0
    }

    /// A moment given in milliseconds since 1970.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// Milliseconds since 1970.
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// Whole seconds since 1970.
    pub const fn as_secs(self) -> u64 {
        self.0 / 1000
    }

    /// `millis` later, or the last moment there is.
    #[must_use]
    pub const fn plus_millis(self, millis: u64) -> Self {
        Self(self.0.saturating_add(millis))
    }

    /// `seconds` later, or the last moment there is.
    #[must_use]
    pub const fn plus_secs(self, seconds: u64) -> Self {
        self.plus_millis(seconds.saturating_mul(1000))
    }
}
