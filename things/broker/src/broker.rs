//! The heart: requests go in, changes come out, and when a store has them, what may leave.

mod again;
mod batch;
mod counters;
mod desk;
mod discovery;
mod look_ups;
mod memory;
mod observers;
mod rates;
mod taken;
mod unpublished;
mod wall_clock;

use std::collections::BTreeMap;
use std::mem;
use std::ops::Range;

use motemix_coap::{Code, Method, Observe, Relation, Request, Response};

pub use batch::{Answer, Notice, Settled};
pub use counters::{Counters, Refused};
use desk::Fetching;
pub use desk::PendingFetch;
pub use unpublished::Unpublished;

pub(crate) use batch::Batch;
pub(crate) use memory::{Holder, Memory};
use observers::{Observers, Places};

use crate::context::{Context, Origin};
use crate::directory::{self, Desk, Fetch, Settings};
use crate::policy::Policy;
use crate::state::TopicId;
use crate::topics::{self, Reply};
use crate::{Caller, Change, Moment, State};

use memory::Ending;
use rates::Rates;

/// A broker and directory without input, output, clock and store.
///
/// ```text
/// handle, expire ──▶ changes ──▶ Store::commit ──▶ stored | not_stored ──▶ answers, notices, feed
/// ```
///
/// Requests that are handled before the store is asked are of one batch. Each of them sees what
/// those before it changed, and nobody hears of it before the store has it.
///
/// `T` is what the caller calls a request by.
#[derive(Debug)]
pub struct Broker<T> {
    policy: Policy,
    memory: Memory,
    batch: Batch,
    waiting: Vec<Answer<T>>,
    fetches: Vec<PendingFetch<T>>,
    fetching: Fetching,
    settings: Settings,
    observers: Observers,
    rates: Rates,
    counters: Counters,
    /// Publications that were refused since somebody asked: the newest of each topic.
    refused: BTreeMap<TopicId, Unpublished>,
    keeps_requests: bool,
    /// Requests of the batch, if they may be decided anew.
    kept: Vec<again::Kept>,
    /// When observed look-ups are not answered again.
    look_ups_rest: Range<Moment>,
    /// When it was last told what time it is.
    now: Moment,
    /// When the clock on the wall was set back, or this broker began: since then moments may be in
    /// the future.
    set_back: Option<wall_clock::SetBack>,
}

impl<T> Broker<T> {
    /// With what a store remembers.
    #[expect(clippy::needless_pass_by_value, reason = "it is the broker's from now on")]
    pub fn new(policy: Policy, state: State) -> Self {
        let rates = Rates::new(policy.rates);
        Self {
            memory: Memory::new(&state),
            batch: Batch::default(),
            waiting: Vec::new(),
            fetches: Vec::new(),
            fetching: Fetching::default(),
            settings: policy.settings(),
            observers: Observers::default(),
            rates,
            counters: Counters::default(),
            refused: BTreeMap::new(),
            keeps_requests: false,
            kept: Vec::new(),
            look_ups_rest: Moment::from_millis(0)..Moment::from_millis(0),
            now: Moment::from_millis(0),
            set_back: None,
            policy,
        }
    }

    /// Decides what becomes of a request. Its answer is in what [`stored`](Self::stored) or
    /// [`not_stored`](Self::not_stored) returns.
    pub fn handle(&mut self, now: Moment, caller: &Caller, ticket: T, relation: Relation, request: Request) {
        self.set_now(now);
        self.counters.requests += 1;
        if !caller.local
            && let Err(wait) = self.rates.take(Origin::of(caller), now, self.cost(&request))
        {
            self.counters.count(Refused::Rate);
            let text = format!("more requests than this broker takes from one peer; wait for {wait} s");
            let response =
                Response { max_age: Some(wait), ..Response::error(Code::TOO_MANY_REQUESTS, &text) };
            self.waiting.push(Answer { ticket, response, observing: false });
            return;
        }
        self.decide(now, caller, ticket, relation, request);
    }

    /// Whether so many peers ask that this one would share its rate with others: whoever writes
    /// others' addresses on its datagrams is as many peers as it likes.
    pub fn is_crowded(&mut self, now: Moment, caller: &Caller) -> bool {
        !caller.local && self.rates.is_crowded(Origin::of(caller), now)
    }

