//! A store in a file of SQLite that counts its changes, with the mark that has their number.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use super::{Layout, failure};
use crate::store::store_mark::{Doubt, StoreMark};
use crate::store::{StoreError, StoreProblem, file};

/// The first two bytes of the application ids of all our stores: "mm".
const OURS: i32 = 0x6d6d;

/// A connection to a store, whose mark follows what is committed if the store has one.
#[derive(Debug)]
pub struct Guarded {
    connection: Connection,
    /// Boxed: whoever has a store moves it about.
    mark: Option<Box<RefCell<StoreMark>>>,
}

impl Guarded {
    pub(super) fn new(connection: Connection, mark: Option<StoreMark>) -> Self {
        Self { connection, mark: mark.map(RefCell::new).map(Box::new) }
    }

    /// The store is no guard any more: what it has is kept elsewhere as well, and its mark goes.
    ///
    /// # Errors
    /// The store refuses.
    pub fn unguard(&mut self) -> rusqlite::Result<()> {
        let query =
            "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'mark\\_%' ESCAPE '\\'";
        let names: Vec<String> = {
            let mut query = self.connection.prepare(query)?;
            query.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?
        };
        let all = self.connection.transaction()?;
        for name in names {
            all.execute_batch(&format!("DROP TRIGGER {name}"))?;
        }
        all.execute("UPDATE mark SET changes = 0", [])?;
        all.commit()?;
        // A mark that stays says that nothing was used.
        if let Some(mark) = self.mark.take() {
            let _ = mark.into_inner().remove();
        }
        Ok(())
    }

    /// To be called after each commit of what must not be used twice: the mark gets the number of
    /// changes. Within a transaction it does nothing.
    pub fn note(&self) {
        if let Some(mark) = &self.mark
            && self.connection.is_autocommit()
            && let Ok(changes) = changes(&self.connection)
        {
            mark.borrow_mut().note(changes);
        }
    }
}

/// A connection without a mark.
impl From<Connection> for Guarded {
    fn from(connection: Connection) -> Self {
        Self::new(connection, None)
    }
}

impl Deref for Guarded {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl DerefMut for Guarded {
    fn deref_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }
}

/// How [`adopt`] went on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Adopted {
    /// With the store as it is.
    AsItIs,
    /// With a new one, which the next program that uses it makes; what was there is here now.
    Anew(Option<PathBuf>),
}

/// Goes on with a store that was copied or put back, as it is; or lets a new one begin in the place
/// of one that is gone or has no bytes. A copy of what brokers store together elsewhere is put
/// aside, to be read anew.
///
/// # Errors
/// Nothing is or was there, it is none of our stores, damaged, or the system refuses.
pub fn adopt(path: &Path) -> Result<Adopted, StoreError> {
    let io = |error| StoreError::io(path, error);
    let mut mark = StoreMark::of(path).map_err(io)?;
    let found = found(path)?;
    if found.as_ref().is_none_or(|found| found.len() == 0) {
        if found.is_none() && !mark.is_there() {
            return Err(StoreError::new(path, StoreProblem::Nothing));
        }
        let aside = found.map(|_| put_aside(path)).transpose()?;
        mark.remove().map_err(io)?;
        return Ok(Adopted::Anew(aside));
    }
    let failed = |error| failure(path, error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    let id: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0)).map_err(failed)?;
    let tables = |name: &str| {
        let query = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?1";
        connection.query_row(query, [name], |row| row.get::<_, u32>(0)).map_err(failed)
    };
    if id >> 16 != OURS || tables("mark")? == 0 {
        return Err(StoreError::new(path, StoreProblem::Foreign("store that has a mark")));
    }
    let is_replica = tables("replica")? > 0;
    let changes = changes(&connection).map_err(failed)?;
    connection.close().map_err(|(_, error)| failed(error))?;
    if is_replica {
        let aside = put_aside(path)?;
        mark.remove().map_err(io)?;
        return Ok(Adopted::Anew(Some(aside)));
    }
    mark.renew(changes).map_err(io)?;
    Ok(Adopted::AsItIs)
}

/// Renames a store, with what belongs to it, to a name that is free. Nothing is removed: it may be
/// the last copy.
fn put_aside(path: &Path) -> Result<PathBuf, StoreError> {
    let io = |error| StoreError::io(path, error);
    let with = |ending: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    };
    let mut names = (1..).map(|number| format!(".aside-{number}"));
    let free = names.find(|ending| !with(ending).exists()).unwrap_or_default();
    for part in ["", "-wal", "-shm"] {
        match fs::rename(with(part), with(&format!("{free}{part}"))) {
            Err(error) if part.is_empty() || error.kind() != ErrorKind::NotFound => return Err(io(error)),
            _ => {}
        }
    }
    file::sync_folder(path).map_err(io)?;
    Ok(with(&free))
}

/// The number of changes that a store has counted.
pub(super) fn changes(connection: &Connection) -> rusqlite::Result<u64> {
    connection.prepare_cached("SELECT changes FROM mark")?.query_row([], |row| row.get(0))
}

pub(super) fn found(path: &Path) -> Result<Option<Metadata>, StoreError> {
    match fs::metadata(path) {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StoreError::io(path, error)),
    }
}

/// The tables of a layout, with what counts the changes of those that it guards.
pub(super) fn schema(layout: &Layout) -> String {
    let mut schema = layout.schema.to_owned();
    if layout.guards.is_empty() {
        return schema;
    }
    schema.truncate(schema.trim_end().trim_end_matches(';').len());
    schema.push_str("; CREATE TABLE mark (changes INTEGER NOT NULL); INSERT INTO mark VALUES (0);");
    for table in layout.guards {
        for change in ["INSERT", "UPDATE", "DELETE"] {
            // A string takes all that is written into it.
            let _ = write!(
                schema,
                "CREATE TRIGGER mark_{table}_{change} AFTER {change} ON {table}
                 BEGIN UPDATE mark SET changes = changes + 1; END;"
            );
        }
    }
    schema
}

pub(super) fn doubtful(path: &Path, layout: &Layout, doubt: Doubt) -> StoreError {
    StoreError::new(path, StoreProblem::Doubtful { doubt, loss: layout.loss, file: path.to_owned() })
}
