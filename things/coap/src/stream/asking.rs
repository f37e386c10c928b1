//! The side that asks.

use std::time::Duration;

use motemix_time::Instant;

use super::Session;
use crate::meaning;
use crate::message::{Kind, Message, option};
use crate::{Block, CallId, Event, Full, Observe, Request, Token};

/// How long an own request waits for its response, EXCHANGE_LIFETIME (RFC 7252 §4.8.2).
const ANSWER: Duration = Duration::from_secs(247);

#[derive(Debug)]
pub(super) struct Call {
    pub(super) token: Token,
    /// What ends the observation.
    pub(super) observed: Option<Box<Request>>,
    pub(super) answered: bool,
    /// Until when a response has to come.
    pub(super) until: Option<Instant>,
}

impl Session {
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

    /// Whether more comes of an own request: its response, or notifications. After the response to
    /// one that was to observe it says whether the server agreed (RFC 7641 §4.1).
    pub fn is_under_way(&self, call: CallId) -> bool {
        self.calls.contains_key(&call)
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

    pub(super) fn take_response(&mut self, now: Instant, message: Message) {
        let of_token = self.calls.iter_mut().find(|(_, call)| call.token == message.token);
        let Some((id, call)) = of_token else { return self.count_unseen(now) };
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
}
