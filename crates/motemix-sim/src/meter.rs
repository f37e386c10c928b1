//! What became of messages and of time, counted at one node.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

/// What is counted at one node.
#[derive(Clone, Default, Debug)]
pub(crate) struct Meter {
    /// Messages that the application gave and the node accepted.
    pub sent: u64,
    /// Messages that the node refused because it was full.
    pub refused: u64,
    pub acknowledged: u64,
    pub retransmitted: u64,
    pub discarded: u64,
    /// Messages that arrived here, each once, and those that came again.
    pub delivered: u64,
    pub duplicates: u64,
    /// Packets that were sent on for others.
    pub forwarded: u64,
    /// From accepting a message to its acknowledgement.
    pub round_trips: Vec<Duration>,
    /// The processor computed.
    pub computed: Duration,
    /// Frames, datagrams and packets that ended before their end, by reason.
    pub drops: BTreeMap<Cow<'static, str>, u64>,
}

impl Meter {
    pub fn drop(&mut self, reason: impl Into<Cow<'static, str>>, count: u64) {
        if count > 0 {
            *self.drops.entry(reason.into()).or_default() += count;
        }
    }
}
