//! Responses and notifications, whole or in blocks.

use std::net::SocketAddr;

use motemix_time::Instant;

use super::protection::GROWTH;
use super::repetition::Purpose;
use super::{Endpoint, Event, Ticket, Transmit, proof, relation};
use crate::message::{Kind, Message, option};
use crate::{Block, Code, Peer, Relation, Response, meaning, operation};

impl Endpoint {
    /// Answers a request. `observing` makes an observation of it.
    pub fn respond(&mut self, now: Instant, mut ticket: Ticket, response: &Response, observing: bool) {
        let mut first = None;
        if observing && ticket.may_observe && response.code.is_success() {
            let gone;
            (first, gone) = self.begin_observation(now, &ticket);
            if let Some(gone) = gone {
                self.lose(gone);
            }
            if first.is_none() {
                // Full: the client gets what it asked for, and no promise (RFC 7641 §4.1).
                self.events.push_back(Event::Gone(ticket.relation));
            } else {
                // What ended before this began is not the end of this.
                let ended = Event::Gone(ticket.relation);
                self.events.retain(|event| *event != ended);
            }
        } else if ticket.may_observe {
            self.lose(ticket.relation);
        }
        self.answer_with(now, &mut ticket, response, first, false);
        if let Some(exchange) = ticket.exchange.filter(|_| first.is_some()) {
            self.protected.observed.insert(ticket.relation, exchange);
        }
        self.send_held_back(now);
    }

    /// The sequence number of the first response, if the client observes from now on; and whose
    /// observation made room for its own.
    fn begin_observation(&mut self, now: Instant, ticket: &Ticket) -> (Option<u32>, Option<Relation>) {
        let Peer::Datagram(from) = ticket.relation.peer else { return (None, None) };
        // Whoever has a key may write another's address beside what it protects.
        let receives = ticket.has_echo || ticket.exchange.is_some() && self.proofs.is_proven(now, from);
        let shown = relation::Shown { account: self.account(now, from, ticket), receives };
        self.relations.begin(now, ticket.relation, shown, ticket.operation)
    }

    /// Whether the address of a request has shown that what is sent to it arrives (RFC 9175), by
    /// this very request or by one before.
    pub fn is_proven(&self, now: Instant, ticket: &Ticket) -> bool {
        match ticket.relation.peer {
            Peer::Datagram(address) => ticket.has_echo || self.proofs.is_proven(now, address),
            Peer::Stream(_) => true,
        }
    }

    /// Has a client prove its address before anything is done for it: answers with an Echo value,
    /// which the client sends with the request again.
    pub fn ask_for_proof(&mut self, now: Instant, mut ticket: Ticket) {
        self.counters.unproven += 1;
        self.answer_with_echo(now, &mut ticket);
    }

    pub(super) fn answer_with_echo(&mut self, now: Instant, ticket: &mut Ticket) {
        let text = "prove the address: send this again with Echo";
        self.answer(now, ticket, &Response::error(Code::UNAUTHORIZED, text), true);
    }

    pub(super) fn answer(&mut self, now: Instant, ticket: &mut Ticket, response: &Response, with_echo: bool) {
        self.answer_with(now, ticket, response, None, with_echo);
    }

    pub(super) fn answer_with(
        &mut self,
        now: Instant,
        ticket: &mut Ticket,
        response: &Response,
        observe: Option<u32>,
        with_echo: bool,
    ) {
        let Peer::Datagram(to) = ticket.relation.peer else { return };
        let mut message = Message::empty(Kind::NonConfirmable, 0);
        message.token = ticket.relation.token;
        if let Some(sequence) = observe {
            message.push_number(option::OBSERVE, sequence);
        }
        meaning::write_response(response, &mut message);
        if let Some(block) = operation::acknowledged(ticket.block1, response.code) {
            message.push_number(option::BLOCK1, block.value());
        }
        let is_proven = self.is_proven(now, ticket);
        if with_echo {
            message.push(option::ECHO, self.proofs.echo(now, to));
        }
        let room = if is_proven { usize::MAX } else { proof::room(ticket.request_len) };
        let room = room.saturating_sub(if ticket.exchange.is_some() { GROWTH } else { 0 });
        self.put_body(now, to, ticket, response, room, &mut message);
        // Options go by number.
        message.options.sort_by_key(|(number, _)| *number);
        if let Some(exchange) = &mut ticket.exchange {
            // Its context has ended: nobody could read an answer.
            let Some(protected) = self.protected.response(exchange, message) else { return };
            message = protected;
        }
        self.leave(now, to, ticket, message);
    }

    /// Sends a response: in the acknowledgement, if that has not left.
    pub(super) fn leave(&mut self, now: Instant, to: SocketAddr, ticket: &Ticket, mut message: Message) {
        message.token = ticket.relation.token;
        if let Some(block) = ticket.outer_block1 {
            message.push_number(option::BLOCK1, block.value());
            message.options.sort_by_key(|(number, _)| *number);
        }
        let was_acknowledged = self.exchanges.was_acknowledged(to, ticket.id, ticket.digest);
        match (ticket.confirmable, was_acknowledged) {
            (true, false) => (message.kind, message.id) = (Kind::Acknowledgement, ticket.id),
            (true, true) => (message.kind, message.id) = (Kind::Confirmable, self.next_id(to)),
            (false, _) => (message.kind, message.id) = (Kind::NonConfirmable, self.next_id(to)),
        }
        let bytes = message.write();
        if message.kind == Kind::Confirmable {
            let account = self.account(now, to, ticket);
            self.repeat(now, to, account, message.id, bytes.clone(), Purpose::Response);
        }
        self.exchanges.answered(to, ticket.id, ticket.digest, &bytes);
        self.leaving.push_back(Transmit { to, bytes });
    }

