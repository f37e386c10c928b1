//! Who is there, and what they send.

use super::{NotAsShipped, Time};
use motemix_mote::limits::{self, Limits};
use serde::{Deserialize, Serialize};

/// Nodes that are alike.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// How many.
    pub count: u16,
    /// What they are.
    #[serde(default)]
    pub board: Board,
    /// Whether they send messages of their own.
    #[serde(default = "yes")]
    pub sends: bool,
    /// Whether paths lead through them.
    #[serde(default = "yes")]
    pub forwards: bool,
    /// Whether messages are for them.
    #[serde(default = "yes")]
    pub receives: bool,
    /// Tables of another length than the board's program has.
    #[serde(default, skip_serializing_if = "NotAsShipped::is_empty")]
    pub not_as_shipped: NotAsShipped,
}

fn yes() -> bool {
    true
}

/// A board: its processor, radio and currents.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Board {
    /// SAMR21 Xplained Pro: Cortex-M0+ at 48 MHz.
    Samr21Xpro,
    /// IoT-LAB M3: Cortex-M3 at 72 MHz, AT86RF231.
    #[default]
    IotlabM3,
    /// nRF52840DK: Cortex-M4 at 64 MHz.
    Nrf52840dk,
    /// micro:bit: Cortex-M0 at 16 MHz, with a radio at its serial line.
    Microbit,
}

impl Board {
    /// The tables of its program.
    pub const fn limits(self) -> Limits {
        match self {
            Self::Samr21Xpro => limits::SAMR21_XPRO,
            Self::IotlabM3 => limits::IOTLAB_M3,
            Self::Nrf52840dk => limits::NRF52840DK,
            Self::Microbit => limits::MICROBIT,
        }
    }
}

impl Group {
    /// The tables that its nodes run with.
    pub fn limits(&self) -> Limits {
        self.not_as_shipped.apply(self.board.limits())
    }
}

/// What the nodes send.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Load {
    /// What they are.
    pub content: Content,
    /// Mean time between two messages of one node.
    pub interval: Time,
    /// How the times between messages are spread about the mean.
    pub spread: Spread,
    /// To whom.
    pub receivers: Receivers,
    /// Bytes for the application; the greatest that a packet carries by default.
    pub payload: Option<u16>,
}

impl Default for Load {
    fn default() -> Self {
        Self {
            content: Content::Messages,
            interval: Time::seconds(16),
            spread: Spread::default(),
            receivers: Receivers::Random,
            payload: None,
        }
    }
}

/// What nodes send.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Content {
    /// Messages without content.
    Messages,
    /// What a board sends when somebody types `readings NAME SECONDS`: it measures, signs, and
    /// keeps each reading in flash until that is acknowledged. Who receives one checks it.
    Readings,
}

/// How the times between messages are spread about their mean. Each node begins at a random moment
/// of its first interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spread {
    /// Always the mean: a signature, which an observer learns.
    Fixed,
    /// Between none and twice the mean.
    Uniform,
    /// A Poisson process, as motes send their readings.
    #[default]
    Exponential,
}

/// To whom messages go.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Receivers {
    /// Any of those who receive, but oneself; drawn for each message.
    Random,
    /// One of those, the same for all messages of a node. By chance one receiver has several
    /// senders.
    Fixed,
    /// The same, but none has more senders than another, as far as that goes.
    Even,
}
