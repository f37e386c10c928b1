//! When to doubt that a key is still the neighbour's newest.
//!
//! Two handshakes of the same two neighbours may overlap, and who is on the path may hold the last
//! message of one back until the other is over. Then each side takes another key for the newest,
//! and all that comes looks forged. Nothing tells this from a stranger's forgeries but a handshake,
//! so what is forged is a reason for one, if the neighbour has shown nothing else for a minute.

use motemix_time::Instant;

/// Units of time are 2^20 µs, about a second: sixteen bits of them fit beside a key.
const UNIT: u32 = 20;
/// A minute, and up to 1.9 s more.
const AFTER: u16 = 59;

/// Since when nothing has shown that a key is the neighbour's too. Whoever keeps it makes it anew
/// when a key was made, when something new came under it, and when the neighbour is asked.
///
/// It is a moment in two bytes, so every 19 hours there is a minute in which it is not due.
#[derive(Clone, Copy, Default, Debug)]
pub struct Doubt {
    since: u16,
}

impl Doubt {
    /// For memory that holds no key.
    pub const NONE: Self = Self { since: 0 };

    /// There is no doubt at this moment.
    pub const fn none(now: Instant) -> Self {
        Self { since: units(now) }
    }

    /// Whether what is forged is a reason to ask the neighbour for another key.
    pub const fn is_due(self, now: Instant) -> bool {
        units(now).wrapping_sub(self.since) >= AFTER
    }
}

const fn units(now: Instant) -> u16 {
    (now.as_micros() >> UNIT) as u16
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;

    #[test]
    fn it_is_due_after_a_minute_wherever_the_clock_stands() {
        for begun in [0, 999_999, 1 << UNIT, (1 << 36) - 1, (1 << 36) - 30_000_000, u64::MAX >> 1] {
            let begun = Instant::from_micros(begun);
            let doubt = Doubt::none(begun);
            assert!(!doubt.is_due(begun));
            assert!(!doubt.is_due(begun + Duration::from_secs(60)));
            assert!(doubt.is_due(begun + Duration::from_millis(61_900)));
            assert!(doubt.is_due(begun + Duration::from_hours(19)));
        }
    }
}
