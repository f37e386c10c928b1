//! A store in a file of SQLite that counts its changes, with the mark that has their number.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::fs::{self, Metadata};
use std::io::{ErrorKind, Read as _};
use std::ops::{Deref, DerefMut};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::{Layout, failure, write_ahead_log};
use crate::store::store_mark::{Doubt, StoreMark};
use crate::store::{StoreError, StoreProblem, file, lock};

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
    /// It is the one that its program left: nothing was to be done, and nothing was.
    Sound,
    /// With the store as it is.
    AsItIs,
    /// With a new one, which the next program that uses it makes; what was there is here now.
    Anew(Option<PathBuf>),
}

/// Goes on with a store that was copied or put back, as it is; or lets a new one begin in the place
/// of one that is gone or has no bytes. A copy of what brokers store together elsewhere is put
/// aside, to be read anew. A store that its program left so is not touched.
///
/// # Errors
/// A program has it open, nothing is or was there, it is none of our stores, damaged, or the system
/// refuses.
pub fn adopt(path: &Path) -> Result<Adopted, StoreError> {
    let io = |error| StoreError::io(path, error);
    // Before this process opens any of them. Of a store that is gone its parts may be open still.
    let [log, index] = ["-wal", "-shm"].map(|ending| part(path, ending));
    lock::check_free(path, &[path, &log, &index])?;
    let mut mark = StoreMark::of(path).map_err(io)?;
    let found = found(path)?;
    if found.as_ref().is_none_or(|found| found.len() == 0) {
        // Of a store that is gone its log may be there, and would be read into the next one.
        let aside = put_aside(path)?;
        if aside.is_none() && !mark.is_there() {
            return Err(StoreError::new(path, StoreProblem::Nothing));
        }
        mark.remove().map_err(io)?;
        return Ok(Adopted::Anew(aside));
    }
    if let Some(what) = no_store(path).map_err(io)? {
        return Err(StoreError::new(path, StoreProblem::NoStore(what)));
    }
    let failed = |error| failure(path, error);
    let connection = super::open(path).map_err(failed)?;
    let id: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0)).map_err(failed)?;
    let tables = |name: &str| {
        let query = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?1";
        connection.query_row(query, [name], |row| row.get::<_, u32>(0)).map_err(failed)
    };
    let is_copy = tables("replica")? > 0;
    if id >> 16 != OURS || !is_copy && tables("mark")? == 0 {
        return Err(StoreError::new(path, StoreProblem::Foreign("store that has a mark")));
    }
    let changes = if is_copy { 0 } else { changes(&connection).map_err(failed)? };
    connection.close().map_err(|(_, error)| failed(error))?;
    if is_copy {
        let aside = put_aside(path)?;
        mark.remove().map_err(io)?;
        return Ok(Adopted::Anew(aside));
    }
    if found.is_some_and(|found| mark.doubt(&found, changes).is_none()) {
        return Ok(Adopted::Sound);
    }
    mark.renew(changes).map_err(io)?;
    Ok(Adopted::AsItIs)
}

/// What a text file of ours is, such as a key, by its first line; `None` if it is none.
fn no_store(path: &Path) -> std::io::Result<Option<&'static str>> {
    let mut begin = Vec::new();
    file::open(path)?.take(64).read_to_end(&mut begin)?;
    let line = begin.split(|byte| *byte == b'\n').next().and_then(|line| std::str::from_utf8(line).ok());
    Ok(line.and_then(|line| line.strip_prefix("motemix ")).map(|title| match title {
        _ if title.starts_with("reading counter") => {
            "a counter of readings and no store; `motemix object register KEY --next N` says which number is next"
        }
        _ if title.starts_with("obeyed servers") => {
            "a list of servers and no store; `motemix id rotate` begins anew with another key"
        }
        _ if title.starts_with("store mark") => "the mark of a store; name the store, without `.mark`",
        _ if title.contains("key") || title.contains("identity") => "a key, which is no store; check the path",
        _ => "a file of motemix and no store; check the path",
    }))
}

