//! A store for several brokers: a log of changes in a stream of NATS JetStream.
//!
//! ```text
//! Store::commit ─ Batch: messages ─ publish, if nothing else came in between ─ Replica (SQLite)
//! Store::news ─ what others published ─ Batch whole? ─ Replica ─ Broker::foreign
//! ```
//!
//! The stream is the truth. Each broker has a copy of it in its folder, from which it begins, and
//! which has what was published before. A batch of changes expects the last sequence number that
//! the broker knows. So all brokers make the same changes in the same order, and a broker that was
//! behind decides anew.

#![forbid(unsafe_code)]

mod connection;
mod message;
mod settings;

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use motemix_broker::state::{TopicId, Value};
use motemix_broker::store::batch::{Batches, Kind, Logged, Message, Whole};
use motemix_broker::store::{Counters, Replica, Retention, Store, StoreError, difference};
use motemix_broker::{Change, Moment, State};
use tokio::sync::Notify;

use connection::Connection;
pub use settings::Settings;

/// Messages that are fetched before they are dealt with.
const FETCH: u64 = 256;
/// Between two attempts to read the stream at the beginning.
const PAUSE: Duration = Duration::from_millis(200);
/// How often a batch is published again after others that change nothing.
const ATTEMPTS: u32 = 16;
/// A stream has so many times the bytes that history has at most: two snapshots, and what is
/// between.
const STREAM: u64 = 4;
/// There is a snapshot after changes of this part of that.
const SNAPSHOT: u64 = 16;

/// Changes in a stream of JetStream, with a copy in a folder.
#[derive(Debug)]
pub struct JetStream {
    connection: Connection,
    replica: Replica,
    batches: Batches,
    /// The last message whose effect is known.
    at: u64,
    /// The last message of the last snapshot.
    snapshot_at: u64,
    snapshot_every: u64,
    /// Bytes of changes since then, and how many there may be.
    unwritten: u64,
    snapshot_bytes: u64,
    /// Messages were removed that this broker has not seen: only a snapshot helps.
    is_lost: bool,
    /// Fetched, and not dealt with.
    fetched: VecDeque<Logged>,
    /// In the copy, and not told to the broker.
    untold: Vec<Change>,
    /// The batch that ends with the first of these, if the copy could not be written.
    not_copied: Option<(u64, Whole)>,
}

impl JetStream {
    /// Connects, makes the stream if there is none, and reads what the copy in the folder lacks.
    ///
    /// # Errors
    /// No server can be reached, the stream does not begin where the copy ends, or the folder has
    /// something else.
    pub fn open(settings: &Settings, folder: &Path, retention: Retention) -> Result<Self, StoreError> {
        let most = retention.bytes.saturating_mul(STREAM);
        let (connection, stream) = Connection::open(settings, most)?;
        let replica = Replica::open(folder, retention, &stream.identity)?;
        let at = replica.place();
        let mut store = Self {
            at,
            is_lost: at + 1 < stream.first,
            snapshot_at: 0,
            snapshot_every: settings.snapshot_every.max(1),
            unwritten: stream.bytes,
            snapshot_bytes: most / SNAPSHOT,
            batches: Batches::new(settings.batch_seed),
            fetched: VecDeque::new(),
            untold: Vec::new(),
            not_copied: None,
            connection,
            replica,
        };
        let mark = store.messages(&[])?;
        let last = store.connection.mark(mark)?;
        if at >= last {
            return Err(store.connection.problem(
                format!("it has {} messages, and the copy in the folder is of {at}", last - 1),
                &adopt(folder),
            ));
        }
        if store.is_lost {
            store.at = stream.first - 1;
        }
        // A cluster may be about to choose a leader.
        let end = Instant::now() + settings.start.max(settings.patience);
        if at > 0 && !store.is_lost {
            store.compare(at, folder, end)?;
        }
        while let Err(problem) = store.catch_up(|_| {}) {
            if Instant::now() >= end {
                return Err(problem);
            }
            std::thread::sleep(PAUSE);
        }
        if store.is_lost {
            return Err(store.connection.problem(
                "its beginning was removed, and there is no snapshot",
                "restore it from a backup, or give the brokers a stream of another name to begin anew",
            ));
        }
        Ok(store)
    }

