//! The channel.

use serde::{Deserialize, Serialize};

/// The channel, and how stations use it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Radio {
    /// Unslotted CSMA/CA.
    pub access: Access,
    /// Probability, 0 to 1, that a frame is lost although nothing overlaps it.
    pub loss: f64,
    /// By how many decibels a frame must be stronger than what overlaps it to survive; without it,
    /// none survives.
    pub capture_db: Option<f64>,
    /// Where the stations are; without it, all hear each other equally well.
    pub room: Option<Room>,
}

impl Default for Radio {
    fn default() -> Self {
        Self { access: Access::default(), loss: 0.0, capture_db: None, room: None }
    }
}

/// Unslotted CSMA/CA and retries: IEEE 802.15.4-2006, 7.5.1.4; the defaults are RIOT's and the
/// standard's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Access {
    /// macMinBE.
    pub min_exponent: u8,
    /// macMaxBE.
    pub max_exponent: u8,
    /// macMaxCSMABackoffs.
    pub max_backoffs: u8,
    /// macMaxFrameRetries.
    pub max_retries: u8,
}

impl Default for Access {
    fn default() -> Self {
        Self { min_exponent: 3, max_exponent: 5, max_backoffs: 4, max_retries: 3 }
    }
}

/// A room with stations at random places, and log-distance path loss with shadowing.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Room {
    /// Metres.
    pub size: [f64; 3],
    /// Path-loss exponent.
    pub exponent: f64,
    /// Path loss at one metre, decibels; in free space at 2.45 GHz it is 40.2.
    pub reference_db: f64,
    /// Standard deviation of the shadowing of a pair of places, decibels.
    pub shadowing_db: f64,
    /// Power sent, decibels above a milliwatt.
    pub power_dbm: f64,
}

impl Default for Room {
    fn default() -> Self {
        Self { size: [7.0, 4.0, 2.0], exponent: 2.0, reference_db: 40.2, shadowing_db: 4.0, power_dbm: 0.0 }
    }
}
