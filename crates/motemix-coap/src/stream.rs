//! CoAP over connections (RFC 8323): TCP, sockets of one machine, and WebSockets.
//!
//! A [`Session`] is one connection. Nothing on it is lost or repeated, so there are no
//! acknowledgements; both sides begin with a message that says how much they take.

mod framing;
mod signals;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use motemix_time::Instant;

use crate::block::{Assembled, Assembly, Limits};
use crate::datagram::call::Bodies;
use crate::datagram::proof::Proofs;
use crate::datagram::{Asked, Settings};
use crate::meaning::{self, Carried};
use crate::message::{Kind, Message, option};
use crate::{
    Block, CallId, Code, Event, Full, Incoming, Method, Observe, Peer, Relation, Request, Response, Ticket,
    Token,
};
pub use framing::Carrier;
use framing::{Framing, NextMessage};
use signals::{Custody, code, csm, signal_of};

/// What each side takes until it says otherwise (RFC 8323 §5.3.1).
const BASE_MESSAGE_SIZE: usize = 1152;
/// How long the other side may take to begin, for the rest of a message, and to answer a Ping; how
/// long it waits for our answers after its Release.
const PATIENCE: Duration = Duration::from_secs(30);
/// After so long without a message a Ping asks whether the other side is there: observers are silent.
const SILENCE: Duration = Duration::from_secs(240);
/// How long an own request waits for its response, EXCHANGE_LIFETIME (RFC 7252 §4.8.2).
const ANSWER: Duration = Duration::from_secs(247);
/// Bytes that wait to be sent; beyond these, newer notifications take the place of older ones, and
/// no more is read.
const WAITING_BYTES: usize = 256 << 10;
/// Observations of one connection.
const MOST_RELATIONS: usize = 4096;
/// Observe has 24 bits.
const SEQUENCES: u32 = 1 << 24;
/// Bodies in blocks of one connection, both ways, and their bytes.
const BODIES: usize = 8;

#[derive(Debug)]
struct Observer {
    representation: u64,
    /// What is to be sent when there is room.
    held_back: Option<Box<Response>>,
}

#[derive(Debug)]
struct Call {
    token: Token,
    /// What ends the observation.
    observed: Option<Box<Request>>,
    answered: bool,
    /// Until when a response has to come.
    until: Option<Instant>,
}

/// One connection, of a server or a client; it has no socket and no clock.
#[derive(Debug)]
pub struct Session {
    number: u64,
    settings: Settings,
    framing: Framing,
    /// The longest message that the other side takes; none until it has begun.
    takes: Option<usize>,
    gathering: Assembly<u64>,
    slicing: Bodies<u64>,
    names: Proofs,
    relations: BTreeMap<Token, Observer>,
    sequence: u32,
    calls: BTreeMap<CallId, Call>,
    next_call: u64,
    incoming: VecDeque<Incoming>,
    events: VecDeque<Event>,
    leaving: VecDeque<Vec<u8>>,
    leaving_bytes: usize,
    /// Requests that are not answered, by how many came before.
    unanswered: VecDeque<(u64, Token)>,
    asked: u64,
    custody: VecDeque<Custody>,
    /// Until when the other side has to go on.
    until: Option<Instant>,
    /// When the other side was last heard of, and until when it has to answer a Ping.
    heard: Instant,
    pong_until: Option<Instant>,
    /// The other side wants to end this, once it is answered or this has come.
    release_until: Option<Instant>,
    is_over: bool,
}

impl Session {
    /// A connection that the caller calls by this number. Its first message waits to be sent.
    pub fn new(now: Instant, number: u64, carrier: Carrier, settings: Settings, seed: [u64; 2]) -> Self {
        let limits = Limits { body: settings.body, bodies: BODIES, bytes: 4 * settings.body };
        let longest = settings.body + 1024;
        let mut session = Self {
            number,
            framing: Framing::new(carrier, longest),
            takes: None,
            gathering: Assembly::new(limits),
            slicing: Bodies::new(BODIES, 4 * settings.body),
            names: Proofs::new(seed[0], seed[1]),
            relations: BTreeMap::new(),
            sequence: 0,
            calls: BTreeMap::new(),
            next_call: 0,
            incoming: VecDeque::new(),
            events: VecDeque::new(),
            leaving: VecDeque::new(),
            leaving_bytes: 0,
            unanswered: VecDeque::new(),
            asked: 0,
            custody: VecDeque::new(),
            until: Some(now + PATIENCE),
            heard: now,
            pong_until: None,
            release_until: None,
            is_over: false,
            settings,
        };
        session.send(&csm(longest));
        session
    }

