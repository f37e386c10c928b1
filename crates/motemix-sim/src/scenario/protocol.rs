//! What the nodes run.

use super::Time;
use serde::{Deserialize, Serialize};

/// The shipping code. What all nodes agree on, the memory of a mote, and what it does about loss.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Motes {
    /// Hops each way, 1 to 3.
    pub hops: u8,
    /// Mean of the exponential delay at a mix.
    pub mean_delay: Time,
    /// What a hop may take besides its delay before a try counts as lost.
    pub hop_allowance: Time,
    /// Tries in all for one message.
    pub transmissions: u8,
    /// Mean time between a node's loops.
    pub loop_mean: Option<Time>,
    /// Mean time between a node's drop cover packets.
    pub drop_mean: Option<Time>,
    /// Mean time between the ticks on which messages leave; without it, they leave at once.
    pub payload_mean: Option<Time>,
    /// Messages in flight.
    pub in_flight: u16,
    /// Packets that may wait.
    pub packets: u16,
    /// Headers made ahead.
    pub headers: u16,
    /// What the link does about loss.
    pub link: LinkFixes,
}

impl Default for Motes {
    fn default() -> Self {
        Self {
            hops: 3,
            mean_delay: Time::seconds(1),
            hop_allowance: Time::seconds(2),
            transmissions: 4,
            loop_mean: None,
            drop_mean: None,
            payload_mean: None,
            in_flight: 4,
            packets: 8,
            headers: 3,
            link: LinkFixes::default(),
        }
    }
}

/// What the link does about loss; each can be turned off by itself.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LinkFixes {}
