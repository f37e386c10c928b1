//! A copy of what several brokers store together elsewhere, up to a place in their log.

use std::path::Path;
use std::time::Duration;

use motemix_os::store::file;
use motemix_os::store::sqlite::{self, Guarded, Layout, mark_as_used, put_aside, put_unused_aside};
use rusqlite::{OptionalExtension as _, params};

use super::{LAYOUT, Sqlite};
use crate::state::{TopicId, Value};
use crate::store::{Counters, Retention, Store as _, StoreError};
use crate::{Change, Moment, State};

const COPY: Layout = Layout {
    kind: "copy of a stream",
    // "mmbc"
    application_id: 0x6d6d_6263,
    version: 1,
    schema: concat!(
        tables!(),
        "
        CREATE TABLE replica (
            log   TEXT NOT NULL,
            place INTEGER NOT NULL,
            batch TEXT NOT NULL
        ) STRICT;"
    ),
    // The log is what guards.
    guards: &[],
    loss: "It is read from the stream again",
};

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
        let open = || Sqlite::open_as(&COPY, folder, retention);
        let sqlite = match open() {
            // A broker that was started before it was told of the log has kept nothing yet.
            Err(_) if connection_to(&file, &LAYOUT).is_some() => {
                if !put_unused_aside(&file)? {
                    return Err(refused_store(&file));
                }
                open()?
            }
            opened => opened?,
        };
        let prepare = || {
            sqlite.connection.pragma_update(None, "synchronous", "normal")?;
            let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
            let found = sqlite.connection.query_row("SELECT log, place, batch FROM replica", [], row);
            if let Some(found) = found.optional()? {
                return Ok(found);
            }
            let statement = "INSERT INTO replica (log, place, batch) VALUES (?1, 0, '')";
            sqlite.connection.execute(statement, params![log])?;
            Ok((log.to_owned(), 0, String::new()))
        };
        let (of, place, batch): (String, _, _) = prepare().map_err(|error| sqlite.failure(error))?;
        if of != log {
            let adopt = format!("`motemix adopt {}`", file::typed(&file));
            let remedy =
                format!("choose another folder, or begin anew on purpose with what that stream has: {adopt}");
            return Err(refusal(&file, format!("it has a copy of {of}, not of {log}"), remedy));
        }
        // Or a broker that stores for itself would begin in its place when it is gone.
        mark_as_used(&file)?;
        Ok(Self { sqlite, place, batch })
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

/// The connection to a file of this layout.
fn connection_to(file: &Path, layout: &Layout) -> Option<Guarded> {
    let found = sqlite::open_to_read(file).ok()?;
    let id = found.pragma_query_value(None, "application_id", |row| row.get::<_, i32>(0));
    id.is_ok_and(|id| id == layout.application_id).then_some(found)
}

/// Why a broker that stores for itself does not use a copy: it would go on from any state of it,
/// and the stream would not have what it stores.
pub(super) fn refused_copy(file: &Path) -> Option<StoreError> {
    let copy = connection_to(file, &COPY)?;
    let log = copy.query_row("SELECT log FROM replica", [], |row| row.get::<_, String>(0));
    let log = log.unwrap_or_else(|_| "a stream".to_owned());
    let remedy = format!(
        "name that stream with `--store`, or begin anew on purpose with nothing: `motemix adopt {}`",
        file::typed(file)
    );
    Some(refusal(file, format!("it is a copy of {log}, which this broker was not told of"), remedy))
}

/// Why brokers that store together do not use what one of them stored for itself.
fn refused_store(file: &Path) -> StoreError {
    let remedy = "choose another folder, or move that file away to begin with what the stream has".to_owned();
    refusal(file, "it is the store of a broker that stored for itself".to_owned(), remedy)
}

