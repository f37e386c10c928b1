//! What a node knows of itself beside its counters, for those who run it.

use serde::{Deserialize, Serialize};

/// How things stand with a node. It is told to its own user alone.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NodeDetail {
    /// The network's name.
    pub network: String,
    /// The document in use; `None` if the node waits for one.
    pub document: Option<DocumentDetail>,
    /// The earliest epoch whose key it still has.
    pub keys_from: u64,
    /// The authorities that were told its keys.
    pub authorities: Vec<ToldAuthority>,
    /// The replay filter of the present epoch; `None` if the node waits for a document.
    pub replay_filter: Option<ReplayFill>,
    /// Packets that wait until they may leave; `None` if the node waits for a document.
    pub queue: Option<QueueFill>,
    /// Whether its own loops come back; `None` if the node waits for a document.
    pub loops: Option<LoopsDetail>,
    /// Where its state is; `None` if the system does not say.
    pub disk: Option<DiskRoom>,
    /// Per cent of the inbox's quota; `None` without an inbox.
    pub inbox_percent: Option<u64>,
    /// The time that it goes by.
    pub clock: ClockDetail,
}

/// A network document in use, and those that follow it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DocumentDetail {
    /// Its epoch.
    pub epoch: u64,
    /// Whether its time is now: past its end nothing of the node's own is sent.
    pub in_force: bool,
    /// Its first second, since 1970.
    pub valid_after: u64,
    /// The first second after it.
    pub valid_until: u64,
    /// Documents that follow it without a gap.
    pub later: u64,
    /// The first second that none of them covers.
    pub covered_until: u64,
    /// Nodes in it.
    pub nodes: u64,
    /// The layer in which this node forwards packets; `None` for an endpoint.
    pub layer: Option<u8>,
    /// The packet profile.
    pub profile: String,
}

/// An authority that this node tells its keys.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ToldAuthority {
    /// Host and port.
    pub at: String,
    /// The first epoch of which it has no key; `None` if it took none in this run.
    pub keys_until: Option<u64>,
    /// Why the last word to it was in vain.
    pub problem: Option<String>,
}

/// How full a replay filter is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ReplayFill {
    /// Packets that it remembers.
    pub tags: u64,
    /// How many it can.
    pub most: u64,
    /// Seconds until it is full at the present rate, if that is in sight.
    pub full_in_s: Option<u64>,
}

/// How full the queue is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct QueueFill {
    /// Packets that wait.
    pub packets: u64,
    /// How many can.
    pub most: u64,
}

/// Whether a node's own loops come back.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LoopsDetail {
    /// Whether the alarm sounds.
    pub alarm: bool,
    /// Per cent of the evidence at which it begins.
    pub evidence_percent: u64,
    /// Since the start.
    pub sent: u64,
    /// Those of them that came back.
    pub returned: u64,
    /// Those of them that were not back in their time.
    pub lost: u64,
}

/// Room on the disk that has a node's state.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DiskRoom {
    /// Bytes that the node may still write.
    pub free: u64,
    /// Bytes that an epoch may need.
    pub needed: u64,
}

/// The time that a node goes by.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ClockDetail {
    /// Its time, in seconds since 1970.
    pub time: u64,
    /// Whether the machine's clocks agree.
    pub agrees: bool,
    /// What they say of each other.
    pub words: String,
}
