//! What waits to leave, and how much may: of a connection, of one peer's, and of all together.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::WAITING_BYTES;
use crate::Method;

/// The longest answer that a request is expected to bring; look-ups have up to 1 MiB.
const LONG_ANSWER: usize = 1 << 20;
/// What an answer to a request that changes something has at most, more or less.
const SHORT_ANSWER: usize = 512;

/// What a message that waits takes beside its bytes: its place in a queue that has up to twice as
/// many, and what the allocator keeps of it.
const ENTRY: usize = 64;

/// Bytes of memory that a message takes while it waits.
const fn memory(message: &Vec<u8>) -> usize {
    message.capacity() + ENTRY
}

/// Room for what waits to leave, in bytes of memory: of all sessions that have it, and in it a
/// share of one peer's.
#[derive(Debug, Clone)]
pub struct Room {
    all: Arc<Pool>,
    share: Arc<Pool>,
}

#[derive(Debug)]
struct Pool {
    taken: AtomicUsize,
    most: usize,
}

impl Pool {
    fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { taken: AtomicUsize::new(0), most })
    }

    fn is_full(&self) -> bool {
        self.taken.load(Ordering::Relaxed) >= self.most
    }

    fn change(&self, before: usize, now: usize) {
        if now > before {
            self.taken.fetch_add(now - before, Ordering::Relaxed);
        } else {
            self.taken.fetch_sub(before - now, Ordering::Relaxed);
        }
    }
}

impl Room {
    /// Room for so many bytes of memory.
    pub fn new(most: usize) -> Self {
        Self { all: Pool::new(most), share: Pool::new(most) }
    }

    /// A share of it, for all connections of one peer.
    #[must_use]
    pub fn share(&self, most: usize) -> Self {
        Self { all: self.all.clone(), share: Pool::new(most) }
    }

    /// Whether nothing more is to be answered: what everybody's connections, or those of this peer,
    /// have not taken yet is as much as may wait.
    pub fn is_full(&self) -> bool {
        self.all.is_full() || self.share.is_full()
    }

    /// Bytes of memory that wait, of everybody.
    pub fn taken(&self) -> usize {
        self.all.taken.load(Ordering::Relaxed)
    }
}

/// What one connection's other side has not taken.
#[derive(Debug)]
pub(super) struct Leaving {
    queue: VecDeque<Vec<u8>>,
    /// Bytes of memory that these take.
    queued: usize,
    /// What answers may bring to requests that were handed out.
    promised: usize,
    /// What was handed over to be written.
    under_way: usize,
    /// As what all of these were counted in the room.
    counted: usize,
    room: Room,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.clear();
        self.move_to(Room::new(usize::MAX));
    }
}

impl Leaving {
    pub(super) fn new() -> Self {
        let room = Room::new(usize::MAX);
        Self { queue: VecDeque::new(), queued: 0, promised: 0, under_way: 0, counted: 0, room }
    }

    pub(super) fn move_to(&mut self, room: Room) {
        for pool in [&self.room.all, &self.room.share] {
            pool.change(self.counted, 0);
        }
        self.room = room;
        self.counted = 0;
        self.count();
    }

    pub(super) const fn bytes(&self) -> usize {
        self.queued + self.promised + self.under_way
    }

    pub(super) fn is_full(&self) -> bool {
        self.bytes() >= WAITING_BYTES || self.room.is_full()
    }

    pub(super) fn push(&mut self, bytes: Vec<u8>) {
        self.queued += memory(&bytes);
        self.queue.push_back(bytes);
        self.count();
    }

    pub(super) fn pop(&mut self) -> Option<Vec<u8>> {
        let bytes = self.queue.pop_front()?;
        self.queued -= memory(&bytes);
        if self.queue.is_empty() {
            // Its places are memory too.
            self.queue = VecDeque::new();
        }
        self.count();
        Some(bytes)
    }

    /// Keeps room for the answer to a request that is handed out; how much.
    pub(super) fn promise(&mut self, method: Method, takes: usize) -> usize {
        let longest = if matches!(method, Method::Get | Method::Fetch) { LONG_ANSWER } else { SHORT_ANSWER };
        let bytes = longest.min(takes);
        self.promised += bytes;
        self.count();
        bytes
    }

    /// The answer is here.
    pub(super) fn keep_promise(&mut self, bytes: usize) {
        self.promised = self.promised.saturating_sub(bytes);
        self.count();
    }

    pub(super) fn set_under_way(&mut self, bytes: usize) {
        self.under_way = bytes;
        self.count();
    }

    /// Nothing waits any more, but what is being written.
    pub(super) fn clear(&mut self) {
        self.queue = VecDeque::new();
        (self.queued, self.promised) = (0, 0);
        self.count();
    }

    fn count(&mut self) {
        let now = self.bytes();
        if now != self.counted {
            for pool in [&self.room.all, &self.room.share] {
                pool.change(self.counted, now);
            }
            self.counted = now;
        }
    }
}
