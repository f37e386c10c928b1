//! A copy of what several brokers store together elsewhere, up to a place in their log.

use std::path::Path;
use std::time::Duration;

use motemix_host::store::sqlite::put_aside;
use rusqlite::{OptionalExtension as _, params};

use super::Sqlite;
use crate::state::{TopicId, Value};
use crate::store::{Counters, Retention, Store as _, StoreError};
use crate::{Change, Moment, State};

/// The copy of a log of changes in a broker's folder: the broker begins with it, and finds there
/// what was published before.
///
/// The log is what is durable. Here a power cut may take the last changes away, together with how
/// far the copy went, and they are read from the log again.
#[derive(Debug)]
pub struct Replica {
    sqlite: Sqlite,
    place: u64,
    batch: String,
}

impl Replica {
    /// The name of the file.
    pub const FILE: &str = Sqlite::FILE;

    /// Opens the copy of the log of this name, or makes an empty one.
    ///
    /// # Errors
    /// The folder has something else, or the system refuses.
    pub fn open(folder: &Path, retention: Retention, log: &str) -> Result<Self, StoreError> {
        // What a copy has, the log has as well: one without bytes, or none, is read again. What its
        // connection left beside it goes too, or SQLite would read it into the next one.
        let file = folder.join(Sqlite::FILE);
        if !std::fs::metadata(&file).is_ok_and(|found| found.len() > 0) {
            put_aside(&file)?;
        }
        let sqlite = Sqlite::open(folder, retention)?;
        let schema = "CREATE TABLE IF NOT EXISTS replica (
                log   TEXT NOT NULL,
                place INTEGER NOT NULL,
                batch TEXT NOT NULL
            ) STRICT";
        let prepare = || {
            sqlite.connection.pragma_update(None, "synchronous", "normal")?;
            sqlite.connection.execute_batch(schema)?;
            let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
            sqlite.connection.query_row("SELECT log, place, batch FROM replica", [], row).optional()
        };
        let found: Option<(String, u64, String)> = prepare().map_err(|error| sqlite.failure(error))?;
        let mut replica = Self { sqlite, place: 0, batch: String::new() };
        let problem = match found {
            Some((of, place, batch)) if of == log => {
                (replica.place, replica.batch) = (place, batch);
                return Ok(replica);
            }
            Some((of, ..)) => format!("it has a copy of {of}, not of {log}"),
            None if replica.load()? != State::default() => "it has a store of its own".to_owned(),
            None => {
                let statement = "INSERT INTO replica (log, place, batch) VALUES (?1, 0, '')";
                let sqlite = &mut replica.sqlite;
                let inserted = sqlite.connection.execute(statement, params![log]);
                let made = inserted.and_then(|_| sqlite.connection.unguard());
                made.map_err(|error| sqlite.failure(error))?;
                return Ok(replica);
            }
        };
        let file = replica.sqlite.file.display();
        let remedy = format!(
            "choose another folder, or begin anew on purpose with what that stream has: `motemix adopt {file}`"
        );
        Err(StoreError::Remote { store: replica.sqlite.file.display().to_string(), problem, remedy })
    }

    /// How far it goes; 0 at the beginning.
    pub const fn place(&self) -> u64 {
        self.place
    }

    /// The name of the batch that ends there: a log that has another one there is not the one that
    /// was copied.
    pub fn batch(&self) -> &str {
        &self.batch
    }

    /// All that was copied.
    ///
    /// # Errors
    /// Something in it cannot be read.
    pub fn load(&mut self) -> Result<State, StoreError> {
        self.sqlite.load()
    }

    /// The log has these changes up to this place, where the batch of this name ends.
    ///
    /// # Errors
    /// The copy cannot be written: it is as it was.
    pub fn apply(&mut self, changes: &[Change], place: u64, batch: &str) -> Result<(), StoreError> {
        self.sqlite.keep(changes, Some((place, batch)))?;
        self.place = place;
        batch.clone_into(&mut self.batch);
        Ok(())
    }

    /// What was published to a topic, as [`Store::history`](crate::Store::history).
    ///
    /// # Errors
    /// The copy cannot be read.
    pub fn history(
        &mut self,
        topic: &TopicId,
        most: usize,
        before: Option<Moment>,
    ) -> Result<Vec<Value>, StoreError> {
        self.sqlite.history(topic, most, before)
    }

    /// Lets go of what is too old, as [`Store::tidy`](crate::Store::tidy).
    ///
    /// # Errors
    /// The copy cannot be written.
    pub fn tidy(&mut self, now: Moment, passed: Duration) -> Result<(), StoreError> {
        self.sqlite.tidy(now, passed)
    }

    /// How much it has, as [`Store::counters`](crate::Store::counters).
    pub fn counters(&self) -> Counters {
        self.sqlite.counters()
    }
}

/// Changes that make one state out of another.
pub fn difference(before: &State, after: &State) -> Vec<Change> {
    let mut changes = Vec::new();
    // A value goes before its topic.
    let gone = before.values().filter(|(id, _)| after.value(id).is_none());
    changes.extend(gone.map(|(id, _)| Change::Value(id.clone(), None)));
    let gone = before.topics().filter(|(id, _)| after.topic(id).is_none());
    changes.extend(gone.map(|(id, _)| Change::Topic(id.clone(), None)));
    let gone = before.registrations().filter(|(id, _)| after.registration(id).is_none());
    changes.extend(gone.map(|(id, _)| Change::Registration(id.clone(), None)));
    let is_new = |change: &Change| match change {
        Change::Topic(id, topic) => before.topic(id) != topic.as_ref(),
        Change::Value(id, value) => before.value(id) != value.as_ref(),
        Change::Registration(id, registration) => before.registration(id) != registration.as_ref(),
        Change::Freshness(device, freshness) => before.freshness(device) != *freshness,
    };
    changes.extend(after.as_changes().filter(is_new));
    changes
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_copy_that_is_gone_or_has_no_bytes_is_read_again_also_if_it_left_its_log() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let open = || Replica::open(folder.path(), Retention::default(), "log").unwrap();
        for has_file in [false, true] {
            let mut replica = open();
            replica.apply(&[], 5, "batch").unwrap();
            fs::copy(at("broker.sqlite-wal"), at("kept")).unwrap();
            drop(replica);
            assert_eq!(open().place(), 5);
            fs::remove_file(at("broker.sqlite")).unwrap();
            if has_file {
                fs::write(at("broker.sqlite"), "").unwrap();
            }
            fs::rename(at("kept"), at("broker.sqlite-wal")).unwrap();
            assert_eq!(open().place(), 0);
        }
    }
}
