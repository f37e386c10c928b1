//! Mailboxes in an SQLite file.
//!
//! A packet counts as stored once it is committed: only then is it handed out, and from then on no
//! crash of the process or the machine loses it. Commits happen on a thread of their own (see
//! [`Committer`](super::committer::Committer)); reading is done here, and never waits for them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use motemix_os::store::sqlite::{self, Guarded, Layout};
use motemix_os::store::{StoreError, StoreProblem};
use rusqlite::{Connection, OptionalExtension as _, Transaction, params};
use tokio::sync::Notify;

use super::committer::{self, Committer};
use crate::files::MailboxLimits;
use crate::role::{Mailboxes, StoreRefusal, Stored};

const LAYOUT: Layout = Layout {
    kind: "store of mailboxes",
    // "mmlm"
    application_id: 0x6d6d_6c6d,
    version: 1,
    // Ids are never used twice: a client may name one after its packet has gone.
    schema: "
        CREATE TABLE packets (
            id     INTEGER PRIMARY KEY AUTOINCREMENT,
            user   TEXT NOT NULL,
            packet BLOB NOT NULL
        );
        CREATE INDEX packets_of_user ON packets (user, id);",
    guards: &["packets"],
    loss: "Mail that came since is gone, and mail that was fetched would be handed out again",
};

/// The most changes that wait for the disk; beyond them mail is refused. With packets of 2 KiB they
/// take 16 MiB.
const MOST_WAITING: usize = 8192;

/// Mailboxes by user name.
pub struct SqliteMailboxes {
    file: PathBuf,
    reader: Guarded,
    committer: Committer<Change>,
    limits: MailboxLimits,
    /// Packets of each user that has any, those that wait for the disk included.
    packets: BTreeMap<String, u64>,
    /// The length of all packets.
    bytes: u64,
    next_id: i64,
    /// Removed here, and perhaps still in the file.
    removed: BTreeSet<i64>,
    /// Whether the file could be read the last time.
    readable: bool,
}

enum Change {
    Store { id: i64, user: String, packet: Vec<u8> },
    Remove { id: i64 },
}

impl committer::Change for Change {
    fn apply(&mut self, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        match &*self {
            Self::Store { id, user, packet } => transaction
                .prepare_cached("INSERT INTO packets (id, user, packet) VALUES (?1, ?2, ?3)")?
                .execute(params![id, user, packet]),
            Self::Remove { id } => {
                transaction.prepare_cached("DELETE FROM packets WHERE id = ?1")?.execute([id])
            }
        }
        .map(drop)
    }
}

impl SqliteMailboxes {
    /// Opens the mailboxes, or makes empty ones; `wake` hears when a commit has ended.
    ///
    /// # Errors
    /// The file belongs to something else, is damaged, or the system refuses.
    pub fn open(path: &Path, limits: MailboxLimits, wake: Arc<Notify>) -> Result<Self, StoreError> {
        let writer = LAYOUT.open(path)?;
        let reader = LAYOUT.open(path)?;
        let failed = |error| sqlite::failure(path, error);
        check(path, &reader)?;
        let (packets, bytes) = count(&reader).map_err(failed)?;
        let next_id = reader
            .query_row("SELECT seq FROM sqlite_sequence WHERE name = 'packets'", [], |row| {
                row.get::<_, i64>(0)
            })
            .optional()
            .map_err(failed)?
            .map_or(1, |last| last.saturating_add(1));
        Ok(Self {
            file: path.to_owned(),
            reader,
            committer: Committer::start(path.to_owned(), writer, wake)?,
            limits,
            packets,
            bytes,
            next_id,
            removed: BTreeSet::new(),
            readable: true,
        })
    }