    /// Counts messages that bring no request as requests: blocks of a body that is not whole, and
    /// signals of a connection.
    ///
    /// # Errors
    /// After how many seconds more may come, if there were too many.
    pub fn count_unseen(&mut self, now: Moment, caller: &Caller, messages: u32) -> Result<(), u32> {
        if caller.local {
            return Ok(());
        }
        let taken = self.rates.take(Origin::of(caller), now, messages);
        taken.inspect_err(|_| self.counters.count(Refused::Rate))
    }

    #[expect(clippy::needless_pass_by_value, reason = "nobody else needs it after this")]
    fn decide(&mut self, now: Moment, caller: &Caller, ticket: T, relation: Relation, request: Request) {
        if request.observe == Some(Observe::Deregister) {
            self.observers.end(&relation);
        }
        let (response, observing) = match self.answer(now, caller, relation, &request) {
            Reaction::Answer(response, observing) => (response, observing),
            Reaction::Fetch(fetch) => {
                self.fetches.push(PendingFetch { ticket, fetch: *fetch });
                return;
            }
        };
        if !observing && request.observe == Some(Observe::Register) {
            // There is none with this token any more (RFC 7641 §4.1).
            self.observers.end(&relation);
        }
        self.keep(caller, relation, &request);
        self.waiting.push(Answer { ticket, response, observing });
    }

    /// As how many requests one counts: what looks at all registrations or topics is more work than
    /// others.
    fn cost(&self, request: &Request) -> u32 {
        let looked_at = looked_at(self.memory.state(), request);
        1 + u32::try_from(looked_at / A_REQUEST_S_WORK).unwrap_or(u32::MAX - 1)
    }

    /// Whether a request may take more than a look: a signature to be checked, or many
    /// registrations to be compared.
    pub fn is_costly(&self, request: &Request) -> bool {
        let is_signed = !request.payload.is_empty() || request.parameter("proof").is_some();
        is_signed || self.cost(request) > 1
    }

    fn answer(&mut self, now: Moment, caller: &Caller, relation: Relation, request: &Request) -> Reaction {
        let is_of_topics = request.path.first().is_some_and(|first| first == topics::COLLECTION);
        let signer;
        let caller = if is_of_topics && request.parameter("proof").is_some() {
            signer = match self.caller_of(now, caller, request) {
                Ok(signer) => signer,
                Err(refused) => return Reaction::Answer(refused, false),
            };
            &signer
        } else {
            caller
        };
        let wants = request.method == Method::Get && request.observe == Some(Observe::Register);
        let mut context = Context {
            policy: &self.policy,
            memory: &mut self.memory,
            batch: &mut self.batch,
            counters: &mut self.counters,
            caller,
            now,
        };
        let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
        let (response, observing) = match path.as_slice() {
            [".well-known", "core"] => (discovery::handle(&mut context, request), false),
            [topics::COLLECTION, rest @ ..] => match topics::handle(&mut context, rest, request) {
                Reply::Response(response) => {
                    self.note_refused(rest, request, &response);
                    (response, false)
                }
                Reply::Data(topic, response) => {
                    let observing = wants && self.observe(now, caller, relation, &topic);
                    (response, observing)
                }
                Reply::Gone(topic, response) => {
                    self.dismiss(&topic, 0);
                    (response, false)
                }
                Reply::Configured(topic, response) => {
                    self.configured(now, &topic);
                    (response, false)
                }
            },
            _ => {
                let desk = Desk { settings: &self.settings, state: context.memory.state(), now };
                let Some(outcome) = directory::handle(desk, caller, request) else {
                    let text = "no such resource; see /.well-known/core";
                    return Reaction::Answer(context.refuse(Refused::NotFound, Code::NOT_FOUND, text), false);
                };
                return self.directory_said(caller, relation, request, outcome);
            }
        };
        Reaction::Answer(response, observing)
    }

    fn places(&self, of_target: u32, caller: &Caller) -> Places {
        let limits = &self.policy.limits;
        Places {
            in_all: limits.observers,
            of_peer: if caller.local { limits.observers } else { limits.observers_of_a_peer },
            of_target,
            look_ups: limits.observed_look_ups,
        }
    }

