//! What becomes of a request that arrived: new or not, whole or a block, for the application or
//! not.

use std::net::SocketAddr;

use motemix_time::Instant;

use super::exchange::Known;
use super::protection::Opened;
use super::{DropReason, Endpoint, Incoming, Ticket, Transmit};
use crate::bodies::Owner;
use crate::meaning::{self, BadRequest, Carried};
use crate::message::{Kind, Message};
use crate::operation::{self, Gathered, Operation};
use crate::{Account, Block, Code, Observe, Peer, Relation, Response, Standing, oscore};

impl Endpoint {
    pub(super) fn take_request(
        &mut self,
        now: Instant,
        from: SocketAddr,
        message: Message,
        datagram: &[u8],
    ) -> Result<(), DropReason> {
        let (id, token, confirmable) = (message.id, message.token, message.kind == Kind::Confirmable);
        let (digest, request_len) = (self.proofs.digest(datagram), datagram.len());
        match self.exchanges.look(now, from, id, digest) {
            Known::No => {}
            Known::Waiting => return Err(DropReason::Duplicate),
            Known::Answered(bytes) => {
                self.leaving.push_back(Transmit { to: from, bytes });
                return Err(DropReason::Duplicate);
            }
        }
        let relation = Relation { peer: Peer::Datagram(from), token };
        let mut ticket = Ticket { id, confirmable, digest, request_len, ..Ticket::new(relation) };
        let message = match self.open(now, from, message, &mut ticket) {
            Opened::Request(message) => message,
            Opened::Done(done) => return done,
        };
        let context = ticket.exchange.as_ref().map(oscore::Exchange::context);
        let operation = Operation::of(&self.proofs, message.code, &message.options, context);
        let Carried { mut request, block1, block2, echo } = match meaning::request_of(message) {
            Ok(carried) => carried,
            // Nobody waits for an answer to a message that must be rejected (§5.4.1).
            Err(BadRequest { code: Code::BAD_OPTION, .. }) if !confirmable => {
                return Err(DropReason::Refused);
            }
            Err(BadRequest { code, text }) => {
                return self.refuse(now, &mut ticket, &Response::error(code, text));
            }
        };
        self.take_echo(now, from, echo.as_deref(), &mut ticket);
        if self.settings.challenge && !self.is_proven(now, &ticket) {
            self.answer_with_echo(now, &mut ticket);
            return Err(DropReason::Unproven);
        }
        let reads_on = block2.is_some_and(|block| block.number > 0);
        let account = self.account(now, from, &ticket);
        let touches = !reads_on || request.observe == Some(Observe::Deregister);
        if account.standing != Standing::Certain && touches && self.relations.is_certain(&relation) {
            // Its token alone, which others may guess, neither ends an observation nor makes
            // another one of it. A client that leaves without an Echo value does not acknowledge
            // the next notification.
            if request.observe == Some(Observe::Deregister) {
                self.relations.confirm_next(&relation);
            }
            self.answer_with_echo(now, &mut ticket);
            return Err(DropReason::Unproven);
        }
        (ticket.block1, ticket.block2, ticket.operation) = (block1, block2, operation);
        if request.observe == Some(Observe::Deregister) {
            // The client knows that it ends: there is nobody to tell but the application.
            self.lose(relation);
        }
        // The last block makes the body whole: it must not be lost then.
        if self.incoming.len() >= self.settings.requests && block1.is_none_or(|block| !block.more) {
            return Err(DropReason::Busy);
        }
        if let Some(block) = block1 {
            let payload = std::mem::take(&mut request.payload);
            match self.gather(now, from, &mut ticket, block, &payload)? {
                Some(body) => request.payload = body,
                None => return Ok(()),
            }
        } else if request.payload.len() > self.settings.body {
            let text = "the body is longer than this server takes";
            let response = Response::too_large(self.settings.body, text);
            return self.refuse(now, &mut ticket, &response);
        }
        ticket.operation = operation.asking(&self.proofs, &request);
        let kept = (self.owner(now, from, &ticket), ticket.operation);
        if let Some(response) = operation::further(&self.bodies, now, kept, block2, &mut request) {
            if response.code == Code::REQUEST_ENTITY_INCOMPLETE {
                return self.refuse(now, &mut ticket, &response);
            }
            self.answer(now, &mut ticket, &response, false);
            return Ok(());
        }
        ticket.may_observe = !reads_on;
        self.begin(now, from, &ticket);
        self.counters.requests += 1;
        self.incoming.push_back(Incoming { ticket, request });
        Ok(())
    }

    /// Looks whether a request has an Echo value that is right: its address is proven then.
    pub(super) fn take_echo(
        &mut self,
        now: Instant,
        from: SocketAddr,
        echo: Option<&[u8]>,
        ticket: &mut Ticket,
    ) {
        if echo.is_some_and(|echo| self.proofs.check(now, from, echo)) {
            self.proofs.remember(now, from);
            ticket.has_echo = true;
        }
    }

    /// Whose a body of somebody is, and as whose it counts.
    pub(super) fn owner(&self, now: Instant, from: SocketAddr, ticket: &Ticket) -> Owner {
        Owner { who: Peer::Datagram(from), account: self.account(now, from, ticket) }
    }

    /// As whose a request counts, and what is kept for it.
    pub(super) fn account(&self, now: Instant, from: SocketAddr, ticket: &Ticket) -> Account {
        let standing = if ticket.exchange.is_some() || ticket.has_echo {
            Standing::Certain
        } else if self.is_proven(now, ticket) {
            Standing::Proven
        } else {
            Standing::Unproven
        };
        Account { source: from.into(), standing }
    }

    /// Gathers a block of the body of a ticket's operation; the body, if that is whole now.
    pub(super) fn gather(
        &mut self,
        now: Instant,
        from: SocketAddr,
        ticket: &mut Ticket,
        block: Block,
        payload: &[u8],
    ) -> Result<Option<Vec<u8>>, DropReason> {
        let owner = self.owner(now, from, ticket);
        let assembled = self.bodies.gather(now, owner, ticket.operation, block, payload);
        match operation::gathered(assembled, self.settings.body) {
            Gathered::Whole(body) => return Ok(Some(body)),
            Gathered::Answer(response) if response.code == Code::CONTINUE => {
                self.begin(now, from, ticket);
                self.answer(now, ticket, &response, false);
            }
            Gathered::Answer(response) => self.refuse(now, ticket, &response)?,
            Gathered::ProveAddress(text) => {
                self.answer(now, ticket, &Response::error(Code::UNAUTHORIZED, text), true);
                return Err(DropReason::Unproven);
            }
        }
        Ok(None)
    }

    /// A request under OSCORE has begun already.
    pub(super) fn begin(&mut self, now: Instant, from: SocketAddr, ticket: &Ticket) {
        if ticket.exchange.is_none() {
            self.begin_exchange(now, from, ticket);
        }
    }

    pub(super) fn begin_exchange(&mut self, now: Instant, from: SocketAddr, ticket: &Ticket) {
        let account = self.account(now, from, ticket);
        self.exchanges.begin(now, from, account, ticket.id, ticket.digest);
    }

    pub(super) fn refuse(
        &mut self,
        now: Instant,
        ticket: &mut Ticket,
        response: &Response,
    ) -> Result<(), DropReason> {
        self.answer(now, ticket, response, false);
        Err(DropReason::Refused)
    }
}