    /// How many packets wait for their users.
    pub fn len(&self) -> u64 {
        self.packets.values().sum()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Waits until everything is on disk.
    ///
    /// # Errors
    /// [`StoreRefusal::Failed`].
    pub fn finish(&mut self) -> Result<(), StoreRefusal> {
        let committed = self.committer.finish();
        self.settle(committed)
    }

    fn settle(&mut self, committed: Vec<Change>) -> Result<(), StoreRefusal> {
        for change in committed {
            if let Change::Remove { id } = change {
                self.removed.remove(&id);
            }
        }
        if self.committer.is_failing() { Err(StoreRefusal::Failed) } else { Ok(()) }
    }

    /// A file that cannot be read is said once, and again after it could be.
    fn read<T>(&mut self, outcome: rusqlite::Result<T>) -> Result<T, StoreRefusal> {
        let readable = outcome.is_ok();
        let outcome = outcome.map_err(|error| {
            if self.readable {
                tracing::error!("{}", sqlite::failure(&self.file, error));
            }
            StoreRefusal::Failed
        });
        self.readable = readable;
        outcome
    }
}

impl Mailboxes for SqliteMailboxes {
    fn store(&mut self, user: &str, packet: &[u8]) -> Result<(), StoreRefusal> {
        if self.committer.is_failing() || !self.readable {
            return Err(StoreRefusal::Failed);
        }
        let len = packet.len() as u64;
        let has = self.packets.get(user).copied().unwrap_or(0);
        if has >= self.limits.packets_per_user
            || self.bytes.saturating_add(len) > self.limits.bytes
            || self.committer.waiting() >= MOST_WAITING
        {
            return Err(StoreRefusal::Full);
        }
        *self.packets.entry(user.to_owned()).or_default() += 1;
        self.bytes += len;
        let change = Change::Store { id: self.next_id, user: user.to_owned(), packet: packet.to_vec() };
        self.next_id += 1;
        self.committer.push(change);
        Ok(())
    }

    fn stored_after(&mut self, user: &str, after: i64, limit: usize) -> Result<Vec<Stored>, StoreRefusal> {
        let read = stored_after(&self.reader, user, after, limit, &self.removed);
        self.read(read)
    }

    fn remove(&mut self, user: &str, ids: &[i64]) -> Result<(), StoreRefusal> {
        for id in ids {
            let read = len_of(&self.reader, user, *id);
            let Some(len) = self.read(read)? else { continue };
            if !self.removed.insert(*id) {
                continue;
            }
            self.bytes = self.bytes.saturating_sub(len);
            if let Some(packets) = self.packets.get_mut(user) {
                *packets -= 1;
                if *packets == 0 {
                    self.packets.remove(user);
                }
            }
            self.committer.push(Change::Remove { id: *id });
        }
        Ok(())
    }

    /// Begins a commit, or says how the last one ended; it does not wait for the disk.
    fn commit(&mut self) -> Result<(), StoreRefusal> {
        let committed = self.committer.committed();
        self.committer.begin();
        self.settle(committed)
    }
}

/// Finds damage before anything is promised.
fn check(path: &Path, connection: &Connection) -> Result<(), StoreError> {
    let failed = |error| sqlite::failure(path, error);
    let found: String =
        connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(failed)?;
    if found == "ok" {
        return Ok(());
    }
    let problem = StoreProblem::Damaged(found.lines().collect::<Vec<_>>().join(", "));
    Err(StoreError { file: path.to_owned(), problem })
}

fn count(reader: &Connection) -> rusqlite::Result<(BTreeMap<String, u64>, u64)> {
    let mut query =
        reader.prepare("SELECT user, count(*), sum(length(packet)) FROM packets GROUP BY user")?;
    let mut rows = query.query([])?;
    let (mut packets, mut bytes) = (BTreeMap::new(), 0);
    while let Some(row) = rows.next()? {
        packets.insert(row.get(0)?, row.get(1)?);
        bytes += row.get::<_, u64>(2)?;
    }
    Ok((packets, bytes))
}

fn stored_after(
    reader: &Connection,
    user: &str,
    after: i64,
    limit: usize,
    removed: &BTreeSet<i64>,
) -> rusqlite::Result<Vec<Stored>> {
    let mut query =
        reader.prepare_cached("SELECT id, packet FROM packets WHERE user = ?1 AND id > ?2 ORDER BY id")?;
    let mut rows = query.query(params![user, after])?;
    let mut found = Vec::new();
    while found.len() < limit
        && let Some(row) = rows.next()?
    {
        let id = row.get(0)?;
        if !removed.contains(&id) {
            found.push(Stored { id, packet: row.get(1)? });
        }
    }
    Ok(found)
}

fn len_of(reader: &Connection, user: &str, id: i64) -> rusqlite::Result<Option<u64>> {
    reader
        .prepare_cached("SELECT length(packet) FROM packets WHERE id = ?1 AND user = ?2")?
        .query_row(params![id, user], |row| row.get(0))
        .optional()
}
