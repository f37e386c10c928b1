//! The durable inbox: a message is acknowledged only after it is here.
//!
//! Each try of a message arrives in a packet of its own, so duplicates are recognised by a digest
//! that the caller computes over sender-chosen id and data. Only the newest digests are remembered,
//! a bounded window; the messages themselves stay until somebody removes them, and are bounded by a
//! [`Quota`], because whoever has the network document may send some.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};

use super::file::Identity;
use super::sqlite::{self, Guarded, Layout};
use super::{Doubt, StoreError, StoreMark, StoreProblem};

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
    // Nobody is refused an inbox: its node tells what it finds, and goes on.
    guards: &[],
    loss: "Messages that were taken may be gone, and one that is sent again may be taken again",
};

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted {
    /// It is in the inbox now.
    New,
    /// It was there already: an earlier try arrived, and its acknowledgement did not.
    AlreadyHere,
    /// The quota is reached: it is not here.
    NoRoom,
}

/// How much an inbox keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// Messages.
    pub messages: u64,
    /// Bytes of their contents.
    pub bytes: u64,
}

/// How much an inbox holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Held {
    /// Messages.
    pub messages: u64,
    /// Bytes of their contents.
    pub bytes: u64,
}

impl Quota {
    /// Everything.
    pub const NONE: Self = Self { messages: u64::MAX, bytes: u64::MAX };

    /// Whether one more message of this length fits.
    fn takes(self, held: Held, len: usize) -> bool {
        held.messages < self.messages && held.bytes.saturating_add(len as u64) <= self.bytes
    }

    /// How much of it is held, in per cent.
    pub fn percent(self, held: Held) -> u64 {
        let part = |held: u64, most: u64| u128::from(held) * 100 / u128::from(most.max(1));
        let most = part(held.messages, self.messages).max(part(held.bytes, self.bytes));
        u64::try_from(most).unwrap_or(u64::MAX)
    }
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
    /// What it and its write-ahead log were at the last look.
    identities: [Option<Identity>; 2],
    /// It could not be opened anew after it was lost, so the connection is none to it, even if the
    /// file is back.
    is_closed: bool,
    /// Boxed: the inbox moves to the thread of each commit and back.
    connection: Box<Guarded>,
    /// Follows the newest digest, if this is the node's own.
    mark: Option<Box<StoreMark>>,
    window: u32,
    quota: Quota,
    /// Counted when it was opened and kept up since; counted again when the quota is reached,
    /// because somebody else may have removed messages.
    held: Option<Held>,
    /// SQLite's number of the last change by others.
    version: i64,
}

