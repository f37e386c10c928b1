//! What becomes of a request that arrived: new or not, whole or a block, for the application or
//! not.

use std::net::SocketAddr;

use motemix_time::Instant;

use super::exchange::Known;
use super::protection::Opened;
use super::{DropReason, Endpoint, Incoming, Ticket, Transmit};
use crate::block::Assembled;
use crate::meaning::{self, BadRequest, Carried};
use crate::message::{Kind, Message};
use crate::{Code, Method, Observe, Peer, Relation, Response, oscore};

impl Endpoint {
    pub(super) fn take_request(
        &mut self,
        now: Instant,
        from: SocketAddr,
        message: Message,
        len: usize,
    ) -> Result<(), DropReason> {
        let (id, token, confirmable) = (message.id, message.token, message.kind == Kind::Confirmable);
        match self.exchanges.look(from, id) {
            Known::No => {}
            Known::Waiting => return Err(DropReason::Duplicate),
            Known::Answered(bytes) => {
                self.leaving.push_back(Transmit { to: from, bytes });
                return Err(DropReason::Duplicate);
            }
        }
        let relation = Relation { peer: Peer::Datagram(from), token };
        let mut ticket = Ticket { id, confirmable, request_len: len, ..Ticket::new(relation) };
        let message = match self.open(now, from, message, &mut ticket) {
            Opened::Request(message) => message,
            Opened::Done(done) => return done,
        };
        let context = ticket.exchange.as_ref().map(oscore::Exchange::context);
        let Carried { mut request, block1, block2, echo } = match meaning::request_of(message) {
            Ok(carried) => carried,
            Err(BadRequest { code, text }) => {
                return self.refuse(now, &mut ticket, &Response::error(code, text));
            }
        };
        if echo.is_some_and(|echo| self.proofs.check(now, from, &echo)) {
            self.proofs.remember(now, from);
        } else if self.settings.challenge && !self.proofs.is_proven(now, from) {
            let response =
                Response::error(Code::UNAUTHORIZED, "prove the address: send this again with Echo");
            self.answer(now, &mut ticket, &response, true);
            return Err(DropReason::Unproven);
        }
        (ticket.block1, ticket.block2) = (block1, block2);
        ticket.representation = self.proofs.under(self.proofs.name_of(&request), context);
        if request.observe == Some(Observe::Deregister) {
            // The client knows that it ends: there is nobody to tell but the application.
            self.lose(relation);
        }
        if let Some(block) = block1 {
            let key = (from, self.proofs.under(self.proofs.name_of_resource(&request), context));
            request.payload = match self.gathering.take(now, &key, block, &request.payload) {
                Assembled::Whole(body) => body,
                Assembled::Continue => {
                    self.begin(now, from, &ticket);
                    self.answer(now, &mut ticket, &Response::new(Code::CONTINUE), false);
                    return Ok(());
                }
                Assembled::Incomplete => {
                    let text = "blocks before this one are missing; begin again with block 0";
                    let response = Response::error(Code::REQUEST_ENTITY_INCOMPLETE, text);
                    return self.refuse(now, &mut ticket, &response);
                }
                Assembled::TooLong => {
                    let text = "the body is longer than this server takes";
                    let response = Response::error(Code::REQUEST_ENTITY_TOO_LARGE, text);
                    return self.refuse(now, &mut ticket, &response);
                }
                Assembled::Full => {
                    let mut response = Response::error(
                        Code::SERVICE_UNAVAILABLE,
                        "too many bodies are being gathered; try again",
                    );
                    response.max_age = Some(10);
                    return self.refuse(now, &mut ticket, &response);
                }
            };
        } else if request.payload.len() > self.settings.body {
            let response =
                Response::error(Code::REQUEST_ENTITY_TOO_LARGE, "the body is longer than this server takes");
            return self.refuse(now, &mut ticket, &response);
        }
        if block2.is_some_and(|block| block.number > 0) {
            // A further block of a body that is being sent: what the client began with, also if the
            // resource has changed since.
            if let Some(response) = self.slicing.get(now, &(from, ticket.representation)) {
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
        if self.incoming.len() >= self.settings.requests {
            return Err(DropReason::Busy);
        }
        self.begin(now, from, &ticket);
        self.counters.requests += 1;
        self.incoming.push_back(Incoming { ticket, request });
        Ok(())
    }

    /// A request under OSCORE has begun already.
    pub(super) fn begin(&mut self, now: Instant, from: SocketAddr, ticket: &Ticket) {
        if ticket.exchange.is_none() {
            self.exchanges.begin(now, from, ticket.id);
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
