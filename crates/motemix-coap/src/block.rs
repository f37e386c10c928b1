//! Bodies in blocks (RFC 7959).

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use motemix_time::Instant;

use crate::Peer;

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
    /// Only of those who are known.
    FullOfStrangers,
}

/// As whose a body counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    Datagrams(SocketAddr),
    /// All connections from there.
    Network(IpAddr),
    Connection(u64),
}

/// Whose body it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Owner {
    pub(crate) who: Peer,
    pub(crate) whose: Whose,
    /// Whether nobody else can pass for it. Strangers have half of the room, so that whoever forges
    /// addresses leaves the other half.
    pub(crate) is_known: bool,
}

/// Bodies whose blocks are arriving, of everybody together.
#[derive(Debug)]
pub(crate) struct Assembly {
    bodies: HashMap<(Peer, u64), Body>,
    all: Taken,
    strangers: Taken,
    limits: Limits,
}

/// How much is gathered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Bytes of a body.
    pub(crate) body: usize,
    /// Bodies at a time.
    pub(crate) bodies: usize,
    /// Bodies of one owner at a time.
    pub(crate) bodies_of_one: usize,
    /// Bytes of all bodies.
    pub(crate) bytes: usize,
}

/// Room that is taken.
#[derive(Debug, Default)]
struct Taken {
    bodies: usize,
    bytes: usize,
}

impl Taken {
    const fn has_room(&self, bodies: usize, bytes: usize, share: usize, limits: &Limits) -> bool {
        self.bodies + bodies <= limits.bodies / share && self.bytes + bytes <= limits.bytes / share
    }
}

/// After so long without a block a body may be given up for another; EXCHANGE_LIFETIME is how long
/// it is kept otherwise (§2.4, RFC 7252 §4.8.2).
const IDLE: Duration = Duration::from_secs(10);
pub(crate) const LIFETIME: Duration = Duration::from_secs(247);

#[derive(Debug)]
struct Body {
    bytes: Vec<u8>,
    touched: Instant,
    whose: Whose,
    is_strangers: bool,
}

impl Assembly {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { bodies: HashMap::new(), all: Taken::default(), strangers: Taken::default(), limits }
    }

    /// Takes a block of the owner's body with this name. A first block begins anew.
    pub(crate) fn take(
        &mut self,
        now: Instant,
        owner: Owner,
        name: u64,
        block: Block,
        payload: &[u8],
    ) -> Assembled {
        let key = (owner.who, name);
        // Whoever says that more follow sends whole blocks (§2.2).
        if payload.len() > block.size() || (block.more && payload.len() != block.size()) {
            self.forget(&key);
            return Assembled::Incomplete;
        }
        let start = if block.number == 0 {
            self.forget(&key);
            0
        } else {
            match self.bodies.get(&key) {
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
            self.forget(&key);
            return Assembled::TooLong;
        }
        if !block.more {
            let mut body = self.remove(&key).unwrap_or_default();
            body.extend_from_slice(payload);
            return Assembled::Whole(body);
        }
        let is_strangers = self.bodies.get(&key).map_or(!owner.is_known, |body| body.is_strangers);
        let is_new = start == 0;
        let of_one = || self.bodies.values().filter(|body| body.whose == owner.whose).count();
        if is_new && of_one() >= self.limits.bodies_of_one {
            return Assembled::Full;
        }
        if !self.make_room(now, &key, is_strangers, usize::from(is_new), payload.len()) {
            return if is_strangers { Assembled::FullOfStrangers } else { Assembled::Full };
        }
        self.all.bytes += payload.len();
        self.all.bodies += usize::from(is_new);
        if is_strangers {
            self.strangers.bytes += payload.len();
            self.strangers.bodies += usize::from(is_new);
        }
        let body = self.bodies.entry(key).or_insert_with(|| Body {
            bytes: Vec::new(),
            touched: now,
            whose: owner.whose,
            is_strangers,
        });
        body.touched = now;
        body.bytes.extend_from_slice(payload);
        Assembled::Continue
    }

    /// Gives up what was gathered of somebody who is gone.
    pub(crate) fn leave(&mut self, who: Peer) {
        let gone: Vec<_> = self.bodies.keys().filter(|(other, _)| *other == who).copied().collect();
        for key in &gone {
            self.forget(key);
        }
    }

    /// Gives up what nothing came for.
    pub(crate) fn expire(&mut self, now: Instant) {
        let old = self.bodies.iter().filter(|(_, body)| now - body.touched >= LIFETIME);
        let old: Vec<_> = old.map(|(key, _)| *key).collect();
        for key in &old {
            self.forget(key);
        }
    }

    /// Gives up idle bodies until there is room. A stranger's takes the place of a stranger's
    /// alone.
    fn make_room(
        &mut self,
        now: Instant,
        key: &(Peer, u64),
        is_strangers: bool,
        bodies: usize,
        bytes: usize,
    ) -> bool {
        loop {
            let has_room = self.all.has_room(bodies, bytes, 1, &self.limits)
                && (!is_strangers || self.strangers.has_room(bodies, bytes, 2, &self.limits));
            if has_room {
                return true;
            }
            let others = self
                .bodies
                .iter()
                .filter(|(other, body)| *other != key && (!is_strangers || body.is_strangers));
            let oldest = others.min_by_key(|(_, body)| body.touched);
            let Some(oldest) = oldest.filter(|(_, body)| now - body.touched >= IDLE) else { return false };
            let oldest = *oldest.0;
            self.forget(&oldest);
        }
    }

    fn forget(&mut self, key: &(Peer, u64)) {
        drop(self.remove(key));
    }

    fn remove(&mut self, key: &(Peer, u64)) -> Option<Vec<u8>> {
        let body = self.bodies.remove(key)?;
        self.all.bytes -= body.bytes.len();
        self.all.bodies -= 1;
        if body.is_strangers {
            self.strangers.bytes -= body.bytes.len();
            self.strangers.bodies -= 1;
        }
        Some(body.bytes)
    }
}
