//! One connection: its two sides have the same face, and each may ask the other.

mod input;
mod output;

use std::collections::{BTreeMap, HashMap, VecDeque};

use motemix_time::Instant;

use super::frame::Frame;
use super::inbox::{Carriage, Inbox};
use super::outbox::Outbox;
use super::settings::{Counters, End, Settings};
use super::signal::Signal;
use crate::{Observe, Peer, Relation, Request, Response, Token};

/// A request that waits for its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(u64);

/// What somebody asked this side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incoming {
    /// For the response.
    pub ticket: Ticket,
    /// Who would observe, if the request is to observe.
    pub relation: Relation,
    /// What is asked.
    pub request: Request,
}

/// A request to the peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(u64);

/// There is no room for another request, or the connection ends: ask again later, or elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    /// As many calls wait as may.
    Calls,
    /// As many bytes wait to be read as may.
    Unsent,
    /// It is longer than the peer takes.
    TooLong,
    /// The connection ends.
    Ended,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A call has its response, and is over.
    Response {
        /// The call.
        call: CallId,
        /// Its response.
        response: Response,
    },
    /// The peer observes for a call: the first state, or a newer one.
    Notification {
        /// The call.
        call: CallId,
        /// The state.
        response: Response,
    },
    /// A call is over without a response.
    Failed(CallId),
    /// An observation of the peer is over.
    Gone(Relation),
}

#[derive(Debug)]
struct Open {
    token: Token,
    observe: Option<Observe>,
}

#[derive(Debug)]
struct Call {
    id: CallId,
    /// To end the observation with: its request.
    observed: Option<Box<Request>>,
    answer_by: Option<Instant>,
}

/// A Pong that waits for answers to all requests before its Ping.
#[derive(Debug)]
struct Custody {
    token: Token,
    before: u64,
}

/// When something is over if nothing happens before.
#[derive(Debug, Default)]
struct Deadlines {
    csm: Option<Instant>,
    message: Option<Instant>,
    unread: Option<Instant>,
    pong: Option<Instant>,
    release: Option<Instant>,
}

/// A connection. Bytes go in and come out; whoever drives it has the socket and the clock.
///
/// While [`wants_input`](Self::wants_input) says no, nothing is to be read from the socket: the peer
/// does not read its answers, or has enough of them to come.
#[derive(Debug)]
pub struct Session {
    settings: Settings,
    peer: Peer,
    now: Instant,
    inbox: Inbox,
    outbox: Outbox,
    /// The longest message that the peer takes.
    their_most: usize,
    deadlines: Deadlines,
    heard: Instant,
    tickets: u64,
    open: BTreeMap<u64, Open>,
    requests: VecDeque<Incoming>,
    custody: VecDeque<Custody>,
    calls: HashMap<Token, Call>,
    last_call: u64,
    sequence: u32,
    events: VecDeque<Event>,
    /// The peer's Release, which ends the connection once all is answered.
    released: Option<End>,
    end: Option<End>,
    counters: Counters,
}

/// Before the peer's CSM says otherwise (RFC 8323 §5.3.1).
const BASE_MESSAGE_SIZE: usize = 1152;

impl Session {
    /// A connection that was just made, by either side. Its first message waits.
    pub fn new(settings: Settings, carriage: Carriage, peer: Peer, now: Instant) -> Self {
        let csm = now + settings.csm_timeout;
        let mut session = Self {
            peer,
            now,
            inbox: Inbox::new(carriage),
            outbox: Outbox::default(),
            their_most: BASE_MESSAGE_SIZE,
            deadlines: Deadlines { csm: Some(csm), ..Deadlines::default() },
            heard: now,
            tickets: 0,
            open: BTreeMap::new(),
            requests: VecDeque::new(),
            custody: VecDeque::new(),
            calls: HashMap::new(),
            last_call: 0,
            sequence: 0,
            events: VecDeque::new(),
            released: None,
            end: None,
            counters: Counters::default(),
            settings,
        };
        let max_message_size = Some(session.settings.max_message_size);
        session.signal(&Signal::Csm { max_message_size, block_wise: false }, Token::default());
        session
    }

    /// Takes bytes of the stream, as they come.
    ///
    /// # Errors
    /// The connection is over; an Abort may still wait to be sent.
    pub fn handle_bytes(&mut self, now: Instant, bytes: &[u8]) -> Result<(), End> {
        self.take(now, Carriage::Bytes, bytes)
    }

    /// Takes a binary message of the WebSocket.
    ///
    /// # Errors
    /// The connection is over; an Abort may still wait to be sent.
    pub fn handle_message(&mut self, now: Instant, message: &[u8]) -> Result<(), End> {
        self.take(now, Carriage::WebSocket, message)
    }

    fn take(&mut self, now: Instant, carriage: Carriage, bytes: &[u8]) -> Result<(), End> {
        self.now = self.now.max(now);
        if self.end.is_none() {
            if self.inbox.carriage() != carriage {
                self.end_with(End::WrongCarriage);
            } else if !self.wants_input() && self.inbox.len() + bytes.len() > 2 * self.most_in() {
                self.end_with(End::Overrun);
            } else {
                self.inbox.push(bytes);
                self.work();
            }
        }
        self.end.clone().map_or(Ok(()), Err)
    }

