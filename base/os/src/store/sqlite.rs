//! What the stores in SQLite files have in common: each belongs to its owner alone, knows what it
//! is, and has committed when it says so.

mod guarded;

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};

pub use guarded::{Adopted, Guarded, adopt, mark_as_used, put_aside, put_unused_aside};

use super::store_mark::{Doubt, StoreMark};
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
    /// The tables whose rows keep something from being used twice. If there are some, the store has
    /// a [mark](super::store_mark).
    pub guards: &'static [&'static str],
    /// What is lost with the store; a sentence for whoever has to decide.
    pub loss: &'static str,
}

impl Layout {
    /// Opens a file, or makes a new one that only its owner may read. A commit is on the disk when
    /// it returns.
    ///
    /// # Errors
    /// The file belongs to something else, is damaged, is not the one that was left here
    /// ([`StoreProblem::Doubtful`]), or the system refuses.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Guarded, StoreError> {
        let path = path.as_ref();
        let failed = |error| failure(path, error);
        let io = |error| StoreError::io(path, error);
        // Before the store is looked at: it becomes newer meanwhile, and never older.
        let mark = if self.guards.is_empty() { None } else { Some(StoreMark::of(path).map_err(io)?) };
        match guarded::found(path)? {
            // SQLite would take it for a new one.
            Some(found) if found.len() == 0 => {
                return Err(guarded::doubtful(path, self, Doubt::Empty));
            }
            Some(_) => {}
            None if mark.as_ref().is_some_and(StoreMark::says_used) => {
                return Err(guarded::doubtful(path, self, Doubt::Gone));
            }
            None => {
                // A new store would take the log for its own, with all that the one before had.
                if guarded::left_its_log(path)? {
                    if !self.guards.is_empty() {
                        return Err(guarded::doubtful(path, self, Doubt::Gone));
                    }
                    guarded::put_log_aside(path)?;
                }
                self.make(path)?;
            }
        }
        let connection = connect(path).map_err(failed)?;
        self.check(path, &connection)?;
        let Some(mut mark) = mark else { return Ok(Guarded::new(connection, None)) };
        if !guarded::counts_all(&connection, self).map_err(failed)? {
            let problem = StoreProblem::Damaged("it does not count all of its changes".to_owned());
            return Err(StoreError::new(path, problem));
        }
        let changes = guarded::changes(&connection).map_err(failed)?;
        let found = fs::metadata(path).map_err(io)?;
        if let Some(doubt) = mark.doubt(&found, changes) {
            return Err(guarded::doubtful(path, self, doubt));
        }
        // Before its first change, so that a store without a mark is one that was not used.
        if changes == 0 {
            mark.begin().map_err(io)?;
        }
        Ok(Guarded::new(connection, Some(mark)))
    }

    /// Makes a whole store, and gives it its name when it is one. It belongs to the owner of its
    /// folder, whoever runs this: SQLite has its log belong to whom the store does.
    fn make(&self, path: &Path) -> Result<(), StoreError> {
        let fill = || {
            let mut connection = Connection::open_in_memory()?;
            let tables = connection.transaction()?;
            tables.execute_batch(&guarded::schema(self))?;
            tables.pragma_update(None, "application_id", self.application_id)?;
            tables.pragma_update(None, "user_version", self.version)?;
            tables.commit()?;
            connection.serialize("main").map(|bytes| bytes.to_vec())
        };
        let mut bytes = fill().map_err(|error| failure(path, error))?;
        // It is written ahead of: the versions for writing and reading of SQLite's file format.
        if let Some(versions) = bytes.get_mut(18..20) {
            versions.fill(2);
        }
        match file::create_knowing(path, path, 0o600, |_| bytes.clone().into()) {
            // Two processes may make it at once.
            Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(StoreError::io(path, error)),
            _ => Ok(()),
        }
    }

    fn check(&self, path: &Path, connection: &Connection) -> Result<(), StoreError> {
        let failed = |error| failure(path, error);
        let number =
            |name| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0)).map_err(failed);
        let problem = match (number("application_id")?, number("user_version")?) {
            (id, version) if (id, version) == (self.application_id, self.version) => return Ok(()),
            (id, version) if id == self.application_id && version > self.version => StoreProblem::Later,
            _ => StoreProblem::Foreign(self.kind),
        };
        Err(StoreError::new(path, problem))
    }
}

/// Opens a file that is there, and follows no link to it. SQLite gives what it makes beside a store
/// to whom the store belongs, also a file that it finds there if root opens the store.
fn open(path: &Path) -> rusqlite::Result<Connection> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    // The folder may be behind a link; SQLite would refuse that too.
    let folder = fs::canonicalize(file::folder(path)).unwrap_or_else(|_| file::folder(path).to_owned());
    let connection = Connection::open_with_flags(folder.join(path.file_name().unwrap_or_default()), flags)?;
    // Longer than whoever writes waits for a busy disk.
    connection.busy_timeout(Duration::from_secs(10))?;
    Ok(connection)
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let connection = open(path)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    // In WAL mode only FULL makes each commit durable before it returns.
    connection.pragma_update(None, "synchronous", "full")?;
    Ok(connection)
}

/// Opens a store of whatever layout that this process has open, to be read beside it. What would
/// change it is refused.
///
/// # Errors
/// There is none, or the system refuses.
pub fn open_to_read(path: &Path) -> Result<Guarded, StoreError> {
    let opened = || {
        let connection = open(path)?;
        connection.pragma_update(None, "query_only", true)?;
        Ok(connection.into())
    };
    guarded::found(path)?;
    opened().map_err(|error| failure(path, error))
}

/// All of a store as it is at one moment, whether somebody writes to it or not; `None` if there is
/// none.
///
/// # Errors
/// It is damaged, or the system refuses.
pub fn snapshot(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    let Some(found) = guarded::found(path)? else { return Ok(None) };
    if found.len() == 0 {
        let problem = StoreProblem::Damaged("it has no bytes".to_owned());
        return Err(StoreError::new(path, problem));
    }
    let failed = |error| failure(path, error);
    let mut connection = open(path).map_err(failed)?;
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
