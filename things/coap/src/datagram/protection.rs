//! OSCORE under an endpoint: behind the detection of duplicates, before blocks and requests.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use motemix_time::Instant;

use super::proof::room;
use super::{DropReason, Endpoint, Ticket};
use crate::message::{Message, option};
use crate::operation::Operation;
use crate::oscore::edhoc::{Device, Policy};
use crate::oscore::{
    self, Application, Arrived, Asked, ContextId, Exchange, Layer, NumberStore, Sender, Unopened,
};
use crate::{Block, Code, Peer, Relation, Response, Standing};

/// What a message grows by: an option of up to 16 bytes, an inner code, a tag. An ID Context, which
/// stands in requests alone, comes on top.
pub(super) const GROWTH: usize = 32;
/// How often contexts that are over are looked for. None of them is used meanwhile.
const SWEEP: Duration = Duration::from_mins(1);
/// How long the right response may still come behind an error that anybody may have sent.
pub(super) const AFTER_UNPROTECTED: Duration = Duration::from_secs(10);

/// What an endpoint needs for OSCORE and EDHOC.
pub struct Protection {
    /// Contexts, and who answers handshakes.
    pub layer: Layer,
    /// Which credentials may be a peer's.
    pub policy: Box<dyn Policy + Send>,
    /// Where the numbers of preshared contexts are reserved.
    pub store: Box<dyn NumberStore + Send>,
}

impl fmt::Debug for Protection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.layer.fmt(f)
    }
}

/// What an endpoint remembers beside it.
#[derive(Debug, Default)]
pub(super) struct Protected {
    pub(super) protection: Option<Protection>,
    /// Observations under OSCORE.
    pub(super) observed: BTreeMap<Relation, Exchange>,
    swept: Instant,
}

impl Protected {
    pub(super) fn sweep(&mut self, now: Instant) {
        if let Some(protection) = &mut self.protection
            && now - self.swept >= SWEEP
        {
            self.swept = now;
            protection.layer.expire(now);
        }
    }

    /// A response under the context of its request; nothing if that has ended.
    pub(super) fn response(&mut self, exchange: &mut Exchange, message: Message) -> Option<Message> {
        let Protection { layer, store, .. } = self.protection.as_mut()?;
        let (head, inner) = taken_apart(message);
        let outer = layer.contexts.protect_response(exchange, inner, store.as_mut()).ok()?;
        Some(put_together(head, outer))
    }

    /// A notification, under the context of its registration if it has one.
    pub(super) fn notification(&mut self, relation: &Relation, message: Message) -> Option<Message> {
        let Some(mut exchange) = self.observed.remove(relation) else { return Some(message) };
        let protected = self.response(&mut exchange, message);
        self.observed.insert(*relation, exchange);
        protected
    }

    /// An own request, and what its response is opened with.
    pub(super) fn request(
        &mut self,
        now: Instant,
        context: ContextId,
        message: Message,
    ) -> Option<(Message, Asked)> {
        let Protection { layer, store, .. } = self.protection.as_mut()?;
        let (head, inner) = taken_apart(message);
        let (outer, asked) = layer.contexts.protect_request(now, context, inner, store.as_mut()).ok()?;
        Some((put_together(head, outer), asked))
    }

    /// A response to one of these.
    pub(super) fn open_response(
        &mut self,
        now: Instant,
        asked: &mut [Option<Asked>; 2],
        message: Message,
    ) -> Result<Message, Unopened> {
        let Some(Protection { layer, .. }) = &mut self.protection else { return Err(Unopened::Unprotected) };
        let (head, outer) = taken_apart(message);
        let mut why = Unopened::UnknownContext;
        for asked in asked.iter_mut().flatten() {
            match layer.contexts.unprotect_response(now, asked, &outer) {
                Ok(inner) => return Ok(put_together(head, inner)),
                Err(Unopened::Renewed(context)) => return Err(Unopened::Renewed(context)),
                Err(rejected) => why = rejected,
            }
        }
        Err(why)
    }
}

/// The head, with neither options nor payload, and what OSCORE sees.
fn taken_apart(mut message: Message) -> (Message, oscore::Message) {
    let inner = oscore::Message {
        code: message.code,
        options: std::mem::take(&mut message.options),
        payload: std::mem::take(&mut message.payload),
    };
    (message, inner)
}

fn put_together(mut head: Message, inner: oscore::Message) -> Message {
    head.code = inner.code;
    head.options = inner.options;
    head.payload = inner.payload;
    head
}

/// What becomes of a request.
pub(super) enum Opened {
    /// It goes on; its ticket says under which context.
    Request(Message),
    /// It is answered.
    Done(Result<(), DropReason>),
}

impl Endpoint {
    /// Speaks OSCORE, and answers EDHOC, from now on.
    pub fn protect(&mut self, protection: Protection) {
        self.protected.protection = Some(protection);
    }

    /// OSCORE's contexts and counters.
    pub const fn protection(&mut self) -> Option<&mut Protection> {
        self.protected.protection.as_mut()
    }

    /// Who has proved its key, if a request is under a context that EDHOC made.
    pub fn device(&self, ticket: &Ticket) -> Option<&Device> {
        let context = ticket.exchange.as_ref()?.context();
        self.protected.protection.as_ref()?.layer.contexts.device(context)
    }

    /// The context of OSCORE that a request is under, if it is under one.
    pub fn context(&self, ticket: &Ticket) -> Option<ContextId> {
        ticket.exchange.as_ref().map(Exchange::context)
    }

    /// The context that both sides were given, if a request is under it or under one that took its
    /// place (RFC 8613, appendix B.2).
    pub fn given_context(&self, ticket: &Ticket) -> Option<ContextId> {
        let contexts = &self.protected.protection.as_ref()?.layer.contexts;
        Some(contexts.given(self.context(ticket)?))
    }

