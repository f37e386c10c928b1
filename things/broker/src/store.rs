//! What outlives the process.

pub mod batch;
pub mod sqlite;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub use sqlite::{Replica, Sqlite, difference};
use tokio::sync::Notify;

use crate::state::{BadChange, TopicId, Value};
use crate::{Change, Moment, State};

/// Keeps what a broker remembers.
pub trait Store: Send {
    /// All that was committed.
    ///
    /// # Errors
    /// Something in it cannot be read: then nothing is used.
    fn load(&mut self) -> Result<State, StoreError>;

    /// Keeps these changes, all or none. They are durable when it returns.
    ///
    /// # Errors
    /// They are not kept.
    fn commit(&mut self, changes: &[Change]) -> Result<(), StoreError>;

    /// Whether other brokers store in the same place. What they stored comes from
    /// [`news`](Self::news), and a commit fails with [`StoreError::Behind`] while there is some.
    fn is_shared(&self) -> bool {
        false
    }

    /// What other brokers stored since it was last asked, in the order in which it is stored.
    ///
    /// # Errors
    /// The store cannot be read.
    fn news(&mut self) -> Result<Vec<Change>, StoreError> {
        Ok(Vec::new())
    }

    /// Is notified when there is news.
    fn has_news(&self) -> Option<Arc<Notify>> {
        None
    }

    /// What was published to a topic, the newest first: at most so many, and of those that are
    /// older than `before`.
    ///
    /// # Errors
    /// The store cannot be read.
    fn history(
        &mut self,
        topic: &TopicId,
        most: usize,
        before: Option<Moment>,
    ) -> Result<Vec<Value>, StoreError>;

    /// Removes values that are older than they are kept for. To be called now and then; a store
    /// that does so by itself has nothing to do. `passed`: since the last call, by a clock that
    /// nobody sets; nothing before the first. A clock on the wall that is far ahead is believed as
    /// time passes.
    ///
    /// # Errors
    /// The store cannot be written.
    fn tidy(&mut self, now: Moment, passed: Duration) -> Result<(), StoreError> {
        let _ = (now, passed);
        Ok(())
    }

    /// How much it has, and what it did.
    fn counters(&self) -> Counters {
        Counters::default()
    }
}

/// How much a store has, and what it did since it was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Bytes that the values take now, with those that were before the newest.
    pub bytes: u64,
    /// Values that went because others needed their room.
    pub removed: u64,
    /// Seconds that the clock on the wall is ahead of the one by which values are old.
    pub clock_ahead: u64,
    /// News of changes that nobody stored.
    pub false_news: u64,
}

impl Counters {
    /// All, with their names.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let Self { bytes, removed, clock_ahead, false_news } = *self;
        [("bytes", bytes), ("removed", removed), ("clock_ahead", clock_ahead), ("false_news", false_news)]
            .into_iter()
    }
}

/// How many values of a topic are kept, for how long, and how many bytes they take. The newest of
/// each topic stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Values of a topic, with the newest.
    pub values: u32,
    /// Seconds after which a value goes.
    pub seconds: u64,
    /// Bytes of the values in topics that a device made, or that take its readings.
    pub bytes_of_a_device: u64,
    /// Bytes of the values in all other topics together.
    pub bytes_of_others: u64,
    /// Bytes of all values. Beyond it the oldest of whoever has the most go.
    pub bytes: u64,
}

impl Default for Retention {
    /// A thousand values, a month, and a GiB.
    fn default() -> Self {
        Self {
            values: 1000,
            seconds: 30 * 24 * 3600,
            bytes_of_a_device: 1 << 24,
            bytes_of_others: 1 << 28,
            bytes: 1 << 30,
        }
    }
}

/// Why a store cannot go on; prints as one line with its name and a remedy.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file is at fault.
    #[error(transparent)]
    File(#[from] motemix_os::store::StoreError),
    /// Something stored is not what this program writes.
    #[error("{}: {table}: {problem}; restore it from a backup", file.display())]
    Unreadable {
        /// The file of the store.
        file: PathBuf,
        /// Which part of it.
        table: &'static str,
        /// What is wrong.
        problem: BadChange,
    },
    /// Other brokers stored something first: take that in, and decide anew.
    #[error("other brokers stored something first")]
    Behind,
    /// A store elsewhere does not take the changes.
    #[error("{store}: {problem}; {remedy}")]
    Remote {
        /// Its name or address.
        store: String,
        /// What is wrong.
        problem: String,
        /// What to do.
        remedy: String,
    },
}
