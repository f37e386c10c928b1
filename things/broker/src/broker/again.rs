//! Requests that are decided anew, because another broker stored something first.

use std::mem;

use motemix_coap::{Relation, Request};

use super::{Answer, Broker, Settled};
use crate::{Caller, Change, Moment};

/// A request of the open batch.
#[derive(Debug)]
pub(super) struct Kept {
    /// Where its answer is among those that wait.
    place: usize,
    caller: Caller,
    relation: Relation,
    request: Request,
}

impl<T> Broker<T> {
    /// Keeps the requests of the open batch for [`again`](Self::again), for stores that several
    /// brokers share.
    pub fn keep_requests(&mut self) {
        self.keeps_requests = true;
    }

    pub(super) fn keep(&mut self, caller: &Caller, relation: Relation, request: &Request) {
        if self.keeps_requests {
            let place = self.waiting.len();
            self.kept.push(Kept { place, caller: caller.clone(), relation, request: request.clone() });
        }
    }

    /// Others stored `changes` before the open batch: decides all requests of the batch anew, on
    /// what is stored now. What two brokers would let in, each by itself, is let in once.
    ///
    /// Returns what may leave because of the others' changes. The batch stays open.
    pub fn again(&mut self, now: Moment, changes: Vec<Change>) -> Settled<T> {
        let mut batch = mem::take(&mut self.batch);
        batch.take_back(&mut self.memory);
        for relation in &batch.began {
            self.observers.end(relation);
        }
        let mut waiting: Vec<Option<Answer<T>>> =
            mem::take(&mut self.waiting).into_iter().map(Some).collect();
        let kept = mem::take(&mut self.kept);
        let settled = self.foreign(changes);
        // Who was dismissed is out of the list already, and is told so in any case.
        self.batch.checks = mem::take(&mut batch.checks);
        self.batch.dismissed = mem::take(&mut batch.dismissed);
        for Kept { place, caller, relation, request } in kept {
            let Some(answer) = waiting.get_mut(place).and_then(Option::take) else { continue };
            self.decide(now, &caller, answer.ticket, relation, request);
        }
        // Those that nothing can be decided about anew: an endpoint was asked for its links, or it
        // was refused before anybody looked at it.
        self.waiting.extend(waiting.into_iter().flatten());
        self.expire(now);
        settled
    }
}