    /// Refuses a stream that was put back from a backup and then went on.
    fn compare(&self, at: u64, folder: &Path, end: Instant) -> Result<(), StoreError> {
        loop {
            match self.connection.fetch(at..=at) {
                Ok(found) if found.iter().any(|message| message.batch != self.replica.batch()) => {
                    let problem = format!("its message {at} is not the one that was copied");
                    return Err(self.connection.problem(problem, &adopt(folder)));
                }
                // A snapshot may have removed it meanwhile.
                Ok(_) => return Ok(()),
                Err(problem) if Instant::now() >= end => return Err(problem),
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
    }

    /// Takes in what is stored after `at`; changes go to `to` once the copy has them.
    fn catch_up(&mut self, mut to: impl FnMut(Vec<Change>)) -> Result<(), StoreError> {
        loop {
            while let Some(message) = self.fetched.pop_front() {
                if message.sequence <= self.at {
                    continue;
                }
                match self.changes_of(&message) {
                    Ok(changes) if changes.is_empty() => {}
                    Ok(changes) => to(changes),
                    Err(problem) => {
                        self.fetched.push_front(message);
                        return Err(problem);
                    }
                }
            }
            if self.connection.stored() <= self.at {
                return Ok(());
            }
            let told = self.connection.stored();
            let range = self.at + 1..=told.min(self.at + FETCH);
            let mut fetched = self.connection.fetch(range.clone())?;
            if fetched.first().is_none_or(|message| message.sequence > self.at + 1) {
                let (first, last) = self.connection.ends()?;
                if last <= self.at {
                    self.connection.disbelieve(told, last);
                    return Ok(());
                }
                // They were removed: a snapshot follows.
                if first > self.at + 1 {
                    (self.is_lost, self.at) = (true, first - 1);
                    continue;
                }
                // A server that has just come to lead the stream may not have had it yet. Now it
                // has all that it said.
                fetched = self.connection.fetch(range)?;
                let Some(message) = fetched.first() else {
                    return Err(self.connection.problem("messages are missing in it", "restore it"));
                };
                if message.sequence > self.at + 1 {
                    (self.is_lost, self.at) = (true, message.sequence - 1);
                }
            }
            // What stands after a gap is looked for again.
            let whole =
                fetched.iter().zip(self.at + 1..).take_while(|(message, next)| message.sequence == *next);
            let whole = whole.count();
            fetched.truncate(whole);
            self.fetched.extend(fetched);
        }
    }

    /// What a message changes, which is in the copy then.
    fn changes_of(&mut self, message: &Logged) -> Result<Vec<Change>, StoreError> {
        self.unwritten += message.payload.len() as u64;
        let sequence = message.sequence;
        let whole = match self.not_copied.take() {
            Some((of, whole)) if of == sequence => Some(whole),
            _ => self.batches.take(message).map_err(|problem| {
                self.connection.problem(
                    format!("message {sequence}: {problem}"),
                    "brokers of one network are of one version; remove what others wrote to the stream",
                )
            })?,
        };
        let Some(whole) = whole else {
            self.at = sequence;
            return Ok(Vec::new());
        };
        match self.copy(&whole, sequence) {
            Ok(changes) => {
                self.at = sequence;
                Ok(changes)
            }
            Err(problem) => {
                self.not_copied = Some((sequence, whole));
                Err(problem)
            }
        }
    }

    /// What a batch changes, which is in the copy then.
    fn copy(&mut self, whole: &Whole, sequence: u64) -> Result<Vec<Change>, StoreError> {
        if whole.kind == Kind::Snapshot {
            self.unwritten = 0;
        }
        match whole.kind {
            Kind::Changes if self.is_lost => Ok(Vec::new()),
            Kind::Changes => {
                self.replica.apply(&whole.changes, sequence, &whole.batch)?;
                Ok(whole.changes.clone())
            }
            Kind::Snapshot if self.is_lost => {
                let mut state = State::default();
                for change in &whole.changes {
                    state.apply(change.clone());
                }
                let changes = difference(&self.replica.load()?, &state);
                self.replica.apply(&changes, sequence, &whole.batch)?;
                (self.is_lost, self.snapshot_at) = (false, sequence);
                Ok(changes)
            }
            Kind::Snapshot => {
                self.snapshot_at = sequence;
                Ok(Vec::new())
            }
        }
    }

    fn messages(&mut self, changes: &[Change]) -> Result<Vec<Message>, StoreError> {
        let messages = self.batches.split(changes, self.connection.message_len());
        messages.map_err(|long| self.connection.problem(long.to_string(), long.remedy()))
    }

    /// Stores a batch of changes after all that the broker knows: how many bytes, the number of the
    /// last message, and the batch's name.
    fn publish(&mut self, changes: &[Change]) -> Result<(u64, u64, String), StoreError> {
        for _ in 0..ATTEMPTS {
            if self.is_lost || !self.fetched.is_empty() || !self.untold.is_empty() {
                break;
            }
            // Under a name of its own each time: servers may have a part of the one before.
            let messages = self.messages(changes)?;
            let bytes: usize = messages.iter().map(|message| message.payload.len()).sum();
            let name = messages.first().map(|message| message.batch.clone()).unwrap_or_default();
            match self.connection.publish(Kind::Changes, messages, self.at) {
                Ok(last) => return Ok((bytes as u64, last, name)),
                // A broker that begins stores a batch without changes, and one that goes on a
                // snapshot: the broker has nothing to decide anew then.
                Err(StoreError::Behind) => {
                    let mut untold = Vec::new();
                    let caught_up = self.catch_up(|mut changes| untold.append(&mut changes));
                    self.untold = untold;
                    if self.untold.is_empty() {
                        caught_up?;
                    }
                }
                Err(problem) => return Err(problem),
            }
        }
        Err(StoreError::Behind)
    }

    /// Writes all that is known, so that nobody has to read what was before, which goes.
    fn snapshot(&mut self) -> Result<(), StoreError> {
        let state: Vec<Change> = self.replica.load()?.as_changes().collect();
        let messages = self.messages(&state)?;
        let first = self.at + 1;
        self.at = self.connection.publish(Kind::Snapshot, messages, self.at)?;
        (self.snapshot_at, self.unwritten) = (self.at, 0);
        self.connection.remove_before(first);
        Ok(())
    }
}

impl Store for JetStream {
    fn load(&mut self) -> Result<State, StoreError> {
        self.replica.load()
    }

    fn commit(&mut self, changes: &[Change]) -> Result<(), StoreError> {
        if changes.is_empty() {
            return Ok(());
        }
        let (bytes, last, batch) = self.publish(changes)?;
        self.unwritten += bytes;
        // If the copy cannot be written, it is news to this broker what it published itself.
        self.replica.apply(changes, last, &batch)?;
        self.at = last;
        let is_due =
            self.at - self.snapshot_at >= self.snapshot_every || self.unwritten >= self.snapshot_bytes;
        if is_due && let Err(problem) = self.snapshot() {
            tracing::warn!(%problem, "no snapshot; the next commit tries again");
        }
        Ok(())
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn news(&mut self) -> Result<Vec<Change>, StoreError> {
        let mut news = std::mem::take(&mut self.untold);
        let caught_up = self.catch_up(|mut changes| news.append(&mut changes));
        // What the copy has already is not read again.
        if news.is_empty() { caught_up.map(|()| news) } else { Ok(news) }
    }

    fn has_news(&self) -> Option<Arc<Notify>> {
        Some(self.connection.notify())
    }

    fn history(
        &mut self,
        topic: &TopicId,
        most: usize,
        before: Option<Moment>,
    ) -> Result<Vec<Value>, StoreError> {
        self.replica.history(topic, most, before)
    }

    fn tidy(&mut self, now: Moment, passed: Duration) -> Result<(), StoreError> {
        self.replica.tidy(now, passed)
    }

    fn counters(&self) -> Counters {
        Counters { false_news: self.connection.false_news(), ..self.replica.counters() }
    }
}

/// What to do where stream and copy part.
fn adopt(folder: &Path) -> String {
    format!(
        "was it restored from a backup? Restore a newer one, or begin anew on purpose with what it has: `motemix adopt \
         {}`",
        folder.join(Replica::FILE).display()
    )
}

/// The snippets of the package's front page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