    /// Whether the connection is to be closed once everything is sent.
    pub const fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether more is to be read: not while too much waits to be sent or answered.
    pub fn wants_more(&self) -> bool {
        !self.is_over && self.leaving_bytes < WAITING_BYTES && self.incoming.len() < 64
    }

    /// Takes what has arrived: some bytes of a stream, or one message of a WebSocket.
    pub fn handle_bytes(&mut self, now: Instant, bytes: &[u8]) {
        if self.is_over {
            return;
        }
        self.framing.push(bytes);
        loop {
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
        self.leaving_bytes = 0;
        self.end();
    }

    /// Nothing more is taken; what waits to be sent is sent.
    fn end(&mut self) {
        self.is_over = true;
        self.incoming.clear();
        self.unanswered.clear();
        self.custody.clear();
        let peer = Peer::Stream(self.number);
        let gone = std::mem::take(&mut self.relations);
        self.events.extend(gone.into_keys().map(|token| Event::Gone(Relation { peer, token })));
        let failed = std::mem::take(&mut self.calls);
        self.events.extend(failed.into_keys().map(|call| Event::Failed { call }));
    }

    /// The next request for the application, whole.
    pub fn poll_request(&mut self) -> Option<Incoming> {
        self.incoming.pop_front()
    }

    /// What happened besides requests.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// The next bytes, or message of a WebSocket, to send.
    pub fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        if self.leaving_bytes < WAITING_BYTES / 2 {
            self.catch_up();
        }
        let bytes = self.leaving.pop_front()?;
        self.leaving_bytes -= bytes.len();
        Some(bytes)
    }

