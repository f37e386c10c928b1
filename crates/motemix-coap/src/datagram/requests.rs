//! What becomes of a request that arrived: new or not, whole or a block, for the application or
//! not.

use std::net::SocketAddr;

use motemix_time::Instant;

use super::exchange::Known;
use super::protection::Opened;
use super::{DropReason, Endpoint, Incoming, Ticket, Transmit};
use crate::block::{Assembled, Owner, Whose};
use crate::meaning::{self, BadRequest, Carried};
use crate::message::{Kind, Message};
use crate::{Block, Code, Method, Observe, Peer, Relation, Request, Response, oscore};

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
        if echo.is_some_and(|echo| self.proofs.check(now, from, &echo)) {
            self.proofs.remember(now, from);
            ticket.has_echo = true;
        } else if self.settings.challenge && !self.is_proven(now, &ticket) {
            self.answer_with_echo(now, &mut ticket);
            return Err(DropReason::Unproven);
        }
        (ticket.block1, ticket.block2) = (block1, block2);
        ticket.representation = self.proofs.under(self.proofs.name_of(&request), context);
        if request.observe == Some(Observe::Deregister) {
            // The client knows that it ends: there is nobody to tell but the application.
            self.lose(relation);
        }
        // The last block makes the body whole: it must not be lost then.
        if self.incoming.len() >= self.settings.requests && block1.is_none_or(|block| !block.more) {
            return Err(DropReason::Busy);
        }
        if let Some(block) = block1 {
            if !self.gather(now, from, &mut ticket, block, &mut request)? {
                return Ok(());
            }
        } else if request.payload.len() > self.settings.body {
            let text = "the body is longer than this server takes";
            let response = Response::too_large(self.settings.body, text);
            return self.refuse(now, &mut ticket, &response);
        }
        if block2.is_some_and(|block| block.number > 0) {
            // A further block of a body that is being sent: what the client began with, also if the
            // resource has changed since.
            if let Some(response) = self.bodies.sliced(now, Peer::Datagram(from), ticket.representation) {
                self.answer(now, &mut ticket, &response, false);
                return Ok(());
            }
            // Without the body at hand the application makes it again, and ETag tells whether it is
            // the same; observation does not begin in the middle (RFC 7959 §2.6). What changes
            // something is not done again for the sake of its answer.
            if !matches!(request.method, Method::Get | Method::Fetch) {
                let text = "what was answered is not kept any more; look at the resource";
                return self.refuse(
                    now,
                    &mut ticket,
                    &Response::error(Code::REQUEST_ENTITY_INCOMPLETE, text),
                );
            }
            request.observe = None;
            ticket.may_observe = false;
        }
        self.begin(now, from, &ticket);
        self.counters.requests += 1;
        self.incoming.push_back(Incoming { ticket, request });
        Ok(())
    }

    /// Gathers a block of a request's body; whether that is whole and in the request now.
    fn gather(
        &mut self,
        now: Instant,
        from: SocketAddr,
        ticket: &mut Ticket,
        block: Block,
        request: &mut Request,
    ) -> Result<bool, DropReason> {
        let context = ticket.exchange.as_ref().map(oscore::Exchange::context);
        let name = self.proofs.under(self.proofs.name_of_resource(request), context);
        let owner = Owner {
            who: Peer::Datagram(from),
            whose: Whose::Datagrams(from),
            is_known: context.is_some() || self.is_proven(now, ticket),
        };
        let too_large = Code::REQUEST_ENTITY_TOO_LARGE;
        let (code, text) = match self.bodies.gather(now, owner, name, block, &request.payload) {
            Assembled::Whole(body) => {
                request.payload = body;
                return Ok(true);
            }
            Assembled::Continue => {
                self.begin(now, from, ticket);
                self.answer(now, ticket, &Response::new(Code::CONTINUE), false);
                return Ok(false);
            }
            Assembled::FullOfStrangers => {
                let text = "too many bodies of strangers are being gathered: send this again with Echo";
                self.answer(now, ticket, &Response::error(Code::UNAUTHORIZED, text), true);
                return Err(DropReason::Unproven);
            }
            Assembled::Incomplete => (
                Code::REQUEST_ENTITY_INCOMPLETE,
                "blocks before this one are missing; begin again with block 0",
            ),
            Assembled::TooLong => (too_large, "the body is longer than this server takes"),
            Assembled::Full => (Code::SERVICE_UNAVAILABLE, "too many bodies are being gathered; try again"),
        };
        let mut response = Response::error(code, text);
        response.max_age = (code == Code::SERVICE_UNAVAILABLE).then_some(10);
        response.size1 = (code == too_large).then_some(self.settings.body as u32);
        self.refuse(now, ticket, &response)?;
        Ok(false)
    }

    /// A request under OSCORE has begun already.
    pub(super) fn begin(&mut self, now: Instant, from: SocketAddr, ticket: &Ticket) {
        if ticket.exchange.is_none() {
            self.exchanges.begin(now, from, ticket.id, ticket.digest);
        }
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
