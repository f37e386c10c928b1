//! CoAP over connections (RFC 8323): TCP, sockets of one machine, and WebSockets.
//!
//! A [`Session`] is one connection. Nothing on it is lost or repeated, so there are no
//! acknowledgements; both sides begin with a message that says how much they take.

mod answering;
mod asking;
mod framing;
mod leaving;
mod signals;

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

use motemix_time::Instant;

use crate::bodies::{Bodies, Limits, Usage};
use crate::datagram::Settings;
use crate::datagram::proof::Proofs;
use crate::message::Message;
use crate::source::Source;
use crate::{CallId, Event, Incoming, Peer, Relation, Token};
use answering::Observer;
use asking::Call;
pub use framing::Carrier;
use framing::{Framing, NextMessage};
use leaving::Leaving;
pub use leaving::Room;
use signals::{Custody, code, csm, signal_of};

/// What each side takes until it says otherwise (RFC 8323 §5.3.1).
const BASE_MESSAGE_SIZE: usize = 1152;
/// How long the other side may take to begin, for the rest of a message, and to answer a Ping; how
/// long it waits for our answers after its Release.
const PATIENCE: Duration = Duration::from_secs(30);
/// After so long without a message a Ping asks whether the other side is there: observers are
/// silent.
const SILENCE: Duration = Duration::from_secs(240);
/// Bytes of memory that wait to be sent; beyond these, newer notifications take the place of older
/// ones, and no more is read or answered.
const WAITING_BYTES: usize = 256 << 10;
/// Requests that wait to be handed out; beyond these, no more is read.
const WAITING_REQUESTS: usize = 64;
/// Bodies in blocks of one connection, both ways.
const BODIES: usize = 8;

/// One connection, of a server or a client; it has no socket and no clock.
#[derive(Debug)]
pub struct Session {
    number: u64,
    settings: Settings,
    framing: Framing,
    /// Whether messages wait in there for want of room.
    is_behind: bool,
    /// The longest message that the other side takes; none until it has begun.
    takes: Option<usize>,
    bodies: Bodies,
    /// As whose its bodies count, if others have bodies there too.
    source: Option<Source>,
    /// Messages that the application does not see which have come since somebody asked, and until
    /// when the peer has sent more of them than it may.
    unseen: u32,
    unseen_again: Option<Instant>,
    /// Until when nothing more is read because of that.
    rests_until: Option<Instant>,
    names: Proofs,
    relations: BTreeMap<Token, Observer>,
    /// Observers for whom something is held back, the one that waits longest first.
    behind: VecDeque<Token>,
    sequence: u32,
    calls: BTreeMap<CallId, Call>,
    next_call: u64,
    incoming: VecDeque<Incoming>,
    events: VecDeque<Event>,
    leaving: Leaving,
    /// Requests that are not answered, by how many came before.
    unanswered: VecDeque<(u64, Token)>,
    asked: u64,
    custody: VecDeque<Custody>,
    /// When something happened last.
    now: Instant,
    /// Until when the other side has to go on.
    until: Option<Instant>,
    /// When the other side was last heard of, and until when it has to answer a Ping.
    heard: Instant,
    pong_until: Option<Instant>,
    /// The other side wants to end this, once it is answered or this has come.
    release_until: Option<Instant>,
    is_over: bool,
    /// This side ended it, because the other one did not go on or broke the protocol.
    was_aborted: bool,
}

impl Session {
    /// A connection that the caller calls by this number. Its first message waits to be sent.
    pub fn new(now: Instant, number: u64, carrier: Carrier, settings: Settings, seed: [u64; 2]) -> Self {
        let all = Usage { bodies: BODIES, bytes: 4 * settings.body };
        let limits = Limits { body: settings.body, all, of_one: all };
        let longest = settings.body + 1024;
        let mut session = Self {
            number,
            framing: Framing::new(carrier, longest),
            is_behind: false,
            takes: None,
            bodies: Bodies::new(limits),
            source: None,
            unseen: 0,
            unseen_again: None,
            rests_until: None,
            names: Proofs::new(seed[0], seed[1]),
            relations: BTreeMap::new(),
            behind: VecDeque::new(),
            sequence: 0,
            calls: BTreeMap::new(),
            next_call: 0,
            incoming: VecDeque::new(),
            events: VecDeque::new(),
            leaving: Leaving::new(),
            unanswered: VecDeque::new(),
            asked: 0,
            custody: VecDeque::new(),
            now,
            until: Some(now + PATIENCE),
            heard: now,
            pong_until: None,
            release_until: None,
            is_over: false,
            was_aborted: false,
            settings,
        };
        session.send(&csm(longest));
        session
    }

