//! What runs in the same process and talks to the broker: the page, and bridges.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use motemix_coap::{Code, Incoming, Peer, Relation, Request, Response, Ticket, Token};
use tokio::sync::{Notify, broadcast, mpsc, oneshot};

use super::statistics::Statistics;
use crate::page::Refused;
use crate::state::TopicId;
use crate::{Change, Moment, State, Unpublished};

/// Requests from inside that wait.
const REQUESTS: usize = 64;
/// Updates that a listener may be behind.
const BEHIND: usize = 1024;
/// Numbers of connections from here on are requests from inside.
const FIRST: u64 = 1 << 63;

/// What happened.
#[derive(Debug, Clone)]
pub enum Update {
    /// What changed together.
    Changes(Arc<Vec<Change>>),
    /// Whether the store takes what changes: why not, or nothing.
    Health(Option<Arc<str>>),
}

/// Hears of everything that changes.
#[derive(Debug)]
pub struct Feed {
    updates: broadcast::Receiver<Update>,
}

impl Feed {
    /// The next update; `None` when the broker has ended, or this listener was so far behind that
    /// it missed some.
    pub async fn next(&mut self) -> Option<Update> {
        self.updates.recv().await.ok()
    }
}

/// What is told as numbers: the newest counts, and whoever missed some misses nothing.
#[derive(Debug, Default)]
struct Numbers {
    statistics: Statistics,
    /// The last refused publication of each topic.
    refused: BTreeMap<TopicId, Refused>,
    /// Those that nobody was told yet.
    untold: BTreeSet<TopicId>,
}

/// Asks the broker from inside its process.
#[derive(Debug, Clone)]
pub struct Inner {
    requests: mpsc::Sender<Asked>,
    updates: broadcast::Sender<Update>,
    mirror: Arc<RwLock<State>>,
    numbers: Arc<Mutex<Numbers>>,
    refusing: Arc<Notify>,
}

impl Inner {
    /// Asks, as a caller on this machine.
    pub async fn ask(&self, request: Request) -> Response {
        let over = || Response::error(Code::SERVICE_UNAVAILABLE, "the broker has ended");
        let (reply, response) = oneshot::channel();
        if self.requests.send(Asked { request, reply }).await.is_err() {
            return over();
        }
        response.await.unwrap_or_else(|_| over())
    }

    /// Whether the broker has ended.
    pub fn is_over(&self) -> bool {
        self.requests.is_closed()
    }

    /// Hears of what changes from now on. Whoever wants to miss nothing listens first, and looks at
    /// [`Inner::state`] then.
    pub fn listen(&self) -> Feed {
        Feed { updates: self.updates.subscribe() }
    }

    /// What was counted.
    pub fn statistics(&self) -> Statistics {
        lock(&self.numbers).statistics.clone()
    }

    /// The last publication to a topic that was refused, since the broker began.
    pub fn refused(&self, topic: &TopicId) -> Option<Refused> {
        lock(&self.numbers).refused.get(topic).cloned()
    }

    /// Topics that refused something since this was last asked; there is one listener.
    pub(super) async fn next_refused(&self) -> Vec<(TopicId, Refused)> {
        loop {
            let told: Vec<_> = {
                let mut numbers = lock(&self.numbers);
                let untold = std::mem::take(&mut numbers.untold);
                let of = |id: TopicId| Some((id.clone(), numbers.refused.get(&id)?.clone()));
                untold.into_iter().filter_map(of).collect()
            };
            if !told.is_empty() {
                return told;
            }
            self.refusing.notified().await;
        }
    }