    /// Takes OSCORE off a request, and answers EDHOC.
    pub(super) fn open(
        &mut self,
        now: Instant,
        from: SocketAddr,
        message: Message,
        ticket: &mut Ticket,
    ) -> Opened {
        let message = match self.put_outer_blocks_together(now, from, message, ticket) {
            Ok(message) => message,
            Err(done) => return Opened::Done(done),
        };
        let opened = self.open_any(now, from, message, ticket);
        let context = ticket.exchange.as_ref().map(Exchange::context);
        let observed = self.protected.observed.get(&ticket.relation).map(Exchange::context);
        match opened {
            // A client that was started again has its address and tokens again, under a new context
            // (RFC 8613, appendix B.2): what it observed under the one that is gone is over.
            Opened::Request(_) if observed.is_some_and(|observed| self.is_gone(observed)) => {
                self.lose(ticket.relation);
                opened
            }
            // An observation is not ended or replaced by whoever writes its address and token on a
            // request (RFC 8613 §4.1.3.5).
            Opened::Request(_) if observed.is_some() && observed != context => {
                let text = "this token observes under OSCORE: take another one";
                let response = Response::error(Code::BAD_REQUEST, text);
                Opened::Done(self.refuse(now, ticket, &response))
            }
            opened => opened,
        }
    }

    fn is_gone(&self, context: ContextId) -> bool {
        let protection = self.protected.protection.as_ref();
        protection.is_none_or(|protection| protection.layer.contexts.get(context).is_none())
    }

    /// A whole message of one that OSCORE or EDHOC is in, and that came in outer blocks (RFC 8613
    /// §4.1.3.4.2); what is done with the block if the message is not whole.
    ///
    /// Nobody has proven a key yet: they take the places of their address.
    fn put_outer_blocks_together(
        &mut self,
        now: Instant,
        from: SocketAddr,
        mut message: Message,
        ticket: &mut Ticket,
    ) -> Result<Message, Result<(), DropReason>> {
        let is_layers = message.option(option::OSCORE).is_some() || oscore::is_for_edhoc(&message.options);
        let Some(value) = message.option(option::BLOCK1) else { return Ok(message) };
        if !is_layers || self.protected.protection.is_none() {
            return Ok(message);
        }
        let Some(block) = Block::read(value) else {
            let response = Response::error(Code::BAD_REQUEST, "a block of no length");
            return Err(self.refuse(now, ticket, &response));
        };
        // The last block makes the message whole: it must not be lost then.
        if !block.more && self.incoming.len() >= self.settings.requests {
            return Err(Err(DropReason::Busy));
        }
        self.take_echo(now, from, message.option(option::ECHO), ticket);
        ticket.block1 = Some(block);
        ticket.operation = Operation::of(&self.proofs, message.code, &message.options, None);
        let payload = std::mem::take(&mut message.payload);
        match self.gather(now, from, ticket, block, &payload) {
            Ok(Some(body)) => message.payload = body,
            Ok(None) => return Err(Ok(())),
            Err(dropped) => return Err(Err(dropped)),
        }
        (ticket.block1, ticket.outer_block1) = (None, Some(block));
        let is_of_blocks = |number| matches!(number, option::BLOCK1 | option::SIZE1 | option::REQUEST_TAG);
        message.options.retain(|(number, _)| !is_of_blocks(*number));
        Ok(message)
    }

    fn open_any(&mut self, now: Instant, from: SocketAddr, message: Message, ticket: &mut Ticket) -> Opened {
        self.take_echo(now, from, message.option(option::ECHO), ticket);
        let standing = self.account(now, from, ticket).standing;
        let is_full = self.incoming.len() >= self.settings.requests;
        let Some(Protection { layer, policy, store }) = &mut self.protected.protection else {
            return Opened::Request(message);
        };
        let is_protected = message.option(option::OSCORE).is_some();
        // Its number would be seen, and the client's next try be a replay.
        if is_protected && is_full {
            return Opened::Done(Err(DropReason::Busy));
        }
        let makes_context = !is_protected || message.option(oscore::message::number::EDHOC).is_some();
        let (head, outer) = taken_apart(message);
        let sender = Sender { peer: Peer::Datagram(from), standing };
        let mut application = Application { policy: policy.as_mut(), store: store.as_mut() };
        match layer.arrive(now, sender, outer, &mut application, &mut self.rng) {
            Arrived::Plain(plain) => Opened::Request(put_together(head, plain)),
            Arrived::Protected(inner, exchange) => {
                ticket.exchange = Some(exchange);
                // Asked again under the same id, it gets the same answer: its number is used.
                self.begin_exchange(now, from, ticket);
                Opened::Request(put_together(head, inner))
            }
            // A long credential in message_2 is for an address that is somebody's.
            Arrived::Answer(answer)
                if standing == Standing::Unproven
                    && answer.payload.len() + GROWTH > room(ticket.request_len) =>
            {
                self.prove_first(now, ticket)
            }
            Arrived::Answer(answer) => {
                if makes_context {
                    self.begin_exchange(now, from, ticket);
                }
                let is_success = matches!(answer.code >> 5, 2);
                self.leave(now, from, ticket, put_together(head, answer));
                Opened::Done(if is_success { Ok(()) } else { Err(DropReason::Refused) })
            }
            Arrived::ProveAddress => self.prove_first(now, ticket),
        }
    }

    fn prove_first(&mut self, now: Instant, ticket: &mut Ticket) -> Opened {
        self.answer_with_echo(now, ticket);
        Opened::Done(Err(DropReason::Unproven))
    }
}
