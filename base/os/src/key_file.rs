//! Key files: text of `name value` lines below a title line, readable by their owner only.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use motemix_time::Epoch;
use zeroize::Zeroizing;

use crate::store::file::{folder_open_to_all, open};

/// The longest key file that is read, in bytes.
const LONGEST: u64 = 4096;
/// A seed in hexadecimal.
const SEED_DIGITS: usize = 64;

/// Why a key file cannot be used; prints as one line with the file and a remedy.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", file.display())]
pub struct KeyError {
    /// The key file.
    pub file: PathBuf,
    /// What is wrong with it.
    pub problem: KeyProblem,
}

/// What is wrong with a key file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
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
    /// Everybody may put another key in its place, and another configuration beside it.
    #[error("everybody may change what is in its folder (mode {mode:04o}); run `chmod go-w {}`, and replace the key if they have", folder.display())]
    FolderExposed {
        /// Permission bits of the folder.
        mode: u32,
        /// The folder, for the remedy.
        folder: PathBuf,
    },
    /// Two rotations at once would name two successors.
    #[error("another rotation of this key is at work; wait until it has ended, and look who follows")]
    Rotating,
    /// The system locks no files there, so that two rotations could be at work.
    #[error("cannot lock it: {0}; use a folder on a file system with locks, as those of local disks have")]
    NoLocks(io::Error),
    /// It is something else than a device's key.
    #[error("{0}")]
    OtherKind(&'static str),
    /// A statement must not take the place of another file.
    #[error("there is another file already; name a new one for the statement, with --statement")]
    Taken,
    /// A key must not be replaced by accident.
    #[error("there is a key already; remove it first if it is to be replaced")]
    Exists,
    /// There is no such file. What to do depends on what it is for.
    #[error("there is no such file; check the path. If it was lost: {0}")]
    Gone(&'static str),
    /// It has no bytes.
    #[error("it is empty; {0}")]
    Empty(&'static str),
    /// Its text is not that of a key file.
    #[error("line {line}: expected {expected}; {remedy}")]
    Malformed {
        /// Line, counted from 1.
        line: usize,
        /// What should have been there.
        expected: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// Too many values stand beside a device's key, or too long ones.
    #[error("at most 8 values of up to 64 bytes stand beside a key; leave some out")]
    TooMuchBeside,
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

impl KeyProblem {
    /// Whether there is no key that could be used: the file is gone, empty or damaged.
    pub const fn is_lost(&self) -> bool {
        matches!(self, Self::Gone(_) | Self::Empty(_) | Self::Malformed { .. })
    }
}

/// What a key file is for.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// Its first line.
    pub title: &'static str,
    /// What to do when it is lost or damaged.
    pub remedy: &'static str,
}

impl Kind {
    /// What is wrong with a line of such a file, counted from 1.
    pub fn malformed(self, path: &Path, line: usize, expected: &'static str) -> KeyError {
        KeyError::new(path, KeyProblem::Malformed { line, expected, remedy: self.remedy })
    }
}

impl KeyError {
    /// What is wrong with this file.
    pub fn new(file: &Path, problem: KeyProblem) -> Self {
        Self { file: file.to_owned(), problem }
    }
}

/// How a key file is opened.
pub type Open = fn(&Path) -> io::Result<File>;

/// Reads a key file whose owner alone may use it.
pub fn read(path: &Path, kind: Kind) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    read_by(open, path, kind)
}

/// The same, opened in this way.
pub fn read_by(open: Open, path: &Path, kind: Kind) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    let failed = |error| KeyError::new(path, KeyProblem::Read(error));
    let mut file = open(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => KeyError::new(path, KeyProblem::Gone(kind.remedy)),
        _ => failed(error),
    })?;
    // Asked of the open file, so that nobody can exchange it in between.
    let found = file.metadata().map_err(failed)?;
    let mode = found.mode() & 0o7777;
    let others = if found.gid() == 0 && is_credential(path) { 0o037 } else { 0o077 };
    if mode & others != 0 {
        return Err(KeyError::new(path, KeyProblem::Exposed { mode, file: path.to_owned() }));
    }
    if let Some((folder, mode)) = folder_open_to_all(path).map_err(failed)? {
        return Err(KeyError::new(path, KeyProblem::FolderExposed { mode, folder }));
    }
    // Room for all of it: a buffer that grows leaves copies behind.
    let mut text = Zeroizing::new(Vec::with_capacity(LONGEST as usize));
    file.by_ref().take(LONGEST).read_to_end(&mut text).map_err(failed)?;
    if text.is_empty() {
        return Err(KeyError::new(path, KeyProblem::Empty(kind.remedy)));
    }
    Ok(text)
}

