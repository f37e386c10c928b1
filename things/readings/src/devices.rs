//! The devices that may send readings, and which readings of each have been accepted.
//!
//! One file of `SQLite`. What is accepted is on the disk before anybody sees it: a verifier that
//! was killed accepts nothing a second time.

mod verdicts;

use std::path::{Path, PathBuf};

use motemix_object::{Algorithm, Credential, Freshness, Identity, PublicKey};
use motemix_os::store::sqlite::{self, Guarded, Layout};
use motemix_os::store::{StoreError, StoreMark, StoreProblem};
use rusqlite::{OptionalExtension as _, Row, params};

pub use verdicts::Verdict;

const LAYOUT: Layout = Layout {
    kind: "list of devices",
    // `removed` has which readings were accepted of devices that were taken out of the list, and
    // `shown` what devices have shown: those with a statement beside their key cannot be shown to
    // others without it.
    // "mmdv"
    application_id: 0x6d6d_6476,
    version: 1,
    schema: "
        CREATE TABLE devices (
            short     BLOB PRIMARY KEY,
            identity  BLOB,
            algorithm INTEGER,
            key       BLOB,
            place     TEXT NOT NULL,
            purpose   TEXT NOT NULL,
            admitted  INTEGER NOT NULL,
            next      INTEGER NOT NULL DEFAULT 0,
            seen      BLOB NOT NULL DEFAULT x'ffffffffffffffff',
            accepted  INTEGER NOT NULL DEFAULT 0,
            heard_at  INTEGER,
            successor BLOB
        ) WITHOUT ROWID;
        CREATE TABLE settings (
            name  TEXT PRIMARY KEY,
            value INTEGER NOT NULL
        ) WITHOUT ROWID;
        CREATE TABLE verdicts (
            message  INTEGER PRIMARY KEY,
            digest   BLOB NOT NULL,
            short    BLOB,
            sequence INTEGER,
            problem  TEXT
        );
        CREATE TABLE removed (
            short BLOB PRIMARY KEY,
            next  INTEGER NOT NULL,
            seen  BLOB NOT NULL
        ) WITHOUT ROWID;
        CREATE TABLE shown (
            short      BLOB PRIMARY KEY,
            credential BLOB NOT NULL
        ) WITHOUT ROWID;",
    guards: &["devices", "removed", "settings"],
    loss: "Readings that were believed would be believed again from whoever recorded them",
};

/// The longest credential, in bytes.
const CREDENTIAL_LEN: usize = 1024;

/// The most devices of a list.
pub const MAX_DEVICES: i64 = 1024;

/// How a device got into the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admitted {
    /// Somebody put its identity there.
    ByList,
    /// It was the first to ask, while there were places for those who do: whoever was there at that
    /// time may be somebody else.
    OnFirstUse,
    /// A device of the list named it as its successor.
    AsSuccessor,
}

impl Admitted {
    const ALL: [Self; 3] = [Self::ByList, Self::OnFirstUse, Self::AsSuccessor];

    /// For people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ByList => "list",
            Self::OnFirstUse => "first use",
            Self::AsSuccessor => "successor",
        }
    }

    const fn number(self) -> i64 {
        match self {
            Self::ByList => 0,
            Self::OnFirstUse => 1,
            Self::AsSuccessor => 2,
        }
    }
}

/// A device of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// The first half of its identity, which labels show.
    pub short: [u8; Identity::SHORT_LEN],
    /// Identity and key, once it has shown its key.
    pub known: Option<(Identity, PublicKey)>,
    /// Where it is.
    pub place: String,
    /// What it is for.
    pub purpose: String,
    /// How it got here.
    pub admitted: Admitted,
    /// Which of its readings are accepted.
    pub fresh: Freshness,
    /// How many were.
    pub accepted: u64,
    /// When the last one was, in seconds since 1970.
    pub heard_at: Option<u64>,
    /// The identity that took its place: nothing of this one is accepted any more.
    pub successor: Option<Identity>,
}

/// Changes that belong together have begun.
#[must_use]
pub(crate) struct Together {
    /// They are not a part of others.
    is_all: bool,
}

/// The list in its file.
#[derive(Debug)]
pub struct Devices {
    path: PathBuf,
    connection: Guarded,
}

impl Devices {
    /// Whether there is a list, or was: what was read of one that is gone could be believed again.
    pub fn is_or_was_at(path: &Path) -> bool {
        path.exists() || StoreMark::of(path).is_ok_and(|mark| mark.says_used())
    }

