//! Packets that wait for their time.

use std::collections::BTreeMap;

use motemix_node::Instant;

use super::Transmit;

/// Ordered by time; packets with one time leave in the order in which they came. Bounded in number.
#[derive(Debug)]
pub(super) struct DelayQueue {
    capacity: usize,
    waiting: BTreeMap<(Instant, u64), Transmit>,
    number: u64,
}

impl DelayQueue {
    pub(super) const fn new(capacity: usize) -> Self {
        Self { capacity, waiting: BTreeMap::new(), number: 0 }
    }

    /// Gives the packet back if there is no room.
    pub(super) fn push(&mut self, due: Instant, transmit: Transmit) -> Result<(), Transmit> {
        if self.waiting.len() >= self.capacity {
            return Err(transmit);
        }
        self.waiting.insert((due, self.number), transmit);
        self.number += 1;
        Ok(())
    }

    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() >= self.capacity
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn pop(&mut self, now: Instant) -> Option<Transmit> {
        let first = self.waiting.first_entry()?;
        if first.key().0 <= now { Some(first.remove()) } else { None }
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.waiting.first_key_value().map(|((due, _), _)| *due)
    }
}