    /// Whether the socket is to be read.
    pub fn wants_input(&self) -> bool {
        self.end.is_none() && self.has_room()
    }

    /// Whether another message is worked on.
    fn has_room(&self) -> bool {
        self.open.len() < self.settings.requests && self.outbox.len() < self.settings.unsent
    }

    fn most_in(&self) -> usize {
        self.settings.max_message_size as usize
    }

    /// The next request, whole.
    pub fn poll_request(&mut self) -> Option<Incoming> {
        self.requests.pop_front()
    }

    /// What happened next.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Ends the connection in order: says so, and waits for what is to be answered on both sides.
    pub fn close(&mut self, now: Instant) {
        self.now = self.now.max(now);
        if self.end.is_some() || self.deadlines.release.is_some() {
            return;
        }
        self.deadlines.release = Some(self.now + self.settings.release_timeout);
        self.signal(&Signal::Release { alternatives: Vec::new(), hold_off: None }, Token::default());
        self.work();
    }

    /// The connection is gone: nothing is sent any more.
    pub fn lost(&mut self, now: Instant) {
        self.now = self.now.max(now);
        self.end_with(End::Lost);
        self.outbox.clear();
    }

    /// Why it is over. Events may still wait, and an Abort.
    pub fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// Whether the socket is to be closed: it is over, and nothing waits to be sent.
    pub fn is_over(&self) -> bool {
        self.end.is_some() && self.outbox.is_empty()
    }

    /// What was counted.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// When to call [`handle_timeout`](Self::handle_timeout), if nothing happens before.
    pub fn poll_timeout(&self) -> Option<Instant> {
        if self.end.is_some() {
            return self.deadlines.unread;
        }
        let Deadlines { csm, message, unread, pong, release } = self.deadlines;
        let ping = (csm.is_none() && pong.is_none()).then(|| self.heard + self.settings.ping_after);
        let answer = self.calls.values().filter_map(|call| call.answer_by).min();
        [csm, message, unread, pong, release, ping, answer].into_iter().flatten().min()
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.now = self.now.max(now);
        let now = self.now;
        let due = |deadline: Option<Instant>| deadline.is_some_and(|deadline| deadline <= now);
        if due(self.deadlines.unread) {
            self.end_with(End::Unread);
            // Nobody reads the Abort either.
            self.outbox.clear();
            self.deadlines.unread = None;
            return;
        }
        if self.end.is_some() {
            return;
        }
        let ends = [
            (self.deadlines.csm, End::CsmTimeout),
            (self.deadlines.message, End::MessageTimeout),
            (self.deadlines.pong, End::NoPong),
            (self.deadlines.release, End::Closed),
        ];
        if let Some((_, end)) = ends.into_iter().find(|(deadline, _)| due(*deadline)) {
            return self.end_with(end);
        }
        let late: Vec<_> =
            self.calls.iter().filter(|(_, call)| due(call.answer_by)).map(|(token, _)| *token).collect();
        for call in late.into_iter().filter_map(|token| self.calls.remove(&token)) {
            self.events.push_back(Event::Failed(call.id));
        }
        if self.deadlines.csm.is_none()
            && self.deadlines.pong.is_none()
            && due(Some(self.heard + self.settings.ping_after))
        {
            self.deadlines.pong = Some(now + self.settings.pong_timeout);
            self.signal(&Signal::Ping { custody: false }, Token::default());
        }
        self.work();
    }

    /// Ends all that depends on the connection, and tells the peer why if it is to blame.
    fn end_with(&mut self, end: End) {
        if self.end.is_some() {
            return;
        }
        self.inbox.clear();
        self.open.clear();
        self.requests.clear();
        self.custody.clear();
        self.deadlines = Deadlines { unread: self.deadlines.unread, ..Deadlines::default() };
        for call in std::mem::take(&mut self.calls).into_values() {
            self.events.push_back(Event::Failed(call.id));
        }
        let drops = !matches!(end, End::Closed | End::Released { .. });
        for token in self.outbox.end(drops) {
            self.events.push_back(Event::Gone(Relation { peer: self.peer, token }));
        }
        if let Some(abort) = end.abort() {
            self.signal(&abort, Token::default());
        }
        self.end = Some(end);
    }

    fn signal(&mut self, signal: &Signal, token: Token) {
        self.send(&signal.to_frame(token));
    }

    fn send(&mut self, frame: &Frame) {
        let bytes = match self.inbox.carriage() {
            Carriage::Bytes => frame.to_stream(),
            Carriage::WebSocket => frame.to_message(),
        };
        self.outbox.push(bytes);
        self.unread_from_now();
    }

    /// Something waits to be read by the peer.
    fn unread_from_now(&mut self) {
        let deadline = self.now + self.settings.unread_timeout;
        self.deadlines.unread.get_or_insert(deadline);
    }
}
