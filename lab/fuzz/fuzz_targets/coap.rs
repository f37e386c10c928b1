//! An endpoint over datagrams between an application and whoever sends whatever: well-formed messages with
//! odd options, bytes, answers to what it asked, and time. Its tables stay within their bounds, what it
//! sends can be read, a stranger gets little more than it sent, and in the end nothing is waited for.
#![cfg_attr(fuzzing, no_main)]

use motemix_fuzz::fuzz_target;
use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::time::Duration;

use arbitrary::{Arbitrary, Unstructured};
use motemix_coap::message::{Kind, Message, option};
use motemix_coap::{
    CallId, Code, Endpoint, Event, Incoming, Method, Observe, Relation, Request, Response, Settings, Token,
    format,
};
use motemix_time::Instant;

#[derive(Arbitrary, Debug)]
enum Step<'b> {
    Bytes(u8, &'b [u8]),
    Message(u8, Crafted<'b>),
    /// The newest message of this peer, once more.
    Again(u8),
    /// What was sent to it, acknowledged, reset or answered.
    Reply(u8, Reply, Crafted<'b>),
    /// The application answers one that waits.
    Respond(u8, u16, bool),
    Notify(u8, u16, bool, bool),
    Ask(u8, u16, bool),
    Cancel(u8),
    Wait(u32),
}

#[derive(Arbitrary, Debug)]
enum Reply {
    Acknowledge,
    Reset,
    Answer,
    AnswerLater,
}

/// A message that is one.
#[derive(Arbitrary, Debug)]
struct Crafted<'b> {
    confirmable: bool,
    code: u8,
    id: u8,
    token: u8,
    path: u8,
    observe: Option<u8>,
    block1: Option<(u8, bool, u8)>,
    block2: Option<(u8, bool, u8)>,
    /// The newest Echo value that this address got.
    echo: bool,
    other: Option<Option<(u16, &'b [u8])>>,
    payload: u16,
}

const CODES: [u8; 12] = [1, 2, 3, 4, 5, 0x44, 0x45, 0x5f, 0x81, 0x8d, 0xa0, 0x1f];
const RELATIONS: usize = 6;
const REQUESTS: usize = 8;
const CALLS: usize = 4;

fn peer(number: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, number % 4], 5683))
}

fn content(code: Code, len: u16) -> Response {
    Response::content(code, format::OCTETS, vec![7; usize::from(len) % 6000])
}

impl Crafted<'_> {
    fn message(&self, echo: Option<&Vec<u8>>) -> Message {
        let kind = if self.confirmable { Kind::Confirmable } else { Kind::NonConfirmable };
        let mut message = Message::empty(kind, u16::from(self.id));
        message.token = Token::new(&[self.token % 4]).expect("short");
        message.code = CODES[usize::from(self.code) % CODES.len()];
        if let Some(observe) = self.observe {
            message.push_number(option::OBSERVE, observe.into());
        }
        message.push(option::URI_PATH, [b'a' + self.path % 3]);
        for (number, block) in [(option::BLOCK2, self.block2), (option::BLOCK1, self.block1)] {
            if let Some((at, more, exponent)) = block {
                let value = u32::from(at % 3) << 4 | u32::from(more) << 3 | u32::from(exponent & 7);
                message.push_number(number, value);
            }
        }
        if let Some(echo) = echo.filter(|_| self.echo) {
            message.push(option::ECHO, &echo[..]);
        }
        if let Some((number, value)) = self.other.flatten() {
            message.push(number, &value[..value.len().min(300)]);
        }
        message.options.sort_by_key(|(number, _)| *number);
        // Whole blocks, where they are blocks that others follow.
        let len = match self.block1 {
            Some((_, true, exponent)) => 16 << (exponent % 7),
            _ => usize::from(self.payload) % 1100,
        };
        message.payload = vec![self.path; len];
        message
    }
}

struct World {
    endpoint: Endpoint,
    now: Instant,
    waiting: Vec<Incoming>,
    relations: Vec<Relation>,
    calls: HashSet<CallId>,
    /// What each address sent last, what it got last, and its newest Echo value.
    arrived: HashMap<SocketAddr, Vec<u8>>,
    sent: HashMap<SocketAddr, Message>,
    echoes: HashMap<SocketAddr, Vec<u8>>,
}

impl World {
    fn new() -> Self {
        let mut settings = Settings::default();
        (settings.bodies, settings.body_bytes, settings.body) = (6, 16 << 10, 5000);
        (settings.exchanges, settings.requests, settings.repetitions) = (16, REQUESTS, 4);
        (settings.relations, settings.calls) = (RELATIONS, CALLS);
        Self {
            endpoint: Endpoint::new(settings, [5; 32]),
            now: Instant::from_micros(1_000_000),
            waiting: Vec::new(),
            relations: Vec::new(),
            calls: HashSet::new(),
            arrived: HashMap::new(),
            sent: HashMap::new(),
            echoes: HashMap::new(),
        }
    }

    fn arrive(&mut self, from: SocketAddr, bytes: &[u8]) {
        let _ = self.endpoint.handle_datagram(self.now, from, bytes);
        let sent = self.settle();
        // An answer; a held-back notification or a call's next message; a repeated one.
        assert!(sent <= 3, "{sent} datagrams for one");
    }