fn part(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// What a store consists of beside its mark, as endings of its name.
const PARTS: [&str; 3] = ["", "-wal", "-shm"];

/// Renames a store, or what is left of one that is gone, to a name that is free. Nothing is
/// removed: it may be the last copy. The first file that was there has the name that is returned.
///
/// # Errors
/// The system refuses.
pub fn put_aside(path: &Path) -> Result<Option<PathBuf>, StoreError> {
    rename_aside(path, &PARTS)
}

/// Puts a store aside in which nothing was ever kept; `false` if something was.
///
/// # Errors
/// A program has it open, it guards nothing, or the system refuses.
pub fn put_unused_aside(path: &Path) -> Result<bool, StoreError> {
    let [log, index] = ["-wal", "-shm"].map(|ending| part(path, ending));
    lock::check_free(path, &[path, &log, &index])?;
    let is_used = StoreMark::of(path).map_err(|error| StoreError::io(path, error))?.says_used();
    let store = super::open_to_read(path)?;
    if is_used || changes(&store).map_err(|error| failure(path, error))? > 0 {
        return Ok(false);
    }
    drop(store);
    put_aside(path).map(|_| true)
}

/// As [`put_aside`], without the store itself: another process may have made a new one.
pub(super) fn put_log_aside(path: &Path) -> Result<(), StoreError> {
    rename_aside(path, &PARTS[1..]).map(drop)
}

fn rename_aside(path: &Path, parts: &[&str]) -> Result<Option<PathBuf>, StoreError> {
    let io = |error| StoreError::io(path, error);
    let with = |ending: &str| part(path, ending);
    let is_free = |ending: &String| !PARTS.iter().any(|part| with(&format!("{ending}{part}")).exists());
    let mut names = (1..).map(|number| format!(".aside-{number}"));
    let free = names.find(is_free).unwrap_or_default();
    let mut first = None;
    for part in parts {
        let aside = with(&format!("{free}{part}"));
        match fs::rename(with(part), &aside) {
            Ok(()) => first = first.or(Some(aside)),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(io(error)),
        }
    }
    if first.is_some() {
        file::sync_folder(path).map_err(io)?;
    }
    Ok(first)
}

/// Whether the log of a store is there, and the store is not. Looks at the log first: a store that
/// another process makes meanwhile is there before its log is.
pub(super) fn left_its_log(path: &Path) -> Result<bool, StoreError> {
    Ok(write_ahead_log(path).exists() && found(path)?.is_none())
}

/// Says beside a store that guards nothing that it was used: what guards does not begin in its
/// place when it is gone, and [`adopt`] lets it.
///
/// # Errors
/// The system refuses.
pub fn mark_as_used(path: &Path) -> Result<(), StoreError> {
    let io = |error| StoreError::io(path, error);
    let mut mark = StoreMark::of(path).map_err(io)?;
    if mark.says_used() { Ok(()) } else { mark.renew(1).map_err(io) }
}

/// Whether each change of each table that a layout guards is counted.
pub(super) fn counts_all(connection: &Connection, layout: &Layout) -> rusqlite::Result<bool> {
    let query =
        "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'mark\\_%' ESCAPE '\\'";
    let triggers: usize = connection.query_row(query, [], |row| row.get(0))?;
    Ok(triggers == layout.guards.len() * CHANGES.len())
}

/// The number of changes that a store has counted.
pub(super) fn changes(connection: &Connection) -> rusqlite::Result<u64> {
    connection.prepare_cached("SELECT changes FROM mark")?.query_row([], |row| row.get(0))
}

/// What is at the place of a store. A link there, or in the place of what SQLite has beside it, is
/// somebody's who may want another file to be changed.
pub(super) fn found(path: &Path) -> Result<Option<Metadata>, StoreError> {
    let look = |path: &Path| match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => Err(StoreError::new(path, StoreProblem::Link("symbolic"))),
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StoreError::io(path, error)),
    };
    for ending in &PARTS[1..] {
        let path = part(path, ending);
        if look(&path)?.is_some_and(|found| found.is_file() && found.nlink() > 1) {
            return Err(StoreError::new(&path, StoreProblem::Link("hard")));
        }
    }
    look(path)
}

