//! Simple registrations (RFC 9176 §5.1): the broker asks devices for their links.
//!
//! Whoever is asked has proven by Echo that what is sent to its address arrives: somebody else's
//! address makes the broker send one small answer there, and nothing more. A device that asked
//! under OSCORE is asked under the same context.

use std::collections::HashMap;

use motemix_coap::{CallId, Code, Response, Ticket};
use motemix_time::Instant;

use super::datagrams::Datagrams;
use crate::directory::Registrant;
use crate::{Broker, Moment, PendingFetch};

/// After how many seconds it may be worth asking again.
const AGAIN: u32 = 10;

/// Registrations that wait for the links of their devices. The broker bounds how many there are.
#[derive(Debug, Default)]
pub(super) struct Fetches {
    waiting: HashMap<CallId, (Ticket, Registrant)>,
}

impl Fetches {
    /// Asks whoever is to be asked.
    pub(super) fn begin(&mut self, now: Instant, broker: &mut Broker<Ticket>, datagrams: &mut Datagrams) {
        while let Some(PendingFetch { ticket, fetch }) = broker.poll_fetch() {
            if !datagrams.is_proven(now, &ticket) {
                broker.not_fetched(&fetch.registrant);
                datagrams.ask_for_proof(now, ticket);
                continue;
            }
            match datagrams.request(now, fetch.to, fetch.request, &ticket) {
                Ok(call) => {
                    self.waiting.insert(call, (ticket, fetch.registrant));
                }
                Err(full) => {
                    broker.not_fetched(&fetch.registrant);
                    let response = Response::error(Code::SERVICE_UNAVAILABLE, &full.to_string());
                    let response = Response { max_age: Some(AGAIN), ..response };
                    datagrams.respond(now, ticket, &response, false);
                }
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// A device has answered, or will not.
    pub(super) fn end(
        &mut self,
        now: Moment,
        broker: &mut Broker<Ticket>,
        call: CallId,
        response: Option<&Response>,
    ) {
        if let Some((ticket, registrant)) = self.waiting.remove(&call) {
            broker.fetched(now, ticket, &registrant, response);
        }
    }
}