    /// Has it share with others the room for what waits to leave, and what comes and goes in
    /// blocks. Bodies that are gathered count as this network's if the connection comes from one.
    #[must_use]
    pub fn sharing(mut self, room: Room, bodies: Bodies, network: Option<IpAddr>) -> Self {
        self.leaving.move_to(room);
        self.bodies = bodies;
        self.source = network.map(Source::of);
        self
    }

    /// Whether the connection is to be closed once everything is sent.
    pub const fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether this side ended it: the other one broke the protocol, or did not go on.
    pub const fn was_aborted(&self) -> bool {
        self.was_aborted
    }

    /// Whether more is to be read: not while too much waits to be sent or answered.
    pub fn wants_more(&self) -> bool {
        !self.is_over && !self.is_behind && self.has_room()
    }

    /// Whether a request waits that would be handed out now.
    pub fn has_request(&self) -> bool {
        !self.incoming.is_empty() && !self.leaving.is_full()
    }

    /// Whether something waits for room that this connection's other side, or others of its peer,
    /// or everybody else has taken.
    pub fn waits_for_room(&self) -> bool {
        let has_something = self.is_behind || !self.incoming.is_empty() || !self.behind.is_empty();
        has_something && self.leaving.is_full()
    }

    /// Bytes of memory that wait until the other side takes them, and those for which there has to
    /// be room as soon as requests that were handed out are answered.
    pub fn waiting(&self) -> usize {
        self.leaving.bytes()
    }

    /// Says how many bytes that [`Session::poll_transmit`] gave are not written yet: they wait as
    /// well.
    pub fn set_under_way(&mut self, bytes: usize) {
        self.leaving.set_under_way(bytes);
    }

    /// Messages that have come since this was asked last and that the application does not see:
    /// blocks of bodies, signals, empty messages, and responses that nobody waits for.
    pub fn take_unseen(&mut self) -> u32 {
        std::mem::take(&mut self.unseen)
    }

    /// The peer has sent more of these than it may until then: blocks are refused, and behind any
    /// other one nothing more is read.
    pub fn refuse_unseen(&mut self, until: Instant) {
        self.unseen_again = Some(until);
    }

    fn count_unseen(&mut self, now: Instant) {
        self.unseen = self.unseen.saturating_add(1);
        self.rests_until = self.unseen_again.filter(|until| *until > now);
    }

    /// Takes what has arrived: some bytes of a stream, or one message of a WebSocket. One of no
    /// bytes is a frame of the WebSocket's own, and counts as a message.
    pub fn handle_bytes(&mut self, now: Instant, bytes: &[u8]) {
        if self.is_over {
            return;
        }
        self.now = now;
        if bytes.is_empty() {
            self.count_unseen(now);
        }
        self.framing.push(bytes);
        self.read();
    }

    fn has_room(&self) -> bool {
        self.incoming.len() < WAITING_REQUESTS && !self.leaving.is_full() && self.rests_until.is_none()
    }

    /// Takes the messages that are here, as long as there is room for what comes of them.
    fn read(&mut self) {
        let now = self.now;
        while !self.is_over {
            self.is_behind = !self.has_room();
            if self.is_behind {
                // It is this side that does not go on.
                self.until = None;
                return;
            }
            match self.framing.next() {
                NextMessage::Message(message) => self.take(now, message),
                NextMessage::More { begun } => {
                    let waits = begun || self.takes.is_none();
                    self.until = if waits { Some(self.until.unwrap_or(now + PATIENCE)) } else { None };
                    return;
                }
                NextMessage::Malformed(text) => return self.abort(text, None),
            }
            if self.is_over {
                return;
            }
            self.until = None;
            self.heard = now;
            self.pong_until = None;
        }
    }

    /// The other side has closed the connection, or it broke: nobody observes, and nobody answers.
    pub fn closed(&mut self) {
        self.leaving.clear();
        self.end();
    }