/// What is counted.
const CHANGES: [&str; 3] = ["INSERT", "UPDATE", "DELETE"];

/// The tables of a layout, with what counts the changes of those that it guards.
pub(super) fn schema(layout: &Layout) -> String {
    let mut schema = layout.schema.to_owned();
    if layout.guards.is_empty() {
        return schema;
    }
    schema.truncate(schema.trim_end().trim_end_matches(';').len());
    schema.push_str("; CREATE TABLE mark (changes INTEGER NOT NULL); INSERT INTO mark VALUES (0);");
    for table in layout.guards {
        for change in CHANGES {
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::chown;

    use super::*;

    const GUARD: Layout = Layout {
        kind: "store of a test",
        application_id: 0x6d6d_7473,
        version: 1,
        schema: "CREATE TABLE numbers (number INTEGER PRIMARY KEY);",
        guards: &["numbers"],
        loss: "Numbers would come twice",
    };

    /// Leaves what is there after a program was killed and its store removed: the log.
    fn lose(layout: &Layout, store: &Path) {
        let kept = store.with_extension("kept");
        let open = layout.open(store).unwrap();
        open.execute("INSERT INTO numbers VALUES (7)", []).unwrap();
        open.note();
        fs::copy(write_ahead_log(store), &kept).unwrap();
        drop(open);
        fs::remove_file(store).unwrap();
        fs::rename(kept, write_ahead_log(store)).unwrap();
    }

    fn numbers(layout: &Layout, store: &Path) -> u32 {
        let open = layout.open(store).unwrap();
        open.query_row("SELECT count(*) FROM numbers", [], |row| row.get(0)).unwrap()
    }

    fn is_gone(opened: Result<Guarded, StoreError>) -> bool {
        matches!(opened.unwrap_err().problem, StoreProblem::Doubtful { doubt: Doubt::Gone, .. })
    }

    #[test]
    fn the_log_of_a_store_that_is_gone_is_read_into_no_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store");
        let mark = crate::store::store_mark::path_of(&store);
        for (number, loses_its_mark) in [(1, false), (2, true)] {
            lose(&GUARD, &store);
            if loses_its_mark {
                fs::remove_file(&mark).unwrap();
            }
            assert!(is_gone(GUARD.open(&store)));
            // Those that were put aside before stay.
            let aside = folder.path().join(format!("store.aside-{number}-wal"));
            assert_eq!(adopt(&store).unwrap(), Adopted::Anew(Some(aside)));
            assert!(!write_ahead_log(&store).exists() && !mark.exists());
            assert_eq!(numbers(&GUARD, &store), 0);
        }
        // A store that guards nothing begins anew by itself.
        let (layout, store) = (Layout { guards: &[], ..GUARD }, folder.path().join("other"));
        lose(&layout, &store);
        assert_eq!(numbers(&layout, &store), 0);
        assert!(folder.path().join("other.aside-1-wal").exists());
    }

    /// A command of root makes a store anew, and another uses it: the service goes on with it.
    #[test]
    fn what_root_makes_of_a_store_belongs_to_the_owner_of_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        // Only root can give files away.
        if chown(folder.path(), Some(1236), Some(1237)).is_err() {
            return;
        }
        let store = folder.path().join("store");
        for number in 0..2 {
            let open = GUARD.open(&store).unwrap();
            open.execute("INSERT INTO numbers VALUES (?1)", [number]).unwrap();
            open.note();
            for part in ["", "-wal", "-shm", ".mark"] {
                let found = fs::metadata(folder.path().join(format!("store{part}"))).unwrap();
                assert_eq!((found.uid(), found.gid()), (1236, 1237), "store{part}");
            }
        }
    }

    /// SQLite gives to the owner of a store what is beside it, if root opens the store.
    #[test]
    fn no_file_is_opened_or_given_away_that_a_link_beside_a_store_leads_to() {
        let folder = tempfile::tempdir().unwrap();
        let _ = chown(folder.path(), Some(1236), Some(1237));
        let [store, victim, absent] = ["store", "victim", "absent"].map(|name| folder.path().join(name));
        drop(GUARD.open(&store).unwrap());
        fs::write(&victim, "").unwrap();
        let _ = chown(&victim, Some(1), Some(1));
        let look = || {
            let found = fs::metadata(&victim).unwrap();
            (found.uid(), found.gid(), found.len())
        };
        let before = look();
        let kept = folder.path().join("kept");
        for ending in PARTS {
            let place = part(&store, ending);
            fs::rename(&store, &kept).unwrap();
            let real = if ending.is_empty() { &kept } else { &victim };
            if !ending.is_empty() {
                fs::rename(&kept, &store).unwrap();
            }
            for target in [real, &absent] {
                std::os::unix::fs::symlink(target, &place).unwrap();
                let refused = GUARD.open(&store).unwrap_err().to_string();
                assert!(refused.contains("it is a symbolic link"), "{refused}");
                assert!(adopt(&store).is_err());
                fs::remove_file(&place).unwrap();
            }
            if ending.is_empty() {
                fs::rename(&kept, &store).unwrap();
                continue;
            }
            fs::hard_link(&victim, &place).unwrap();
            assert!(GUARD.open(&store).unwrap_err().to_string().contains("it is a hard link"));
            assert!(adopt(&store).is_err());
            fs::remove_file(&place).unwrap();
        }
        assert_eq!((look(), absent.exists()), (before, false));
        // Through a folder that is a link, as an operator has it.
        let elsewhere = tempfile::tempdir().unwrap();
        let link = elsewhere.path().join("link");
        std::os::unix::fs::symlink(folder.path(), &link).unwrap();
        drop(GUARD.open(link.join("store")).unwrap());
    }

    #[test]
    fn what_is_put_aside_may_be_any_part_of_a_store_and_nothing_is_not_adopted() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store");
        assert_eq!(put_aside(&store).unwrap(), None);
        assert!(matches!(adopt(&store).unwrap_err().problem, StoreProblem::Nothing));
        fs::write(&store, "").unwrap();
        fs::write(write_ahead_log(&store), "old").unwrap();
        assert_eq!(put_aside(&store).unwrap(), Some(folder.path().join("store.aside-1")));
        assert_eq!(fs::read(folder.path().join("store.aside-1-wal")).unwrap(), b"old");
    }

    #[test]
    fn a_store_that_is_sound_is_left_as_it_is_and_what_is_no_store_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let [store, key] = ["store", "key"].map(|name| folder.path().join(name));
        let used = |number: u32| {
            let open = GUARD.open(&store).unwrap();
            open.execute("INSERT INTO numbers VALUES (?1)", [number]).unwrap();
            open.note();
        };
        used(1);
        let mark = crate::store::store_mark::path_of(&store);
        let before = fs::read(&mark).unwrap();
        assert_eq!((adopt(&store).unwrap(), adopt(&store).unwrap()), (Adopted::Sound, Adopted::Sound));
        assert_eq!(fs::read(&mark).unwrap(), before);
        used(2);
        // Of a copy, once.
        fs::copy(&store, &key).unwrap();
        fs::rename(&key, &store).unwrap();
        assert!(GUARD.open(&store).is_err());
        assert_eq!((adopt(&store).unwrap(), adopt(&store).unwrap()), (Adopted::AsItIs, Adopted::Sound));
        used(3);
        fs::write(&key, "motemix device key 1\nseed 00\n").unwrap();
        let said = adopt(&key).unwrap_err().to_string();
        assert!(said.ends_with("key: it is a key, which is no store; check the path"), "{said}");
        assert!(adopt(&mark).unwrap_err().to_string().contains("name the store, without `.mark`"));
    }
}
