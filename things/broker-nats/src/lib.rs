//! A store for several brokers: a log of changes in a stream of NATS JetStream.
//!
//! ```text
//! Store::commit ─ Batch: messages ─ publish ─ does it count? ─ Replica (SQLite)
//! Store::news ─ what others published ─ which batches count? ─ Replica ─ Broker::foreign
//! ```
//!
//! The stream is the truth. Each broker has a copy of it in its folder, from which it begins, and
//! which has what was published before. A batch of changes names the last batch that counts as far
//! as its broker knows, and counts if none came in between. So all brokers make the same changes in
//! the same order, and a broker that was behind decides anew.

#![forbid(unsafe_code)]

mod connection;
mod message;
mod settings;

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use motemix_broker::state::{TopicId, Value};
use motemix_broker::store::batch::{Batches, Kind, Logged, Message, Place, Whole};
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
    /// The last message that was taken in.
    at: u64,
    /// The last message of the last snapshot.
    snapshot_at: u64,
    snapshot_every: u64,
    /// Bytes of changes since then, and how many there may be.
    unwritten: u64,
    snapshot_bytes: u64,
    /// The batch that this broker publishes; the number of its first message, if it counts.
    ours: Option<(String, Option<u64>)>,
    /// The stream begins after this message, as far as is known.
    removed: u64,
    /// The stream was put back from a backup while this broker ran: why nothing is stored.
    put_back: Option<String>,
    /// How often there was a connection when the stream was last compared.
    connects: u64,
    /// A message that no broker of this version wrote: if it is removed, nothing is missing.
    refused: Option<u64>,
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
        let head = Place { sequence: at, batch: replica.batch().to_owned() };
        let mut store = Self {
            at,
            ours: None,
            removed: stream.first - 1,
            put_back: None,
            connects: connection.connects(),
            refused: None,
            snapshot_at: 0,
            snapshot_every: settings.snapshot_every.max(1),
            unwritten: stream.bytes,
            snapshot_bytes: most / SNAPSHOT,
            batches: Batches::new(settings.batch_seed, head),
            fetched: VecDeque::new(),
            untold: Vec::new(),
            not_copied: None,
            connection,
            replica,
        };
        let mark = store.batches.mark();
        let last = store.connection.mark(mark)?;
        if at >= last {
            return Err(store.connection.problem(
                format!("it has {} messages, and the copy in the folder is of {at}", last - 1),
                &adopt(folder),
            ));
        }
        if at < store.removed {
            store.lose(stream.first);
        }
        // A cluster may be about to choose a leader.
        let end = Instant::now() + settings.start.max(settings.patience);
        if at > 0 && !store.batches.is_lost() {
            store.compare(at, folder, end)?;
        }
        while let Err(problem) = store.catch_up(|_| {}) {
            if store.batches.is_lost() && store.at >= last || Instant::now() >= end {
                return Err(problem);
            }
            std::thread::sleep(PAUSE);
        }
        Ok(store)
    }

    /// The stream goes on with this message: what was before it is not there.
    fn lose(&mut self, first: u64) {
        (self.removed, self.at) = (self.removed.max(first - 1), first - 1);
        self.batches.lose();
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
                return if self.batches.is_lost() { Err(self.missing()) } else { Ok(()) };
            }
            let told = self.connection.stored();
            let range = self.at + 1..=told.min(self.at + FETCH);
            let mut fetched = self.connection.fetch(range.clone())?;
            if fetched.first().is_none_or(|message| message.sequence > self.at + 1) {
                let (first, last) = self.connection.ends()?;
                if last <= self.at {
                    self.connection.disbelieve(told, last);
                    return if self.batches.is_lost() { Err(self.missing()) } else { Ok(()) };
                }
                // Somebody removed what was no batch of a broker.
                if self.refused == Some(self.at + 1) {
                    self.at += 1;
                    continue;
                }
                // They were removed: a snapshot follows.
                if first > self.at + 1 {
                    self.lose(first);
                    continue;
                }
                // A server that has just come to lead the stream may not have had it yet. Now it
                // has all that it said.
                fetched = self.connection.fetch(range)?;
                let Some(message) = fetched.first() else { return Err(self.missing()) };
                if message.sequence > self.at + 1 {
                    self.lose(message.sequence);
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

    /// Why nothing can be decided.
    fn missing(&self) -> StoreError {
        self.connection.problem(
            "messages are missing in it that no snapshot has",
            "a broker that has them writes a snapshot after 10,000 messages at the latest; if none has, restore the \
             stream from a backup, or give the brokers one of another name to begin anew",
        )
    }

    /// What a message changes, which is in the copy then.
    fn changes_of(&mut self, message: &Logged) -> Result<Vec<Change>, StoreError> {
        self.unwritten += message.payload.len() as u64;
        let sequence = message.sequence;
        let whole = match self.not_copied.take() {
            Some((of, whole)) if of == sequence => Some(whole),
            _ => self.batches.take(message).map_err(|problem| {
                // It is fetched again: it may be removed meanwhile.
                (self.refused, self.fetched) = (Some(sequence), VecDeque::new());
                self.connection.problem(
                    format!("message {sequence}: {problem}"),
                    "brokers of one network are of one version; remove what others wrote to the stream while this broker runs",
                )
            })?,
        };
        let Some(whole) = whole else {
            self.at = sequence;
            return Ok(Vec::new());
        };
        self.copy(&whole, sequence).inspect_err(|_| self.not_copied = Some((sequence, whole)))
    }

    /// What a batch changes, which is in the copy then. This broker's own is no news to it.
    fn copy(&mut self, whole: &Whole, sequence: u64) -> Result<Vec<Change>, StoreError> {
        if self.batches.is_lost() {
            return self.begin_with(whole);
        }
        if whole.kind == Kind::Snapshot {
            self.replica.apply(&[], sequence, &whole.batch)?;
            (self.snapshot_at, self.unwritten) = (sequence, 0);
        } else {
            self.replica.apply(&whole.changes, sequence, &whole.batch)?;
        }
        self.at = sequence;
        if let Some((_, first)) = self.ours.as_mut().filter(|(batch, _)| *batch == whole.batch) {
            *first = Some(whole.first);
            return Ok(Vec::new());
        }
        Ok(if whole.kind == Kind::Snapshot { Vec::new() } else { whole.changes.clone() })
    }

    /// Takes a snapshot for what is known, and looks again at all that stands after the batch that
    /// it follows.
    fn begin_with(&mut self, snapshot: &Whole) -> Result<Vec<Change>, StoreError> {
        let mut state = State::default();
        for change in &snapshot.changes {
            state.apply(change.clone());
        }
        let changes = difference(&self.replica.load()?, &state);
        let Place { sequence, batch } = &snapshot.after;
        self.replica.apply(&changes, *sequence, batch)?;
        self.batches.go_on(snapshot.after.clone());
        // Counted, and removed before it was read here.
        if let Some((_, first)) = self.ours.as_mut().filter(|(ours, _)| ours == batch) {
            *first = Some(*sequence);
        }
        self.fetched.clear();
        self.at = self.removed.max(*sequence);
        Ok(changes)
    }

    fn messages(&mut self, changes: &[Change]) -> Result<Vec<Message>, StoreError> {
        let messages = self.batches.split(changes, self.connection.message_len());
        messages.map_err(|long| self.connection.problem(long.to_string(), long.remedy()))
    }

    /// Stores a batch. Returns the number of its first message, or nothing if another one counts in
    /// its place: then changes of others wait to be told, or were none.
    fn store(&mut self, kind: Kind, changes: &[Change]) -> Result<Option<u64>, StoreError> {
        self.compare_again()?;
        // Under a name of its own each time: the stream may have a part of the one before.
        let messages = self.messages(changes)?;
        let bytes: usize = messages.iter().map(|message| message.payload.len()).sum();
        let name = messages.first().map(|message| message.batch.clone()).unwrap_or_default();
        let stored = self.connection.publish(kind, messages)?;
        if let Some(sequence) = stored.iter().find(|sequence| **sequence <= self.at) {
            return Err(
                self.was_put_back(format!("it stores message {sequence}, and had {} before", self.at))
            );
        }
        let follow = stored.iter().zip(self.at + 1..).all(|(sequence, next)| *sequence == next);
        if let Some(last) = stored.last().copied().filter(|_| follow) {
            // If the copy cannot be written, it is news to this broker what it published itself.
            let changes = if kind == Kind::Snapshot { &[] } else { changes };
            self.replica.apply(changes, last, &name)?;
            let first = self.at + 1;
            self.at = last;
            self.batches.count(Place { sequence: last, batch: name });
            self.unwritten += bytes as u64;
            return Ok(Some(first));
        }
        self.ours = Some((name, None));
        let mut untold = Vec::new();
        let caught_up = self.catch_up(|mut changes| untold.append(&mut changes));
        self.untold.append(&mut untold);
        let first = self.ours.take().and_then(|(_, first)| first);
        if first.is_none() && self.untold.is_empty() {
            caught_up?;
        }
        Ok(first)
    }

    /// The stream was put back from a backup, and this broker knows more. What it would store could
    /// count for nobody else.
    fn was_put_back(&mut self, problem: String) -> StoreError {
        let error = self.connection.problem(
            problem.clone(),
            "was it restored from a backup? Restore a newer one, or start this broker again: it says what else there \
             is to do",
        );
        self.put_back = Some(problem);
        error
    }

    /// Looks after each new connection whether the stream still has the last batch that counts.
    fn compare_again(&mut self) -> Result<(), StoreError> {
        if let Some(problem) = self.put_back.clone() {
            return Err(self.was_put_back(problem));
        }
        let connects = self.connection.connects();
        if connects == self.connects {
            return Ok(());
        }
        let Place { sequence, batch } = self.batches.head().clone();
        if sequence > self.removed {
            let found = self.connection.fetch(sequence..=sequence)?;
            if found.iter().any(|message| message.batch != batch) {
                return Err(
                    self.was_put_back(format!("its message {sequence} is not the one that was copied"))
                );
            }
        }
        self.connects = connects;
        Ok(())
    }

    /// Writes all that is known, so that nobody has to read what was before, which goes.
    fn snapshot(&mut self) -> Result<(), StoreError> {
        let state: Vec<Change> = self.replica.load()?.as_changes().collect();
        let after = self.batches.head().sequence;
        // One that came too late to count is the state after `after` all the same: what stands
        // behind that is needed with it.
        let first = self.store(Kind::Snapshot, &state)?.unwrap_or(after + 1);
        if !self.batches.is_lost() {
            (self.snapshot_at, self.unwritten) = (self.at, 0);
            self.removed = self.removed.max(first - 1);
            self.connection.remove_before(first);
        }
        Ok(())
    }

    fn is_behind(&self) -> bool {
        self.batches.is_lost() || !self.fetched.is_empty() || !self.untold.is_empty()
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
        // Others that changed nothing came in between: the broker has nothing to decide anew.
        let mut attempts = 0..ATTEMPTS;
        loop {
            if self.is_behind() || attempts.next().is_none() {
                return Err(StoreError::Behind);
            }
            if self.store(Kind::Changes, changes)?.is_some() {
                break;
            }
        }
        let is_due =
            self.at - self.snapshot_at >= self.snapshot_every || self.unwritten >= self.snapshot_bytes;
        if is_due
            && !self.is_behind()
            && let Err(problem) = self.snapshot()
        {
            tracing::warn!(%problem, "no snapshot; the next commit tries again");
        }
        if self.is_behind() || self.connection.stored() > self.at {
            self.connection.notify().notify_one();
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
