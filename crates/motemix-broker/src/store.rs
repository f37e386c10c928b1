//! What outlives the process.

pub mod batch;
pub mod sqlite;

use std::path::PathBuf;
use std::sync::Arc;

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
    /// that does so by itself has nothing to do.
    ///
    /// # Errors
    /// The store cannot be written.
    fn tidy(&mut self, now: Moment) -> Result<(), StoreError> {
        let _ = now;
        Ok(())
    }
}

/// How many values of a topic are kept, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Values of a topic, with the newest.
    pub values: u32,
    /// Seconds after which a value goes; the newest stays.
    pub seconds: u64,
}

impl Default for Retention {
    /// A thousand values, and a month.
    fn default() -> Self {
        Self { values: 1000, seconds: 30 * 24 * 3600 }
    }
}

/// Why a store cannot go on; prints as one line with its name and a remedy.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file is at fault.
    #[error(transparent)]
    File(#[from] motemix_host::store::StoreError),
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