    /// All that is stored. The broker waits for whoever holds it: look, and let go.
    pub fn state(&self) -> RwLockReadGuard<'_, State> {
        self.mirror.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request from inside.
#[derive(Debug)]
pub(super) struct Asked {
    request: Request,
    reply: oneshot::Sender<Response>,
}

/// The broker's end.
#[derive(Debug)]
pub struct Inside {
    requests: mpsc::Receiver<Asked>,
    /// So that the channel stays open when nobody asks from inside.
    _asker: mpsc::Sender<Asked>,
    updates: broadcast::Sender<Update>,
    mirror: Arc<RwLock<State>>,
    numbers: Arc<Mutex<Numbers>>,
    refusing: Arc<Notify>,
    waiting: HashMap<u64, oneshot::Sender<Response>>,
    next: u64,
    problem: Option<Arc<str>>,
}

/// Both ends.
pub fn inside() -> (Inner, Inside) {
    let (asker, requests) = mpsc::channel(REQUESTS);
    let (updates, _) = broadcast::channel(BEHIND);
    let mirror = Arc::new(RwLock::default());
    let numbers = Arc::default();
    let refusing = Arc::<Notify>::default();
    let inner = Inner {
        requests: asker.clone(),
        updates: updates.clone(),
        mirror: Arc::clone(&mirror),
        numbers: Arc::clone(&numbers),
        refusing: Arc::clone(&refusing),
    };
    let inside = Inside {
        requests,
        _asker: asker,
        updates,
        mirror,
        numbers,
        refusing,
        waiting: HashMap::new(),
        next: FIRST,
        problem: None,
    };
    (inner, inside)
}

impl Inside {
    pub(super) const fn is_of(number: u64) -> bool {
        number >= FIRST
    }

    pub(super) async fn next(&mut self) -> Asked {
        match self.requests.recv().await {
            Some(asked) => asked,
            None => std::future::pending().await,
        }
    }

    pub(super) fn try_next(&mut self) -> Option<Asked> {
        self.requests.try_recv().ok()
    }

    pub(super) fn ticket(&mut self, asked: Asked) -> (Ticket, Request) {
        let number = self.next;
        self.next = self.next.checked_add(1).unwrap_or(FIRST);
        self.waiting.insert(number, asked.reply);
        let relation = Relation { peer: Peer::Stream(number), token: Token::EMPTY };
        let Incoming { ticket, request } = Incoming::inside(relation, asked.request);
        (ticket, request)
    }

    pub(super) fn respond(&mut self, number: u64, response: Response) {
        if let Some(reply) = self.waiting.remove(&number) {
            // Whoever has gone needs no response.
            let _ = reply.send(response);
        }
    }

    /// All that is stored, for whoever looks in between.
    pub(super) fn mirror(&self) -> Arc<RwLock<State>> {
        Arc::clone(&self.mirror)
    }

    /// What was stored before the start.
    pub(super) fn begin(&mut self, state: &State) {
        *self.mirror.write().unwrap_or_else(PoisonError::into_inner) = state.clone();
    }

    pub(super) fn tell(&mut self, changes: Vec<Change>) {
        let mut mirror = self.mirror.write().unwrap_or_else(PoisonError::into_inner);
        for change in &changes {
            mirror.apply(change.clone());
        }
        drop(mirror);
        let ended = changes.iter().filter_map(|change| match change {
            Change::Topic(id, None) => Some(id),
            _ => None,
        });
        for id in ended {
            let mut numbers = lock(&self.numbers);
            numbers.refused.remove(id);
            numbers.untold.remove(id);
        }
        // That nobody listens is no error.
        let _ = self.updates.send(Update::Changes(Arc::new(changes)));
    }

    pub(super) fn count(&mut self, statistics: Statistics) {
        lock(&self.numbers).statistics = statistics;
    }

    pub(super) fn refused(&mut self, at: Moment, topic: TopicId, unpublished: Unpublished) {
        let Unpublished { count, why } = unpublished;
        let mut numbers = lock(&self.numbers);
        let before = numbers.refused.get(&topic).map_or(0, |before| before.count);
        numbers.refused.insert(topic.clone(), Refused { at, count: before + count, why });
        numbers.untold.insert(topic);
        drop(numbers);
        self.refusing.notify_one();
    }

    pub(super) fn health(&mut self, problem: Option<&str>) {
        if self.problem.as_deref() != problem {
            self.problem = problem.map(Arc::from);
            let _ = self.updates.send(Update::Health(self.problem.clone()));
        }
    }
}

fn lock(numbers: &Mutex<Numbers>) -> MutexGuard<'_, Numbers> {
    numbers.lock().unwrap_or_else(PoisonError::into_inner)
}
