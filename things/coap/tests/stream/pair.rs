//! Two sides of a connection, one of which may be written by hand, and a clock that goes as fast as
//! it is told to.

use std::time::Duration;

use motemix_coap::{Carrier, Code, Incoming, Request, Response, Session, Settings, format};
use motemix_time::Instant;

pub const CARRIERS: [Carrier; 2] = [Carrier::Stream, Carrier::WebSocket];

/// How long a peer may take, and how long it may be silent.
pub const PATIENCE: Duration = Duration::from_secs(30);
pub const SILENCE: Duration = Duration::from_secs(240);

pub struct Pair {
    pub now: Instant,
    pub client: Session,
    pub server: Session,
}

impl Pair {
    pub fn new(carrier: Carrier) -> Self {
        let now = Instant::default();
        let session = |number| Session::new(now, number, carrier, Settings::default(), [number, 5]);
        let mut pair = Self { now, client: session(1), server: session(2) };
        pair.carry();
        pair
    }

    /// Carries all there is both ways.
    pub fn carry(&mut self) {
        loop {
            let to_server = self.client.poll_transmit();
            let to_client = self.server.poll_transmit();
            if let Some(bytes) = &to_server {
                self.server.handle_bytes(self.now, bytes);
            }
            if let Some(bytes) = &to_client {
                self.client.handle_bytes(self.now, bytes);
            }
            if to_server.is_none() && to_client.is_none() {
                return;
            }
        }
    }

    pub fn wait(&mut self, time: Duration) {
        self.now = self.now + time;
        self.client.handle_timeout(self.now);
        self.server.handle_timeout(self.now);
    }

    /// The server answers its next request.
    pub fn answer(&mut self, response: &Response, observing: bool) -> Request {
        let Incoming { ticket, request } = self.server.poll_request().expect("a request");
        self.server.respond(self.now, ticket, response, observing);
        request
    }
}

pub fn content(text: &str) -> Response {
    Response::content(Code::CONTENT, format::TEXT, text.as_bytes())
}

/// A message as the tests write it: options and payload are as they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    pub code: u8,
    pub token: Vec<u8>,
    pub rest: Vec<u8>,
}

pub fn frame(code: u8, token: &[u8], rest: &[u8]) -> Frame {
    Frame { code, token: token.to_vec(), rest: rest.to_vec() }
}

impl Frame {
    /// RFC 8323 §3.2, and §4.2 for WebSockets.
    pub fn write(&self, carrier: Carrier) -> Vec<u8> {
        let len = self.rest.len();
        let token_len = self.token.len() as u8;
        let mut bytes = match len {
            _ if carrier == Carrier::WebSocket => vec![token_len],
            0..=12 => vec![(len as u8) << 4 | token_len],
            13..=268 => vec![0xd0 | token_len, (len - 13) as u8],
            269..=65_804 => [&[0xe0 | token_len], &((len - 269) as u16).to_be_bytes()[..]].concat(),
            _ => [&[0xf0 | token_len], &((len - 65_805) as u32).to_be_bytes()[..]].concat(),
        };
        bytes.push(self.code);
        bytes.extend_from_slice(&self.token);
        bytes.extend_from_slice(&self.rest);
        bytes
    }

    /// One that a session wrote: all of the bytes.
    pub fn read(carrier: Carrier, bytes: &[u8]) -> Self {
        let more = match (carrier, bytes[0] >> 4) {
            (Carrier::Stream, 13) => 1,
            (Carrier::Stream, 14) => 2,
            (Carrier::Stream, 15) => 4,
            _ => 0,
        };
        let token_len = usize::from(bytes[0] & 0x0f);
        let (token, rest) = bytes[2 + more..].split_at(token_len);
        let read = frame(bytes[1 + more], token, rest);
        assert_eq!(read.write(carrier), bytes, "another form of the same length");
        read
    }
}

/// A session whose peer is written by hand.
pub struct Alone {
    pub now: Instant,
    pub session: Session,
    carrier: Carrier,
}

pub const CSM: u8 = 0xe1;
pub const PING: u8 = 0xe2;
pub const PONG: u8 = 0xe3;
pub const RELEASE: u8 = 0xe4;
pub const ABORT: u8 = 0xe5;

impl Alone {
    pub fn new(carrier: Carrier) -> Self {
        let now = Instant::default();
        Self { now, session: Session::new(now, 7, carrier, Settings::default(), [3, 4]), carrier }
    }

    /// The other side takes messages of 4 MiB.
    pub fn taking_long(carrier: Carrier) -> Self {
        let mut alone = Self::new(carrier);
        alone.say(&frame(CSM, &[], &[0x23, 0x40, 0, 0]));
        alone.sent();
        alone
    }

    /// The other side has said what it can do.
    pub fn introduced(carrier: Carrier) -> Self {
        let mut alone = Self::new(carrier);
        alone.say(&frame(CSM, &[], &[]));
        alone.sent();
        alone
    }

    pub fn say(&mut self, frame: &Frame) {
        self.session.handle_bytes(self.now, &frame.write(self.carrier));
    }

    pub fn say_bytes(&mut self, bytes: &[u8]) {
        self.session.handle_bytes(self.now, bytes);
    }

    pub fn wait(&mut self, time: Duration) {
        self.now = self.now + time;
        self.session.handle_timeout(self.now);
    }

    pub fn answer(&mut self, response: &Response) -> Request {
        let Incoming { ticket, request } = self.session.poll_request().expect("a request");
        self.session.respond(self.now, ticket, response, false);
        request
    }

    /// As a server goes round: takes what requests there are, and answers them then. How many.
    pub fn answer_all(&mut self, response: &Response, observing: bool) -> usize {
        let asked: Vec<_> = std::iter::from_fn(|| self.session.poll_request()).collect();
        let count = asked.len();
        for Incoming { ticket, .. } in asked {
            self.session.respond(self.now, ticket, response, observing);
        }
        count
    }

    /// All that it sends.
    pub fn sent(&mut self) -> Vec<Frame> {
        std::iter::from_fn(|| self.session.poll_transmit())
            .map(|bytes| Frame::read(self.carrier, &bytes))
            .collect()
    }

    /// It ended the connection and said why.
    #[track_caller]
    pub fn aborts(&mut self) -> Frame {
        assert!(self.session.is_over());
        let abort = self.sent().pop().expect("an Abort");
        assert_eq!(abort.code, ABORT);
        assert!(abort.rest.len() > 1, "a reason");
        assert_eq!(self.session.poll_request().map(|incoming| incoming.request), None);
        abort
    }
}
