//! When a node sends a message, and to whom.

use crate::random::{self, Purpose, below, part_of};
use crate::scenario::{Load, Receivers, Spread};
use chacha20::ChaCha8Rng;
use motemix_air::Instant;
use motemix_sphinx::HopDelay;
use rand_core::Rng as _;
use std::rc::Rc;
use std::time::Duration;

/// The messages that one node is given to send.
pub(crate) struct Source {
    next: Option<Instant>,
    ends: Instant,
    interval: Duration,
    spread: Spread,
    me: u16,
    receivers: Rc<[u16]>,
    always: Option<u16>,
    /// Before the next message.
    gap: Duration,
    rng: ChaCha8Rng,
}

impl Source {
    /// One that sends to any of `receivers` but `me`, until `ends`.
    pub fn new(seed: u64, me: u16, load: &Load, receivers: Rc<[u16]>, ends: Instant) -> Self {
        let mut rng = random::stream(seed, u32::from(me), Purpose::Load);
        let interval = load.interval.0;
        let first = Instant::default() + part_of(&mut rng, interval);
        let mut source = Self {
            next: None,
            ends,
            interval,
            spread: load.spread,
            me,
            receivers,
            always: None,
            gap: interval,
            rng,
        };
        source.next = Some(first).filter(|first| *first < ends);
        source.always = match load.receivers {
            Receivers::Random => None,
            Receivers::Fixed => source.draw(),
            Receivers::Even => source.next_in_ring(seed),
        };
        source
    }

    /// One that never sends.
    pub fn silent(me: u16) -> Self {
        Self {
            next: None,
            ends: Instant::default(),
            interval: Duration::ZERO,
            spread: Spread::Fixed,
            me,
            receivers: Rc::new([]),
            always: None,
            gap: Duration::ZERO,
            rng: random::stream(0, u32::from(me), Purpose::Load),
        }
    }

    /// When the first message is due, and for whom all are, if they are for one.
    pub fn into_first(self) -> Option<(Instant, u16)> {
        self.next.zip(self.always)
    }

    /// When the next message is due.
    pub fn next(&self) -> Option<Instant> {
        self.next
    }

    /// The receiver of a message that is due.
    pub fn take(&mut self, now: Instant) -> Option<u16> {
        let due = self.next.filter(|due| *due <= now)?;
        let gap = match self.spread {
            Spread::Fixed => self.interval,
            Spread::Uniform => part_of(&mut self.rng, self.interval * 2),
            Spread::Exponential => HopDelay::from_seed(self.rng.next_u64()).of_mean(self.interval),
        };
        self.gap = gap.max(Duration::from_micros(1));
        self.next = Some(due + self.gap).filter(|next| *next < self.ends);
        self.always.or_else(|| self.draw())
    }

    /// The time to the next message begins now, not when the last one was due.
    pub fn rest(&mut self, now: Instant) {
        let next = self.next.map(|_| now + self.gap);
        self.next = next.filter(|next| *next < self.ends);
    }

    /// Who comes after it in a ring of all receivers, which the seed shuffles.
    fn next_in_ring(&self, seed: u64) -> Option<u16> {
        let mut ring = self.receivers.to_vec();
        // The stream of no node.
        let mut shuffle = random::stream(seed, u32::MAX, Purpose::Load);
        for last in (1..ring.len()).rev() {
            let bound = u32::try_from(last + 1).unwrap_or(u32::MAX);
            ring.swap(last, below(&mut shuffle, bound) as usize);
        }
        // Who receives nothing is spread over the ring by its number.
        let place = ring.iter().position(|id| *id == self.me).unwrap_or(self.me.into());
        let next = (place + 1).checked_rem(ring.len())?;
        ring.get(next).copied().filter(|id| *id != self.me)
    }

    fn draw(&mut self) -> Option<u16> {
        let others = self.receivers.iter().filter(|id| **id != self.me).count();
        let chosen = below(&mut self.rng, u32::try_from(others).ok().filter(|others| *others > 0)?);
        self.receivers.iter().copied().filter(|id| *id != self.me).nth(chosen as usize)
    }
}
