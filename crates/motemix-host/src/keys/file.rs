//! Key files: text of `name value` lines below a title line, readable by their owner only.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use motemix_directory::Epoch;
use zeroize::Zeroizing;

/// The longest key file that is read, in bytes.
const LONGEST: u64 = 4096;

/// Why a key file cannot be used; prints as one line with the file and a remedy.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", file.display())]
pub struct KeyError {
    /// The key file.
    pub file: PathBuf,
    /// What is wrong with it.
    #[source]
    pub problem: KeyProblem,
}

/// What is wrong with a key file.
#[derive(Debug, thiserror::Error)]
pub enum KeyProblem {
    /// It cannot be read.
    #[error("cannot read it: {0}; check the path and its owner")]
    Read(io::Error),
    /// It cannot be written.
    #[error("cannot write it: {0}; check the folder, its permissions and its free space")]
    Write(io::Error),
    /// Somebody else than its owner may read or change it.
    #[error("others may use this key (mode {mode:04o}); run `chmod 600 {}`, and replace the key if they have", file.display())]
    Exposed {
        /// Permission bits.
        mode: u32,
        /// The file, for the remedy.
        file: PathBuf,
    },
    /// A key must not be replaced by accident.
    #[error("there is a key already; remove it first if it is to be replaced")]
    Exists,
    /// Its text is not that of a key file.
    #[error("line {line}: {expected}; restore the file from a backup or make a new key")]
    Malformed {
        /// Line, counted from 1.
        line: usize,
        /// What should have been there.
        expected: &'static str,
    },
    /// The key of an epoch that has passed has been erased.
    #[error("the key of epoch {asked} is gone, the file is at epoch {have}; check this machine's clock")]
    Passed {
        /// Epoch asked for.
        asked: Epoch,
        /// The earliest epoch whose key can still be derived.
        have: Epoch,
    },
    /// Deriving so many steps ahead would only follow an error somewhere else.
    #[error(
        "epoch {asked} is too far ahead of epoch {have}; check this machine's clock and the network document"
    )]
    TooFarAhead {
        /// Epoch asked for.
        asked: Epoch,
        /// The file's epoch.
        have: Epoch,
    },
}

impl KeyError {
    pub(super) fn new(file: &Path, problem: KeyProblem) -> Self {
        Self { file: file.to_owned(), problem }
    }
}

/// Reads a key file whose owner alone may use it.
pub(super) fn read(path: &Path) -> Result<Zeroizing<String>, KeyError> {
    let failed = |error| KeyError::new(path, KeyProblem::Read(error));
    let mut file = File::open(path).map_err(failed)?;
    // Asked of the open file, so that nobody can exchange it in between.
    let mode = file.metadata().map_err(failed)?.mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(KeyError::new(path, KeyProblem::Exposed { mode, file: path.to_owned() }));
    }
    // Room for all of it: a string that grows leaves copies behind.
    let mut text = Zeroizing::new(String::with_capacity(LONGEST as usize));
    file.by_ref().take(LONGEST).read_to_string(&mut text).map_err(failed)?;
    Ok(text)
}

/// The lines of a key file, taken one after the other.
pub(super) struct Lines<'a> {
    path: &'a Path,
    rest: std::iter::Enumerate<std::str::Lines<'a>>,
    line: usize,
}

impl<'a> Lines<'a> {
    /// Starts after the title line.
    pub(super) fn below(path: &'a Path, text: &'a str, title: &'static str) -> Result<Self, KeyError> {
        let mut lines = Self { path, rest: text.lines().enumerate(), line: 1 };
        match lines.next() {
            Some(line) if line == title => Ok(lines),
            _ => Err(lines.malformed(title)),
        }
    }

    /// The number on the next line, which has to be called `name`.
    pub(super) fn number(&mut self, name: &str, expected: &'static str) -> Result<u32, KeyError> {
        let value = self.next().and_then(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok());
        value.ok_or_else(|| self.malformed(expected))
    }

    /// The 32 bytes in hexadecimal on the next line, which has to be called `name` and to be the last.
    pub(super) fn last_seed(
        mut self,
        name: &str,
        expected: &'static str,
    ) -> Result<Zeroizing<[u8; 32]>, KeyError> {
        let mut seed = Zeroizing::new([0; 32]);
        let digits = self.next().and_then(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let decoded = digits.is_some_and(|digits| hex::decode_to_slice(digits, &mut *seed).is_ok());
        if !decoded {
            return Err(self.malformed(expected));
        }
        match self.next() {
            None => Ok(seed),
            Some(_) => Err(self.malformed("the end of the file")),
        }
    }

    fn next(&mut self) -> Option<&'a str> {
        let (index, line) = self.rest.next()?;
        self.line = index + 1;
        Some(line)
    }

    fn malformed(&self, expected: &'static str) -> KeyError {
        KeyError::new(self.path, KeyProblem::Malformed { line: self.line, expected })
    }
}

/// Appends `name` and the bytes in hexadecimal without a copy that nobody wipes.
pub(super) fn push_seed(text: &mut Zeroizing<String>, name: &str, seed: &[u8; 32]) {
    let mut digits = Zeroizing::new([0; 64]);
    // Sixty-four digits always have room for thirty-two bytes.
    if hex::encode_to_slice(seed, &mut *digits).is_ok() {
        text.push_str(name);
        text.push(' ');
        text.extend(digits.iter().map(|&digit| char::from(digit)));
        text.push('\n');
    }
}
