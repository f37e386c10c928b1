//! The durable inbox: a message is acknowledged only after it is here.
//!
//! Each try of a message arrives in a packet of its own, so duplicates are recognised by a digest that the
//! caller computes over sender-chosen id and data. Only the newest digests are remembered, a bounded window;
//! the messages themselves stay until somebody removes the file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};

use super::StoreError;
use super::sqlite::{self, Layout};

/// Digests that are remembered unless [`Inbox::with_window`] says otherwise.
pub const DEFAULT_WINDOW: u32 = 1 << 16;

const LAYOUT: Layout = Layout {
    kind: "inbox",
    // "mmix"
    application_id: 0x6d6d_6978,
    version: 1,
    schema: "
        CREATE TABLE messages (
            number      INTEGER PRIMARY KEY AUTOINCREMENT,
            received_at INTEGER NOT NULL,
            data        BLOB NOT NULL
        );
        CREATE TABLE digests (
            number INTEGER PRIMARY KEY,
            digest BLOB NOT NULL UNIQUE
        );",
};

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted {
    /// It is in the inbox now.
    New,
    /// It was there already: an earlier try arrived, and its acknowledgement did not.
    AlreadyHere,
}

/// A message that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival<'a> {
    /// Equal for all tries of one message.
    pub digest: [u8; 16],
    /// Time since the Unix epoch; kept in milliseconds.
    pub received_at: Duration,
    /// The application's bytes.
    pub data: &'a [u8],
}

/// A message in the inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its place in the order of arrival, from 1.
    pub number: u64,
    /// Time since the Unix epoch, in milliseconds.
    pub received_at: Duration,
    /// The application's bytes.
    pub data: Vec<u8>,
}

/// Received messages in an `SQLite` file.
#[derive(Debug)]
pub struct Inbox {
    file: PathBuf,
    connection: Connection,
    window: u32,
}

impl Inbox {
    /// Opens the inbox, or makes an empty one that only its owner may read.
    ///
    /// # Errors
    /// The file belongs to something else, is damaged, or the system refuses.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        let connection = LAYOUT.open(path)?;
        Ok(Self { file: path.to_owned(), connection, window: DEFAULT_WINDOW })
    }

    /// Remembers the newest `window` digests instead of [`DEFAULT_WINDOW`].
    #[must_use]
    pub fn with_window(mut self, window: u32) -> Self {
        self.window = window.max(1);
        self
    }

    /// Takes one message; it is durable when this returns.
    ///
    /// # Errors
    /// The disk is full, the file is damaged, or the system refuses; the message is not here then.
    pub fn accept(
        &mut self,
        digest: [u8; 16],
        received_at: Duration,
        data: &[u8],
    ) -> Result<Accepted, StoreError> {
        let mut accepted = Accepted::AlreadyHere;
        self.accept_many(&[Arrival { digest, received_at, data }], |_, outcome| accepted = outcome)?;
        Ok(accepted)
    }

    /// Takes several messages with one write to the disk, all or none of them.
    ///
    /// After they are durable, `each` hears the outcome for every index of `arrivals`, in order.
    ///
    /// # Errors
    /// The disk is full, the file is damaged, or the system refuses; none of the messages is here then, and
    /// `each` has heard nothing.
    pub fn accept_many(
        &mut self,
        arrivals: &[Arrival<'_>],
        mut each: impl FnMut(usize, Accepted),
    ) -> Result<(), StoreError> {
        let outcomes = insert(&mut self.connection, arrivals, self.window);
        let outcomes = outcomes.map_err(|error| sqlite::failure(&self.file, error))?;
        outcomes.into_iter().enumerate().for_each(|(index, outcome)| each(index, outcome));
        Ok(())
    }

    /// The newest `n` messages, oldest of them first.
    ///
    /// # Errors
    /// The file is damaged, or the system refuses.
    pub fn recent(&self, n: u32) -> Result<Vec<Message>, StoreError> {
        let read = || {
            let mut query = self.connection.prepare_cached(
                "SELECT number, received_at, data FROM messages ORDER BY number DESC LIMIT ?1",
            )?;
            let rows = query.query_map([n], |row| {
                Ok(Message {
                    number: row.get(0)?,
                    received_at: Duration::from_millis(row.get(1)?),
                    data: row.get(2)?,
                })
            })?;
            let mut messages = rows.collect::<Result<Vec<_>, _>>()?;
            messages.reverse();
            Ok(messages)
        };
        read().map_err(|error| sqlite::failure(&self.file, error))
    }

    /// How many messages are here.
    ///
    /// # Errors
    /// The file is damaged, or the system refuses.
    pub fn count(&self) -> Result<u64, StoreError> {
        self.connection
            .query_row("SELECT count(*) FROM messages", [], |row| row.get(0))
            .map_err(|error| sqlite::failure(&self.file, error))
    }
}

fn insert(
    connection: &mut Connection,
    arrivals: &[Arrival<'_>],
    window: u32,
) -> rusqlite::Result<Vec<Accepted>> {
    let mut outcomes = Vec::with_capacity(arrivals.len());
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    {
        let mut known = transaction.prepare_cached("SELECT 1 FROM digests WHERE digest = ?1")?;
        let mut keep =
            transaction.prepare_cached("INSERT INTO messages (received_at, data) VALUES (?1, ?2)")?;
        let mut remember =
            transaction.prepare_cached("INSERT INTO digests (number, digest) VALUES (?1, ?2)")?;
        for arrival in arrivals {
            if known.query_row([arrival.digest], |_| Ok(())).optional()?.is_some() {
                outcomes.push(Accepted::AlreadyHere);
                continue;
            }
            let milliseconds = i64::try_from(arrival.received_at.as_millis()).unwrap_or(i64::MAX);
            keep.execute(params![milliseconds, arrival.data])?;
            remember.execute(params![transaction.last_insert_rowid(), arrival.digest])?;
            outcomes.push(Accepted::New);
        }
        transaction
            .prepare_cached("DELETE FROM digests WHERE number <= (SELECT max(number) FROM digests) - ?1")?
            .execute([window])?;
    }
    transaction.commit()?;
    Ok(outcomes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::StoreProblem;

    /// `SQLite` reports a bound on its pages the way it reports a disk without room.
    #[test]
    fn a_full_disk_is_an_error_and_what_was_here_stays() {
        let folder = tempfile::tempdir().unwrap();
        let mut inbox = Inbox::open(folder.path().join("inbox.db")).unwrap();
        inbox.accept([1; 16], Duration::ZERO, b"first").unwrap();
        inbox.connection.pragma_update(None, "max_page_count", 1).unwrap();

        let error = inbox.accept([2; 16], Duration::ZERO, &vec![7; 100_000]).unwrap_err();

        assert!(matches!(error.problem, StoreProblem::Full), "{error:?}");
        assert!(error.to_string().contains("inbox.db: the disk is full; free some space"), "{error}");
        assert_eq!(inbox.count().unwrap(), 1);
        inbox.connection.pragma_update(None, "max_page_count", 1_000_000).unwrap();
        assert_eq!(inbox.accept([2; 16], Duration::ZERO, b"again").unwrap(), Accepted::New);
    }
}
