//! CoAP over datagrams (RFC 7252 §4), for servers and clients.
//!
//! ```text
//! handle_datagram ─ Message ─┬ request: exchange (duplicate?) ─ outer blocks, OSCORE ─ blocks gathered ─ poll_request
//!                            ├ response: call ─ OSCORE ─ blocks gathered ─ poll_event
//!                            └ acknowledgement, reset: repetition, relation ─ poll_event
//! respond, notify, request ─ blocks sliced ─ OSCORE ─ repetition ─ poll_transmit
//! ```

mod answers;
pub(crate) mod call;
mod exchange;
mod ids;
pub(crate) mod proof;
mod protection;
mod relation;
mod repetition;
mod requests;
mod resets;
mod settings;

use std::collections::VecDeque;
use std::net::SocketAddr;

use motemix_time::Instant;
use rand_core::{Rng as _, SeedableRng as _};

use crate::bodies::{Bodies, Limits, Usage};
use crate::message::{Kind, Message};
use crate::operation::Operation;
use crate::oscore;
use crate::{Account, Block, Peer, Relation, Request, Response};
pub use call::CallId;
use call::Calls;
use exchange::Exchanges;
use ids::Ids;
use proof::Proofs;
use protection::Protected;
pub use protection::Protection;
use relation::Relations;
use repetition::{Purpose, Repetitions};
use resets::Resets;
pub use settings::Settings;

/// What one address has of all places for bodies at most.
const SHARE: usize = 8;

/// A datagram to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transmit {
    /// Where to.
    pub to: SocketAddr,
    /// The datagram.
    pub bytes: Vec<u8>,
}

/// A request that waits for a response.
#[derive(Debug)]
pub struct Incoming {
    /// To respond with.
    pub ticket: Ticket,
    /// What is asked.
    pub request: Request,
}

impl Incoming {
    /// A request that no message carries: from within the program.
    pub fn inside(relation: Relation, request: Request) -> Self {
        Self { ticket: Ticket::of_stream(relation, Asked::default()), request }
    }
}

/// Stands for a request until it is answered.
#[derive(Debug)]
#[must_use = "a client waits for the response"]
pub struct Ticket {
    relation: Relation,
    id: u16,
    confirmable: bool,
    /// Tells the datagram that brought it from others with its id.
    digest: u64,
    request_len: usize,
    block1: Option<Block>,
    block2: Option<Block>,
    /// Which of the client's operations it is.
    operation: Operation,
    may_observe: bool,
    /// The request itself has an Echo value that is right.
    has_echo: bool,
    /// The last outer block, if the message came in such (RFC 8613 §4.1.3.4.2).
    outer_block1: Option<Block>,
    /// Under OSCORE, what the response is protected with.
    exchange: Option<oscore::Exchange>,
    /// On a connection, the room that is kept for the response.
    promised: usize,
}

impl Ticket {
    const fn new(relation: Relation) -> Self {
        Self {
            relation,
            id: 0,
            confirmable: false,
            digest: 0,
            request_len: 0,
            block1: None,
            block2: None,
            operation: Operation::NONE,
            may_observe: true,
            has_echo: false,
            outer_block1: None,
            exchange: None,
            promised: 0,
        }
    }

    /// A ticket of a connection, on which nothing is lost and nobody has an address to prove.
    pub(crate) const fn of_stream(relation: Relation, carried: Asked) -> Self {
        let Asked { block1, block2, operation } = carried;
        Self { block1, block2, operation, ..Self::new(relation) }
    }

    pub(crate) const fn promise(&mut self, bytes: usize) {
        self.promised = bytes;
    }

    pub(crate) const fn promised(&self) -> usize {
        self.promised
    }

    pub(crate) const fn asked(&self) -> Asked {
        Asked { block1: self.block1, block2: self.block2, operation: self.operation }
    }

    /// Who asks, and what the client calls it.
    pub const fn relation(&self) -> Relation {
        self.relation
    }
}

/// Which blocks of what a request has and wants.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Asked {
    pub(crate) block1: Option<Block>,
    pub(crate) block2: Option<Block>,
    pub(crate) operation: Operation,
}

/// What happened besides requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// An own request was answered.
    Response {
        /// Which.
        call: CallId,
        /// The whole response.
        response: Response,
    },
    /// What an own request observes has changed.
    Notification {
        /// Which.
        call: CallId,
        /// What it is now.
        response: Response,
    },
    /// An own request, or observation, has come to nothing: nobody answers, or not as asked.
    Failed {
        /// Which.
        call: CallId,
    },
    /// A client does not observe any more.
    Gone(Relation),
}

/// Why a datagram has no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DropReason {
    /// It is no message.
    Malformed,
    /// It came before.
    Duplicate,
    /// Nobody waits for it.
    Unexpected,
    /// Too many requests wait for the application.
    Busy,
    /// It was answered with an error at once.
    Refused,
    /// The address is to be proven first.
    Unproven,
}

