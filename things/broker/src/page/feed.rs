//! What has changed, for browsers that listen.
//!
//! Changes of one thing that come faster than [`Limits::pause`] become one: a browser needs the
//! newest. What is sent is rendered once, into a ring that all listeners read from at their own
//! pace. A listener that falls behind the ring is told to load everything again, and let go.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::response::sse::Event;
use motemix_coap::{Account, FairTable, Source};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::{Refused, StoreState, json};
use crate::state::{Change, RegistrationId, TopicId};

/// How much a feed holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Listeners at a time. When all places are taken, one of a source that has fewer than another
    /// takes the place of that one's oldest.
    pub listeners: usize,
    /// Entries that a listener may be behind.
    pub entries: usize,
    /// Bytes of all these entries.
    pub bytes: usize,
    /// Entries that are rendered at a time; others wait for the next pause to be over.
    pub batch: usize,
    /// How long changes of one thing are gathered.
    pub pause: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { listeners: 32, entries: 4096, bytes: 4 << 20, batch: 256, pause: Duration::from_millis(250) }
    }
}

/// For so long after the last listener left, one that comes back misses nothing.
const REMEMBERED: Duration = Duration::from_secs(60);

/// What changed, by what it is about: the newest takes the place of the one before.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum About {
    Store,
    Registration(RegistrationId),
    Topic(TopicId),
    Value(TopicId),
    Refused(TopicId),
}

#[derive(Debug)]
enum News {
    Store(StoreState),
    Change(Change),
    Refused(Refused),
}

/// An entry as it is sent.
#[derive(Debug, Clone)]
struct Entry {
    kind: &'static str,
    data: Arc<str>,
}

#[derive(Debug)]
struct Inside {
    pending: BTreeMap<About, News>,
    entries: VecDeque<Entry>,
    bytes: usize,
    /// Number of the newest entry.
    newest: u64,
    /// When a listener was last seen.
    listened: Option<Instant>,
    /// Listeners, and how each is told that another has its place.
    listeners: FairTable<u64, Arc<Notify>>,
    next_listener: u64,
}

/// Takes changes from the runtime and hands them to listeners.
#[derive(Debug)]
pub struct Feed {
    limits: Limits,
    /// Tells this feed's numbers from those of another run of the broker.
    run: u64,
    inside: Mutex<Inside>,
    newest: watch::Sender<u64>,
    pending: Notify,
    /// Calls that said of something new, whether somebody listened or not.
    changed: AtomicU64,
}

impl Feed {
    /// A feed of a broker that began at `started`.
    pub fn new(limits: Limits, started: crate::Moment) -> Arc<Self> {
        Arc::new(Self {
            limits,
            run: started.as_millis(),
            inside: Mutex::new(Inside {
                pending: BTreeMap::new(),
                entries: VecDeque::new(),
                bytes: 0,
                newest: 0,
                listened: None,
                listeners: FairTable::new(limits.listeners),
                next_listener: 0,
            }),
            newest: watch::Sender::new(0),
            pending: Notify::new(),
            changed: AtomicU64::new(0),
        })
    }

    /// These were stored, and the view shows them.
    pub fn changes(&self, changes: &[Change]) {
        self.add(changes.iter().filter_map(|change| {
            let about = match change {
                // The value that it came with says it.
                Change::Freshness(..) => return None,
                Change::Topic(id, _) => About::Topic(id.clone()),
                Change::Value(id, _) => About::Value(id.clone()),
                Change::Registration(id, _) => About::Registration(id.clone()),
            };
            Some((about, News::Change(change.clone())))
        }));
    }

    /// A publication to a topic was refused.
    pub fn refused(&self, topic: &TopicId, refused: &Refused) {
        self.add([(About::Refused(topic.clone()), News::Refused(refused.clone()))]);
    }

    /// The store works again, or no longer.
    pub fn store(&self, state: &StoreState) {
        self.add([(About::Store, News::Store(state.clone()))]);
    }

    /// The runtime has missed changes: listeners load everything again.
    pub fn missed(&self) {
        self.changed.fetch_add(1, Ordering::AcqRel);
        let mut inside = self.inside();
        inside.forget();
        let newest = inside.newest;
        drop(inside);
        self.newest.send_replace(newest);
    }

    /// Another number when the view may show something else.
    pub(super) fn changed(&self) -> u64 {
        self.changed.load(Ordering::Acquire)
    }

    fn add(&self, news: impl IntoIterator<Item = (About, News)>) {
        self.changed.fetch_add(1, Ordering::AcqRel);
        let mut inside = self.inside();
        if !inside.is_listened_to() {
            // Whoever was away for so long is told to load everything.
            inside.forget();
            return;
        }
        // As many as there are topics and registrations, whose number the policy bounds.
        inside.pending.extend(news);
        drop(inside);
        self.pending.notify_one();
    }

    /// Renders what has gathered, for ever.
    pub(super) async fn run(&self) {
        loop {
            self.pending.notified().await;
            while self.render() {
                tokio::time::sleep(self.limits.pause).await;
            }
        }
    }

