//! Who observes (RFC 7641 §4).

use std::collections::{BTreeMap, HashMap};
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
/// acknowledged one before, and whose address has shown that it receives what is sent there.
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
    /// Whether the address has shown that what is sent there arrives.
    pub(super) is_shown: bool,
    /// Whether nobody else can have asked for it in the observer's name.
    pub(super) is_certain: bool,
}

/// What a request shows of the address that is to be told.
#[derive(Clone, Copy)]
pub(super) struct Shown {
    /// As whose the observation counts.
    pub(super) account: Account,
    /// Whether this very request shows that what is sent there arrives.
    pub(super) receives: bool,
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
    acknowledged: bool,
    /// Whether the request that began it showed that what is sent there arrives.
    receives: bool,
    /// When the next one is to be acknowledged at the latest.
    check_at: Instant,
    /// What follows when the one that waits is acknowledged.
    held_back: Option<Box<Response>>,
}

#[derive(Debug)]
pub(super) struct Relations {
    places: FairTable<Relation, ()>,
    observers: BTreeMap<Relation, Observer>,
    /// The observation whose first notification waits to be acknowledged, for each address that
    /// has shown nothing. First notifications of others at the address follow it. So whoever
    /// guesses the id of an acknowledgement in another's name has one of 65,536 to find, however
    /// often it asked.
    first: HashMap<SocketAddr, Relation>,
    /// Addresses at which this is over, and others may have their turn.
    next: Vec<SocketAddr>,
}

