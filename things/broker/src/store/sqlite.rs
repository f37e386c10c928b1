//! A store in one file of SQLite, in a folder that belongs to its owner alone.

use std::path::{Path, PathBuf};
use std::time::Duration;

use motemix_os::store::own_folder;
use motemix_os::store::sqlite::{self, Guarded, Layout};
use rusqlite::{Connection, OptionalExtension as _, Params, TransactionBehavior, params};

use super::{Counters, Retention, Store, StoreError};
use crate::state::{BadChange, RegistrationId, TopicId, Value};
use crate::{Change, Moment, State};
use history::{append, remove_first, trim_old};
pub use replica::{Replica, difference};
use room::{Room, Span, sum_of_taken};

/// The tables of a broker's store, and of a copy of what brokers store together. A value of a topic
/// has the next place; the highest is the newest. Ages are counted by a clock of their own.
macro_rules! tables {
    () => {
        "
        CREATE TABLE topics (
            id     TEXT PRIMARY KEY,
            change BLOB NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE history (
            topic     TEXT NOT NULL,
            place     INTEGER NOT NULL,
            published INTEGER NOT NULL,
            change    BLOB NOT NULL,
            PRIMARY KEY (topic, place)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE registrations (
            id     TEXT PRIMARY KEY,
            change BLOB NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE freshness (
            device BLOB PRIMARY KEY,
            change BLOB NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE age (moment INTEGER NOT NULL) STRICT;"
    };
}
mod history;
mod replica;
mod room;

const LAYOUT: Layout = Layout {
    kind: "broker's store",
    // "mmbr"
    application_id: 0x6d6d_6272,
    version: 1,
    schema: tables!(),
    guards: &["topics", "registrations", "freshness"],
    loss: "Topics and registrations that came since are forgotten, and readings and requests that were taken \
           would be taken again from whoever recorded them",
};

/// Changes in `broker.sqlite` of a folder.
///
/// It writes ahead and has synced when it says that something is kept, so that whatever happens to
/// the process or the machine, what was committed is there.
#[derive(Debug)]
pub struct Sqlite {
    file: PathBuf,
    connection: Guarded,
    retention: Retention,
    room: Room,
    /// The moment by which values are old.
    age: Option<Moment>,
    counters: Counters,
}

/// How much faster than time it may go to catch up with the clock on the wall: a broker that was
/// switched off for a month has a month to make up for, and a clock that was set wrong is noticed.
const CATCH_UP: u64 = 24;
/// How far ahead the clock on the wall has to be for its operator to hear of it.
const AHEAD: u64 = 24 * 3600;

impl Sqlite {
    /// The name of the file.
    pub const FILE: &str = "broker.sqlite";

    /// Opens the store of a folder, or makes an empty one.
    ///
    /// # Errors
    /// Others may write to the folder, the file is of something else or damaged, or a copy of what
    /// brokers store together, or the system refuses.
    pub fn open(folder: &Path, retention: Retention) -> Result<Self, StoreError> {
        let opened = Self::open_as(&LAYOUT, folder, retention);
        opened.map_err(|error| replica::refused_copy(&folder.join(Self::FILE)).unwrap_or(error))
    }

    /// Opens what a broker of this process has open, to read its history. Nothing can be written by
    /// it.
    ///
    /// # Errors
    /// There is nothing, or the system refuses.
    pub fn open_to_read(folder: &Path) -> Result<Self, StoreError> {
        let file = folder.join(Self::FILE);
        let connection = sqlite::open_to_read(&file)?;
        let retention = Retention::default();
        let (room, counters) = (Room::new(retention), Counters::default());
        Ok(Self { file, connection, retention, room, age: None, counters })
    }

    fn open_as(layout: &Layout, folder: &Path, retention: Retention) -> Result<Self, StoreError> {
        own_folder(folder)?;
        let file = folder.join(Self::FILE);
        let connection = layout.open(&file)?;
        let retention = Retention { values: retention.values.max(1), ..retention };
        let (room, counters) = (Room::new(retention), Counters::default());
        let mut store = Self { file, connection, retention, room, age: None, counters };
        store.begin()?;
        Ok(store)
    }

    fn failure(&self, error: rusqlite::Error) -> StoreError {
        sqlite::failure(&self.file, error).into()
    }

    /// Reads what is counted.
    fn begin(&mut self) -> Result<(), StoreError> {
        let mut topics = State::default();
        self.read_topics(&mut topics)?;
        for (id, topic) in topics.topics() {
            self.room.keep(id, Some(topic));
        }
        let query = format!(
            "SELECT topic, min(place), max(place), min(published), {} FROM history GROUP BY topic",
            sum_of_taken()
        );
        let mut read = || {
            let age = self.connection.query_row("SELECT moment FROM age", [], |row| row.get(0)).optional()?;
            self.age = age.map(moment);
            let mut query = self.connection.prepare(&query)?;
            let mut rows = query.query([])?;
            while let Some(row) = rows.next()? {
                let topic = TopicId(row.get::<_, String>(0)?.into());
                let next: i64 = row.get::<_, i64>(2)?.saturating_add(1);
                let (first, oldest, bytes) = (row.get(1)?, moment(row.get(3)?), row.get(4)?);
                self.room.set(&topic, Some(Span { first, next, oldest, bytes, of_first: None }));
            }
            Ok(())
        };
        read().map_err(|error| self.failure(error))?;
        self.room.commit();
        Ok(())
    }

    fn read_topics(&self, state: &mut State) -> Result<(), StoreError> {
        let query = "SELECT CAST(id AS BLOB), change FROM topics";
        self.read(state, "topics", (query, []), |_, change| matches!(change, Change::Topic(_, Some(_))))
    }

    /// Takes what a query found, changes under their keys, into a state.
    fn read(
        &self,
        state: &mut State,
        table: &'static str,
        (query, params): (&str, impl Params),
        is_of_table: impl Fn(&State, &Change) -> bool,
    ) -> Result<(), StoreError> {
        let unreadable = |problem| StoreError::Unreadable { file: self.file.clone(), table, problem };
        let wrong = |problem: &str| unreadable(BadChange::Malformed(problem.to_owned()));
        let rows = || {
            let mut query = self.connection.prepare_cached(query)?;
            let rows = query.query_map(params, |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect::<Result<Vec<(Vec<u8>, Vec<u8>)>, _>>()
        };
        for (key, bytes) in rows().map_err(|error| self.failure(error))? {
            let change = Change::decode(&bytes).map_err(unreadable)?;
            if key_of(&change) != key {
                return Err(wrong("it stands under another name"));
            }
            if !is_of_table(state, &change) {
                return Err(wrong("it does not belong here"));
            }
            state.apply(change);
        }
        Ok(())
    }

    /// Keeps changes, all or none; for a copy of a log, with how far it goes then.
    fn keep(&mut self, changes: &[Change], place: Option<(u64, &str)>) -> Result<(), StoreError> {
        // A transaction that is dropped leaves nothing.
        match self.write(changes, place) {
            Ok(removed) => {
                self.connection.note();
                self.room.commit();
                self.note_removed(removed);
                Ok(())
            }
            Err(error) => {
                self.room.take_back();
                Err(self.failure(error))
            }
        }
    }

    fn note_removed(&mut self, removed: u64) {
        if removed > 0 && self.counters.removed == 0 {
            tracing::warn!(
                "history has no more room: the oldest values of whoever has the most go \
                 (history.bytes_of_a_device, bytes_of_others and bytes; more of this is counted)"
            );
        }
        self.counters.removed += removed;
        self.counters.bytes = self.room.bytes();
    }

    /// Returns how many values had to go so that others have room.
    fn write(&mut self, changes: &[Change], place: Option<(u64, &str)>) -> rusqlite::Result<u64> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let room = &mut self.room;
        for (index, change) in changes.iter().enumerate() {
            // Of several changes of one thing, the last one stays.
            let mut later = changes[index + 1..].iter().take(LOOK_AHEAD);
            if later.any(|later| is_of_same(change, later)) {
                continue;
            }
            match change {
                Change::Value(topic, Some(value)) => {
                    let span = append(&transaction, topic, value, change, room.span(topic), self.retention)?;
                    room.set(topic, Some(span));
                }
                Change::Value(topic, None) => {
                    transaction
                        .prepare_cached("DELETE FROM history WHERE topic = ?1")?
                        .execute([&*topic.0])?;
                    room.set(topic, None);
                }
                Change::Topic(id, topic) => {
                    room.keep(id, topic.as_deref());
                    let kept = topic.as_ref().map(|_| change.encode());
                    keep(&transaction, "topics", &id.0, kept.as_deref())?;
                }
                Change::Registration(RegistrationId(id), registration) => {
                    let kept = registration.as_ref().map(|_| change.encode());
                    keep(&transaction, "registrations", id, kept.as_deref())?;
                }
                Change::Freshness(device, freshness) => {
                    if freshness.is_some() {
                        let statement = "INSERT INTO freshness (device, change) VALUES (?1, ?2)
                            ON CONFLICT (device) DO UPDATE SET change = excluded.change";
                        let mut statement = transaction.prepare_cached(statement)?;
                        statement.execute(params![device.as_bytes(), change.encode()])?;
                    } else {
                        let mut statement =
                            transaction.prepare_cached("DELETE FROM freshness WHERE device = ?1")?;
                        statement.execute([device.as_bytes()])?;
                    }
                }
            }
        }
        if let Some((place, batch)) = place {
            let statement = "UPDATE replica SET place = ?1, batch = ?2";
            transaction.prepare_cached(statement)?.execute(params![place, batch])?;
        }
        let mut removed = 0;
        while let Some(holder) = room.too_much() {
            let before = removed;
            removed += room.shrink(holder, |topic, span| remove_first(&transaction, topic, span))?;
            if removed == before {
                break;
            }
        }
        transaction.commit()?;
        Ok(removed)
    }
}

impl Store for Sqlite {
    fn load(&mut self) -> Result<State, StoreError> {
        let mut state = State::default();
        self.read_topics(&mut state)?;
        let query = "SELECT CAST(topic AS BLOB), change FROM history WHERE topic = ?1 AND place = ?2";
        for (TopicId(topic), span) in self.room.spans() {
            // None but of a topic that there is.
            let is_value = |state: &State, change: &Change| match change {
                Change::Value(id, Some(_)) => state.topic(id).is_some(),
                _ => false,
            };
            self.read(&mut state, "history", (query, params![&**topic, span.next - 1]), is_value)?;
        }
        let query = "SELECT CAST(id AS BLOB), change FROM registrations";
        self.read(&mut state, "registrations", (query, []), |_, change| {
            matches!(change, Change::Registration(_, Some(_)))
        })?;
        let query = "SELECT device, change FROM freshness";
        self.read(&mut state, "freshness", (query, []), |_, change| {
            matches!(change, Change::Freshness(_, Some(_)))
        })?;
        Ok(state)
    }

    fn commit(&mut self, changes: &[Change]) -> Result<(), StoreError> {
        if changes.is_empty() {
            return Ok(());
        }
        self.keep(changes, None)
    }

    fn history(
        &mut self,
        topic: &TopicId,
        most: usize,
        before: Option<Moment>,
    ) -> Result<Vec<Value>, StoreError> {
        let read = || {
            let mut query = self.connection.prepare_cached(
                "SELECT change FROM history WHERE topic = ?1 AND published < ?2 ORDER BY place DESC LIMIT ?3",
            )?;
            let before = before.map_or(i64::MAX, millis);
            let most = i64::try_from(most).unwrap_or(i64::MAX);
            let rows = query.query_map(params![&*topic.0, before, most], |row| row.get::<_, Vec<u8>>(0))?;
            rows.collect::<Result<Vec<_>, _>>()
        };
        let rows = read().map_err(|error| self.failure(error))?;
        let unreadable =
            |problem| StoreError::Unreadable { file: self.file.clone(), table: "history", problem };
        let values = rows.iter().map(|bytes| match Change::decode(bytes).map_err(unreadable)? {
            Change::Value(id, Some(value)) if id == *topic => Ok(value.as_ref().clone()),
            _ => Err(unreadable(BadChange::Malformed("not a value of this topic".to_owned()))),
        });
        values.collect()
    }

    fn tidy(&mut self, now: Moment, passed: Duration) -> Result<(), StoreError> {
        let passed = u64::try_from(passed.as_millis()).unwrap_or(u64::MAX);
        let at_most = |before: Moment| before.plus_millis(passed.saturating_mul(CATCH_UP));
        let age = self
            .age
            .filter(|before| *before > Moment::WRITTEN)
            .map_or(now, |before| now.min(at_most(before)));
        let ahead = now.as_secs() - age.as_secs();
        if ahead > AHEAD && self.counters.clock_ahead <= AHEAD {
            let days = ahead / AHEAD;
            tracing::warn!(
                days,
                "the clock is days ahead of when this broker ran last: old values go little by little; look \
                 whether the clock is right"
            );
        }
        let cutoff = cutoff(age, self.retention);
        let old: Vec<(TopicId, Span)> = self
            .room
            .spans()
            .filter(|(_, span)| span.oldest < cutoff && span.has_older())
            .map(|(topic, span)| (topic.clone(), span))
            .collect();
        let trim = || {
            self.connection.execute("DELETE FROM age", [])?;
            self.connection.execute("INSERT INTO age (moment) VALUES (?1)", [millis(age)])?;
            for (topic, span) in old {
                let span = trim_old(&self.connection, &topic, span, cutoff)?;
                self.room.set(&topic, Some(span));
            }
            Ok(())
        };
        let trimmed = trim().map_err(|error| self.failure(error));
        // Each is a change of its own.
        self.room.commit();
        (self.age, self.counters.clock_ahead, self.counters.bytes) = (Some(age), ahead, self.room.bytes());
        trimmed
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}

fn key_of(change: &Change) -> &[u8] {
    match change {
        Change::Topic(TopicId(id), _)
        | Change::Value(TopicId(id), _)
        | Change::Registration(RegistrationId(id), _) => id.as_bytes(),
        Change::Freshness(device, _) => device.as_bytes(),
    }
}

/// How far a change looks for a later one of the same thing, so that a batch costs no square.
const LOOK_AHEAD: usize = 64;

fn is_of_same(one: &Change, other: &Change) -> bool {
    match (one, other) {
        (Change::Topic(one, _), Change::Topic(other, _)) => one == other,
        (Change::Registration(one, _), Change::Registration(other, _)) => one == other,
        (Change::Freshness(one, _), Change::Freshness(other, _)) => one == other,
        _ => false,
    }
}

fn keep(
    transaction: &Connection,
    table: &'static str,
    id: &str,
    change: Option<&[u8]>,
) -> rusqlite::Result<()> {
    match change {
        Some(change) => {
            let statement = format!(
                "INSERT INTO {table} (id, change) VALUES (?1, ?2)
                 ON CONFLICT (id) DO UPDATE SET change = excluded.change"
            );
            transaction.prepare_cached(&statement)?.execute(params![id, change])?;
        }
        None => {
            transaction.prepare_cached(&format!("DELETE FROM {table} WHERE id = ?1"))?.execute([id])?;
        }
    }
    Ok(())
}

fn cutoff(now: Moment, retention: Retention) -> Moment {
    Moment::from_millis(now.as_millis().saturating_sub(retention.seconds.saturating_mul(1000)))
}

fn millis(moment: Moment) -> i64 {
    i64::try_from(moment.as_millis()).unwrap_or(i64::MAX)
}

fn moment(millis: i64) -> Moment {
    Moment::from_millis(u64::try_from(millis).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::state::{Signed, Topic};

    /// SQLite reports a bound on its pages the way it reports a disk without room.
    #[test]
    fn a_full_disk_is_an_error_that_says_so_and_what_was_here_stays() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Sqlite::open(folder.path(), Retention::default()).unwrap();
        let id = TopicId("t".into());
        let topic = Topic {
            name: "one".into(),
            topic_type: None,
            content_format: None,
            expires: None,
            max_subscribers: None,
            observer_check: 86400,
            device: None,
            owner: None,
        };
        let value = |len| Value {
            published: Moment::from_millis(1),
            content_format: None,
            payload: vec![7; len].into(),
            signed: Signed::Unchecked,
        };
        store.commit(&[Change::Topic(id.clone(), Some(Arc::new(topic)))]).unwrap();
        store.commit(&[Change::Value(id.clone(), Some(Arc::new(value(1))))]).unwrap();
        let before = store.load().unwrap();
        store.connection.pragma_update(None, "max_page_count", 1).unwrap();

        let too_much = [Change::Value(id.clone(), Some(Arc::new(value(100_000))))];
        let said = store.commit(&too_much).unwrap_err().to_string();

        assert!(said.contains("broker.sqlite: the disk is full; free some space"), "{said}");
        assert_eq!(store.load().unwrap(), before);
        assert_eq!(store.history(&id, 10, None).unwrap().len(), 1);
        store.connection.pragma_update(None, "max_page_count", 1_000_000).unwrap();
        store.commit(&too_much).unwrap();
        assert_eq!(store.history(&id, 10, None).unwrap(), [value(100_000), value(1)]);
    }
}