    /// Puts in the body, or the block of it that is asked for.
    pub(super) fn put_body(
        &mut self,
        now: Instant,
        to: SocketAddr,
        ticket: &Ticket,
        response: &Response,
        room: usize,
        message: &mut Message,
    ) {
        let body = &response.payload[..];
        let around: usize = 16 + message.options.iter().map(|(_, value)| value.len() + 3).sum::<usize>();
        let wanted = ticket.block2.map_or(Block::MAX_EXPONENT, |block| block.exponent);
        let etag = operation::etag(&self.proofs, response);
        let with_etag = around + if etag.is_some() { operation::ETAG_ROOM } else { 0 };
        let fits = |exponent: u8| with_etag + (16 << exponent) <= room;
        let exponent = (0..=wanted).rev().find(|exponent| fits(*exponent)).unwrap_or(0);
        self.counters.held_back += u64::from(exponent < wanted && body.len() > 16 << exponent);
        let number = ticket.block2.map_or(0, |block| {
            // Smaller blocks than asked for have greater numbers, from the same byte on.
            block.number << (wanted - exponent)
        });
        let is_whole = number == 0 && body.len() <= 16 << wanted && around + body.len() <= room;
        if is_whole && ticket.block2.is_none() {
            message.payload = body.to_vec();
            return;
        }
        let asked = Block { number, more: false, exponent: if is_whole { wanted } else { exponent } };
        let Some((part, block)) = asked.of(body) else {
            message.options.clear();
            message.code = Code::BAD_OPTION.byte();
            message.payload = b"the body has no such block".to_vec();
            return;
        };
        message.payload = part.to_vec();
        message.push_number(option::BLOCK2, block.value());
        if let Some(etag) = etag.filter(|_| number > 0 || block.more) {
            message.push(option::ETAG, etag.as_bytes());
        }
        if number == 0 && block.more {
            message.push_number(option::SIZE2, body.len() as u32);
            let owner = self.owner(now, to, ticket);
            self.bodies.slice(now, owner, ticket.operation, response);
        }
    }

    /// Tells an observer what the resource is now; with `confirm` it is asked whether it still
    /// listens. `last` ends the observation.
    pub fn notify(
        &mut self,
        now: Instant,
        relation: &Relation,
        response: &Response,
        confirm: bool,
        last: bool,
    ) {
        let Peer::Datagram(to) = relation.peer else { return };
        let ends = last || !response.code.is_success();
        if confirm {
            self.relations.confirm_next(relation);
        }
        let is_proven = self.proofs.is_proven(now, to);
        match self.relations.may_send(relation, response, is_proven, ends) {
            relation::May::Send => self.send_notification(now, to, relation, response),
            relation::May::Later => self.counters.coalesced += 1,
            relation::May::Nobody => return,
        }
        if ends {
            self.end(relation);
            self.send_held_back(now);
        }
    }

    /// Sends what waited until another notification to the same address was acknowledged.
    pub(super) fn send_held_back(&mut self, now: Instant) {
        while let Some((relation, response)) = self.relations.next_held_back() {
            let Peer::Datagram(to) = relation.peer else { continue };
            self.send_notification(now, to, &relation, &response);
        }
    }

    pub(super) fn send_notification(
        &mut self,
        now: Instant,
        to: SocketAddr,
        relation: &Relation,
        response: &Response,
    ) {
        let id = self.next_id(to);
        let is_proven = self.proofs.is_proven(now, to);
        let Some(due) = self.relations.sent(now, relation, id, is_proven) else { return };
        let mut message =
            Message::empty(if due.confirm { Kind::Confirmable } else { Kind::NonConfirmable }, id);
        message.token = relation.token;
        meaning::write_response(response, &mut message);
        if response.code.is_success() {
            message.push_number(option::OBSERVE, due.sequence);
        }
        let ticket = Ticket {
            id,
            confirmable: due.confirm,
            operation: due.operation,
            may_observe: false,
            has_echo: due.is_certain,
            ..Ticket::new(*relation)
        };
        let room = if due.is_shown { usize::MAX } else { proof::room(0) };
        let is_protected = self.protected.observed.contains_key(relation);
        let room = room.saturating_sub(if is_protected { GROWTH } else { 0 });
        self.put_body(now, to, &ticket, response, room, &mut message);
        message.options.sort_by_key(|(number, _)| *number);
        let Some(message) = self.protected.notification(relation, message) else {
            // Its context has ended.
            return self.lose(*relation);
        };
        let bytes = message.write();
        if due.confirm {
            let account = self.account(now, to, &ticket);
            self.repeat(now, to, account, id, bytes.clone(), Purpose::Notification(relation.token));
        }
        self.leaving.push_back(Transmit { to, bytes });
    }
}
