//! Messages that are repeated until they are acknowledged (RFC 7252 §4.2).

use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;
use std::time::Duration;

use motemix_time::Instant;

use super::CallId;
use crate::Token;

/// What a message is repeated for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A response that comes after its request was acknowledged.
    Response,
    /// An observer is asked whether it still listens.
    Notification(Token),
    /// A request of our own.
    Request(CallId),
}

/// What has become due.
pub(super) enum Due {
    /// The datagram is sent again.
    Again(SocketAddr, Vec<u8>),
    /// Nobody acknowledged it.
    GivenUp(SocketAddr, Purpose),
}

type Key = (SocketAddr, u16);

#[derive(Debug)]
struct Repetition {
    bytes: Vec<u8>,
    next: Instant,
    timeout: Duration,
    times: u32,
    purpose: Purpose,
}

#[derive(Debug)]
pub(super) struct Repetitions {
    most: usize,
    repetitions: HashMap<Key, Repetition>,
    due: BTreeSet<(Instant, Key)>,
}

impl Repetitions {
    pub(super) fn new(most: usize) -> Self {
        Self { most, repetitions: HashMap::new(), due: BTreeSet::new() }
    }

    pub(super) fn begin(
        &mut self,
        now: Instant,
        to: SocketAddr,
        id: u16,
        bytes: Vec<u8>,
        timeout: Duration,
        purpose: Purpose,
    ) {
        if self.repetitions.len() >= self.most {
            return;
        }
        self.end(to, id);
        let next = now + timeout;
        self.due.insert((next, (to, id)));
        self.repetitions.insert((to, id), Repetition { bytes, next, timeout, times: 0, purpose });
    }

    /// It was acknowledged, or reset.
    pub(super) fn end(&mut self, to: SocketAddr, id: u16) -> Option<Purpose> {
        let repetition = self.repetitions.remove(&(to, id))?;
        self.due.remove(&(repetition.next, (to, id)));
        Some(repetition.purpose)
    }

    pub(super) fn next_due(&mut self, now: Instant, most_times: u32) -> Option<Due> {
        let (at, key) = *self.due.first()?;
        if at > now {
            return None;
        }
        self.due.pop_first();
        let repetition = self.repetitions.get_mut(&key)?;
        if repetition.times >= most_times {
            let repetition = self.repetitions.remove(&key)?;
            return Some(Due::GivenUp(key.0, repetition.purpose));
        }
        repetition.times += 1;
        repetition.timeout *= 2;
        repetition.next = now + repetition.timeout;
        self.due.insert((repetition.next, key));
        Some(Due::Again(key.0, repetition.bytes.clone()))
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }
}
