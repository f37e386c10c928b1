//! Look-ups that somebody observes.

use motemix_coap::{Relation, Request, Response};

use super::{Broker, Notice, looked_at};
use crate::directory::{self, Desk, Outcome};
use crate::{Caller, Moment};

/// How many comparisons with registrations and links are made for a millisecond of rest. They take
/// about a tenth of a millisecond: whoever observes look-ups, and changes what they look at, takes
/// a tenth of the broker's time at most.
const A_MILLISECOND_S_REST: usize = 600;
/// After how many the others wait for the next time: somewhat more than ten milliseconds.
const A_ROUND_S_WORK: usize = 400_000;

impl<T> Broker<T> {
    pub(super) fn look_at(
        &mut self,
        caller: &Caller,
        relation: Relation,
        request: &Request,
        response: &Response,
    ) -> bool {
        let places = self.places(u32::MAX, caller);
        let observed = self.observers.observe_look_up(relation, caller, request, response, places);
        self.note_observation(relation, observed.is_ok())
    }

    /// When look-ups whose answers have changed are answered again.
    pub(super) fn next_look_ups(&self) -> Option<Moment> {
        self.observers.has_stale().then_some(self.look_ups_rest.end)
    }

    pub(super) fn are_look_ups_due(&self) -> bool {
        // A clock that was set back ends the rest too.
        !self.look_ups_rest.contains(&self.now) && self.observers.has_stale()
    }

    /// Answers those again whose answer has changed, unless it is too early for that. Whoever
    /// observes sees the newest in the end, and not all that was in between (RFC 7641 §1.3).
    pub(super) fn notify_look_ups(&mut self, notices: &mut Vec<Notice>) {
        if !self.are_look_ups_due() {
            return;
        }
        let desk = Desk { settings: &self.settings, state: self.memory.state(), now: self.now };
        let mut over = Vec::new();
        let mut work = self.observers.compare(A_ROUND_S_WORK / 4);
        while work < A_ROUND_S_WORK
            && let Some(look_up) = self.observers.stale()
        {
            look_up.stale = None;
            work += looked_at(self.memory.state(), &look_up.request);
            let response = match directory::handle(desk, &look_up.caller, &look_up.request) {
                Some(Ok(Outcome::Done { response, .. })) => response,
                Some(Err(refused)) => refused.response(),
                Some(Ok(Outcome::Fetch(_))) | None => continue,
            };
            if response == look_up.known {
                continue;
            }
            look_up.known = response.clone();
            let last = !response.code.is_success();
            for relation in look_up.observers() {
                notices.push(Notice { relation, response: response.clone(), last, confirm: false });
                over.extend(last.then_some(relation));
            }
        }
        for relation in over {
            self.observers.end(&relation);
        }
        self.look_ups_rest = self.now..self.now.plus_millis((work / A_MILLISECOND_S_REST) as u64);
    }
}
