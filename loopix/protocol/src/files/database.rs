//! The directory as an SQLite file.
//!
//! | table | columns, by position |
//! |---|---|
//! | `Mixnodes` | id, name, port, host, key, layer |
//! | `Providers` | id, name, port, host, key |
//! | `Users` | id, name, port, host, key, provider |
//!
//! Names and hosts are of storage class TEXT, whatever the columns are declared as: the originals
//! look for names bound as TEXT, and a BLOB is never equal to one. Keys are BLOBs of the 37 bytes
//! that petlib packs.

use super::entry::{Wrong, check_host, check_name, check_port};
use super::{Directory, FileError, MixEntry, ProviderEntry, UserEntry, disk, wrong};
use crate::pack;
use motemix_crypto::p224::Point;
use motemix_os::store::lock;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags, Row, params};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// As the originals declare them.
const SCHEMA: &str = "
    CREATE TABLE Mixnodes (id INTEGER PRIMARY KEY, name blob, port integer, host text, pubk blob, groupId integer);
    CREATE TABLE Providers (id INTEGER PRIMARY KEY, name blob, port integer, host text, pubk blob);
    CREATE TABLE Users (id INTEGER PRIMARY KEY, name blob, port integer, host text, pubk blob, provider blob);";

/// The most entries of one kind.
const MOST_ROWS: usize = 1 << 16;
/// The longest value in bytes that SQLite hands out, and the longest statement that it parses.
const LONGEST_VALUE: i32 = 4096;

impl Directory {
    /// Reads the directory in this file, and changes nothing about it.
    ///
    /// # Errors
    /// The file is missing, damaged, no directory, or has an entry that cannot be used; which and
    /// why is in the error.
    pub fn load(path: &Path) -> Result<Self, FileError> {
        // SQLite would only say that it cannot open the file.
        if !fs::metadata(path).map_err(|error| disk::unreadable(path, &error))?.is_file() {
            return Err(wrong(path, "", "is no file", "name an SQLite file"));
        }
        let failed = |error| sqlite(path, &error);
        let connection =
            Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(failed)?;
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST_VALUE).map_err(failed)?;
        // What somebody else has put into the file is data, and nothing to be run.
        connection.pragma_update(None, "trusted_schema", false).map_err(failed)?;
        let mixes = Table { path, name: "Mixnodes", columns: 6 }.entries(&connection, |fields| {
            let Basics { name, host, port, public_key } = fields.basics()?;
            let layer = fields.number(5, "groupId")?;
            Ok(MixEntry { name, host, port, public_key, layer })
        })?;
        let providers = Table { path, name: "Providers", columns: 5 }.entries(&connection, |fields| {
            let Basics { name, host, port, public_key } = fields.basics()?;
            Ok(ProviderEntry { name, host, port, public_key })
        })?;
        let users = Table { path, name: "Users", columns: 6 }.entries(&connection, |fields| {
            let Basics { name, host, port, public_key } = fields.basics()?;
            let provider = fields.name(5, "provider")?;
            Ok(UserEntry { name, host, port, public_key, provider })
        })?;
        Ok(Self::new(mixes, providers, users))
    }

    /// Writes the directory in place of what is at `path`: all of it or nothing.
    ///
    /// # Errors
    /// Two nodes have one name or one address, a user's provider is missing, an entry is one that
    /// [`Directory::load`] would refuse, or the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), FileError> {
        self.check().map_err(|(place, problem, remedy)| wrong(path, place, problem, remedy))?;
        let bytes = self.to_sqlite().map_err(|error| sqlite(path, &error))?;
        disk::replace(path, disk::PUBLIC, &bytes)
    }

    /// The bytes of an SQLite file. It is made in memory, so that the file changes all at once.
    fn to_sqlite(&self) -> rusqlite::Result<Vec<u8>> {
        let mut connection = Connection::open_in_memory()?;
        connection.execute_batch(SCHEMA)?;
        let filling = connection.transaction()?;
        {
            let mut insert = filling.prepare("INSERT INTO Mixnodes VALUES (NULL, ?1, ?2, ?3, ?4, ?5)")?;
            for mix in self.mixes() {
                insert.execute(params![mix.name, mix.port, mix.host, packed(&mix.public_key), mix.layer])?;
            }
            let mut insert = filling.prepare("INSERT INTO Providers VALUES (NULL, ?1, ?2, ?3, ?4)")?;
            for provider in self.providers() {
                let key = packed(&provider.public_key);
                insert.execute(params![provider.name, provider.port, provider.host, key])?;
            }
            let mut insert = filling.prepare("INSERT INTO Users VALUES (NULL, ?1, ?2, ?3, ?4, ?5)")?;
            for user in self.users() {
                let key = packed(&user.public_key);
                insert.execute(params![user.name, user.port, user.host, key, user.provider])?;
            }
        }
        filling.commit()?;
        Ok(connection.serialize(rusqlite::MAIN_DB)?.to_vec())
    }

    /// What a directory has to keep to be written. One that is read may be looser: the originals do
    /// not look.
    fn check(&self) -> Result<(), (String, String, &'static str)> {
        let mut addresses = BTreeSet::new();
        let mut entry = |names: &mut BTreeSet<String>, table: &str, name: &str, host: &str, port: u16| {
            let place = |column: &str| format!("{table}, {name}, {column}");
            let wrong = |column, (problem, remedy): Wrong| (place(column), problem, remedy);
            check_name(name).map_err(|error| wrong("name", error))?;
            check_host(host, name).map_err(|error| wrong("host", error))?;
            check_port(port.into()).map_err(|error| wrong("port", error))?;
            if !names.insert(name.to_owned()) {
                let problem = "is the name of two nodes".to_owned();
                return Err((place("name"), problem, "give each node a name of its own"));
            }
            if !addresses.insert((host.to_owned(), port)) {
                let problem = format!("{host}:{port} is the address of two nodes");
                return Err((place("port"), problem, "give each node an address of its own"));
            }
            Ok(())
        };
        let mut names = BTreeSet::new();
        for mix in self.mixes() {
            entry(&mut names, "Mixnodes", &mix.name, &mix.host, mix.port)?;
        }
        names.clear();
        for provider in self.providers() {
            entry(&mut names, "Providers", &provider.name, &provider.host, provider.port)?;
        }
        names.clear();
        for user in self.users() {
            entry(&mut names, "Users", &user.name, &user.host, user.port)?;
            if self.provider(&user.provider).is_none() {
                let problem = format!("{} is not among the providers", user.provider);
                return Err((
                    format!("Users, {}, provider", user.name),
                    problem,
                    "add it, or choose another",
                ));
            }
        }
        let most = [self.mixes().count(), self.providers().len(), self.users().len()].into_iter().max();
        if most > Some(MOST_ROWS) {
            return Err((String::new(), format!("has more than {MOST_ROWS} nodes of one kind"), "split it"));
        }
        Ok(())
    }
}

