//! Who observes (RFC 7641 §4).

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::Bound;
use std::time::Duration;

use motemix_time::Instant;

use crate::operation::Operation;
use crate::source::{Account, FairTable, Standing};
use crate::{Peer, Relation, Response, Token};

/// Notifications that are sent at most until one is acknowledged: of those that nobody asked to be
/// confirmed, some may have been lost, and the observer may be gone.
const UNCONFIRMED: u32 = 64;
/// How many of these may leave while one waits to be acknowledged, by an observer that has
/// acknowledged one before.
const AHEAD: u32 = 256;

/// A notification is to be acknowledged at least this often (RFC 7641 §4.5).
const CHECK: Duration = Duration::from_hours(24);

/// Whether a notification may leave.
pub(super) enum May {
    Send,
    /// One waits to be acknowledged; this one, or a newer one, follows.
    Later,
    /// There is no such relation.
    Nobody,
}

/// How a notification leaves.
pub(super) struct Due {
    /// A number above that of the notification before, of 24 bits.
    pub(super) sequence: u32,
    /// Whether it is to be acknowledged.
    pub(super) confirm: bool,
    /// What was asked for.
    pub(super) operation: Operation,
}

#[derive(Debug)]
struct Observer {
    sequence: u32,
    /// Sent since the last one that is to be acknowledged.
    unconfirmed: u32,
    last_id: u16,
    operation: Operation,
    /// Whether one waits to be acknowledged.
    waits: bool,
    /// Whether one was ever acknowledged.
    proven: bool,
    /// When the next one is to be acknowledged at the latest.
    check_at: Instant,
    /// What follows when the one that waits is acknowledged.
    held_back: Option<Box<Response>>,
}

#[derive(Debug)]
pub(super) struct Relations {
    places: FairTable<Relation, ()>,
    observers: BTreeMap<Relation, Observer>,
}

impl Relations {
    pub(super) fn new(most: usize) -> Self {
        Self { places: FairTable::new(most), observers: BTreeMap::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.observers.len()
    }

    /// Begins, or begins anew. Returns the sequence number of the response; `None` if there is no
    /// room. Also whose observation made room for it, and is over.
    pub(super) fn begin(
        &mut self,
        now: Instant,
        relation: Relation,
        account: Account,
        operation: Operation,
    ) -> (Option<u32>, Option<Relation>) {
        self.places.raise(&relation, account.standing);
        if let Some(observer) = self.observers.get_mut(&relation) {
            observer.sequence = next(observer.sequence);
            observer.operation = operation;
            return (Some(observer.sequence), None);
        }
        if !self.places.has_room(account) {
            return (None, None);
        }
        let gone = self.places.insert(relation, account, ()).map(|(gone, ())| gone);
        let observer = Observer {
            sequence: 0,
            // The first notification is to be acknowledged: whoever gave another's address ends it.
            unconfirmed: UNCONFIRMED,
            last_id: 0,
            operation,
            waits: false,
            proven: false,
            check_at: now + CHECK,
            held_back: None,
        };
        self.observers.insert(relation, observer);
        (Some(0), gone)
    }

    /// The next notification is to be acknowledged.
    pub(super) fn confirm_next(&mut self, relation: &Relation) {
        if let Some(observer) = self.observers.get_mut(relation) {
            observer.unconfirmed = observer.unconfirmed.max(UNCONFIRMED);
        }
    }

    /// Whether a notification may leave now. One that `ends` the relation does not wait.
    pub(super) fn may_send(&mut self, relation: &Relation, response: &Response, ends: bool) -> May {
        let Some(observer) = self.observers.get_mut(relation) else { return May::Nobody };
        if observer.waits && !ends && !(observer.proven && observer.unconfirmed < AHEAD) {
            observer.held_back = Some(Box::new(response.clone()));
            return May::Later;
        }
        May::Send
    }

    /// A notification leaves under this id.
    pub(super) fn sent(&mut self, now: Instant, relation: &Relation, id: u16) -> Option<Due> {
        let observer = self.observers.get_mut(relation)?;
        let confirm = !observer.waits && (observer.unconfirmed >= UNCONFIRMED || now >= observer.check_at);
        observer.sequence = next(observer.sequence);
        observer.last_id = id;
        if confirm {
            (observer.waits, observer.unconfirmed) = (true, 0);
            observer.check_at = now + CHECK;
        } else {
            observer.unconfirmed += 1;
        }
        Some(Due { sequence: observer.sequence, confirm, operation: observer.operation })
    }

    /// The observer listens: nobody else has asked in its name. Returns what was held back for it.
    pub(super) fn acknowledged(&mut self, now: Instant, relation: &Relation) -> Option<Box<Response>> {
        self.places.raise(relation, Standing::Certain);
        let observer = self.observers.get_mut(relation)?;
        (observer.waits, observer.proven) = (false, true);
        observer.check_at = now + CHECK;
        observer.held_back.take()
    }

    /// The relation whose last notification had this id.
    pub(super) fn last_sent(&self, to: SocketAddr, id: u16) -> Option<Relation> {
        let peer = Peer::Datagram(to);
        let first = Relation { peer, token: Token::EMPTY };
        let of_peer = self.observers.range((Bound::Included(first), Bound::Unbounded));
        let mut of_peer = of_peer.take_while(|(relation, _)| relation.peer == peer);
        of_peer
            .find(|(_, observer)| observer.last_id == id && observer.sequence > 0)
            .map(|(relation, _)| *relation)
    }

    pub(super) fn remove(&mut self, relation: &Relation) -> bool {
        self.places.remove(relation);
        self.observers.remove(relation).is_some()
    }
}

/// The next number, of 24 bits (RFC 7641 §3.4).
const fn next(sequence: u32) -> u32 {
    (sequence + 1) & 0xff_ffff
}
