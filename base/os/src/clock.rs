//! The clocks of a host: one that never goes back, that of the calendar, and the time since the
//! machine was started.

use std::fs;
use std::sync::OnceLock;
use std::time::{Duration, Instant as HostInstant, SystemTime};

use motemix_time::Instant;
use motemix_time::UnixTime;

/// Counts microseconds from its start. Delays and timers run on it, whatever happens to the wall
/// clock.
#[derive(Debug, Clone, Copy)]
pub struct HostClock {
    origin: HostInstant,
}

impl HostClock {
    /// A clock that is at 0 µs now.
    pub fn start() -> Self {
        Self { origin: HostInstant::now() }
    }

    /// A clock that was started so long ago, for tests.
    ///
    /// # Panics
    /// The platform's time began later.
    #[doc(hidden)]
    pub fn started(ago: Duration) -> Self {
        Self { origin: HostInstant::now().checked_sub(ago).expect("the platform's time began before") }
    }

    /// The node's time.
    pub fn now(&self) -> Instant {
        Instant::from_micros(u64::try_from(self.origin.elapsed().as_micros()).unwrap_or(u64::MAX))
    }

    /// The platform's time for the node's; a year from now if the platform cannot say it.
    pub fn at(&self, time: Instant) -> HostInstant {
        let far = || HostInstant::now() + Duration::from_hours(365 * 24);
        self.origin.checked_add(Duration::from_micros(time.as_micros())).unwrap_or_else(far)
    }
}

/// Wall-clock time since the Unix epoch; zero if this machine believes that it is earlier.
pub fn unix_time() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

/// A number that the system chooses anew at each start of the machine.
pub fn boot_id() -> Option<String> {
    static ID: OnceLock<Option<String>> = OnceLock::new();
    let read = || {
        let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        Some(id.trim_end().to_owned()).filter(|id| !id.is_empty())
    };
    ID.get_or_init(read).clone()
}

/// Time since the machine was started, suspension included. Where the system has no such clock,
/// time since this was first asked.
pub fn boot_time() -> Duration {
    static FIRST: OnceLock<HostInstant> = OnceLock::new();
    #[cfg(any(target_os = "linux", target_os = "android"))]
    if let Ok(time) = nix::time::clock_gettime(nix::time::ClockId::CLOCK_BOOTTIME) {
        return time.into();
    }
    FIRST.get_or_init(HostInstant::now).elapsed()
}

/// [`unix_time`] in whole seconds, as network documents count it.
pub fn unix_seconds() -> UnixTime {
    UnixTime(unix_time().as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_node_s_time_and_the_platform_s_agree() {
        let clock = HostClock::start();
        let before = clock.now();
        assert!(clock.at(before) <= HostInstant::now());
        assert!(clock.at(before + Duration::from_mins(1)) > HostInstant::now());
        assert!(clock.at(Instant::NEVER) > HostInstant::now());
    }

    #[test]
    fn a_time_is_told_as_jiff_tells_it() {
        // Nearly four days: it has no factor of a day, so that all times of day occur.
        for seconds in (0..253_402_207_200).step_by(336_171) {
            let told = jiff::Timestamp::from_second(seconds).unwrap().to_string();
            assert_eq!(UnixTime(seconds.unsigned_abs()).to_string(), told);
        }
    }
}
