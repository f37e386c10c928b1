//! Message ids (RFC 7252 §4.4): no peer sees one again while it remembers it.

/// Counters. Peers that share one skip the ids of each other.
const COUNTERS: usize = 4096;

/// Takes no memory for a peer: a peer's ids are those of its counter, moved by a number that only
/// this endpoint knows. One counter for all would come round while a peer that hears seldom still
/// remembers, as soon as there are thousands of others.
#[derive(Debug)]
pub(super) struct Ids(Box<[u16]>);

impl Ids {
    pub(super) fn new() -> Self {
        Self(vec![0; COUNTERS].into())
    }

    /// The next id for the peer whose address has this keyed hash.
    pub(super) fn next(&mut self, hash: u64) -> u16 {
        let counter = &mut self.0[(hash >> 16) as usize % COUNTERS];
        *counter = counter.wrapping_add(1);
        counter.wrapping_add(hash as u16)
    }
}