impl Relations {
    pub(super) fn new(most: usize) -> Self {
        let places = FairTable::new(most);
        Self { places, observers: BTreeMap::new(), first: HashMap::new(), next: Vec::new() }
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
        Shown { account, receives }: Shown,
        operation: Operation,
    ) -> (Option<u32>, Option<Relation>) {
        self.places.raise(&relation, account.standing);
        if let Some(observer) = self.observers.get_mut(&relation) {
            observer.sequence = next(observer.sequence);
            observer.operation = operation;
            observer.receives |= receives;
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
            acknowledged: false,
            receives,
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
    /// `is_proven`: whether its address has shown lately that what is sent there arrives.
    pub(super) fn may_send(
        &mut self,
        relation: &Relation,
        response: &Response,
        is_proven: bool,
        ends: bool,
    ) -> May {
        let Some(observer) = self.observers.get_mut(relation) else { return May::Nobody };
        let is_shown = is_proven || observer.receives;
        let is_first = |first: &Relation| first == relation;
        let of_another =
            address_of(relation).and_then(|to| self.first.get(&to)).is_some_and(|it| !is_first(it));
        let follows = of_another && !is_shown && !observer.acknowledged;
        let goes_ahead = is_shown && observer.acknowledged && observer.unconfirmed < AHEAD;
        if !ends && (follows || observer.waits && !goes_ahead) {
            observer.held_back = Some(Box::new(response.clone()));
            return May::Later;
        }
        May::Send
    }

    /// A notification leaves under this id.
    pub(super) fn sent(
        &mut self,
        now: Instant,
        relation: &Relation,
        id: u16,
        is_proven: bool,
    ) -> Option<Due> {
        let is_certain = self.is_certain(relation);
        let observer = self.observers.get_mut(relation)?;
        let is_shown = is_proven || observer.receives;
        let confirm = !observer.waits && (observer.unconfirmed >= UNCONFIRMED || now >= observer.check_at);
        observer.sequence = next(observer.sequence);
        observer.last_id = id;
        if confirm {
            (observer.waits, observer.unconfirmed) = (true, 0);
            observer.check_at = now + CHECK;
            if let Some(to) = address_of(relation).filter(|_| !is_shown && !observer.acknowledged) {
                self.first.entry(to).or_insert(*relation);
            }
        } else {
            observer.unconfirmed += 1;
        }
        let (sequence, operation) = (observer.sequence, observer.operation);
        Some(Due { sequence, confirm, operation, is_shown, is_certain })
    }

    /// The observer listens, most likely: its place is among those of addresses that are proven.
    /// That proves no address, because an id has 16 bits. Returns what was held back for it.
    pub(super) fn acknowledged(&mut self, now: Instant, relation: &Relation) -> Option<Box<Response>> {
        self.places.raise(relation, Standing::Proven);
        self.let_others_follow(relation);
        let observer = self.observers.get_mut(relation)?;
        (observer.waits, observer.acknowledged) = (false, true);
        observer.check_at = now + CHECK;
        observer.held_back.take()
    }

    /// Whether somebody observes there.
    pub(super) fn observes(&self, to: SocketAddr) -> bool {
        self.of(to).next().is_some()
    }

    /// Whether nobody else can have begun it in the observer's name.
    pub(super) fn is_certain(&self, relation: &Relation) -> bool {
        self.places.account(relation).is_some_and(|account| account.standing == Standing::Certain)
    }

    /// An observation whose turn has come, and what was held back for it.
    pub(super) fn next_held_back(&mut self) -> Option<(Relation, Box<Response>)> {
        while let Some(to) = self.next.last().copied() {
            let is_held_back = |observer: &Observer| observer.held_back.is_some() && !observer.waits;
            let of_peer = self.of(to).find(|(_, observer)| is_held_back(observer));
            if let Some((relation, _)) = of_peer.filter(|_| !self.first.contains_key(&to)) {
                let relation = *relation;
                let held_back = self.observers.get_mut(&relation)?.held_back.take()?;
                return Some((relation, held_back));
            }
            self.next.pop();
        }
        None
    }

    /// Nobody acknowledged a notification: all observations that are over by that. Where nobody has
    /// ever acknowledged one, nobody is asked again for each observation that somebody began there.
    pub(super) fn given_up(&self, relation: &Relation) -> Vec<Relation> {
        let to = address_of(relation).filter(|to| self.first.get(to) == Some(relation));
        let is_unheard_of = |(other, observer): &(&Relation, &Observer)| {
            !observer.acknowledged && !observer.receives && !self.is_certain(other) && *other != relation
        };
        let others = to.into_iter().flat_map(|to| self.of(to)).filter(is_unheard_of);
        others.map(|(other, _)| *other).chain([*relation]).collect()
    }

    fn let_others_follow(&mut self, relation: &Relation) {
        if let Some(to) = address_of(relation)
            && self.first.get(&to) == Some(relation)
        {
            self.first.remove(&to);
            self.next.push(to);
        }
    }

    fn of(&self, to: SocketAddr) -> impl Iterator<Item = (&Relation, &Observer)> {
        let peer = Peer::Datagram(to);
        let first = Relation { peer, token: Token::EMPTY };
        let of_peer = self.observers.range((Bound::Included(first), Bound::Unbounded));
        of_peer.take_while(move |(relation, _)| relation.peer == peer)
    }

    /// The relation whose last notification had this id.
    pub(super) fn last_sent(&self, to: SocketAddr, id: u16) -> Option<Relation> {
        let is_last = |observer: &Observer| observer.last_id == id && observer.sequence > 0;
        self.of(to).find(|(_, observer)| is_last(observer)).map(|(relation, _)| *relation)
    }

    pub(super) fn remove(&mut self, relation: &Relation) -> bool {
        self.places.remove(relation);
        self.let_others_follow(relation);
        self.observers.remove(relation).is_some()
    }
}

const fn address_of(relation: &Relation) -> Option<SocketAddr> {
    match relation.peer {
        Peer::Datagram(address) => Some(address),
        Peer::Stream(_) => None,
    }
}

/// The next number, of 24 bits (RFC 7641 §3.4).
const fn next(sequence: u32) -> u32 {
    (sequence + 1) & 0xff_ffff
}
