//! What a channel is like, and how stations use it.

use super::{Centibels, Loss};

/// How a station gets at the channel. The default is the standard's: exponents 3 to 5, 4 backoffs,
/// 3 retries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// macMinBE: the first backoff is below `2^min_exponent` units. At most 16 counts.
    pub min_exponent: u8,
    /// macMaxBE. At most 16 counts.
    pub max_exponent: u8,
    /// macMaxCSMABackoffs: a busy channel is assessed so many times more.
    pub max_backoffs: u8,
    /// macMaxFrameRetries: an unacknowledged frame is sent so many times more.
    pub max_retries: u8,
}

impl Default for Access {
    fn default() -> Self {
        Self { min_exponent: 3, max_exponent: 5, max_backoffs: 4, max_retries: 3 }
    }
}

/// What a channel is like. By default all hear each other equally well, and nothing is lost but
/// what overlaps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// How every station sends that was not given another way; see [`Channel::set_access`].
    pub access: Access,
    /// The loss of every link that was not set otherwise.
    pub loss: Loss,
    /// By how much a frame must be stronger than whatever overlaps it to survive; `None`: nothing
    /// survives. A receiver that has locked to a frame stays with it, so a later one is lost
    /// however strong it is, as in ns-3's model. Radios need 3 to 6 dB (Leentvaar and Flint,
    /// "The Capture Effect in FM Receivers", 1976).
    pub capture: Option<Centibels>,
    /// The weakest frame that a receiver decodes. The AT86RF231's −101 dBm.
    pub sensitivity: Centibels,
    /// The weakest one that a clear-channel assessment notices. The AT86RF231's −77 dBm at its
    /// reset values; lower in RIOT, which assesses by carrier sense or energy.
    pub assessment_threshold: Centibels,
    /// How many can be there at a time.
    pub stations: u16,
    /// Whether [`Event::OnAir`] is wanted.
    pub report_air: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            access: Access::default(),
            loss: Loss::NONE,
            capture: None,
            sensitivity: Centibels(-10_100),
            assessment_threshold: Centibels(-7_700),
            stations: 1024,
            report_air: false,
        }
    }
}
