//! What the stores in SQLite files have in common: each belongs to its owner alone, knows what it
//! is, and has committed when it says so.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::{StoreError, StoreProblem, file, lock};

/// What a file of one kind looks like.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    /// In one or two words, for messages.
    pub kind: &'static str,
    /// Marks the file as ours.
    pub application_id: i32,
    /// The version of the tables.
    pub version: i32,
    /// Makes the tables in an empty file.
    pub schema: &'static str,
}

impl Layout {
    /// Opens a file, or makes an empty one that only its owner may read. A commit is on the disk
    /// when it returns.
    ///
    /// # Errors
    /// The file belongs to something else, is damaged, or the system refuses.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Connection, StoreError> {
        let path = path.as_ref();
        let failed = |error| failure(path, error);
        // SQLite gives its journal the mode of the file, so the file has to be private from the
        // start.
        private(path).map_err(|error| StoreError::io(path, error))?;
        let mut connection = Connection::open(path).map_err(failed)?;
        connection.busy_timeout(Duration::from_secs(2)).map_err(failed)?;
        connection.pragma_update(None, "journal_mode", "wal").map_err(failed)?;
        // In WAL mode only FULL makes each commit durable before it returns.
        connection.pragma_update(None, "synchronous", "full").map_err(failed)?;
        self.prepare(path, &mut connection)?;
        Ok(connection)
    }

    fn prepare(&self, path: &Path, connection: &mut Connection) -> Result<(), StoreError> {
        let foreign = || StoreError::new(path, StoreProblem::Foreign(self.kind));
        let later = || StoreError::new(path, StoreProblem::Later);
        let failed = |error| failure(path, error);
        // Two processes may open a new file at once; the first one to write lays out the tables.
        let layout = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        let number = |name| layout.pragma_query_value(None, name, |row| row.get::<_, i32>(0)).map_err(failed);
        match (number("application_id")?, number("user_version")?) {
            (id, version) if (id, version) == (self.application_id, self.version) => return Ok(()),
            (id, version) if id == self.application_id && version > self.version => return Err(later()),
            (0, 0) => {}
            _ => return Err(foreign()),
        }
        let tables: u32 =
            layout.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(failed)?;
        if tables != 0 {
            return Err(foreign());
        }
        layout.execute_batch(self.schema).map_err(failed)?;
        layout.pragma_update(None, "application_id", self.application_id).map_err(failed)?;
        layout.pragma_update(None, "user_version", self.version).map_err(failed)?;
        layout.commit().map_err(failed)
    }
}

/// All of a store as it is at one moment, whether somebody writes to it or not; `None` if there is
/// none.
///
/// # Errors
/// It is damaged, or the system refuses.
pub fn snapshot(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    if !path.exists() {
        return Ok(None);
    }
    let failed = |error| failure(path, error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.busy_timeout(Duration::from_secs(2)).map_err(failed)?;
    let moment = connection.transaction().map_err(failed)?;
    // The moment is that of the first look.
    moment.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, u32>(0)).map_err(failed)?;
    moment.serialize("main").map(|bytes| Some(bytes.to_vec())).map_err(failed)
}

/// What SQLite says about a file, in our words.
pub fn failure(file: impl Into<PathBuf>, error: rusqlite::Error) -> StoreError {
    let file = file.into();
    let problem = match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreProblem::Full,
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            StoreProblem::Damaged(error.to_string())
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            lock::refused_beside(&file).map_or(StoreProblem::InUse, StoreProblem::NoLocks)
        }
        Some(ErrorCode::SystemIoFailure) => {
            lock::refused_beside(&file).map_or_else(|| StoreProblem::Sqlite(error), StoreProblem::NoLocks)
        }
        _ => StoreProblem::Sqlite(error),
    };
    StoreError { file, problem }
}

/// What was committed and is not in the file yet.
pub fn write_ahead_log(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

fn private(path: &Path) -> std::io::Result<()> {
    file::open_to_append(path).map(drop)
}