impl Inbox {
    /// Opens the inbox, or makes an empty one that only its owner may read.
    ///
    /// # Errors
    /// The file belongs to something else, is damaged, or the system refuses.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        let mut inbox = Self {
            connection: Box::new(LAYOUT.open(path)?),
            file: path.to_owned(),
            identities: [None; 2],
            is_closed: false,
            mark: None,
            window: DEFAULT_WINDOW,
            quota: Quota::NONE,
            held: None,
            version: 0,
        };
        inbox.look()?;
        Ok(inbox)
    }

    /// The same for the node that takes messages into it. Also why it is not the one that the node
    /// left here, if it is not: nobody is told twice.
    ///
    /// # Errors
    /// As of [`Inbox::open`].
    pub fn open_own(path: impl AsRef<Path>) -> Result<(Self, Option<Doubt>), StoreError> {
        let path = path.as_ref();
        let mut mark = StoreMark::of(path).map_err(|error| StoreError::io(path, error))?;
        let was_there = identify(path)?.is_some();
        let mut inbox = Self::open(path)?;
        let newest = inbox.newest_digest()?;
        let found = std::fs::metadata(path).map_err(|error| StoreError::io(path, error))?;
        let is_gone = !was_there && mark.says_used();
        let doubt = if is_gone { Some(Doubt::Gone) } else { mark.doubt(&found, newest) };
        // What the disk refuses is told at the next start as well.
        let _ = match doubt {
            Some(_) => mark.renew(newest),
            None if newest == 0 => mark.begin(),
            None => Ok(()),
        };
        inbox.mark = Some(Box::new(mark));
        Ok((inbox, doubt))
    }

    /// The number of the newest digest, which is never removed and grows with each message.
    fn newest_digest(&self) -> Result<u64, StoreError> {
        let query = "SELECT coalesce(max(number), 0) FROM digests";
        let newest =
            self.connection.prepare_cached(query).and_then(|mut query| query.query_row([], |row| row.get(0)));
        newest.map_err(|error| sqlite::failure(&self.file, error))
    }

    /// Opens it anew where it was opened: after it was lost, that is another file, or an empty one.
    /// No other connection of this process may be open then: SQLite would cut the memory that
    /// it shares with this one.
    ///
    /// # Errors
    /// As of [`Inbox::open`]; and if it is damaged, as one that was cut short is.
    pub fn reopen(&mut self) -> Result<(), StoreError> {
        let nowhere = Connection::open_in_memory().map_err(|error| sqlite::failure(&self.file, error))?;
        drop(std::mem::replace(&mut *self.connection, nowhere.into()));
        self.is_closed = true;
        let Self { window, quota, .. } = *self;
        let mut inbox = Self::open(&self.file)?.with_window(window).with_quota(quota);
        let check = inbox.connection.pragma_query_value(None, "quick_check", |row| row.get::<_, String>(0));
        let check = check.map_err(|error| sqlite::failure(&self.file, error))?;
        if check != "ok" {
            return Err(StoreError::new(&self.file, StoreProblem::Damaged(check)));
        }
        let newest = inbox.newest_digest()?;
        inbox.mark = self.mark.take();
        if let Some(mark) = &mut inbox.mark {
            // What the disk refuses is told at the next start.
            let _ = mark.renew(newest);
        }
        *self = inbox;
        Ok(())
    }

    /// Whether its name still stands for what was opened: SQLite goes on writing to a file that was
    /// removed.
    ///
    /// # Errors
    /// It was removed, replaced or cut short; or the system refuses.
    pub fn look(&mut self) -> Result<(), StoreError> {
        let found = [identify(&self.file)?, identify(&sqlite::write_ahead_log(&self.file))?];
        let [file, log] = &self.identities;
        // SQLite itself cuts the log after what it holds has gone to the file.
        let goes_on = file.is_none_or(|known| found[0].is_some_and(|found| known.goes_on_as(&found)))
            && log.is_none_or(|known| found[1].is_some_and(|found| known.is_same_file(&found)));
        if self.is_closed || !goes_on {
            return Err(StoreError::new(&self.file, StoreProblem::Lost));
        }
        self.identities = found;
        Ok(())
    }

    /// Remembers the newest `window` digests instead of [`DEFAULT_WINDOW`].
    #[must_use]
    pub fn with_window(mut self, window: u32) -> Self {
        self.window = window.max(1);
        self
    }

    /// Keeps no more than `quota`.
    #[must_use]
    pub fn with_quota(mut self, quota: Quota) -> Self {
        self.quota = quota;
        self
    }

    /// How much it holds.
    ///
    /// # Errors
    /// The file is damaged, or the system refuses.
    pub fn held(&self) -> Result<Held, StoreError> {
        self.held.map_or_else(|| self.count_held(), Ok)
    }

    /// The same, counted again if another process has changed the inbox, as `motemix inbox --keep`
    /// does.
    ///
    /// # Errors
    /// As of [`Inbox::held`].
    pub fn held_now(&mut self) -> Result<Held, StoreError> {
        if self.others_have_changed_it()? {
            self.held = None;
        }
        let held = self.held()?;
        self.held = Some(held);
        Ok(held)
    }

    fn others_have_changed_it(&mut self) -> Result<bool, StoreError> {
        let version = self.connection.pragma_query_value(None, "data_version", |row| row.get(0));
        let version = version.map_err(|error| sqlite::failure(&self.file, error))?;
        Ok(std::mem::replace(&mut self.version, version) != version)
    }

    /// Writes to the disk, and changes nothing: whether it takes something again.
    ///
    /// # Errors
    /// As of [`Inbox::accept`].
    pub fn probe(&mut self) -> Result<(), StoreError> {
        // The header's page is written even if the number is as before.
        let written = self.connection.pragma_update(None, "user_version", LAYOUT.version);
        written.map_err(|error| sqlite::failure(&self.file, error))
    }

    fn count_held(&self) -> Result<Held, StoreError> {
        let query = "SELECT count(*), coalesce(sum(length(data)), 0) FROM messages";
        let row = |row: &rusqlite::Row<'_>| Ok(Held { messages: row.get(0)?, bytes: row.get(1)? });
        self.connection.query_row(query, [], row).map_err(|error| sqlite::failure(&self.file, error))
    }

    /// Removes all messages but the newest `keep`, and returns how many those were. Their digests
    /// stay.
    ///
    /// # Errors
    /// The disk is full, the file is damaged, or the system refuses.
    pub fn remove_all_but(&mut self, keep: u32) -> Result<usize, StoreError> {
        self.held = None;
        let statement = "DELETE FROM messages WHERE number <=
            (SELECT number FROM messages ORDER BY number DESC LIMIT 1 OFFSET ?1)";
        self.connection.execute(statement, [keep]).map_err(|error| sqlite::failure(&self.file, error))
    }

    /// Removes all messages with lower numbers than this, and returns how many those were. Their
    /// digests stay.
    ///
    /// # Errors
    /// The disk is full, the file is damaged, or the system refuses.
    pub fn remove_before(&mut self, number: u64) -> Result<usize, StoreError> {
        self.held = None;
        let statement = "DELETE FROM messages WHERE number < ?1";
        self.connection.execute(statement, [number]).map_err(|error| sqlite::failure(&self.file, error))
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
    /// The disk is full, the file is damaged, or the system refuses; none of the messages is here
    /// then, and `each` has heard nothing.
    pub fn accept_many(
        &mut self,
        arrivals: &[Arrival<'_>],
        mut each: impl FnMut(usize, Accepted),
    ) -> Result<(), StoreError> {
        let mut held = self.held()?;
        if arrivals.iter().any(|arrival| !self.quota.takes(held, arrival.data.len())) {
            held = self.held_now()?;
        }
        let outcomes = insert(&mut self.connection, arrivals, self.window, self.quota, &mut held);
        let outcomes = outcomes.map_err(|error| sqlite::failure(&self.file, error))?;
        self.held = Some(held);
        self.look()?;
        if let Ok(newest) = self.newest_digest()
            && let Some(mark) = &mut self.mark
        {
            mark.note(newest);
        }
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
            let mut messages = query.query_map([n], message)?.collect::<Result<Vec<_>, _>>()?;
            messages.reverse();
            Ok(messages)
        };
        read().map_err(|error| sqlite::failure(&self.file, error))
    }

    /// Up to `n` messages with numbers above `number`, oldest first.
    ///
    /// # Errors
    /// The file is damaged, or the system refuses.
    pub fn after(&self, number: u64, n: u32) -> Result<Vec<Message>, StoreError> {
        let read = || {
            let mut query = self.connection.prepare_cached(
                "SELECT number, received_at, data FROM messages WHERE number > ?1 ORDER BY number LIMIT ?2",
            )?;
            query.query_map(params![number, n], message)?.collect::<Result<Vec<_>, _>>()
        };
        read().map_err(|error| sqlite::failure(&self.file, error))
    }

    /// The message with this digest as it is here, if it is and the digest is remembered: a later
    /// try of it arrived at another time.
    ///
    /// # Errors
    /// The file is damaged, or the system refuses.
    pub fn find(&self, digest: [u8; 16]) -> Result<Option<Message>, StoreError> {
        let read = || {
            let mut query = self.connection.prepare_cached(
                "SELECT number, received_at, data FROM messages JOIN digests USING (number) WHERE digest = ?1",
            )?;
            query.query_row([digest], message).optional()
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

fn identify(path: &Path) -> Result<Option<Identity>, StoreError> {
    match std::fs::metadata(path) {
        Ok(found) => Ok(Some(Identity::of(&found))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StoreError::io(path, error)),
    }
}

fn insert(
    connection: &mut Connection,
    arrivals: &[Arrival<'_>],
    window: u32,
    quota: Quota,
    held: &mut Held,
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
            if !quota.takes(*held, arrival.data.len()) {
                outcomes.push(Accepted::NoRoom);
                continue;
            }
            held.messages += 1;
            held.bytes += arrival.data.len() as u64;
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

fn message(row: &rusqlite::Row<'_>) -> rusqlite::Result<Message> {
    Ok(Message { number: row.get(0)?, received_at: Duration::from_millis(row.get(1)?), data: row.get(2)? })
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
