//! The broker's side of the directory: what becomes of its outcomes.

use std::collections::HashMap;

use motemix_coap::{Code, Method, Observe, Relation, Request, Response};

use super::{Answer, Broker, Reaction, Refused};
use crate::context::Origin;
use crate::directory::{self, Desk, Fetch, Outcome, Registrant};
use crate::{Caller, Change, Moment};

/// How many registrations may wait for their links.
const FETCHES: usize = 64;
/// How many of these may be of one origin: whoever does not answer keeps a place for minutes.
const FETCHES_OF_ONE: usize = 4;
/// A registration that goes on when its links were fetched.
#[derive(Debug)]
pub struct PendingFetch<T> {
    /// The request's.
    pub ticket: T,
    /// Whom to ask what.
    pub fetch: Fetch,
}

/// Whose registrations wait for their links.
#[derive(Debug, Default)]
pub(super) struct Fetching(HashMap<Origin, usize>);

impl Fetching {
    fn has_room(&self, origin: Origin) -> bool {
        let of_origin = self.0.get(&origin).copied().unwrap_or_default();
        self.0.values().sum::<usize>() < FETCHES && of_origin < FETCHES_OF_ONE
    }

    fn begin(&mut self, origin: Origin) {
        *self.0.entry(origin).or_default() += 1;
    }

    fn end(&mut self, origin: Origin) {
        if let Some(count) = self.0.get_mut(&origin) {
            *count -= 1;
            if *count == 0 {
                self.0.remove(&origin);
            }
        }
    }
}

/// A registration was taken without some of its links: the device is told, and the operator.
fn log_what_was_left_out(caller: &Caller, response: &Response) {
    if matches!(response.code, Code::CREATED | Code::CHANGED) && !response.payload.is_empty() {
        let text = String::from_utf8_lossy(&response.payload);
        tracing::info!(from = ?caller.peer, "a registration was taken, {text:?}: mend what the device sends");
    }
}

impl<T> Broker<T> {
    pub(super) fn directory_said(
        &mut self,
        caller: &Caller,
        relation: Relation,
        request: &Request,
        outcome: Result<Outcome, directory::Refused>,
    ) -> Reaction {
        match outcome {
            Ok(Outcome::Fetch(_)) if !self.fetching.has_room(Origin::of(caller)) => {
                self.counters.count(Refused::Full);
                let text = "the broker asks as many endpoints as it can; try again later, or use /rd";
                let full = Response::error(Code::SERVICE_UNAVAILABLE, text);
                Reaction::Answer(Response { max_age: Some(10), ..full }, false)
            }
            Ok(Outcome::Fetch(fetch)) => {
                self.fetching.begin(Origin::of(caller));
                Reaction::Fetch(fetch)
            }
            Ok(Outcome::Done { changes, response }) => {
                let wants = request.method == Method::Get && request.observe == Some(Observe::Register);
                let is_look_up = request.path.first().is_some_and(|first| first == directory::LOOK_UP);
                let observing = wants && is_look_up && self.look_at(caller, relation, request, &response);
                log_what_was_left_out(caller, &response);
                self.make(changes);
                Reaction::Answer(response, observing)
            }
            Err(refused) => Reaction::Answer(self.directory_refused(&refused), false),
        }
    }

    /// The caller of a request to topics, which a device may have signed.
    ///
    /// # Errors
    /// The signature does not hold: the response that says so.
    pub(super) fn caller_of(
        &mut self,
        now: Moment,
        caller: &Caller,
        request: &Request,
    ) -> Result<Caller, Response> {
        let desk = Desk { settings: &self.settings, state: self.memory.state(), now };
        match directory::signed_by(desk, request, |device| self.memory.key(device)) {
            Ok(None) => Ok(caller.clone()),
            Ok(Some((device, change))) => {
                self.make(vec![change]);
                Ok(Caller { device: Some(device), ..caller.clone() })
            }
            Err(refused) => Err(self.directory_refused(&refused)),
        }
    }

    fn make(&mut self, changes: Vec<Change>) {
        for change in changes {
            self.batch.apply(&mut self.memory, change);
        }
    }

    fn directory_refused(&mut self, refused: &directory::Refused) -> Response {
        self.counters.directory.count(refused.why);
        refused.response()
    }

    /// Somebody who is to be asked for links before a registration goes on. Only whoever has shown
    /// that it receives at its address may be asked (RFC 9175 §2.4).
    pub fn poll_fetch(&mut self) -> Option<PendingFetch<T>> {
        self.fetches.pop()
    }

    /// Nobody was asked, and whoever wanted to register was told why: its place is free again.
    pub fn not_fetched(&mut self, registrant: &Registrant) {
        self.fetching.end(Origin::of(registrant.caller()));
    }

    /// Goes on with a registration: `response` is what the endpoint said, if it said something.
    pub fn fetched(&mut self, now: Moment, ticket: T, registrant: &Registrant, response: Option<&Response>) {
        self.set_now(now);
        self.not_fetched(registrant);
        let desk = Desk { settings: &self.settings, state: self.memory.state(), now };
        let response = match directory::fetched(desk, registrant, response) {
            Ok(Outcome::Done { changes, response }) => {
                log_what_was_left_out(registrant.caller(), &response);
                self.make(changes);
                response
            }
            // It has been fetched.
            Ok(Outcome::Fetch(_)) => Response::new(Code::INTERNAL_SERVER_ERROR),
            Err(refused) => self.directory_refused(&refused),
        };
        self.waiting.push(Answer { ticket, response, observing: false });
    }
}
