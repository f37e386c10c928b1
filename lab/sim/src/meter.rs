//! What became of messages and of time, counted at one node.

use motemix_link::meeting::HandshakeCounters;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

/// Handshakes that neighbours made for the keys of their frames.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Handshakes {
    /// Handshakes that a node began.
    pub called: u64,
    /// Those that a node answered; one that is begun anew counts anew.
    pub answered: u64,
    /// Keys, counted at each of the two nodes that have one.
    pub keys: u64,
    /// Calls that failed.
    pub failed: u64,
}

impl Handshakes {
    pub(crate) fn add(&mut self, counters: &HandshakeCounters) {
        self.called += u64::from(counters.called);
        self.answered += u64::from(counters.answered);
        self.keys += u64::from(counters.completed);
        self.failed += u64::from(counters.failed);
    }

    pub(crate) const fn add_all(&mut self, other: &Self) {
        self.called += other.called;
        self.answered += other.answered;
        self.keys += other.keys;
        self.failed += other.failed;
    }
}

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
    pub handshakes: Handshakes,
    /// From accepting a message to its acknowledgement.
    pub round_trips: Vec<Duration>,
    /// For each document that came from a neighbour, how long before its epoch.
    pub documents_ahead: Vec<Duration>,
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