    /// Opens the list; makes an empty one if there is none, and was none.
    ///
    /// # Errors
    /// The file belongs to something else, is damaged, is not the one that was left here
    /// ([`StoreProblem::Doubtful`]), or the system refuses.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref().to_owned();
        Ok(Self { connection: LAYOUT.open(&path)?, path })
    }

    /// Puts a device into the list, or changes where it is and what it is for. Returns whether it
    /// is new.
    ///
    /// # Errors
    /// The list is full ([`StoreProblem::Full`]), or the file does not work.
    pub fn authorise(
        &mut self,
        short: [u8; Identity::SHORT_LEN],
        place: &str,
        purpose: &str,
        admitted: Admitted,
    ) -> Result<bool, StoreError> {
        if self.device(short)?.is_some() {
            let changed = "UPDATE devices SET place = ?2, purpose = ?3, admitted = ?4 WHERE short = ?1";
            self.run(changed, params![short, place, purpose, admitted.number()])?;
            return Ok(false);
        }
        if self.is_full()? {
            return Err(StoreError { file: self.path.clone(), problem: StoreProblem::Full });
        }
        self.in_one(|devices| {
            let added = "INSERT INTO devices (short, place, purpose, admitted) VALUES (?1, ?2, ?3, ?4)";
            devices.run(added, params![short, place, purpose, admitted.number()])?;
            // One that was here before goes on where it was: its readings may have been recorded.
            let before = "UPDATE devices SET next = removed.next, seen = removed.seen FROM removed
                          WHERE devices.short = ?1 AND removed.short = ?1";
            devices.run(before, params![short])?;
            devices.run("DELETE FROM removed WHERE short = ?1", params![short])?;
            Ok(true)
        })
    }

    /// Whether it has no room for one more device.
    ///
    /// # Errors
    /// The file does not work.
    pub fn is_full(&self) -> Result<bool, StoreError> {
        Ok(self.number("SELECT count(*) FROM devices")? >= MAX_DEVICES)
    }

    /// Takes a device out of the list. Returns whether it was there. Which of its readings were
    /// accepted is not forgotten, should it be put in again.
    ///
    /// # Errors
    /// The file does not work.
    pub fn remove(&mut self, short: [u8; Identity::SHORT_LEN]) -> Result<bool, StoreError> {
        self.in_one(|devices| {
            let noted =
                "INSERT OR REPLACE INTO removed SELECT short, next, seen FROM devices WHERE short = ?1";
            devices.run(noted, params![short])?;
            Ok(devices.run("DELETE FROM devices WHERE short = ?1", params![short])? > 0)
        })
    }

    /// All devices, by place and purpose.
    ///
    /// # Errors
    /// The file does not work.
    pub fn all(&self) -> Result<Vec<Device>, StoreError> {
        let select = format!("SELECT {COLUMNS} FROM devices ORDER BY place, purpose, short");
        let mut statement = self.connection.prepare(&select).map_err(|error| self.failed(error))?;
        let rows = statement.query_map([], device).map_err(|error| self.failed(error))?;
        rows.collect::<Result<_, _>>().map_err(|error| self.failed(error))
    }

    /// The devices whose identities begin with these bytes.
    ///
    /// # Errors
    /// The file does not work.
    pub(crate) fn beginning_with(&self, first: [u8; 4]) -> Result<Vec<Device>, StoreError> {
        let [mut lowest, mut highest] = [[0; Identity::SHORT_LEN], [u8::MAX; Identity::SHORT_LEN]];
        for bounds in [&mut lowest, &mut highest] {
            bounds.iter_mut().zip(first).for_each(|(to, from)| *to = from);
        }
        let select = format!("SELECT {COLUMNS} FROM devices WHERE short BETWEEN ?1 AND ?2");
        let mut statement = self.connection.prepare_cached(&select).map_err(|error| self.failed(error))?;
        let rows = statement.query_map([lowest, highest], device).map_err(|error| self.failed(error))?;
        rows.collect::<Result<_, _>>().map_err(|error| self.failed(error))
    }

    /// The identities that are known in full, and which of their readings are accepted. Checks no
    /// key: that costs more than all else that a stranger's message does.
    ///
    /// # Errors
    /// The file does not work.
    pub(crate) fn identities(&self) -> Result<Vec<(Identity, Freshness)>, StoreError> {
        let select = "SELECT identity, next, seen FROM devices WHERE identity IS NOT NULL";
        let mut statement = self.connection.prepare_cached(select).map_err(|error| self.failed(error))?;
        let rows = statement.query_map([], |row| Ok((Identity::from_bytes(row.get(0)?), fresh(row, 1)?)));
        let rows = rows.map_err(|error| self.failed(error))?;
        rows.collect::<Result<_, _>>().map_err(|error| self.failed(error))
    }

    /// One device.
    ///
    /// # Errors
    /// The file does not work.
    pub fn device(&self, short: [u8; Identity::SHORT_LEN]) -> Result<Option<Device>, StoreError> {
        let select = format!("SELECT {COLUMNS} FROM devices WHERE short = ?1");
        self.connection.query_row(&select, [short], device).optional().map_err(|error| self.failed(error))
    }

    /// Notes the key that a device has shown, and that belongs to its identity.
    ///
    /// # Errors
    /// The file does not work.
    pub fn introduce(&mut self, identity: &Identity, credential: &Credential<'_>) -> Result<(), StoreError> {
        let noted = "UPDATE devices SET identity = ?2, algorithm = ?3, key = ?4 WHERE short = ?1";
        let key = credential.key();
        let algorithm = key.algorithm().cose();
        self.run(noted, params![identity.short(), identity.as_bytes(), algorithm, key.as_bytes()])?;
        let mut bytes = [0; CREDENTIAL_LEN];
        if let Some(bytes) = credential.encode(&mut bytes).ok().and_then(|len| bytes.get(..len)) {
            self.run("INSERT OR REPLACE INTO shown VALUES (?1, ?2)", params![identity.short(), bytes])?;
        }
        Ok(())
    }

    /// The credential that a device has shown, for those who check its readings elsewhere. `None`
    /// if it has shown none since lists keep them, and had a statement beside its key.
    ///
    /// # Errors
    /// The file does not work.
    pub fn credential(&self, identity: &Identity, key: &PublicKey) -> Result<Option<Vec<u8>>, StoreError> {
        let select = "SELECT credential FROM shown WHERE short = ?1";
        let shown: Option<Vec<u8>> = self
            .connection
            .query_row(select, [identity.short()], |row| row.get(0))
            .optional()
            .map_err(|error| self.failed(error))?;
        let mut bytes = [0; CREDENTIAL_LEN];
        let alone = || {
            let len = Credential::new(*key, &[]).ok()?.encode(&mut bytes).ok()?;
            bytes.get(..len).map(<[u8]>::to_vec)
        };
        let is_its_own = |bytes: &Vec<u8>| {
            Credential::parse(bytes).and_then(|credential| credential.identity()).ok() == Some(*identity)
        };
        Ok(shown.or_else(alone).filter(is_its_own))
    }

    /// Notes which readings of a device are accepted from now on, before what was accepted is used.
    /// With `heard_at`, one more was.
    ///
    /// # Errors
    /// The file does not work: nothing is accepted then.
    pub fn keep(
        &self,
        short: [u8; Identity::SHORT_LEN],
        fresh: Freshness,
        heard_at: Option<u64>,
    ) -> Result<(), StoreError> {
        let [next, seen] = fresh.to_words();
        let noted = "UPDATE devices SET next = ?2, seen = ?3, accepted = accepted + (?4 IS NOT NULL),
                     heard_at = coalesce(?4, heard_at) WHERE short = ?1";
        self.run(noted, params![short, next.cast_signed(), seen.to_be_bytes(), heard_at])?;
        Ok(())
    }

    /// Puts another identity in a device's place. Both or none is noted. A key that is new here
    /// counts from 0, as each key does; of one that is in the list already nothing is forgotten.
    ///
    /// # Errors
    /// The file does not work.
    pub fn succeed(
        &mut self,
        old: &Device,
        successor: &Identity,
        credential: &Credential<'_>,
    ) -> Result<(), StoreError> {
        self.in_one(|devices| {
            let noted = "UPDATE devices SET successor = ?2 WHERE short = ?1";
            devices.run(noted, params![old.short, successor.as_bytes()])?;
            devices.authorise(successor.short(), &old.place, &old.purpose, Admitted::AsSuccessor)?;
            devices.introduce(successor, credential)
        })
    }

    /// How many devices may still get into the list by being the first to ask.
    ///
    /// # Errors
    /// The file does not work.
    pub fn places_on_first_use(&self) -> Result<u64, StoreError> {
        let places = self.number("SELECT coalesce(max(value), 0) FROM settings WHERE name = 'first use'")?;
        Ok(u64::try_from(places).unwrap_or(0))
    }

    /// Sets that number. While it is above zero, whoever asks first is trusted.
    ///
    /// # Errors
    /// The file does not work.
    pub fn set_places_on_first_use(&mut self, places: u64) -> Result<(), StoreError> {
        self.run("INSERT OR REPLACE INTO settings VALUES ('first use', ?1)", params![places])?;
        Ok(())
    }

    /// Runs `work` so that all it changes is noted, or nothing is.
    ///
    /// # Errors
    /// Those of `work`, and those of the file.
    pub fn in_one<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let one = self.begin()?;
        let result = work(self);
        if result.is_ok() {
            self.end(one)?
        } else {
            self.undo(one)?
        }
        result
    }

    /// From here on all is noted together, with [`end`](Self::end), or not at all. Other
    /// processes with this list wait: what is read from here on stays true until then.
    pub(crate) fn begin(&self) -> Result<Together, StoreError> {
        let is_all = self.connection.is_autocommit();
        self.run(if is_all { "BEGIN IMMEDIATE" } else { "SAVEPOINT together" }, [])?;
        Ok(Together { is_all })
    }

    pub(crate) fn end(&self, together: Together) -> Result<(), StoreError> {
        let ended = self.run(if together.is_all { "COMMIT" } else { "RELEASE together" }, []);
        if ended.is_err() {
            // The disk may have room for what comes next.
            let _ = self.undo(together);
        }
        ended.map(|_| ())
    }

    #[expect(clippy::needless_pass_by_value, reason = "changes end once")]
    pub(crate) fn undo(&self, together: Together) -> Result<(), StoreError> {
        // After some failures SQLite has undone all of it by itself.
        if self.connection.is_autocommit() {
            return Ok(());
        }
        if together.is_all {
            return self.run("ROLLBACK", []).map(|_| ());
        }
        self.run("ROLLBACK TO together", [])?;
        self.run("RELEASE together", []).map(|_| ())
    }

    fn run(&self, statement: &str, values: impl rusqlite::Params) -> Result<usize, StoreError> {
        let prepared = self.connection.prepare_cached(statement);
        let done = prepared.and_then(|mut statement| statement.execute(values));
        self.connection.note();
        done.map_err(|error| self.failed(error))
    }

    fn number(&self, select: &str) -> Result<i64, StoreError> {
        self.connection.query_row(select, [], |row| row.get(0)).map_err(|error| self.failed(error))
    }

    fn failed(&self, error: rusqlite::Error) -> StoreError {
        sqlite::failure(&self.path, error)
    }
}

