//! Requests that arrived, so that a duplicate is answered as its first was (RFC 7252 §4.5).
//!
//! An id is known for EXCHANGE_LIFETIME, and less long if newer requests need its place: then the
//! account that has most ids loses its oldest. A request with a known id and other bytes is no
//! duplicate: its client began anew, or asks faster than ids become free. Nor does it take the
//! place of the one before: anybody may have sent it in the client's name.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use motemix_time::Instant;

use crate::source::{Account, FairTable};

/// Bytes of answers that are kept for duplicates.
const ANSWER_BYTES: usize = 8 << 20;
/// EXCHANGE_LIFETIME (RFC 7252 §4.8.2).
const LIFETIME: Duration = Duration::from_secs(247);

/// What is known of a message id of a peer.
pub(super) enum Known {
    /// Nothing: it is new.
    No,
    /// The application has it.
    Waiting,
    /// It was answered with these bytes.
    Answered(Vec<u8>),
}

#[derive(Debug)]
struct Exchange {
    since: Instant,
    /// Which of those with this id: it may have been forgotten, and its id used again.
    generation: u64,
    was_acknowledged: bool,
    answer: Option<Box<[u8]>>,
}

impl Exchange {
    fn answer_len(&self) -> usize {
        self.answer.as_ref().map_or(0, |answer| answer.len())
    }
}

/// A request by its sender, its id, and a digest of its datagram.
type Key = (SocketAddr, u16, u64);

#[derive(Debug)]
pub(super) struct Exchanges {
    exchanges: FairTable<Key, Exchange>,
    /// Those without an answer that are to be acknowledged, the oldest first.
    waiting: VecDeque<(Instant, Key, u64)>,
    generation: u64,
    answer_bytes: usize,
}

impl Exchanges {
    pub(super) fn new(most: usize) -> Self {
        Self { exchanges: FairTable::new(most), waiting: VecDeque::new(), generation: 0, answer_bytes: 0 }
    }

    /// What is known of a datagram with this digest.
    pub(super) fn look(&mut self, now: Instant, from: SocketAddr, id: u16, digest: u64) -> Known {
        while let Some((key, _)) = self.exchanges.first().filter(|(_, first)| first.since + LIFETIME <= now) {
            self.remove(&key);
        }
        match self.exchanges.get(&(from, id, digest)).map(|exchange| &exchange.answer) {
            None => Known::No,
            Some(None) => Known::Waiting,
            Some(Some(answer)) => Known::Answered(answer.to_vec()),
        }
    }

    /// A new request is with the application.
    pub(super) fn begin(&mut self, now: Instant, from: SocketAddr, account: Account, id: u16, digest: u64) {
        self.generation += 1;
        let generation = self.generation;
        let exchange = Exchange { since: now, generation, was_acknowledged: false, answer: None };
        let key = (from, id, digest);
        self.remove(&key);
        if let Some((_, gone)) = self.exchanges.insert(key, account, exchange) {
            self.answer_bytes -= gone.answer_len();
        }
        self.waiting.push_back((now, key, generation));
    }

    pub(super) fn was_acknowledged(&self, from: SocketAddr, id: u16, digest: u64) -> bool {
        let exchange = self.exchanges.get(&(from, id, digest));
        exchange.is_some_and(|exchange| exchange.was_acknowledged)
    }

    /// Keeps what a request was answered with.
    pub(super) fn answered(&mut self, from: SocketAddr, id: u16, digest: u64, bytes: &[u8]) {
        let Some(exchange) = self.exchanges.get_mut(&(from, id, digest)) else { return };
        self.answer_bytes += bytes.len();
        if let Some(before) = exchange.answer.replace(bytes.into()) {
            self.answer_bytes -= before.len();
        }
        // A datagram is short: whoever has most ids has most bytes, too.
        while self.answer_bytes > ANSWER_BYTES
            && let Some((_, gone)) = self.exchanges.pop_most()
        {
            self.answer_bytes -= gone.answer_len();
        }
        while let Some((_, key, generation)) = self.waiting.front() {
            let is_over = self
                .exchanges
                .get(key)
                .is_none_or(|exchange| exchange.generation != *generation || exchange.answer.is_some());
            if !is_over {
                break;
            }
            self.waiting.pop_front();
        }
    }

    /// The next request that the application has had for so long that its sender is to hear that it
    /// arrived.
    pub(super) fn next_to_acknowledge(&mut self, now: Instant, after: Duration) -> Option<(SocketAddr, u16)> {
        while let Some((since, key, generation)) = self.waiting.front().copied() {
            if since + after > now {
                return None;
            }
            self.waiting.pop_front();
            let exchange = self.exchanges.get_mut(&key);
            let exchange =
                exchange.filter(|exchange| exchange.generation == generation && exchange.answer.is_none());
            if let Some(exchange) = exchange {
                exchange.was_acknowledged = true;
                return Some((key.0, key.1));
            }
        }
        None
    }

    pub(super) fn acknowledge_at(&self, after: Duration) -> Option<Instant> {
        self.waiting.front().map(|(since, ..)| *since + after)
    }

    fn remove(&mut self, key: &Key) {
        if let Some(gone) = self.exchanges.remove(key) {
            self.answer_bytes -= gone.answer_len();
        }
    }
}
