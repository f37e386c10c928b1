//! The side that answers.

use std::net::Ipv6Addr;

use motemix_time::Instant;

use super::{BASE_MESSAGE_SIZE, Session, WAITING_BYTES};
use crate::bodies::Owner;
use crate::datagram::Asked;
use crate::meaning::{self, Carried};
use crate::message::{Kind, Message, option};
use crate::operation::{self, Gathered, Operation};
use crate::source::Source;
use crate::{
    Account, Block, Code, Event, Incoming, Observe, Peer, Relation, Request, Response, Ticket, Token,
};

/// Observations of one connection.
const MOST_RELATIONS: usize = 4096;
/// Observe has 24 bits.
const SEQUENCES: u32 = 1 << 24;

#[derive(Debug)]
pub(super) struct Observer {
    pub(super) operation: Operation,
    /// What is to be sent when there is room.
    pub(super) held_back: Option<Box<Response>>,
}

impl Session {
    pub(super) fn take_request(&mut self, now: Instant, message: Message) {
        let relation = Relation { peer: Peer::Stream(self.number), token: message.token };
        let operation = Operation::of(&self.names, message.code, &message.options, None);
        let Carried { mut request, block1, block2, .. } = match meaning::request_of(message) {
            Ok(carried) => carried,
            Err(refused) => {
                let error = Response::error(refused.code, refused.text);
                return self.respond(now, Ticket::of_stream(relation, Asked::default()), &error, false);
            }
        };
        if request.observe == Some(Observe::Deregister) && self.relations.remove(&relation.token).is_some() {
            self.events.push_back(Event::Gone(relation));
        }
        let mut asked = Asked { block1, block2, operation };
        if let Some(block) = block1
            && let Some(response) = self.gather(now, operation, block, &mut request)
        {
            return self.respond(now, Ticket::of_stream(relation, asked), &response, false);
        }
        asked.operation = operation.asking(&self.names, &request);
        let ticket = Ticket::of_stream(relation, asked);
        let kept = (self.owner(), asked.operation);
        if let Some(response) = operation::further(&self.bodies, now, kept, block2, &mut request) {
            return self.respond(now, ticket, &response, false);
        }
        self.asked += 1;
        self.unanswered.push_back((self.asked, relation.token));
        self.incoming.push_back(Incoming { ticket, request });
    }

    /// Gathers a block of a request's body; what is to be answered unless it is whole and in the
    /// request now.
    fn gather(
        &mut self,
        now: Instant,
        operation: Operation,
        block: Block,
        request: &mut Request,
    ) -> Option<Response> {
        self.unseen = self.unseen.saturating_add(1);
        if let Some(until) = self.unseen_again.filter(|until| *until > now) {
            let wait = (until - now).as_secs() as u32 + 1;
            let text = format!("more blocks than this server takes from one peer; wait for {wait} s");
            let response = Response::error(Code::TOO_MANY_REQUESTS, &text);
            return Some(Response { max_age: Some(wait), ..response });
        }
        let assembled = self.bodies.gather(now, self.owner(), operation, block, &request.payload);
        match operation::gathered(assembled, self.settings.body) {
            Gathered::Whole(body) => {
                request.payload = body;
                None
            }
            Gathered::Answer(response) => Some(response),
            // Nobody else can pass for the one at the other end: there is nothing to prove.
            Gathered::ProveAddress(_) => Some(operation::busy()),
        }
    }

    /// As whose its bodies count. Nobody else can pass for the one at the other end.
    fn owner(&self) -> Owner {
        let source = self.source.unwrap_or_else(|| Source::of(Ipv6Addr::UNSPECIFIED.into()));
        let account = Account::certain(source);
        Owner { who: Peer::Stream(self.number), account }
    }

    /// Answers a request. `observing` makes an observation of it: a connection that is gone says so
    /// itself, so that nobody has to be asked whether it listens.
    #[expect(clippy::needless_pass_by_value, reason = "a ticket is good for one response")]
    pub fn respond(&mut self, now: Instant, ticket: Ticket, response: &Response, observing: bool) {
        if self.is_over {
            return;
        }
        self.now = now;
        self.leaving.keep_promise(ticket.promised());
        let relation = ticket.relation();
        let observes = observing && response.code.is_success();
        let has_room = self.relations.len() < MOST_RELATIONS || self.relations.contains_key(&relation.token);
        if observes && has_room {
            let operation = ticket.asked().operation;
            self.relations.insert(relation.token, Observer { operation, held_back: None });
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
        if self.leaving.is_full() && !ends {
            if observer.held_back.replace(Box::new(response.clone())).is_none() {
                if self.behind.len() >= MOST_RELATIONS {
                    // Observations that ended meanwhile.
                    let relations = &self.relations;
                    self.behind.retain(|token| {
                        let waits = relations.get(token).is_some_and(|it| it.held_back.is_some());
                        waits && *token != relation.token
                    });
                }
                self.behind.push_back(relation.token);
            }
            return;
        }
        let asked = Asked { block1: None, block2: None, operation: observer.operation };
        if ends {
            self.relations.remove(&relation.token);
        }
        self.put(now, relation.token, asked, response, !ends);
    }

    /// Ends an observation without a word.
    pub fn forget(&mut self, relation: &Relation) {
        self.relations.remove(&relation.token);
    }

    /// Sends what was held back for want of room, as much as there is room for.
    pub(super) fn catch_up(&mut self) {
        while !self.behind.is_empty()
            && self.leaving.bytes() < WAITING_BYTES / 2
            && !self.leaving.is_full()
            && let Some(token) = self.behind.pop_front()
        {
            let Some(observer) = self.relations.get_mut(&token) else { continue };
            let Some(response) = observer.held_back.take() else { continue };
            let asked = Asked { block1: None, block2: None, operation: observer.operation };
            self.put(self.now, token, asked, &response, true);
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
        if let Some(block) = operation::acknowledged(asked.block1, response.code) {
            message.push_number(option::BLOCK1, block.value());
        }
        let takes = self.takes.unwrap_or(BASE_MESSAGE_SIZE);
        let around: usize = 32 + message.options.iter().map(|(_, value)| value.len() + 5).sum::<usize>();
        if asked.block2.is_none() && around + response.payload.len() <= takes {
            message.payload = response.payload.to_vec();
        } else {
            let etag = operation::etag(&self.names, response);
            let around = around + operation::ETAG_ROOM;
            let most = (0..=Block::MAX_EXPONENT).rev().find(|exponent| around + (16 << exponent) <= takes);
            let wanted =
                asked.block2.unwrap_or(Block { number: 0, more: false, exponent: Block::MAX_EXPONENT });
            let exponent = wanted.exponent.min(most.unwrap_or(0));
            let number = wanted.number << (wanted.exponent - exponent);
            if let Some((part, block)) = (Block { number, more: false, exponent }).of(&response.payload) {
                message.payload = part.to_vec();
                message.push_number(option::BLOCK2, block.value());
                if let Some(etag) = etag.filter(|_| number > 0 || block.more) {
                    message.push(option::ETAG, etag.as_bytes());
                }
                if number == 0 && block.more {
                    message.push_number(option::SIZE2, response.payload.len() as u32);
                    self.bodies.slice(now, self.owner(), asked.operation, response);
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
}