const COLUMNS: &str =
    "short, identity, algorithm, key, place, purpose, admitted, next, seen, accepted, heard_at, successor";

fn device(row: &Row<'_>) -> rusqlite::Result<Device> {
    let (identity, algorithm, key): (Option<[u8; 32]>, Option<i64>, Option<Vec<u8>>) =
        (row.get(1)?, row.get(2)?, row.get(3)?);
    let key = algorithm.and_then(Algorithm::of_cose).zip(key);
    // What is no key was not put there by this program; the device has to show it again.
    let key = key.and_then(|(algorithm, key)| PublicKey::new(algorithm, &key).ok());
    let admitted: i64 = row.get(6)?;
    let successor: Option<[u8; 32]> = row.get(11)?;
    Ok(Device {
        short: row.get(0)?,
        known: identity.map(Identity::from_bytes).zip(key),
        place: row.get(4)?,
        purpose: row.get(5)?,
        admitted: Admitted::ALL
            .into_iter()
            .find(|way| way.number() == admitted)
            .unwrap_or(Admitted::OnFirstUse),
        fresh: fresh(row, 7)?,
        accepted: row.get(9)?,
        heard_at: row.get(10)?,
        successor: successor.map(Identity::from_bytes),
    })
}

/// The numbers that stand in this column and the next one.
fn fresh(row: &Row<'_>, column: usize) -> rusqlite::Result<Freshness> {
    let (next, seen): (i64, [u8; 8]) = (row.get(column)?, row.get(column + 1)?);
    Ok(Freshness::from_words([next.cast_unsigned(), u64::from_be_bytes(seen)]))
}