/// Whether systemd gives this file to this service (`LoadCredential=`).
///
/// Such a file is root's, and a list of access rights lets the service's user read it, and nobody
/// else. The mode shows that list as a right of the group.
fn is_credential(path: &Path) -> bool {
    let folder = std::env::var_os("CREDENTIALS_DIRECTORY").map(PathBuf::from);
    // The configuration may name a link, which leads there.
    folder.is_some_and(|folder| {
        path.canonicalize().is_ok_and(|path| path.parent().is_some_and(|parent| parent == folder))
    })
}

/// The lines of a key file, taken one after the other.
///
/// The text is bytes: neither the search for the end of a line nor a check for UTF-8 may pass over
/// the digits of a seed, since both branch on what they read.
pub struct Lines<'a> {
    path: &'a Path,
    kind: Kind,
    rest: &'a [u8],
    /// The number of the line that was read last, counted from 1.
    line: usize,
}

impl<'a> Lines<'a> {
    /// Starts after the title line.
    pub fn below(path: &'a Path, text: &'a [u8], kind: Kind) -> Result<Self, KeyError> {
        let mut lines = Self { path, kind, rest: text, line: 0 };
        match lines.next() {
            Some(line) if line == kind.title.as_bytes() => Ok(lines),
            _ => Err(lines.malformed(kind.title)),
        }
    }

    /// The number on the next line, which has to be called `name`.
    pub fn number(&mut self, name: &str, expected: &'static str) -> Result<u32, KeyError> {
        let value = self.next().and_then(|line| {
            let digits = line.strip_prefix(name.as_bytes())?.strip_prefix(b" ")?;
            std::str::from_utf8(digits).ok()?.parse().ok()
        });
        value.ok_or_else(|| self.malformed(expected))
    }

    /// What stands behind `name` on the next line; none, and the line is still the next one, if
    /// that is called otherwise.
    pub fn text(&mut self, name: &str) -> Option<&'a str> {
        let mut ahead = Lines { rest: self.rest, ..*self };
        let text = ahead.next()?.strip_prefix(name.as_bytes())?.strip_prefix(b" ")?;
        let text = std::str::from_utf8(text).ok()?;
        *self = ahead;
        Some(text)
    }

    /// The 32 bytes in hexadecimal on the next line, which has to be called `name` and to be the
    /// last. In constant time but for the answer.
    pub fn last_seed(mut self, name: &str, expected: &'static str) -> Result<Zeroizing<[u8; 32]>, KeyError> {
        if !self.rest.is_empty() {
            self.line += 1;
        }
        let digits = self.rest.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b" "));
        let Some((digits, rest)) = digits.and_then(|digits| digits.split_first_chunk::<SEED_DIGITS>()) else {
            return Err(self.malformed(expected));
        };
        let mut seed = Zeroizing::new([0; 32]);
        // Disclosed: whether all of them are hexadecimal digits.
        if base16ct::mixed::decode(digits, &mut *seed).is_err() {
            return Err(self.malformed(expected));
        }
        match rest {
            b"" | b"\n" | b"\r\n" => Ok(seed),
            [b'\n', ..] | [b'\r', b'\n', ..] => {
                self.line += 1;
                Err(self.malformed("the end of the file"))
            }
            _ => Err(self.malformed(expected)),
        }
    }

    /// What stands behind `name` on the next line, as [`Lines::text`]; nothing may stand there,
    /// with a blank behind the name or without one.
    pub fn optional_text(&mut self, name: &str) -> Option<&'a str> {
        let mut ahead = Lines { rest: self.rest, ..*self };
        if ahead.next()? == name.as_bytes() {
            *self = ahead;
            return Some("");
        }
        self.text(name)
    }

    /// The bytes in hexadecimal on the next line, of which there are so many and which has to be
    /// called `name` and to be the last. In constant time but for the answer and the length.
    pub fn last_secret(
        mut self,
        name: &str,
        lengths: std::ops::RangeInclusive<usize>,
        expected: &'static str,
    ) -> Result<Zeroizing<Vec<u8>>, KeyError> {
        if !self.rest.is_empty() {
            self.line += 1;
        }
        let digits = self.rest.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b" "));
        // The end of the line is looked for at the end alone: no search passes over the digits.
        let digits = digits.map(|digits| digits.strip_suffix(b"\n").unwrap_or(digits));
        let digits = digits.map(|digits| digits.strip_suffix(b"\r").unwrap_or(digits));
        let digits = digits.filter(|digits| digits.len() % 2 == 0 && lengths.contains(&(digits.len() / 2)));
        let mut secret = Zeroizing::new(vec![0; digits.map_or(0, <[u8]>::len) / 2]);
        // Disclosed: whether all of them are hexadecimal digits.
        match digits.map(|digits| base16ct::mixed::decode(digits, &mut secret).is_ok()) {
            Some(true) => Ok(secret),
            _ => Err(self.malformed(expected)),
        }
    }

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let end = self.rest.iter().position(|byte| *byte == b'\n');
        let (line, rest) = match end {
            Some(end) => (self.rest.get(..end)?, self.rest.get(end + 1..)?),
            None => (self.rest, &[][..]),
        };
        self.rest = rest;
        self.line += 1;
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }

    /// The number of the line that was read last.
    pub fn line(&self) -> usize {
        self.line.max(1)
    }

    /// The line that was read last is not what it has to be.
    pub fn malformed(&self, expected: &'static str) -> KeyError {
        self.kind.malformed(self.path, self.line(), expected)
    }
}