fn packed(point: &Point) -> Vec<u8> {
    pack::encode(&pack::point(&point.compress()))
}

/// A table of the file.
#[derive(Clone, Copy)]
struct Table<'p> {
    path: &'p Path,
    name: &'static str,
    columns: usize,
}

impl Table<'_> {
    fn entries<T>(
        self,
        connection: &Connection,
        read: impl Fn(&Fields<'_>) -> Result<T, FileError>,
    ) -> Result<Vec<T>, FileError> {
        let failed = |error| sqlite(self.path, &error);
        self.must_exist(connection)?;
        let mut query = connection.prepare(&format!("SELECT * FROM {}", self.name)).map_err(failed)?;
        let columns = query.column_count();
        if columns < self.columns {
            let problem = format!("has {columns} columns and not {}", self.columns);
            return Err(wrong(self.path, self.name, problem, "make the directory again"));
        }
        let mut rows = query.query([]).map_err(failed)?;
        let mut entries = Vec::new();
        while let Some(row) = rows.next().map_err(failed)? {
            if entries.len() == MOST_ROWS {
                let problem = format!("has more than {MOST_ROWS} rows");
                return Err(wrong(self.path, self.name, problem, "split the network"));
            }
            entries.push(read(&Fields { table: self, row, number: entries.len() + 1 })?);
        }
        Ok(entries)
    }

    /// A view could compute for ever, so it has to be a table with pages of its own.
    fn must_exist(self, connection: &Connection) -> Result<(), FileError> {
        let found: u64 = connection
            .query_row(
                "SELECT count(*) FROM sqlite_schema
                 WHERE name = ?1 COLLATE NOCASE AND type = 'table' AND rootpage > 0",
                [self.name],
                |row| row.get(0),
            )
            .map_err(|error| sqlite(self.path, &error))?;
        if found == 0 {
            let problem = format!("has no table {}: it is no directory of a Loopix network", self.name);
            return Err(wrong(self.path, "", problem, "make the directory, or name the right file"));
        }
        Ok(())
    }
}

