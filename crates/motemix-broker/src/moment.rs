//! When something happened, as clocks on walls have it.

/// Milliseconds since 1970 (UTC): what is stored, and what expires, needs a time that survives a
/// restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(u64);

impl Moment {
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
