//! Messages that are repeated until they are acknowledged (RFC 7252 §4.2).

use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;
use std::time::Duration;

use motemix_time::Instant;

use super::CallId;
use crate::Token;
use crate::source::{Account, FairTable};

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
    /// Requests and responses. Notifications are as many as observers at most.
    places: FairTable<Key, ()>,
    repetitions: HashMap<Key, Repetition>,
    due: BTreeSet<(Instant, Key)>,
}

impl Repetitions {
    pub(super) fn new(most: usize) -> Self {
        Self { places: FairTable::new(most), repetitions: HashMap::new(), due: BTreeSet::new() }
    }

    /// Repeats what is sent there, in a place of this account.
    pub(super) fn begin(
        &mut self,
        now: Instant,
        (to, id): Key,
        account: Account,
        bytes: Vec<u8>,
        timeout: Duration,
        purpose: Purpose,
    ) {
        self.end(to, id);
        if !matches!(purpose, Purpose::Notification(_))
            && let Some((gone, ())) = self.places.insert((to, id), account, ())
        {
            // It was sent, and is not repeated any more.
            self.remove(gone);
        }
        let next = now + timeout;
        self.due.insert((next, (to, id)));
        self.repetitions.insert((to, id), Repetition { bytes, next, timeout, times: 0, purpose });
    }

    /// What a message is repeated for.
    pub(super) fn purpose(&self, to: SocketAddr, id: u16) -> Option<Purpose> {
        self.repetitions.get(&(to, id)).map(|repetition| repetition.purpose)
    }

    /// It was acknowledged, or reset.
    pub(super) fn end(&mut self, to: SocketAddr, id: u16) -> Option<Purpose> {
        self.remove((to, id))
    }

    fn remove(&mut self, key: Key) -> Option<Purpose> {
        let repetition = self.repetitions.remove(&key)?;
        self.due.remove(&(repetition.next, key));
        self.places.remove(&key);
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
            return Some(Due::GivenUp(key.0, self.remove(key)?));
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