/// What an endpoint has counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Datagrams that arrived.
    pub received: u64,
    /// Datagrams to send.
    pub sent: u64,
    /// Requests that the application got.
    pub requests: u64,
    /// Dropped: no message.
    pub malformed: u64,
    /// Dropped: came before.
    pub duplicates: u64,
    /// Dropped: nobody waited for it.
    pub unexpected: u64,
    /// Dropped: too many requests waited.
    pub busy: u64,
    /// Answered with an error at once.
    pub refused: u64,
    /// Answered with Echo.
    pub unproven: u64,
    /// Messages that were repeated.
    pub repeated: u64,
    /// Messages that nobody acknowledged.
    pub given_up: u64,
    /// Notifications that a newer one took the place of.
    pub coalesced: u64,
    /// Responses in smaller blocks than there was room for, because the address was not proven.
    pub held_back: u64,
}

/// No more own requests: there are as many as there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many requests are under way; wait until some are answered")]
pub struct Full;

/// One side of CoAP over datagrams; it has no socket and no clock.
#[derive(Debug)]
pub struct Endpoint {
    settings: Settings,
    rng: chacha20::ChaCha12Rng,
    ids: Ids,
    exchanges: Exchanges,
    bodies: Bodies,
    repetitions: Repetitions,
    relations: Relations,
    calls: Calls,
    proofs: Proofs,
    resets: Resets,
    protected: Protected,
    incoming: VecDeque<Incoming>,
    events: VecDeque<Event>,
    leaving: VecDeque<Transmit>,
    counters: Counters,
}

impl Endpoint {
    /// An endpoint whose message ids, tokens and proofs of addresses come from this seed.
    pub fn new(settings: Settings, seed: [u8; 32]) -> Self {
        let mut rng = chacha20::ChaCha12Rng::from_seed(seed);
        let limits = Limits {
            body: settings.body,
            all: Usage { bodies: settings.bodies, bytes: settings.body_bytes },
            of_one: Usage {
                bodies: (settings.bodies / SHARE).max(1),
                bytes: (settings.body_bytes / SHARE).max(settings.body),
            },
        };
        Self {
            ids: Ids::new(),
            exchanges: Exchanges::new(settings.exchanges),
            bodies: Bodies::new(limits),
            repetitions: Repetitions::new(settings.repetitions),
            relations: Relations::new(settings.relations),
            calls: Calls::new(settings.calls),
            proofs: Proofs::new(rng.next_u64(), rng.next_u64()),
            resets: Resets::new(),
            protected: Protected::default(),
            incoming: VecDeque::new(),
            events: VecDeque::new(),
            leaving: VecDeque::new(),
            counters: Counters::default(),
            rng,
            settings,
        }
    }

    /// What it has counted.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What comes and goes in blocks, to be shared with connections ([`Session::sharing`]).
    ///
    /// [`Session::sharing`]: crate::Session::sharing
    pub fn bodies(&self) -> Bodies {
        self.bodies.clone()
    }

    /// Observations by others.
    pub fn relations(&self) -> usize {
        self.relations.len()
    }

    /// The next request for the application, whole.
    pub fn poll_request(&mut self) -> Option<Incoming> {
        self.incoming.pop_front()
    }