    /// Whether there was anything.
    fn render(&self) -> bool {
        let gathered: Vec<_> = {
            let mut inside = self.inside();
            std::iter::from_fn(|| inside.pending.pop_first()).take(self.limits.batch).collect()
        };
        if gathered.is_empty() {
            return false;
        }
        // Without the lock: the runtime does not wait for this.
        let rendered: Vec<_> = gathered.iter().map(|(about, news)| entry(about, news)).collect();
        let mut inside = self.inside();
        for entry in rendered {
            inside.push(entry, &self.limits);
        }
        let newest = inside.newest;
        drop(inside);
        self.newest.send_replace(newest);
        true
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many listen.
    pub fn listeners(&self) -> usize {
        self.inside().listeners.len()
    }

    pub(super) const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// A place for a listener from there that has seen entries up to `last` (an id), unless all are
    /// taken, and no other source has more of them.
    pub(super) fn listen(self: &Arc<Self>, source: Source, last: Option<&str>) -> Option<Listener> {
        let (mut inside, account) = (self.inside(), Account::certain(source));
        if !inside.listeners.has_room(account) {
            return None;
        }
        let (number, given_up) = (inside.next_listener, Arc::new(Notify::new()));
        inside.next_listener += 1;
        if let Some((_, oldest)) = inside.listeners.insert(number, account, given_up.clone()) {
            oldest.notify_one();
        }
        inside.listened = Some(Instant::now());
        let newest = inside.newest;
        let next = match last {
            None => Some(newest + 1),
            Some(id) => id
                .strip_prefix(&format!("{}-", self.run))
                .and_then(|number| number.parse::<u64>().ok())
                .filter(|number| *number <= newest)
                .map(|number| number + 1)
                .filter(|next| *next >= inside.oldest()),
        };
        drop(inside);
        Some(Listener {
            feed: Arc::clone(self),
            number,
            given_up,
            newest: self.newest.subscribe(),
            next,
            begun: false,
        })
    }

    fn id(&self, number: u64) -> String {
        format!("{}-{number}", self.run)
    }
}

impl Inside {
    fn is_listened_to(&self) -> bool {
        self.listened.is_some_and(|at| at.elapsed() < REMEMBERED)
    }

    fn forget(&mut self) {
        self.pending.clear();
        self.entries.clear();
        self.bytes = 0;
        // An entry that nobody can have seen, so that nobody goes on from before.
        self.newest += 1;
    }

    /// The number of the oldest entry that is there, or of the next one.
    fn oldest(&self) -> u64 {
        self.newest + 1 - self.entries.len() as u64
    }

    fn push(&mut self, entry: Entry, limits: &Limits) {
        self.bytes += entry.data.len();
        self.entries.push_back(entry);
        self.newest += 1;
        while self.entries.len() > limits.entries || self.bytes > limits.bytes {
            let Some(oldest) = self.entries.pop_front() else { break };
            self.bytes -= oldest.data.len();
        }
    }

    fn get(&self, number: u64) -> Option<Entry> {
        let at = number.checked_sub(self.oldest())?;
        usize::try_from(at).ok().and_then(|at| self.entries.get(at)).cloned()
    }
}

fn entry(about: &About, news: &News) -> Entry {
    let (kind, data) = match (about, news) {
        (About::Refused(id), News::Refused(refused)) => ("refused", json::refused_event(id, refused)),
        (_, News::Store(state)) => ("store", json::store(state)),
        (_, News::Change(Change::Topic(id, topic))) => ("topic", json::topic_event(id, topic.as_deref())),
        (_, News::Change(Change::Value(id, value))) => ("value", json::value_event(id, value.as_deref())),
        (_, News::Change(Change::Registration(id, registration))) => {
            ("device", json::device_event(id, registration.as_deref()))
        }
        (_, News::Refused(_) | News::Change(Change::Freshness(..))) => ("reload", serde_json::Value::Null),
    };
    Entry { kind, data: data.to_string().into() }
}

/// How often a listener that hears nothing is told the time: it knows then that the broker is
/// there.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// One browser. Its place is free again when it is dropped.
#[derive(Debug)]
pub(super) struct Listener {
    feed: Arc<Feed>,
    number: u64,
    /// Told when another listener has its place.
    given_up: Arc<Notify>,
    newest: watch::Receiver<u64>,
    /// The entry to be sent next; none if it has to load everything, and this is all it is told.
    next: Option<u64>,
    begun: bool,
}

impl Listener {
    /// What is sent next; none at the end. `now` in milliseconds since 1970.
    pub(super) async fn next(&mut self, now: impl Fn() -> u64) -> Option<Event> {
        let Some(next) = self.next else {
            if self.begun {
                return None;
            }
            self.begun = true;
            return Some(self.reload());
        };
        if !self.begun {
            self.begun = true;
            let data = serde_json::json!({ "now": now() }).to_string();
            return Some(Event::default().event("hello").id(self.feed.id(next - 1)).data(data));
        }
        loop {
            // Before it is looked, so that an entry after that wakes it.
            self.newest.mark_unchanged();
            let next = self.next?;
            let (entry, newest) = {
                let mut inside = self.feed.inside();
                inside.listened = Some(Instant::now());
                (inside.get(next), inside.newest)
            };
            if let Some(entry) = entry {
                self.next = Some(next + 1);
                let event = Event::default().event(entry.kind).id(self.feed.id(next));
                return Some(event.data(&*entry.data));
            }
            if next <= newest {
                self.next = None;
                return Some(self.reload());
            }
            tokio::select! {
                changed = self.newest.changed() => changed.ok()?,
                () = self.given_up.notified() => return None,
                () = tokio::time::sleep(HEARTBEAT) => {
                    let data = serde_json::json!({ "now": now() }).to_string();
                    return Some(Event::default().event("now").data(data));
                }
            }
        }
    }

    /// The id is that of the newest entry, so that the browser goes on from there.
    fn reload(&self) -> Event {
        let newest = self.feed.inside().newest;
        Event::default().event("reload").id(self.feed.id(newest)).data("{}")
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut inside = self.feed.inside();
        inside.listened = Some(Instant::now());
        inside.listeners.remove(&self.number);
    }
}
