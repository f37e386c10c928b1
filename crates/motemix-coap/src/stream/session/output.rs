//! What goes to the peer.

use motemix_time::Instant;

use super::super::content;
use super::super::frame::Frame;
use super::super::outbox::{Next, Notified};
use super::{Call, CallId, Carriage, Event, Full, Session, Ticket};
use crate::{Code, Observe, Relation, Request, Response, Token};

/// Observe has 24 bits.
const SEQUENCES: u32 = 1 << 24;
/// Of a message: code, length and token.
const HEADER_LEN: usize = 6 + Token::MAX_LEN;

impl Session {
    /// The next bytes for the socket: a whole message, in a WebSocket a binary message of its own.
    pub fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        let bytes = match self.outbox.next()? {
            Next::Bytes(bytes) => bytes,
            Next::Notification { token, response, last } => {
                let frame = self.response_frame(token, &response, (!last).then_some(self.sequence));
                match self.inbox.carriage() {
                    Carriage::Bytes => frame.to_stream(),
                    Carriage::WebSocket => frame.to_message(),
                }
            }
        };
        self.counters.sent += 1;
        self.deadlines.unread = None;
        if !self.outbox.is_empty() {
            self.unread_from_now();
        }
        self.work();
        Some(bytes)
    }

    /// Answers a request. `observing` is the application's decision about a request to observe.
    pub fn respond(&mut self, now: Instant, ticket: Ticket, response: &Response, observing: bool) {
        self.now = self.now.max(now);
        let Some(open) = self.open.remove(&ticket.0) else { return };
        let token = open.token;
        let wants = observing && response.code.is_success() && open.observe == Some(Observe::Register);
        let has_place =
            self.outbox.observes(token) || self.outbox.observations() < self.settings.observations;
        if wants && has_place {
            self.outbox.observe(token);
        } else if open.observe.is_some() {
            if wants {
                self.counters.not_observed += 1;
            }
            if self.outbox.forget(token) || wants {
                self.events.push_back(Event::Gone(Relation { peer: self.peer, token }));
            }
        }
        let frame = self.response_frame(token, response, (wants && has_place).then_some(self.sequence));
        self.send(&frame);
        self.work();
    }

    /// Tells an observer of a newer state. Until the peer has read the one before, only the newest
    /// waits.
    pub fn notify(&mut self, now: Instant, relation: &Relation, response: &Response, last: bool) {
        self.now = self.now.max(now);
        if relation.peer != self.peer || self.end.is_some() {
            return;
        }
        match self.outbox.notify(relation.token, response, last || !response.code.is_success()) {
            Notified::Strange => {}
            Notified::Coalesced => self.counters.coalesced += 1,
            Notified::Waits => self.unread_from_now(),
        }
    }

    /// The response, or if it is longer than the peer takes, the error that says so.
    fn response_frame(&mut self, token: Token, response: &Response, sequence: Option<u32>) -> Frame {
        if sequence.is_some() {
            self.sequence = (self.sequence + 1) % SEQUENCES;
        }
        let rest = content::of_response(response, sequence).write();
        if rest.len() + HEADER_LEN <= self.their_most {
            return Frame { code: response.code.byte(), token, rest };
        }
        self.counters.too_long += 1;
        let text = format!(
            "the response has {} bytes more than you take",
            rest.len() + HEADER_LEN - self.their_most
        );
        let error = Response::error(Code::INTERNAL_SERVER_ERROR, &text);
        Frame { code: error.code.byte(), token, rest: content::of_response(&error, None).write() }
    }

    /// Asks the peer.
    ///
    /// # Errors
    /// There is no room for it: see [`Full`].
    pub fn request(&mut self, now: Instant, request: &Request) -> Result<CallId, Full> {
        self.now = self.now.max(now);
        if self.end.is_some() || self.released.is_some() || self.deadlines.release.is_some() {
            return Err(Full::Ended);
        }
        if self.calls.len() >= self.settings.calls {
            return Err(Full::Calls);
        }
        let id = CallId(self.last_call + 1);
        let token = token_of(id);
        self.ask(token, request)?;
        self.last_call = id.0;
        let observed = request.observe == Some(Observe::Register);
        let observed = observed.then(|| Box::new(Request { payload: Vec::new(), ..request.clone() }));
        let answer_by = Some(self.now + self.settings.answer_timeout);
        self.calls.insert(token, Call { id, observed, answer_by });
        Ok(id)
    }

    /// Ends an observation at the peer, whose answer comes as the call's response.
    ///
    /// # Errors
    /// There is no room for the request.
    pub fn cancel(&mut self, now: Instant, call: CallId) -> Result<(), Full> {
        self.now = self.now.max(now);
        let token = token_of(call);
        let Some(observed) = self.calls.get_mut(&token).and_then(|call| call.observed.take()) else {
            return Ok(());
        };
        let request = Request { observe: Some(Observe::Deregister), ..*observed.clone() };
        let asked = self.ask(token, &request);
        let answer_by = self.now + self.settings.answer_timeout;
        if let Some(call) = self.calls.get_mut(&token) {
            match asked {
                Ok(()) => call.answer_by = Some(answer_by),
                Err(_) => call.observed = Some(observed),
            }
        }
        asked
    }

    fn ask(&mut self, token: Token, request: &Request) -> Result<(), Full> {
        if self.outbox.len() >= self.settings.unsent {
            return Err(Full::Unsent);
        }
        let rest = content::of_request(request).write();
        if rest.len() + HEADER_LEN > self.their_most {
            self.counters.too_long += 1;
            return Err(Full::TooLong);
        }
        self.send(&Frame { code: request.method.byte(), token, rest });
        Ok(())
    }
}

/// A connection's tokens are its own, so they may be counted.
fn token_of(call: CallId) -> Token {
    let bytes = call.0.to_be_bytes();
    Token::new(&bytes[call.0.leading_zeros() as usize / 8..]).unwrap_or_default()
}
