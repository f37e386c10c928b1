//! Times of the calendar.

use core::fmt;

/// The number of an epoch: the time for which a network document and its mix keys serve.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Epoch(pub u32);

impl fmt::Display for Epoch {
    /// In decimal: the stem of the document's file name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A moment in seconds since 1970-01-01T00:00:00Z, leap seconds not counted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct UnixTime(pub u64);

/// As RFC 3339 has it, in UTC: `2025-11-13T02:13:20Z`. That form ends with the year 9999.
impl fmt::Display for UnixTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LAST: u64 = 253_402_300_799;
        if self.0 > LAST {
            return f.write_str("after the year 9999");
        }
        // Below the limit, days fit into 32 bits, and a small core divides those fast.
        let (days, second) = ((self.0 / 86_400) as u32, (self.0 % 86_400) as u32);
        let (year, month, day) = date(days);
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }
}

/// Year, month and day of the Gregorian calendar, so many days after 1970-01-01.
///
/// A year is taken to begin in March, so that its leap day is its last: then months have 31, 30,
/// 31, 30 and 31 days, again and again, and the first of month m (March is 0) is day (153 m + 2) /
/// 5 of the year.
const fn date(days: u32) -> (u32, u32, u32) {
    const ERA: u32 = 146_097; // days in 400 years
    // Days after 0000-03-01.
    let days = days + 719_468;
    let (era, day) = (days / ERA, days % ERA);
    let year = (day - day / 1_460 + day / 36_524 - day / (ERA - 1)) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next_year) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (400 * era + year + next_year, month, day)
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::string::ToString as _;

    #[test]
    fn times_are_told_as_rfc_3339_has_them() {
        for (seconds, told) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_763_000_000, "2025-11-13T02:13:20Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"), // not a leap year
            (253_402_300_799, "9999-12-31T23:59:59Z"),
            (253_402_300_800, "after the year 9999"),
            (u64::MAX, "after the year 9999"),
        ] {
            assert_eq!(UnixTime(seconds).to_string(), told);
        }
    }
}
