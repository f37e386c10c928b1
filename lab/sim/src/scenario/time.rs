//! Durations as people write them.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::time::Duration;

/// A duration, in text as `"20 ms"` or `"1h 16min"`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Time(pub Duration);

impl Time {
    /// Whole seconds.
    pub const fn seconds(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }

    /// Whole milliseconds.
    pub const fn millis(millis: u64) -> Self {
        Self(Duration::from_millis(millis))
    }

    /// Whole microseconds.
    pub const fn micros(micros: u64) -> Self {
        Self(Duration::from_micros(micros))
    }

    /// Itself, where zero says that there is none: a sweep can vary a value, not leave it out.
    pub fn unless_zero(self) -> Option<Duration> {
        Some(self.0).filter(|time| !time.is_zero())
    }

    /// Microseconds, the grain of the simulation.
    pub const fn as_micros(self) -> u64 {
        self.0.as_secs() * 1_000_000 + self.0.subsec_micros() as u64
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&humantime::format_duration(self.0))
    }
}

fn without_unit<E: de::Error>(number: impl std::fmt::Display) -> E {
    E::custom(format!("{number} has no unit; write \"{number} s\" or \"{number} ms\", with quotation marks"))
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        /// So that a number gets an answer with its unit.
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a duration is a text, as \"20 ms\" or \"1h 16min\"")]
        enum Written {
            Text(String),
            Whole(u64),
            Decimal(f64),
        }

        let text = match Written::deserialize(from)? {
            Written::Text(text) => text,
            Written::Whole(number) => return Err(without_unit(number)),
            Written::Decimal(number) => return Err(without_unit(number)),
        };
        let time = humantime::parse_duration(&text).map_err(|error| {
            de::Error::custom(format!(
                "{text:?} is no duration ({error}); write it as \"20 ms\" or \"1h 16min\""
            ))
        })?;
        if time > Duration::from_secs(366 * 86_400) {
            return Err(de::Error::custom("a duration is at most a year"));
        }
        Ok(Self(time))
    }
}
