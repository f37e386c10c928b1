//! Bodies in blocks (RFC 7959).

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use motemix_time::Instant;

/// The value of a Block option: which block, whether more follow, and how long blocks are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Its place, from 0.
    pub number: u32,
    /// Whether others follow.
    pub more: bool,
    /// Exponent of the length: 16 · 2ˢ bytes, 0 to 6.
    pub exponent: u8,
}

impl Block {
    /// The greatest exponent, for blocks of 1,024 bytes.
    pub const MAX_EXPONENT: u8 = 6;
    const MAX_NUMBER: u32 = (1 << 20) - 1;

    /// The block that an option's value means; none if it has more than three bytes, or the
    /// exponent that is reserved (§2.2).
    pub fn read(value: &[u8]) -> Option<Self> {
        let value = crate::message::number_of(value).filter(|_| value.len() <= 3)?;
        let exponent = (value & 7) as u8;
        (exponent <= Self::MAX_EXPONENT).then_some(Self {
            number: value >> 4,
            more: value & 8 != 0,
            exponent,
        })
    }

    /// The option's value as a number.
    pub const fn value(self) -> u32 {
        self.number << 4 | (self.more as u32) << 3 | self.exponent as u32
    }

    /// Bytes of a block.
    pub const fn size(self) -> usize {
        16 << self.exponent
    }

    /// The byte of the body at which it begins.
    pub const fn start(self) -> usize {
        self.number as usize * self.size()
    }

    /// The part of a body that this block is, and the block with what follows it; `None` if the
    /// body ends before it.
    pub fn of(self, body: &[u8]) -> Option<(&[u8], Self)> {
        let start = self.start();
        if start > body.len() || (start == body.len() && start > 0) || self.number > Self::MAX_NUMBER {
            return None;
        }
        let end = body.len().min(start + self.size());
        Some((&body[start..end], Self { more: end < body.len(), ..self }))
    }
}

/// What became of a block that arrived.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Assembled {
    /// More are to come.
    Continue,
    /// It was the last: the whole body.
    Whole(Vec<u8>),
    /// The ones before it are not here.
    Incomplete,
    /// The body would be longer than it may be.
    TooLong,
    /// No more bodies are gathered at present.
    Full,
}

/// Bodies whose blocks are arriving, of everybody together.
#[derive(Debug)]
pub(crate) struct Assembly<K> {
    bodies: HashMap<K, Body>,
    bytes: usize,
    limits: Limits,
}

/// How much is gathered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Bytes of a body.
    pub(crate) body: usize,
    /// Bodies at a time.
    pub(crate) bodies: usize,
    /// Bytes of all bodies.
    pub(crate) bytes: usize,
}

/// After so long without a block a body may be given up for another; EXCHANGE_LIFETIME is how long
/// it is kept otherwise (§2.4, RFC 7252 §4.8.2).
const IDLE: Duration = Duration::from_secs(10);
const LIFETIME: Duration = Duration::from_secs(247);

#[derive(Debug)]
struct Body {
    bytes: Vec<u8>,
    touched: Instant,
}

impl<K: Hash + Eq + Clone> Assembly<K> {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { bodies: HashMap::new(), bytes: 0, limits }
    }

    /// Takes a block of the body that `key` names. A first block begins anew.
    pub(crate) fn take(&mut self, now: Instant, key: &K, block: Block, payload: &[u8]) -> Assembled {
        // Whoever says that more follow sends whole blocks (§2.2).
        if payload.len() > block.size() || (block.more && payload.len() != block.size()) {
            self.forget(key);
            return Assembled::Incomplete;
        }
        let start = if block.number == 0 {
            self.forget(key);
            0
        } else {
            match self.bodies.get(key) {
                Some(body) => body.bytes.len(),
                None => return Assembled::Incomplete,
            }
        };
        if start != block.start() {
            // One that is here already came twice in datagrams of their own; what is here stays.
            let is_known = block.more && block.start() + payload.len() == start;
            return if is_known { Assembled::Continue } else { Assembled::Incomplete };
        }
        if start + payload.len() > self.limits.body {
            self.forget(key);
            return Assembled::TooLong;
        }
        if block.number == 0 && !block.more {
            return Assembled::Whole(payload.to_vec());
        }
        if !self.make_room(now, key, payload.len()) {
            return Assembled::Full;
        }
        self.bytes += payload.len();
        let body = self.bodies.entry(key.clone()).or_insert_with(|| Body { bytes: Vec::new(), touched: now });
        body.touched = now;
        body.bytes.extend_from_slice(payload);
        if block.more {
            return Assembled::Continue;
        }
        self.remove(key).map_or(Assembled::Incomplete, Assembled::Whole)
    }

    /// Gives up what nothing came for.
    pub(crate) fn expire(&mut self, now: Instant) {
        let old = self.bodies.iter().filter(|(_, body)| now - body.touched >= LIFETIME);
        let old: Vec<_> = old.map(|(key, _)| key.clone()).collect();
        for key in &old {
            self.forget(key);
        }
    }

    fn make_room(&mut self, now: Instant, key: &K, more: usize) -> bool {
        let is_new = !self.bodies.contains_key(key);
        loop {
            let has_place = !is_new || self.bodies.len() < self.limits.bodies;
            if has_place && self.bytes + more <= self.limits.bytes {
                return true;
            }
            let others = self.bodies.iter().filter(|(other, _)| *other != key);
            let oldest = others.min_by_key(|(_, body)| body.touched);
            let Some(oldest) = oldest.filter(|(_, body)| now - body.touched >= IDLE) else { return false };
            let oldest = oldest.0.clone();
            self.forget(&oldest);
        }
    }

    fn forget(&mut self, key: &K) {
        drop(self.remove(key));
    }

    fn remove(&mut self, key: &K) -> Option<Vec<u8>> {
        let body = self.bodies.remove(key)?;
        self.bytes -= body.bytes.len();
        Some(body.bytes)
    }
}
