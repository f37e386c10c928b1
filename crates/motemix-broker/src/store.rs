//! What outlives the process.

pub mod sqlite;

use std::path::PathBuf;

pub use sqlite::Sqlite;

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
