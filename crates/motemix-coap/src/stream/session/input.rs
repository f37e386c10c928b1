//! What comes from the peer.

use super::super::content;
use super::super::frame::Frame;
use super::super::options::Options;
use super::super::settings::End;
use super::super::signal::{self, Signal};
use super::{Custody, Event, Incoming, Open, Session, Ticket};
use crate::{Code, Method, Relation, Response, Token};

/// Pongs that wait for answers. A peer that asks for more of them gets a Pong that promises nothing.
const MAX_CUSTODY: usize = 8;

impl Session {
    /// Works on what has come, as far as there is room for answers.
    pub(super) fn work(&mut self) {
        while self.end.is_none() && self.has_room() {
            match self.inbox.next(self.most_in()) {
                Ok(Some(frame)) => self.message(&frame),
                Ok(None) => break,
                Err(why) => self.end_with(End::NoFrame(why)),
            }
        }
        if self.end.is_some() {
            return;
        }
        // Half a message. What waits for room is not the peer's fault.
        if self.inbox.len() == 0 || !self.has_room() {
            self.deadlines.message = None;
        } else {
            let deadline = self.now + self.settings.message_timeout;
            self.deadlines.message.get_or_insert(deadline);
        }
        self.keep_custody();
        if self.open.is_empty() && self.calls.is_empty() {
            if let Some(released) = self.released.take() {
                self.end_with(released);
            } else if self.deadlines.release.is_some() {
                self.end_with(End::Closed);
            }
        }
    }

    fn message(&mut self, frame: &Frame) {
        self.counters.received += 1;
        self.heard = self.now;
        self.deadlines.message = None;
        self.deadlines.pong = None;
        let class = frame.code >> 5;
        if class == signal::CLASS {
            return match Signal::of_frame(frame) {
                Ok(None) if self.deadlines.csm.is_some() => self.end_with(End::NoCsm),
                Ok(None) => self.counters.unknown_signals += 1,
                Ok(Some(signal)) => self.signalled(signal, frame.token),
                Err(why) => self.end_with(End::Signal(why)),
            };
        }
        if self.deadlines.csm.is_some() {
            return self.end_with(End::NoCsm);
        }
        // Keeps the way through an address translator open, and says nothing.
        if frame.code == 0 {
            return;
        }
        let read = match Options::read(&frame.rest) {
            Ok(read) => read,
            Err(why) => return self.end_with(End::NoOptions(why)),
        };
        match (class, Code::of_byte(frame.code)) {
            (0, _) => self.asked(frame.code, frame.token, read),
            (_, Some(code)) => self.answered(code, frame.token, read),
            _ => self.end_with(End::Code(frame.code)),
        }
    }

    fn signalled(&mut self, signal: Signal, token: Token) {
        if self.deadlines.csm.is_some() && !matches!(signal, Signal::Csm { .. } | Signal::Abort { .. }) {
            return self.end_with(End::NoCsm);
        }
        match signal {
            Signal::Csm { max_message_size, .. } => {
                self.deadlines.csm = None;
                if let Some(size) = max_message_size {
                    self.their_most = size as usize;
                }
            }
            Signal::Ping { custody } if custody && self.custody.len() < MAX_CUSTODY => {
                self.custody.push_back(Custody { token, before: self.tickets });
            }
            Signal::Ping { .. } => self.signal(&Signal::Pong { custody: false }, token),
            Signal::Pong { .. } => {}
            Signal::Release { alternatives, hold_off } => {
                self.released = Some(End::Released { alternatives, hold_off });
            }
            Signal::Abort { bad_csm_option, diagnostic } => {
                self.end_with(End::Aborted { bad_csm_option, diagnostic });
            }
        }
    }

    /// Sends the Pongs whose requests are all answered.
    fn keep_custody(&mut self) {
        let oldest = self.open.keys().next().copied().unwrap_or(u64::MAX);
        while let Some(custody) = self.custody.pop_front_if(|custody| custody.before < oldest) {
            self.signal(&Signal::Pong { custody: true }, custody.token);
        }
    }

    fn asked(&mut self, code: u8, token: Token, read: Options) {
        let request = match Method::of_byte(code) {
            Some(method) => content::request(method, read),
            None => Err((Code::METHOD_NOT_ALLOWED, format!("0.{code:02} is no method"))),
        };
        match request {
            Ok(request) => {
                self.tickets += 1;
                self.open.insert(self.tickets, Open { token, observe: request.observe });
                let relation = Relation { peer: self.peer, token };
                self.requests.push_back(Incoming { ticket: Ticket(self.tickets), relation, request });
            }
            Err((code, text)) => {
                self.counters.refused += 1;
                let rest = content::of_response(&Response::error(code, &text), None).write();
                self.send(&Frame { code: code.byte(), token, rest });
            }
        }
    }

    fn answered(&mut self, code: Code, token: Token, read: Options) {
        let Some(call) = self.calls.get_mut(&token) else {
            self.counters.strange += 1;
            return;
        };
        let id = call.id;
        match content::response(code, read) {
            Some((response, true)) if code.is_success() && call.observed.is_some() => {
                call.answer_by = None;
                self.events.push_back(Event::Notification { call: id, response });
                return;
            }
            Some((response, _)) => self.events.push_back(Event::Response { call: id, response }),
            None => {
                self.counters.refused += 1;
                self.events.push_back(Event::Failed(id));
            }
        }
        self.calls.remove(&token);
    }
}