    /// What happened besides requests.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// The next datagram to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        let transmit = self.leaving.pop_front()?;
        self.counters.sent += 1;
        Some(transmit)
    }

    /// Takes a datagram.
    ///
    /// # Errors
    /// Why it has no effect; who sent it may have been answered all the same.
    pub fn handle_datagram(
        &mut self,
        now: Instant,
        from: SocketAddr,
        bytes: &[u8],
    ) -> Result<(), DropReason> {
        self.counters.received += 1;
        let handled = self.handle(now, from, bytes);
        self.send_held_back(now);
        match handled {
            Ok(()) => {}
            Err(DropReason::Malformed) => self.counters.malformed += 1,
            Err(DropReason::Duplicate) => self.counters.duplicates += 1,
            Err(DropReason::Unexpected) => self.counters.unexpected += 1,
            Err(DropReason::Busy) => self.counters.busy += 1,
            Err(DropReason::Refused) => self.counters.refused += 1,
            Err(DropReason::Unproven) => self.counters.unproven += 1,
        }
        handled
    }

    fn handle(&mut self, now: Instant, from: SocketAddr, bytes: &[u8]) -> Result<(), DropReason> {
        let message = match Message::read(bytes) {
            Ok(message) => message,
            Err(malformed) => {
                if let Some(id) = malformed.confirmable {
                    self.send(from, &Message::empty(Kind::Reset, id));
                }
                return Err(DropReason::Malformed);
            }
        };
        match (message.code, message.kind) {
            (0, Kind::Confirmable) => {
                // A ping (§4.3): the reset is its answer.
                self.send(from, &Message::empty(Kind::Reset, message.id));
                Ok(())
            }
            (_, Kind::Reset) => self.reset(now, from, message.id),
            (0, Kind::Acknowledgement) => self.acknowledged(now, from, message.id),
            (1..=31, Kind::Confirmable | Kind::NonConfirmable) => {
                self.take_request(now, from, message, bytes)
            }
            (0, Kind::NonConfirmable) | (1..=31, Kind::Acknowledgement) => Err(DropReason::Malformed),
            _ => self.take_response(now, from, message),
        }
    }

    fn acknowledged(&mut self, now: Instant, from: SocketAddr, id: u16) -> Result<(), DropReason> {
        match self.repetitions.end(from, id).ok_or(DropReason::Unexpected)? {
            // It has an id, which others find among 65,536: it proves no address.
            Purpose::Notification(token) => {
                let relation = Relation { peer: Peer::Datagram(from), token };
                if let Some(response) = self.relations.acknowledged(now, &relation) {
                    self.send_notification(now, from, &relation, &response);
                }
            }
            Purpose::Request(call) => self.calls.acknowledged(now, call),
            Purpose::Response => {}
        }
        Ok(())
    }

    /// Somebody rejects a message. Others may have guessed its id: where many guesses were wrong,
    /// what is repeated ends when nobody acknowledges it, and an observer is asked by its next
    /// notification; so is one whose observation is certainly its own, if it rejects a notification
    /// that was not to be acknowledged.
    fn reset(&mut self, now: Instant, from: SocketAddr, id: u16) -> Result<(), DropReason> {
        let is_doubted = self.resets.are_doubted(now, from);
        let Some(purpose) = self.repetitions.purpose(from, id) else {
            let Some(relation) = self.relations.last_sent(from, id) else {
                self.resets.count(now, from, self.relations.observes(from));
                return Err(DropReason::Unexpected);
            };
            if is_doubted || self.relations.is_certain(&relation) {
                self.relations.confirm_next(&relation);
            } else {
                self.lose(relation);
            }
            return Ok(());
        };
        if is_doubted {
            return Err(DropReason::Unexpected);
        }
        self.repetitions.end(from, id);
        match purpose {
            Purpose::Notification(token) => self.lose(Relation { peer: Peer::Datagram(from), token }),
            Purpose::Request(call) => self.fail(call),
            Purpose::Response => {}
        }
        Ok(())
    }

    /// Whoever observed does so no longer.
    fn lose(&mut self, relation: Relation) {
        if self.end(&relation) {
            self.events.push_back(Event::Gone(relation));
        }
    }

    fn end(&mut self, relation: &Relation) -> bool {
        self.protected.observed.remove(relation);
        self.relations.remove(relation)
    }

    fn fail(&mut self, call: CallId) {
        if self.calls.remove(call) {
            self.events.push_back(Event::Failed { call });
        }
    }

    /// Ends an observation without a word.
    pub fn forget(&mut self, relation: &Relation) {
        self.end(relation);
    }

    /// Does what has become due.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some((to, id)) = self.exchanges.next_to_acknowledge(now, self.settings.separate_after) {
            self.send(to, &Message::empty(Kind::Acknowledgement, id));
        }
        while let Some(due) = self.repetitions.next_due(now, self.settings.max_retransmit) {
            match due {
                repetition::Due::Again(to, bytes) => {
                    self.counters.repeated += 1;
                    self.leaving.push_back(Transmit { to, bytes });
                }
                repetition::Due::GivenUp(from, purpose) => {
                    self.counters.given_up += 1;
                    match purpose {
                        Purpose::Notification(token) => {
                            let relation = Relation { peer: Peer::Datagram(from), token };
                            self.relations.given_up(&relation).into_iter().for_each(|gone| self.lose(gone));
                        }
                        Purpose::Request(call) => self.fail(call),
                        Purpose::Response => {}
                    }
                }
            }
        }
        self.send_held_back(now);
        for call in self.calls.expired(now) {
            self.fail(call);
        }
        self.bodies.expire(now);
        self.protected.sweep(now);
    }

    /// When [`Endpoint::handle_timeout`] has something to do.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let acknowledge = self.exchanges.acknowledge_at(self.settings.separate_after);
        [acknowledge, self.repetitions.next(), self.calls.next_expiry()].into_iter().flatten().min()
    }

    fn next_id(&mut self, to: SocketAddr) -> u16 {
        self.ids.next(self.proofs.number_of(to))
    }

    fn send(&mut self, to: SocketAddr, message: &Message) {
        self.leaving.push_back(Transmit { to, bytes: message.write() });
    }

    /// Repeats a message until it is acknowledged; `account` is of whoever has it sent.
    fn repeat(
        &mut self,
        now: Instant,
        to: SocketAddr,
        account: Account,
        id: u16,
        bytes: Vec<u8>,
        purpose: Purpose,
    ) {
        // Between the timeout and one and a half of it (§4.8): those who began together do not go
        // on together.
        let timeout = self.settings.ack_timeout;
        let timeout = timeout + timeout.mul_f64(f64::from(self.rng.next_u32()) / f64::from(u32::MAX) / 2.0);
        self.repetitions.begin(now, (to, id), account, bytes, timeout, purpose);
    }
}