    fn observe(&mut self, now: Moment, caller: &Caller, relation: Relation, topic: &TopicId) -> bool {
        let Some(configured) = self.memory.state().topic(topic).cloned() else { return false };
        let most =
            configured.max_subscribers.unwrap_or(u32::MAX).min(self.policy.limits.observers_of_a_topic);
        let check = now.plus_secs(configured.observer_check.into());
        let (places, seen) = (self.places(most, caller), self.batch.changes().len());
        let observed = self.observers.observe_topic((relation, caller), topic, seen, check, places).is_ok();
        self.note_observation(relation, observed)
    }

    fn note_observation(&mut self, relation: Relation, observed: bool) -> bool {
        // They hear of it when what is changed is stored.
        self.batch.dismissed.extend(self.observers.crowded_out());
        if observed {
            self.batch.began.push(relation);
        } else {
            self.counters.count(Refused::Observation);
        }
        observed
    }

    /// Ends the observations of a topic but the first so many; they hear of it when that is stored.
    fn dismiss(&mut self, topic: &TopicId, keep: usize) {
        for relation in self.observers.beyond(topic, keep) {
            self.observers.end(&relation);
            self.counters.count(Refused::Dismissed);
            self.batch.dismissed.push(relation);
        }
    }

    /// A topic has another configuration.
    fn configured(&mut self, now: Moment, id: &TopicId) {
        let Some(topic) = self.memory.state().topic(id).cloned() else { return };
        self.dismiss(id, topic.max_subscribers.map_or(usize::MAX, |most| most as usize));
        self.observers.check_by(id, now.plus_secs(topic.observer_check.into()));
    }

    /// What the store has to keep.
    pub fn changes(&self) -> &[Change] {
        self.batch.changes()
    }

    /// Whether anybody waits for the batch.
    pub fn is_settled(&self) -> bool {
        self.waiting.is_empty()
            && self.batch.changes().is_empty()
            && self.batch.checks.is_empty()
            && self.batch.dismissed.is_empty()
            && !self.are_look_ups_due()
    }

    /// The store has the changes.
    pub fn stored(&mut self) -> Settled<T> {
        self.kept.clear();
        let mut batch = mem::take(&mut self.batch);
        let mut notices = mem::take(&mut batch.checks);
        notices.extend(batch.dismissed.drain(..).map(gone));
        for (topic, last) in batch.published() {
            self.notify(topic, *last, &mut notices);
        }
        self.memory.stored(batch.changes());
        self.observers.changed(batch.registrations());
        self.notify_look_ups(&mut notices);
        self.observers.forget_seen(&batch.began);
        self.counters.notices += notices.len() as u64;
        Settled { answers: mem::take(&mut self.waiting), notices, feed: batch.into_changes() }
    }

    fn notify(&mut self, id: &TopicId, last: usize, notices: &mut Vec<Notice>) {
        let state = self.memory.state();
        let (Some(value), Some(topic)) = (state.value(id), state.topic(id)) else { return };
        if self.observers.of_topic(id) == 0 {
            return;
        }
        let response = topics::content(value);
        let confirm =
            self.observers.is_check_due(id, self.now, self.now.plus_secs(topic.observer_check.into()));
        // An observer that began after the change was answered with it.
        let observers = self.observers.observers_of(id).filter(|observer| observer.seen <= last);
        notices.extend(observers.map(|observer| Notice {
            relation: observer.relation,
            response: response.clone(),
            last: false,
            confirm,
        }));
    }

    /// The store does not have the changes: takes them back. Whoever waits is told.
    pub fn not_stored(&mut self, problem: &str) -> Settled<T> {
        self.kept.clear();
        let mut batch = mem::take(&mut self.batch);
        batch.take_back(&mut self.memory);
        // The error is also the end of an observation (RFC 7641 §4.2).
        for relation in &batch.began {
            self.observers.end(relation);
        }
        let text = format!("not stored ({problem}); try again later");
        let refused = Response { max_age: Some(10), ..Response::error(Code::SERVICE_UNAVAILABLE, &text) };
        let answers = mem::take(&mut self.waiting).into_iter().map(|answer| {
            self.counters.count(Refused::NotStored);
            Answer { ticket: answer.ticket, response: refused.clone(), observing: false }
        });
        let answers = answers.collect();
        // They are out of the list already, and were not told that the topic is still there.
        let dismissed = batch.dismissed.drain(..).map(|relation| Notice {
            relation,
            response: refused.clone(),
            last: true,
            confirm: false,
        });
        let notices = mem::take(&mut batch.checks).into_iter().chain(dismissed).collect();
        Settled { answers, notices, feed: Vec::new() }
    }