/// Appends `name` and the bytes in hexadecimal, in constant time and without a copy that nobody
/// wipes.
pub fn push_seed(text: &mut Zeroizing<Vec<u8>>, name: &str, seed: &[u8; 32]) {
    let mut digits = Zeroizing::new([0; SEED_DIGITS]);
    // Sixty-four digits always have room for thirty-two bytes.
    if base16ct::lower::encode(seed, &mut *digits).is_ok() {
        text.extend_from_slice(name.as_bytes());
        text.push(b' ');
        text.extend_from_slice(&*digits);
        text.push(b'\n');
    }
}

/// Makes a file that has a seed of the platform's entropy and nothing else.
///
/// # Errors
/// There is such a file already, it cannot be written, or the platform has no entropy.
pub fn create_seed(path: &Path, kind: Kind) -> Result<Zeroizing<[u8; 32]>, KeyError> {
    let seed = fresh_seed(path)?;
    let mut text = Zeroizing::new(Vec::with_capacity(256));
    text.extend_from_slice(kind.title.as_bytes());
    text.push(b'\n');
    push_seed(&mut text, "seed", &seed);
    write_new(path, &text)?;
    Ok(seed)
}

/// Reads such a file.
///
/// # Errors
/// It cannot be read, others than its owner may use it, or its text is malformed.
pub fn load_seed(path: &Path, kind: Kind) -> Result<Zeroizing<[u8; 32]>, KeyError> {
    let text = read(path, kind)?;
    Lines::below(path, &text, kind)?.last_seed("seed", "`seed` and 64 hex digits")
}

/// Writes a file that was not there and that only its owner may use.
///
/// # Errors
/// There is such a file already, or the system refuses.
pub fn write_new(path: &Path, text: &[u8]) -> Result<(), KeyError> {
    crate::store::file::create(path, 0o600, text).map_err(|error| refused(path, error))
}

/// Why a key file was not written.
pub fn refused(path: &Path, error: std::io::Error) -> KeyError {
    let problem = match error.kind() {
        std::io::ErrorKind::AlreadyExists => KeyProblem::Exists,
        _ => KeyProblem::Write(error),
    };
    KeyError::new(path, problem)
}

/// 32 bytes of the platform's entropy, for the file at this path.
///
/// # Errors
/// The platform has none.
pub fn fresh_seed(path: &Path) -> Result<Zeroizing<[u8; 32]>, KeyError> {
    let mut seed = Zeroizing::new([0; 32]);
    getrandom::fill(&mut *seed).map_err(|error| KeyError::new(path, KeyProblem::Write(error.into())))?;
    Ok(seed)
}