fn refusal(file: &Path, problem: String, remedy: String) -> StoreError {
    StoreError::Remote { store: file.display().to_string(), problem, remedy }
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
    use std::sync::Arc;

    use motemix_os::store::sqlite::{Adopted, adopt};

    use super::*;
    use crate::state::Topic;

    fn topic() -> Change {
        let topic = Topic {
            name: "t".into(),
            topic_type: None,
            content_format: None,
            expires: None,
            max_subscribers: None,
            observer_check: 60,
            device: None,
            owner: None,
        };
        Change::Topic(TopicId("t".into()), Some(Arc::new(topic)))
    }

    /// As when the line that names the stream is lost between two starts.
    #[test]
    fn a_copy_is_no_store_of_a_broker_alone_whatever_became_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let open = || Replica::open(folder.path(), Retention::default(), "the stream building");
        let alone = || Sqlite::open(folder.path(), Retention::default());
        let mut copy = open().unwrap();
        copy.apply(&[], 5, "batch").unwrap();
        // What shows its history in the same process.
        let mut reader = Sqlite::open_to_read(folder.path()).unwrap();
        assert_eq!(reader.history(&TopicId("t".into()), 1, None).unwrap(), []);
        assert!(reader.commit(&[Change::Topic(TopicId("t".into()), None)]).is_err());
        drop((copy, reader));
        fs::copy(at("broker.sqlite"), at("earlier")).unwrap();
        open().unwrap().apply(&[], 6, "next").unwrap();
        let said = alone().unwrap_err().to_string();
        assert!(said.contains("a copy of the stream building") && said.contains("`--store`"), "{said}");
        assert_eq!(open().unwrap().place(), 6);
        fs::rename(at("earlier"), at("broker.sqlite")).unwrap();
        assert!(alone().unwrap_err().to_string().contains("motemix adopt"));
        fs::remove_file(at("broker.sqlite")).unwrap();
        assert!(alone().unwrap_err().to_string().contains("it is gone"));
        // The stream has all of it.
        assert_eq!(open().unwrap().place(), 0);
        assert!(matches!(adopt(&at("broker.sqlite")).unwrap(), Adopted::Anew(Some(_))));
        drop(alone().unwrap());
    }

    #[test]
    fn the_store_of_a_broker_alone_is_no_copy_and_is_not_made_one() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let open = || Replica::open(folder.path(), Retention::default(), "log");
        let mut alone = Sqlite::open(folder.path(), Retention::default()).unwrap();
        alone.commit(&[topic()]).unwrap();
        drop(alone);
        let said = open().unwrap_err().to_string();
        assert!(said.contains("stored for itself") && said.contains("move that file away"), "{said}");
        let mut alone = Sqlite::open(folder.path(), Retention::default()).unwrap();
        assert_eq!(alone.load().unwrap().topics().count(), 1);
        drop(alone);
        fs::rename(at("broker.sqlite"), at("before")).unwrap();
        assert_eq!(open().unwrap().load().unwrap(), State::default());
    }

    /// A unit is often started before it is told of the stream.
    #[test]
    fn a_store_in_which_nothing_was_kept_makes_way_for_a_copy() {
        let folder = tempfile::tempdir().unwrap();
        drop(Sqlite::open(folder.path(), Retention::default()).unwrap());
        let mut copy = Replica::open(folder.path(), Retention::default(), "log").unwrap();
        copy.apply(&[topic()], 5, "batch").unwrap();
        drop(copy);
        assert!(Sqlite::open(folder.path(), Retention::default()).is_err());
        assert_eq!(Replica::open(folder.path(), Retention::default(), "log").unwrap().place(), 5);
    }

    /// A store whose changes nobody counts looks as it did for ever.
    #[test]
    fn a_store_that_counts_no_changes_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let store = Sqlite::open(folder.path(), Retention::default()).unwrap();
        store.connection.execute_batch("DROP TRIGGER mark_topics_UPDATE").unwrap();
        drop(store);
        let said = Sqlite::open(folder.path(), Retention::default()).unwrap_err().to_string();
        assert!(said.contains("it does not count all of its changes"), "{said}");
    }

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