    /// What another broker stored, in the order in which the store has it: before the open batch,
    /// whose changes it does not have yet.
    pub fn foreign(&mut self, changes: Vec<Change>) -> Settled<T> {
        let mut open = mem::take(&mut self.batch);
        open.take_back(&mut self.memory);
        let (waiting, kept) = (mem::take(&mut self.waiting), mem::take(&mut self.kept));
        for change in changes {
            let ended = match &change {
                Change::Value(topic, None) => Some(topic.clone()),
                _ => None,
            };
            self.batch.apply(&mut self.memory, change);
            if let Some(topic) = ended {
                self.dismiss(&topic, 0);
            }
        }
        let settled = self.stored();
        open.make_again(&mut self.memory);
        self.batch = open;
        (self.waiting, self.kept) = (waiting, kept);
        settled
    }

    /// Ends what has expired, and asks observers who were not asked for long. What comes of it goes
    /// into the open batch.
    pub fn expire(&mut self, now: Moment) {
        self.set_now(now);
        self.set_moments_right();
        while let Some(ending) = self.memory.ended(now) {
            match ending {
                Ending::Topic(id) => {
                    if self.memory.state().value(&id).is_some() {
                        self.batch.apply(&mut self.memory, Change::Value(id.clone(), None));
                    }
                    self.batch.apply(&mut self.memory, Change::Topic(id.clone(), None));
                    self.dismiss(&id, 0);
                }
                Ending::Registration(id) => {
                    self.batch.apply(&mut self.memory, Change::Registration(id, None));
                }
            }
        }
        while let Some(id) = self.observers.topic_to_check(now) {
            let state = self.memory.state();
            let check = state.topic(&id).map_or(DAY, |topic| topic.observer_check).max(1);
            self.observers.is_check_due(&id, now, now.plus_secs(check.into()));
            let Some(value) = state.value(&id) else { continue };
            let response = topics::content(value);
            let observers = self.observers.observers_of(&id);
            self.batch.checks.extend(observers.map(|observer| Notice {
                relation: observer.relation,
                response: response.clone(),
                last: false,
                confirm: true,
            }));
        }
    }

    /// When [`expire`](Self::expire) is due.
    pub fn next_expiry(&self) -> Option<Moment> {
        let next = [self.memory.next_ending(), self.observers.next_check(), self.next_look_ups()];
        next.into_iter().flatten().min()
    }

    /// An observation is over: the observer is gone.
    pub fn end(&mut self, relation: &Relation) {
        self.observers.end(relation);
        self.batch.checks.retain(|notice| notice.relation != *relation);
        self.batch.dismissed.retain(|dismissed| dismissed != relation);
    }

    /// All that is remembered, with the open batch.
    pub const fn state(&self) -> &State {
        self.memory.state()
    }

    /// The policy.
    pub const fn policy(&self) -> &Policy {
        &self.policy
    }

    /// What was refused, and how much was done.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// How many observe something.
    pub fn observers(&self) -> usize {
        self.observers.len()
    }
}

/// What comes of a request.
enum Reaction {
    /// Its answer, and whether it observes from now on.
    Answer(Response, bool),
    Fetch(Box<Fetch>),
}

/// How many links, registrations and topics are compared for what one request counts.
const A_REQUEST_S_WORK: usize = 2000;
/// Seconds.
const DAY: u32 = 86_400;

/// How many comparisons a request takes with links and registrations, or with topics, at most.
fn looked_at(state: &State, request: &Request) -> usize {
    match request.path.first().map(String::as_str) {
        Some(directory::LOOK_UP) => directory::comparisons(state, request),
        Some(topics::COLLECTION) if request.path.len() == 1 && request.method != Method::Post => {
            state.topics().len()
        }
        _ => 0,
    }
}

/// The end of an observation (RFC 7641 §3.2).
fn gone(relation: Relation) -> Notice {
    let text = "no longer here, or no longer for as many observers";
    Notice { relation, response: Response::error(Code::NOT_FOUND, text), last: true, confirm: false }
}
