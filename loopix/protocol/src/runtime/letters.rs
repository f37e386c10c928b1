//! A client's letters: what its user has said and not yet got rid of, and what has arrived.
//!
//! A letter is accepted when it is on disk. It stays until it was acknowledged, or, where nobody
//! acknowledges, until it has left. What arrives is confirmed to its sender when it is on disk.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use motemix_os::clock::unix_time;
use motemix_os::store::StoreError;
use motemix_os::store::sqlite::{self, Layout};
use rusqlite::{Connection, OptionalExtension as _, Transaction, params};
use tokio::sync::Notify;

use super::committer::{self, Committer};
use super::event::Refusal;
use crate::role::{MessageId, Received, Token};
use crate::wire::message::Encoding;

const LAYOUT: Layout = Layout {
    kind: "store of letters",
    // "mmll"
    application_id: 0x6d6d_6c6c,
    version: 1,
    // The name of a letter lets its receiver know it again. Arrived letters without one have never
    // been here. `inbox_msgpack` has which are no byte strings but the msgpack of something else.
    schema: "
        CREATE TABLE outbox (
            number   INTEGER PRIMARY KEY AUTOINCREMENT,
            name     BLOB NOT NULL,
            receiver TEXT NOT NULL,
            message  BLOB NOT NULL
        );
        CREATE TABLE inbox (
            number      INTEGER PRIMARY KEY AUTOINCREMENT,
            received_at INTEGER NOT NULL,
            name        BLOB UNIQUE,
            message     BLOB NOT NULL
        );
        CREATE TABLE inbox_msgpack (number INTEGER PRIMARY KEY);",
    guards: &["outbox", "inbox"],
    loss: "Letters that were sent would be sent again, and those that arrived are gone or would be shown again",
};

/// The most letters in the outbox.
const MOST_LETTERS: usize = 10_000;
/// The most changes that wait for the disk.
const MOST_WAITING: usize = 4096;

/// A letter that has not been got rid of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Letter {
    pub(super) number: u64,
    pub(super) id: MessageId,
    pub(super) to: Arc<str>,
    pub(super) message: Vec<u8>,
}

/// What the disk has done.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Done {
    /// A letter of the user is safe.
    Accepted(Letter),
    /// What arrived is safe.
    Kept {
        token: Token,
        message: Vec<u8>,
        encoding: Encoding,
        /// Not here before.
        is_new: bool,
    },
}

/// Letters in an SQLite file.
pub(super) struct Letters {
    committer: Committer<Change>,
    next_number: u64,
    /// Numbers of the letters in the outbox.
    numbers: HashMap<MessageId, u64>,
}

enum Change {
    Accept(Letter),
    Forget { number: u64 },
    Keep { received: Received, at: Duration, is_new: bool },
}

impl committer::Change for Change {
    fn apply(&mut self, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        match self {
            Self::Accept(letter) => {
                transaction
                    .prepare_cached(
                        "INSERT INTO outbox (number, name, receiver, message) VALUES (?1, ?2, ?3, ?4)",
                    )?
                    .execute(params![letter.number, letter.id.0, letter.to, letter.message])?;
            }
            Self::Forget { number } => {
                transaction.prepare_cached("DELETE FROM outbox WHERE number = ?1")?.execute([*number])?;
            }
            Self::Keep { received, at, is_new } => {
                let at = i64::try_from(at.as_millis()).unwrap_or(i64::MAX);
                let kept = transaction
                    .prepare_cached(
                        "INSERT OR IGNORE INTO inbox (received_at, name, message) VALUES (?1, ?2, ?3)",
                    )?
                    .execute(params![at, received.id, received.message])?;
                *is_new = kept > 0;
                if *is_new && received.encoding == Encoding::Msgpack {
                    transaction
                        .prepare_cached("INSERT INTO inbox_msgpack (number) VALUES (last_insert_rowid())")?
                        .execute([])?;
                }
            }
        }
        Ok(())
    }
}

impl Letters {
    /// Opens the letters of a client, or makes an empty store; returns the outbox, oldest first.
    ///
    /// # Errors
    /// The file belongs to something else, is damaged, or the system refuses.
    pub(super) fn open(path: &Path, wake: Arc<Notify>) -> Result<(Self, Vec<Letter>), StoreError> {
        let connection = LAYOUT.open(path)?;
        let failed = |error| sqlite::failure(path, error);
        let outbox = outbox(&connection).map_err(failed)?;
        let last: Option<u64> = connection
            .query_row("SELECT seq FROM sqlite_sequence WHERE name = 'outbox'", [], |row| row.get(0))
            .optional()
            .map_err(failed)?;
        let numbers = outbox.iter().map(|letter| (letter.id, letter.number)).collect();
        let next_number = last.map_or(1, |last| last.saturating_add(1));
        let committer = Committer::start(path.to_owned(), connection, wake)?;
        Ok((Self { committer, next_number, numbers }, outbox))
    }

    /// Why no letter is taken now, if none is.
    pub(super) fn refusal(&self) -> Option<Refusal> {
        if self.committer.is_failing() {
            Some(Refusal::CannotBeKept)
        } else if self.numbers.len() >= MOST_LETTERS || self.committer.waiting() >= MOST_WAITING {
            Some(Refusal::Full)
        } else {
            None
        }
    }

    /// How many letters have not been got rid of.
    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Takes a letter of the user; it is accepted when [`Done::Accepted`] says so.
    /// Its number is returned.
    pub(super) fn accept(&mut self, id: MessageId, to: &str, message: &[u8]) -> u64 {
        let number = self.next_number;
        self.next_number += 1;
        self.numbers.insert(id, number);
        self.committer.push(Change::Accept(Letter { number, id, to: to.into(), message: message.to_vec() }));
        number
    }

    /// The number of a letter in the outbox.
    pub(super) fn number(&self, id: MessageId) -> Option<u64> {
        self.numbers.get(&id).copied()
    }

    /// Removes a letter from the outbox, and returns its number.
    pub(super) fn forget(&mut self, id: MessageId) -> Option<u64> {
        let number = self.numbers.remove(&id)?;
        self.committer.push(Change::Forget { number });
        Some(number)
    }

    /// Takes what has arrived; it is safe when [`Done::Kept`] says so.
    pub(super) fn keep(&mut self, received: Received) {
        self.committer.push(Change::Keep { received, at: unix_time(), is_new: true });
    }

    /// Begins a commit if there is something to be committed, and says what was.
    pub(super) fn commit(&mut self) -> Vec<Done> {
        let committed = self.committer.committed();
        self.committer.begin();
        done(committed)
    }

    /// Waits until everything is on disk, as far as the disk works.
    pub(super) fn finish(&mut self) -> Vec<Done> {
        done(self.committer.finish())
    }
}

fn done(committed: Vec<Change>) -> Vec<Done> {
    let done = committed.into_iter().filter_map(|change| match change {
        Change::Accept(letter) => Some(Done::Accepted(letter)),
        Change::Keep { received: Received { token, message, encoding, .. }, is_new, .. } => {
            Some(Done::Kept { token, message, encoding, is_new })
        }
        Change::Forget { .. } => None,
    });
    done.collect()
}

fn outbox(connection: &Connection) -> rusqlite::Result<Vec<Letter>> {
    let mut query =
        connection.prepare("SELECT number, name, receiver, message FROM outbox ORDER BY number")?;
    let letters = query.query_map([], |row| {
        Ok(Letter {
            number: row.get(0)?,
            id: MessageId(row.get(1)?),
            to: row.get::<_, String>(2)?.into(),
            message: row.get(3)?,
        })
    })?;
    letters.collect()
}
