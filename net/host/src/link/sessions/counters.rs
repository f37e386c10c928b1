//! What the sessions of a node did, counted.

use motemix_link::counters::LinkDrop;
use motemix_link::meeting::HandshakeDrop;

/// Totals since the start, and how things are now.
#[derive(Debug, Clone, Copy, Default)]
pub struct SessionCounters {
    /// Neighbours that the document in force names.
    pub neighbours: u64,
    /// Neighbours with whom there is a key.
    pub with_key: u64,
    /// Neighbours that did not answer the last call, or did not prove their key.
    pub without_answer: u64,
    /// Those of them that use another key than the document in force has for them.
    pub with_another_key: u64,
    /// Neighbours whose last packet was not protected.
    pub unprotected_from: u64,
    /// Keys that were made.
    pub keys: u64,
    /// Calls that failed.
    pub failed: u64,
    /// Packets from ports that no document names, which came faster than keys are tried on them.
    pub untried: u64,
    pub(super) dropped: [u64; LinkDrop::ALL.len()],
    pub(super) refused: [u64; HandshakeDrop::ALL.len()],
}

/// What came of one neighbour's handshakes, for the totals.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Told {
    pub(super) keys: u64,
    pub(super) failed: u64,
    /// Packets that waited too long.
    pub(super) unheard: u64,
    /// Messages of handshakes that were refused, by reason.
    pub(super) refused: [u64; HandshakeDrop::ALL.len()],
}

impl SessionCounters {
    /// Why datagrams and packets go no further here.
    pub const DROPS: [LinkDrop; 11] = [
        LinkDrop::Stranger,
        LinkDrop::Unprotected,
        LinkDrop::HandshakeBusy,
        LinkDrop::TooLong,
        LinkDrop::NoKey,
        LinkDrop::Forged,
        LinkDrop::RepeatedFrame,
        LinkDrop::BadHeader,
        LinkDrop::NoNeighbour,
        LinkDrop::QueueFull,
        LinkDrop::NoHandshake,
    ];

    /// Datagrams and packets that went no further for this reason.
    pub fn dropped(&self, reason: LinkDrop) -> u64 {
        self.dropped[reason as usize]
    }

    /// Messages of handshakes that went no further for this reason.
    pub fn refused(&self, reason: HandshakeDrop) -> u64 {
        self.refused[reason as usize]
    }

    pub(super) fn drop(&mut self, reason: LinkDrop) {
        self.dropped[reason as usize] += 1;
    }

    pub(super) fn add(&mut self, told: Told) {
        self.keys += told.keys;
        self.failed += told.failed;
        self.dropped[LinkDrop::NoHandshake as usize] += told.unheard;
        for (total, more) in self.refused.iter_mut().zip(told.refused) {
            *total += more;
        }
    }
}
