//! Tables that are not those of a board's program.

use motemix_mote::limits::Limits;
use serde::{Deserialize, Serialize};

/// Lengths of tables in place of those of a board's program. What is simulated with any of them is
/// no mote that ships, and the outcome says so. The fields are those of [`Limits`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NotAsShipped {
    /// Packets that wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets: Option<u16>,
    /// Bytes of the replay filter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay_bytes: Option<u32>,
    /// Places in each of two tables of received messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
    /// Messages in flight; as many tries for each as the board has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<u16>,
    /// Headers made ahead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers: Option<u16>,
    /// Loops under way whose return is counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loops: Option<u16>,
    /// Nodes of a network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u16>,
    /// Bytes of a network document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document: Option<u32>,
}

impl NotAsShipped {
    /// Whether all tables are the board's own.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn apply(&self, shipped: Limits) -> Limits {
        let short = |own: Option<u16>, shipped| own.map_or(shipped, usize::from);
        let long = |own: Option<u32>, shipped| own.map_or(shipped, |own| own as usize);
        let messages = short(self.messages, shipped.messages);
        let mut limits = shipped;
        limits.packets = short(self.packets, shipped.packets);
        limits.replay_bytes = long(self.replay_bytes, shipped.replay_bytes);
        limits.window = long(self.window, shipped.window);
        limits.messages = messages;
        limits.returns = messages * shipped.returns / shipped.messages.max(1);
        limits.headers = short(self.headers, shipped.headers);
        limits.loops = short(self.loops, shipped.loops);
        limits.nodes = short(self.nodes, shipped.nodes);
        limits.document = long(self.document, shipped.document);
        limits
    }
}