/// What all tables have in the same places.
struct Basics {
    name: String,
    host: String,
    port: u16,
    public_key: Point,
}

/// The fields of a row.
struct Fields<'r> {
    table: Table<'r>,
    row: &'r Row<'r>,
    /// From 1, in the order of the file.
    number: usize,
}

impl Fields<'_> {
    fn basics(&self) -> Result<Basics, FileError> {
        let name = self.name(1, "name")?;
        let port = check_port(self.number(2, "port")?).map_err(|error| self.wrong("port", error))?;
        let host = self.text(3, "host")?;
        check_host(&host, &name).map_err(|error| self.wrong("host", error))?;
        Ok(Basics { name, host, port, public_key: self.point(4, "pubk")? })
    }

    fn name(&self, position: usize, column: &str) -> Result<String, FileError> {
        let name = self.text(position, column)?;
        check_name(&name).map_err(|error| self.wrong(column, error))?;
        Ok(name)
    }

    fn text(&self, position: usize, column: &str) -> Result<String, FileError> {
        match self.value(position)? {
            ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Ok(text.to_owned()),
                Err(_) => Err(self.wrong(column, ("is not UTF-8".to_owned(), "write it again"))),
            },
            other => Err(self.ill_typed(column, "TEXT", other)),
        }
    }

    fn number(&self, position: usize, column: &str) -> Result<i64, FileError> {
        match self.value(position)? {
            ValueRef::Integer(number) => Ok(number),
            other => Err(self.ill_typed(column, "INTEGER", other)),
        }
    }

    fn point(&self, position: usize, column: &str) -> Result<Point, FileError> {
        let bytes = match self.value(position)? {
            ValueRef::Blob(bytes) => bytes,
            other => return Err(self.ill_typed(column, "BLOB", other)),
        };
        let compressed = pack::decode(bytes).ok().and_then(|value| pack::compressed_point(&value));
        compressed.and_then(|bytes| Point::decompress(&bytes)).ok_or_else(|| {
            let problem = "is no point of P-224 as petlib packs it".to_owned();
            self.wrong(column, (problem, "copy the key from the node's public*.bin again"))
        })
    }

    fn value(&self, position: usize) -> Result<ValueRef<'_>, FileError> {
        self.row.get_ref(position).map_err(|error| sqlite(self.table.path, &error))
    }

    fn ill_typed(&self, column: &str, expected: &str, found: ValueRef<'_>) -> FileError {
        let found = found.data_type().to_string().to_uppercase();
        self.wrong(column, (format!("is of storage class {found} and not {expected}"), "store it as that"))
    }

    fn wrong(&self, column: &str, (problem, remedy): Wrong) -> FileError {
        let place = format!("{} row {}, {column}", self.table.name, self.number);
        wrong(self.table.path, place, problem, remedy)
    }
}

fn sqlite(path: &Path, error: &rusqlite::Error) -> FileError {
    let (problem, remedy) = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt) => (format!("damaged ({error})"), "make the directory again"),
        Some(ErrorCode::NotADatabase) => ("is no SQLite file".to_owned(), "name the right file"),
        Some(ErrorCode::DiskFull) => ("the disk is full".to_owned(), "free some space and try again"),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => match lock::refused_beside(path) {
            Some(error) => (
                format!("cannot lock it: {error}"),
                "use a folder on a file system with locks, as those of local disks have",
            ),
            None => ("is being changed by another process".to_owned(), "wait for it and try again"),
        },
        Some(ErrorCode::TooBig) => {
            (format!("has a value of more than {LONGEST_VALUE} bytes"), "make the directory again")
        }
        _ => (error.to_string(), "check the file and its permissions"),
    };
    wrong(path, "", problem, remedy)
}
