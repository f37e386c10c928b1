//! Requests that arrived, so that a duplicate is answered as its first was (RFC 7252 §4.5).

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

use motemix_time::Instant;

/// Bytes of answers that are kept for duplicates.
const ANSWER_BYTES: usize = 8 << 20;

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
    /// Which of those with this id: it may have been forgotten, and its id used again.
    generation: u64,
    was_acknowledged: bool,
    answer: Option<Box<[u8]>>,
}

type Key = (SocketAddr, u16);

#[derive(Debug)]
pub(super) struct Exchanges {
    most: usize,
    exchanges: HashMap<Key, Exchange>,
    /// The oldest first.
    order: VecDeque<(Key, u64)>,
    /// Those without an answer that are to be acknowledged, the oldest first.
    waiting: VecDeque<(Instant, Key, u64)>,
    generation: u64,
    answer_bytes: usize,
}

impl Exchanges {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most: most.max(1),
            exchanges: HashMap::new(),
            order: VecDeque::new(),
            waiting: VecDeque::new(),
            generation: 0,
            answer_bytes: 0,
        }
    }

    pub(super) fn look(&self, from: SocketAddr, id: u16) -> Known {
        match self.exchanges.get(&(from, id)) {
            None => Known::No,
            Some(Exchange { answer: None, .. }) => Known::Waiting,
            Some(Exchange { answer: Some(answer), .. }) => Known::Answered(answer.to_vec()),
        }
    }

    /// A new request is with the application.
    pub(super) fn begin(&mut self, now: Instant, from: SocketAddr, id: u16) {
        while self.order.len() >= self.most {
            self.forget_oldest();
        }
        self.generation += 1;
        let generation = self.generation;
        let exchange = Exchange { generation, was_acknowledged: false, answer: None };
        self.exchanges.insert((from, id), exchange);
        self.order.push_back(((from, id), generation));
        self.waiting.push_back((now, (from, id), generation));
    }

    pub(super) fn was_acknowledged(&self, from: SocketAddr, id: u16) -> bool {
        self.exchanges.get(&(from, id)).is_some_and(|exchange| exchange.was_acknowledged)
    }

    /// Keeps what a request was answered with.
    pub(super) fn answered(&mut self, from: SocketAddr, id: u16, bytes: &[u8]) {
        let Some(exchange) = self.exchanges.get_mut(&(from, id)) else { return };
        exchange.answer = Some(bytes.into());
        self.answer_bytes += bytes.len();
        while self.answer_bytes > ANSWER_BYTES {
            self.forget_oldest();
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
    pub(super) fn next_to_acknowledge(&mut self, now: Instant, after: Duration) -> Option<Key> {
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
                return Some(key);
            }
        }
        None
    }

    pub(super) fn acknowledge_at(&self, after: Duration) -> Option<Instant> {
        self.waiting.front().map(|(since, ..)| *since + after)
    }

    fn forget_oldest(&mut self) {
        let Some((key, generation)) = self.order.pop_front() else {
            self.answer_bytes = 0;
            return;
        };
        if self.exchanges.get(&key).is_some_and(|exchange| exchange.generation == generation)
            && let Some(Exchange { answer: Some(answer), .. }) = self.exchanges.remove(&key)
        {
            self.answer_bytes -= answer.len();
        }
    }
}