    /// Nothing more is taken; what waits to be sent is sent.
    fn end(&mut self) {
        self.is_over = true;
        self.is_behind = false;
        self.incoming.clear();
        self.behind.clear();
        self.unanswered.clear();
        self.custody.clear();
        let peer = Peer::Stream(self.number);
        self.bodies.leave(peer);
        let gone = std::mem::take(&mut self.relations);
        self.events.extend(gone.into_keys().map(|token| Event::Gone(Relation { peer, token })));
        let failed = std::mem::take(&mut self.calls);
        self.events.extend(failed.into_keys().map(|call| Event::Failed { call }));
    }

    /// The next request for the application, whole. There is none while too much waits to be sent:
    /// whoever reads nothing is not answered either.
    pub fn poll_request(&mut self) -> Option<Incoming> {
        if self.leaving.is_full() {
            return None;
        }
        if self.is_behind {
            self.read();
        }
        let mut incoming = self.incoming.pop_front()?;
        let takes = self.takes.unwrap_or(BASE_MESSAGE_SIZE);
        incoming.ticket.promise(self.leaving.promise(incoming.request.method, takes));
        Some(incoming)
    }

    /// What happened besides requests.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// The next bytes, or message of a WebSocket, to send.
    pub fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        if self.leaving.bytes() < WAITING_BYTES / 2 {
            self.catch_up();
        }
        if self.is_behind {
            self.read();
        }
        self.leaving.pop()
    }

    /// Ends a connection whose other side does not go on, and asks a silent one whether it is
    /// there.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.is_over {
            return;
        }
        self.now = now;
        let is_due = |until: Option<Instant>| until.is_some_and(|until| until <= now);
        if is_due(self.rests_until) {
            self.rests_until = None;
            self.read();
        }
        if is_due(self.until) {
            self.until = None;
            return self.abort("nothing came for too long", None);
        }
        if is_due(self.pong_until) {
            return self.abort("no answer to a Ping", None);
        }
        if is_due(self.release_until) {
            return self.end();
        }
        if is_due(self.silent_until()) {
            self.pong_until = Some(now + PATIENCE);
            self.send(&signal_of(code::PING));
        }
        // What is shared is the endpoint's to expire: there may be many sessions.
        if self.source.is_none() {
            self.bodies.expire(now);
        }
        let late = self.calls.iter().filter(|(_, call)| is_due(call.until)).map(|(id, _)| *id);
        for call in late.collect::<Vec<_>>() {
            self.calls.remove(&call);
            self.events.push_back(Event::Failed { call });
        }
    }

    /// When [`Session::handle_timeout`] has something to do.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let own = [self.until, self.pong_until, self.release_until, self.silent_until(), self.rests_until];
        let of_calls = self.calls.values().map(|call| call.until);
        own.into_iter().chain(of_calls).flatten().min().filter(|_| !self.is_over)
    }

    fn silent_until(&self) -> Option<Instant> {
        (self.takes.is_some() && self.pong_until.is_none()).then(|| self.heard + SILENCE)
    }

    /// Tells the other side that no more is answered here.
    pub fn release(&mut self) {
        if !self.is_over {
            self.send(&signal_of(code::RELEASE));
            self.end();
        }
    }

    fn abort(&mut self, text: &str, bad_option: Option<u16>) {
        let mut abort = signal_of(code::ABORT);
        if let Some(number) = bad_option {
            abort.push_number(signals::BAD_CSM_OPTION, number.into());
        }
        abort.payload = text.as_bytes().to_vec();
        let last = self.framing.write(&abort);
        self.closed();
        self.leaving.push(last);
        self.was_aborted = true;
    }

    fn take(&mut self, now: Instant, message: Message) {
        // Both sides begin with what they take (§5.3).
        if self.takes.is_none() && !matches!(message.code, code::CSM | code::ABORT) {
            return self.abort("the first message has to be a CSM", None);
        }
        match message.code >> 5 {
            // Empty messages say nothing (§3.4).
            0 if message.code == 0 => self.count_unseen(now),
            0 => self.take_request(now, message),
            2 | 4 | 5 => self.take_response(now, message),
            7 => {
                if self.takes.is_some() {
                    self.count_unseen(now);
                }
                self.take_signal(now, &message);
            }
            _ => self.abort("no message has such a code", None),
        }
    }

    fn send(&mut self, message: &Message) {
        if self.is_over {
            return;
        }
        self.leaving.push(self.framing.write(message));
    }
}