    /// Ends a connection whose other side does not go on, and asks a silent one whether it is there.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.is_over {
            return;
        }
        let is_due = |until: Option<Instant>| until.is_some_and(|until| until <= now);
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
        let late = self.calls.iter().filter(|(_, call)| is_due(call.until)).map(|(id, _)| *id);
        for call in late.collect::<Vec<_>>() {
            self.calls.remove(&call);
            self.events.push_back(Event::Failed { call });
        }
    }

    /// When [`Session::handle_timeout`] has something to do.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let own = [self.until, self.pong_until, self.release_until, self.silent_until()];
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
        self.leaving_bytes = last.len();
        self.leaving.push_back(last);
    }

    fn take(&mut self, now: Instant, message: Message) {
        // Both sides begin with what they take (§5.3).
        if self.takes.is_none() && !matches!(message.code, code::CSM | code::ABORT) {
            return self.abort("the first message has to be a CSM", None);
        }
        match message.code >> 5 {
            // Empty messages say nothing (§3.4).
            0 if message.code == 0 => {}
            0 => self.take_request(now, message),
            2 | 4 | 5 => self.take_response(message),
            7 => self.take_signal(now, &message),
            _ => self.abort("no message has such a code", None),
        }
    }

    fn take_request(&mut self, now: Instant, message: Message) {
        let relation = Relation { peer: Peer::Stream(self.number), token: message.token };
        let Carried { mut request, block1, block2, .. } = match meaning::request_of(message) {
            Ok(carried) => carried,
            Err(refused) => {
                let nothing = Asked { block1: None, block2: None, representation: 0 };
                let error = Response::error(refused.code, refused.text);
                return self.respond(now, Ticket::of_stream(relation, nothing), &error, false);
            }
        };
        let asked = Asked { block1, block2, representation: self.names.name_of(&request) };
        let ticket = Ticket::of_stream(relation, asked);
        if request.observe == Some(Observe::Deregister) && self.relations.remove(&relation.token).is_some() {
            self.events.push_back(Event::Gone(relation));
        }
        if let Some(block) = block1 {
            let name = self.names.name_of_resource(&request);
            let refusal = match self.gathering.take(now, &name, block, &request.payload) {
                Assembled::Whole(body) => {
                    request.payload = body;
                    None
                }
                Assembled::Continue => Some(Response::new(Code::CONTINUE)),
                Assembled::Incomplete => Some(Response::error(
                    Code::REQUEST_ENTITY_INCOMPLETE,
                    "blocks before this one are missing; begin again with block 0",
                )),
                Assembled::TooLong => Some(Response::error(
                    Code::REQUEST_ENTITY_TOO_LARGE,
                    "the body is longer than this server takes",
                )),
                Assembled::Full => Some(Response::error(
                    Code::SERVICE_UNAVAILABLE,
                    "too many bodies are being gathered; try again",
                )),
            };
            if let Some(response) = refusal {
                return self.respond(now, ticket, &response, false);
            }
        }
        if block2.is_some_and(|block| block.number > 0) {
            if let Some(response) = self.slicing.get(now, &asked.representation) {
                return self.respond(now, ticket, &response, false);
            }
            if !matches!(request.method, Method::Get | Method::Fetch) {
                let text = "what was answered is not kept any more; look at the resource";
                let response = Response::error(Code::REQUEST_ENTITY_INCOMPLETE, text);
                return self.respond(now, ticket, &response, false);
            }
            request.observe = None;
        }
        self.asked += 1;
        self.unanswered.push_back((self.asked, relation.token));
        self.incoming.push_back(Incoming { ticket, request });
    }

    /// Answers a request. `observing` makes an observation of it: a connection that is gone says so
    /// itself, so that nobody has to be asked whether it listens.
    #[expect(clippy::needless_pass_by_value, reason = "a ticket is good for one response")]
    pub fn respond(&mut self, now: Instant, ticket: Ticket, response: &Response, observing: bool) {
        if self.is_over {
            return;
        }
        let relation = ticket.relation();
        let observes = observing && response.code.is_success();
        let has_room = self.relations.len() < MOST_RELATIONS || self.relations.contains_key(&relation.token);
        if observes && has_room {
            let representation = ticket.asked().representation;
            self.relations.insert(relation.token, Observer { representation, held_back: None });
        } else if observes {
            self.events.push_back(Event::Gone(relation));
        }
        self.put(now, relation.token, ticket.asked(), response, observes && has_room);
        if let Some(at) = self.unanswered.iter().position(|(_, token)| *token == relation.token) {
            self.unanswered.remove(at);
        }
        self.answered();
    }

    /// Tells an observer what the resource is now. `last` ends the observation.
    pub fn notify(&mut self, now: Instant, relation: &Relation, response: &Response, last: bool) {
        let Some(observer) = self.relations.get_mut(&relation.token) else { return };
        let ends = last || !response.code.is_success();
        if self.leaving_bytes >= WAITING_BYTES && !ends {
            observer.held_back = Some(Box::new(response.clone()));
            return;
        }
        let asked = Asked { block1: None, block2: None, representation: observer.representation };
        if ends {
            self.relations.remove(&relation.token);
        }
        self.put(now, relation.token, asked, response, !ends);
    }

    /// Ends an observation without a word.
    pub fn forget(&mut self, relation: &Relation) {
        self.relations.remove(&relation.token);
    }

    /// Sends what was held back for want of room.
    fn catch_up(&mut self) {
        let waiting = self.relations.iter_mut().filter_map(|(token, observer)| {
            Some((*token, observer.representation, observer.held_back.take()?))
        });
        let waiting: Vec<_> = waiting.collect();
        for (token, representation, response) in waiting {
            let asked = Asked { block1: None, block2: None, representation };
            self.put(Instant::default(), token, asked, &response, true);
        }
    }

    fn put(&mut self, now: Instant, token: Token, asked: Asked, response: &Response, observes: bool) {
        let mut message = Message::empty(Kind::NonConfirmable, 0);
        message.token = token;
        if observes {
            // There is an order here, and the number may be left out (RFC 8323 appendix A.1). But
            // aiocoap takes a notification for old if its number is not a greater one.
            self.sequence = (self.sequence + 1) % SEQUENCES;
            message.push_number(option::OBSERVE, self.sequence);
        }
        meaning::write_response(response, &mut message);
        if let Some(block) = asked.block1 {
            message.push_number(option::BLOCK1, block.value());
        }
        let takes = self.takes.unwrap_or(BASE_MESSAGE_SIZE);
        let around: usize = 32 + message.options.iter().map(|(_, value)| value.len() + 5).sum::<usize>();
        if asked.block2.is_none() && around + response.payload.len() <= takes {
            message.payload = response.payload.to_vec();
        } else {
            let most = (0..=Block::MAX_EXPONENT).rev().find(|exponent| around + (16 << exponent) <= takes);
            let wanted =
                asked.block2.unwrap_or(Block { number: 0, more: false, exponent: Block::MAX_EXPONENT });
            let exponent = wanted.exponent.min(most.unwrap_or(0));
            let number = wanted.number << (wanted.exponent - exponent);
            if let Some((part, block)) = (Block { number, more: false, exponent }).of(&response.payload) {
                message.payload = part.to_vec();
                message.push_number(option::BLOCK2, block.value());
                if number == 0 && block.more {
                    message.push_number(option::SIZE2, response.payload.len() as u32);
                    self.slicing.put(now, asked.representation, response);
                }
            } else {
                message.options.clear();
                message.code = Code::BAD_OPTION.byte();
                message.payload = b"the body has no such block".to_vec();
            }
        }
        message.options.sort_by_key(|(number, _)| *number);
        self.send(&message);
    }

    /// Asks the other side. With [`Observe::Register`] notifications follow the response.
    ///
    /// # Errors
    /// Too many requests are under way.
    pub fn request(&mut self, now: Instant, request: &Request) -> Result<CallId, Full> {
        if self.calls.len() >= self.settings.calls || self.is_over || self.release_until.is_some() {
            return Err(Full);
        }
        let id = CallId(self.next_call);
        // The other side is the only one that sees it.
        let token = Token::new(&(self.next_call as u32).to_be_bytes()).unwrap_or_default();
        self.next_call += 1;
        let observed = (request.observe == Some(Observe::Register)).then(|| Box::new(request.clone()));
        self.calls.insert(id, Call { token, observed, answered: false, until: Some(now + ANSWER) });
        self.ask(token, request);
        Ok(id)
    }

    /// Ends an observation at the other side, whose answer is the last that comes of it.
    pub fn cancel(&mut self, now: Instant, call: CallId) {
        let Some(call) = self.calls.get_mut(&call) else { return };
        let Some(observed) = call.observed.take() else { return };
        call.until = Some(now + ANSWER);
        let token = call.token;
        self.ask(token, &Request { observe: Some(Observe::Deregister), ..*observed });
    }

    fn ask(&mut self, token: Token, request: &Request) {
        let mut message = Message::empty(Kind::NonConfirmable, 0);
        message.token = token;
        meaning::write_request(request, &mut message);
        message.options.sort_by_key(|(number, _)| *number);
        message.payload.clone_from(&request.payload);
        self.send(&message);
    }

    fn take_response(&mut self, message: Message) {
        let of_token = self.calls.iter_mut().find(|(_, call)| call.token == message.token);
        let Some((id, call)) = of_token else { return };
        let id = *id;
        let is_notified = message.option(option::OBSERVE).is_some() && call.observed.is_some();
        // Whole messages were asked for.
        let is_part = message.option(option::BLOCK2).and_then(Block::read).is_some_and(|block| block.more);
        let was_answered = std::mem::replace(&mut call.answered, true);
        let Some(response) = meaning::response_of(message).filter(|_| !is_part) else {
            self.calls.remove(&id);
            self.events.push_back(Event::Failed { call: id });
            return;
        };
        if is_notified && response.code.is_success() {
            call.until = None;
        } else {
            self.calls.remove(&id);
        }
        self.events.push_back(if was_answered {
            Event::Notification { call: id, response }
        } else {
            Event::Response { call: id, response }
        });
    }

    fn send(&mut self, message: &Message) {
        if self.is_over {
            return;
        }
        let bytes = self.framing.write(message);
        self.leaving_bytes += bytes.len();
        self.leaving.push_back(bytes);
    }
}
