//! The runs that are done: one line of JSON for each, on the disk before the next one counts.
//!
//! ```text
//! {"journal":1,"digest":"…","program":"0.1.0","scenario":"mesh-64","runs":30}
//! {"run":3,"outcome":{…}}
//! ```
//!
//! The last line may be torn; it is cut off, and its run is run again.

use super::Plan;
use super::row::Row;
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

/// The format's version.
const VERSION: u32 = 1;
/// The file in the folder of the results.
const NAME: &str = "journal.jsonl";

/// Why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// It belongs to another sweep.
    #[error(
        "{} holds runs of another scenario or of another version of this program; name another folder, \
         or give --restart to throw them away", .0.display()
    )]
    Foreign(PathBuf),
    /// It is not as it was written.
    #[error("{}:{line}: is no line of a journal; give --restart to throw all runs away", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
    },
    /// Another process writes to it.
    #[error("{} is in use by another sweep; wait for its end, or name another folder", .0.display())]
    InUse(PathBuf),
    /// The system locks no files there.
    #[error("{}: cannot lock it: {error}; name a folder on a file system with locks, as those of local disks have", path.display())]
    NoLocks {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The system failed.
    #[error("the journal failed: {0}")]
    Io(io::Error),
}

// Not `#[from]`: the text has the cause, and who prints causes as well would say it twice.
impl From<io::Error> for JournalError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

#[derive(Serialize, Deserialize, PartialEq)]
struct Head {
    journal: u32,
    digest: String,
    program: String,
    scenario: String,
    runs: usize,
}

#[derive(Serialize)]
struct Line<'a, O> {
    run: u32,
    outcome: &'a O,
}

/// A run that is done, as a line of the journal has it.
#[derive(Debug, Deserialize)]
pub struct Done {
    /// Its number.
    pub run: u32,
    /// Its outcome, as JSON: one that the tables can be made of.
    #[serde(deserialize_with = "outcome")]
    pub outcome: Box<RawValue>,
}

/// Tables are made when all runs are done. What they cannot be made of has to be refused before.
fn outcome<'d, D: Deserializer<'d>>(from: D) -> Result<Box<RawValue>, D::Error> {
    let outcome = Box::<RawValue>::deserialize(from)?;
    Row::parse(outcome.get()).map_err(D::Error::custom)?;
    if !outcome.get().contains('\n') {
        return Ok(outcome);
    }
    // Within a text there is none. A journal has a line for each run.
    RawValue::from_string(outcome.get().replace('\n', " ")).map_err(D::Error::custom)
}

/// The runs that are done.
#[derive(Debug)]
pub struct Journal {
    file: File,
    /// Outcomes as JSON, by the number of the run.
    done: BTreeMap<u32, String>,
}

impl Journal {
    /// Opens the journal in a folder, or begins one; with `restart`, what was there is thrown away.
    ///
    /// # Errors
    /// See [`JournalError`].
    pub fn open(dir: &Path, plan: &Plan, restart: bool) -> Result<Self, JournalError> {
        fs::create_dir_all(dir)?;
        let path = dir.join(NAME);
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(JournalError::InUse(path)),
            Err(TryLockError::Error(error)) => return Err(JournalError::NoLocks { path, error }),
        }
        if restart {
            file.set_len(0)?;
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        // A line without its end was being written when the process ended.
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        text.truncate(whole);
        file.set_len(whole as u64)?;
        file.seek(SeekFrom::Start(whole as u64))?;
        let mut journal = Self { file, done: BTreeMap::new() };
        let head = Head {
            journal: VERSION,
            digest: plan.digest().to_owned(),
            program: env!("CARGO_PKG_VERSION").to_owned(),
            scenario: plan.name().to_owned(),
            runs: plan.runs().len(),
        };
        let mut lines = (1..).zip(text.split_inclusive(|byte| *byte == b'\n'));
        let damaged = |line| JournalError::Damaged { path: path.clone(), line };
        match lines.next() {
            None => {
                journal.line(&head)?;
                // The name of the file has to outlive the process as well.
                File::open(dir)?.sync_all()?;
            }
            Some((line, first)) => {
                let found: Head = serde_json::from_slice(first).map_err(|_| damaged(line))?;
                if found != head {
                    return Err(JournalError::Foreign(path));
                }
            }
        }
        for (number, line) in lines {
            let done: Done = serde_json::from_slice(line).map_err(|_| damaged(number))?;
            if plan.run(done.run).is_none() {
                return Err(damaged(number));
            }
            journal.done.entry(done.run).or_insert_with(|| done.outcome.get().to_owned());
        }
        Ok(journal)
    }

    /// Whether a run is done.
    pub fn has(&self, run: u32) -> bool {
        self.done.contains_key(&run)
    }

    /// Runs that are done.
    pub fn len(&self) -> usize {
        self.done.len()
    }

    /// Whether no run is done.
    pub fn is_empty(&self) -> bool {
        self.done.is_empty()
    }

    /// Outcomes as JSON, in the order of the runs' numbers.
    pub fn outcomes(&self) -> impl Iterator<Item = (u32, &str)> {
        self.done.iter().map(|(run, outcome)| (*run, outcome.as_str()))
    }

    /// Writes a run down. It is on the disk when this returns.
    ///
    /// # Errors
    /// The system's.
    pub fn append(&mut self, run: u32, outcome: &impl Serialize) -> Result<(), JournalError> {
        let text = serde_json::to_string(outcome).map_err(io::Error::other)?;
        let outcome = RawValue::from_string(text.clone()).map_err(io::Error::other)?;
        self.line(&Line { run, outcome: &outcome })?;
        self.done.entry(run).or_insert(text);
        Ok(())
    }

    fn line(&mut self, line: &impl Serialize) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        self.file.write_all(&bytes)?;
        self.file.sync_data()
    }
}