    /// Takes what there is; how many datagrams left.
    fn settle(&mut self) -> usize {
        while let Some(incoming) = self.endpoint.poll_request() {
            let payload = &incoming.request.payload;
            assert!(payload.len() <= 5000, "{} bytes", payload.len());
            self.waiting.push(incoming);
        }
        while let Some(event) = self.endpoint.poll_event() {
            match event {
                Event::Gone(relation) => self.relations.retain(|other| *other != relation),
                Event::Failed { call } => assert!(self.calls.remove(&call), "it failed twice"),
                Event::Response { call, response } | Event::Notification { call, response } => {
                    assert!(self.calls.contains(&call), "nobody asked");
                    assert!(response.payload.len() <= 5000);
                }
            }
        }
        assert!(self.endpoint.relations() <= RELATIONS);
        let mut count = 0;
        while let Some(transmit) = self.endpoint.poll_transmit() {
            let message = Message::read(&transmit.bytes).expect("what it sends is a message");
            assert!(transmit.bytes.len() <= 1200, "{} bytes", transmit.bytes.len());
            if let Some(echo) = message.option(option::ECHO) {
                self.echoes.insert(transmit.to, echo.to_vec());
            }
            self.sent.insert(transmit.to, message);
            count += 1;
        }
        count
    }

    fn step(&mut self, step: &Step<'_>) {
        match step {
            Step::Bytes(from, bytes) => self.arrive(peer(*from), bytes),
            Step::Message(from, crafted) => {
                let from = peer(*from);
                let bytes = crafted.message(self.echoes.get(&from)).write();
                self.arrive(from, &bytes);
                self.arrived.insert(from, bytes);
            }
            Step::Again(from) => {
                if let Some(bytes) = self.arrived.get(&peer(*from)).cloned() {
                    self.arrive(peer(*from), &bytes);
                }
            }
            Step::Reply(from, reply, crafted) => {
                let from = peer(*from);
                let Some(sent) = self.sent.get(&from) else { return };
                let mut message = Message::empty(Kind::Acknowledgement, sent.id);
                match reply {
                    Reply::Acknowledge => {}
                    Reply::Reset => message.kind = Kind::Reset,
                    Reply::Answer | Reply::AnswerLater => {
                        let token = sent.token;
                        let kind = message.kind;
                        message = Message { token, id: sent.id, ..crafted.message(self.echoes.get(&from)) };
                        message.options.retain(|(number, _)| *number != option::URI_PATH);
                        if matches!(reply, Reply::Answer) {
                            message.kind = kind;
                        }
                    }
                }
                self.arrive(from, &message.write());
            }
            Step::Respond(at, len, observing) => {
                if self.waiting.is_empty() {
                    return;
                }
                let incoming = self.waiting.remove(usize::from(*at) % self.waiting.len());
                let observing = *observing && incoming.request.observe == Some(Observe::Register);
                let relation = incoming.ticket.relation();
                self.relations.retain(|other| *other != relation);
                if observing {
                    self.relations.push(relation);
                }
                self.endpoint.respond(self.now, incoming.ticket, &content(Code::CONTENT, *len), observing);
                self.settle();
            }
            Step::Notify(at, len, confirm, last) => {
                if self.relations.is_empty() {
                    return;
                }
                let relation = self.relations[usize::from(*at) % self.relations.len()];
                let code = if *last { Code::NOT_FOUND } else { Code::CONTENT };
                self.endpoint.notify(self.now, &relation, &content(code, *len), *confirm, *last);
                if *last {
                    self.relations.retain(|other| *other != relation);
                }
                assert!(self.settle() <= 1);
            }
            Step::Ask(to, len, observe) => {
                let mut request = Request::new(Method::Put, &["a"]);
                request.payload = vec![3; usize::from(*len) % 6000];
                if *observe {
                    (request.method, request.observe) = (Method::Get, Some(Observe::Register));
                    request.payload.clear();
                }
                if let Ok(call) = self.endpoint.request(self.now, peer(*to), request) {
                    self.calls.insert(call);
                }
                self.settle();
            }
            Step::Cancel(at) => {
                let call = self.calls.iter().min().copied();
                if let Some(call) = call.filter(|_| at % 2 == 0) {
                    self.endpoint.cancel(call);
                    self.calls.remove(&call);
                }
            }
            Step::Wait(millis) => {
                self.now = self.now + Duration::from_millis(u64::from(*millis) % 600_000);
                self.due();
            }
        }
    }

    fn due(&mut self) {
        self.endpoint.handle_timeout(self.now);
        self.settle();
        let next = self.endpoint.poll_timeout();
        assert!(next.is_none_or(|next| next > self.now), "{next:?} is over at {:?}", self.now);
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut world = World::new();
    let mut rest = Unstructured::new(bytes);
    while !rest.is_empty()
        && let Ok(step) = Step::arbitrary(&mut rest)
    {
        world.step(&step);
    }
    for _ in 0..2000 {
        let Some(next) = world.endpoint.poll_timeout() else { return };
        world.now = next;
        world.due();
    }
    panic!("it is never done");
});
