//! The number of a device's next reading, in a file beside its key. A number is on the disk as used
//! before anybody gets it: neither `kill -9` nor a power cut makes a device use one twice.
//!
//! Each key counts for itself, in a file of its own: a key that was rotated may still sign in a
//! process that loaded it before, and neither takes numbers of the other.

use std::fs::File;
use std::io::{self, Read as _};
use std::ops::Range;
use std::path::{Path, PathBuf};

use motemix_host::store::file;
use motemix_object::{Identity, Reserved};

const TITLE: &str = "motemix reading counter 1";

/// Why a counter gives no number; prints as one line with the file and a remedy.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", file.display())]
pub struct CounterError {
    /// The counter's file.
    pub file: PathBuf,
    /// What is wrong.
    pub problem: CounterProblem,
}

/// What is wrong with a counter.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CounterProblem {
    /// Its text is not that of a counter.
    #[error(
        "not a counter of readings; restore it, or remove it and register the device again \
         with `motemix object register --next`"
    )]
    Malformed,
    /// A number below those that were used.
    #[error("the next number is {next} already; give one that is not below it")]
    Below {
        /// The number that comes next.
        next: u64,
    },
    /// All numbers are used.
    #[error("all numbers are used; give the device a new key with `motemix id rotate`")]
    Exhausted,
    /// The system refuses.
    #[error("{0}; check the folder, its permissions and its free space")]
    Io(io::Error),
}

/// A device's counter.
#[derive(Debug)]
pub struct Counter {
    path: PathBuf,
}

impl Counter {
    /// The counter in a file. Without that file, the first number is 0.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The counter of the device `identity` whose key is in `key`: the file beside it whose name
    /// goes on with the first 8 digits of the identity and `.counter`.
    pub fn beside(key: impl AsRef<Path>, identity: &Identity) -> Self {
        let mut path = key.as_ref().as_os_str().to_owned();
        path.push(format!(".{identity:.8}.counter"));
        Self::at(path)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number that comes next, which stays the next one.
    ///
    /// # Errors
    /// See [`CounterProblem`].
    pub fn next(&self) -> Result<u64, CounterError> {
        match file::open(&self.path) {
            Ok(file) => self.read(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// A number that nobody got before.
    ///
    /// # Errors
    /// See [`CounterProblem`]; the number is not used then, or is lost.
    pub fn take(&self) -> Result<Reserved, CounterError> {
        self.take_block(1).map(|numbers| Reserved::promised(numbers.start))
    }

    /// As many numbers that nobody got before, in one write to the disk. Those that are not used
    /// before the process ends are lost.
    ///
    /// # Errors
    /// As for [`take`](Self::take).
    pub fn take_block(&self, count: u64) -> Result<Range<u64>, CounterError> {
        self.change(|next| {
            let after = next.checked_add(count).ok_or_else(|| self.error(CounterProblem::Exhausted))?;
            Ok((after, next..after))
        })
    }

    /// Moves on to a number, after a counter that was lost or restored from a backup.
    ///
    /// # Errors
    /// See [`CounterProblem`].
    pub fn move_to(&self, number: u64) -> Result<(), CounterError> {
        self.change(|next| match number {
            _ if number < next => Err(self.error(CounterProblem::Below { next })),
            _ => Ok((number, ())),
        })
    }

    fn change<T>(
        &self,
        change: impl FnOnce(u64) -> Result<(u64, T), CounterError>,
    ) -> Result<T, CounterError> {
        // Two processes may sign for one device: one waits for the other.
        let mut lock = self.path.clone().into_os_string();
        lock.push(".lock");
        let lock = file::open_to_append(lock.as_ref()).map_err(|error| self.failed(error))?;
        lock.lock().map_err(|error| self.failed(error))?;
        let (next, result) = change(self.next()?)?;
        let text = format!("{TITLE}\nnext {next}\n");
        file::replace(&self.path, 0o600, text.as_bytes()).map_err(|error| self.failed(error))?;
        Ok(result)
    }

    fn read(&self, file: File) -> Result<u64, CounterError> {
        let mut text = String::new();
        match file.take(256).read_to_string(&mut text) {
            Err(error) if error.kind() != io::ErrorKind::InvalidData => return Err(self.failed(error)),
            _ => {}
        }
        let number = text.strip_prefix(TITLE).and_then(|rest| rest.strip_prefix("\nnext "));
        let number = number.and_then(|rest| rest.strip_suffix('\n')).and_then(|digits| digits.parse().ok());
        number.ok_or_else(|| self.error(CounterProblem::Malformed))
    }

    fn failed(&self, error: io::Error) -> CounterError {
        self.error(CounterProblem::Io(error))
    }

    fn error(&self, problem: CounterProblem) -> CounterError {
        CounterError { file: self.path.clone(), problem }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const DEVICE: Identity = Identity::from_bytes([1; 32]);

    #[test]
    fn each_number_is_given_once_whoever_asks() {
        let folder = tempfile::tempdir().unwrap();
        let key = folder.path().join("mote.key");
        let counter = || Counter::beside(&key, &DEVICE);
        let taken: Vec<u64> = std::thread::scope(|scope| {
            let ask = || (0..25).map(|_| counter().take().unwrap().number()).collect::<Vec<_>>();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(taken.iter().copied().collect::<BTreeSet<_>>(), (0..100).collect());
        assert_eq!(counter().next().unwrap(), 100);
        // The next key in this file begins anew.
        assert_eq!(Counter::beside(&key, &Identity::from_bytes([2; 32])).next().unwrap(), 0);
    }

    #[test]
    fn it_never_moves_back_and_names_a_damaged_file() {
        let folder = tempfile::tempdir().unwrap();
        let counter = Counter::beside(folder.path().join("key"), &DEVICE);
        counter.move_to(500).unwrap();
        let refused = counter.move_to(499).unwrap_err();
        assert!(
            refused.to_string().ends_with("the next number is 500 already; give one that is not below it")
        );
        for text in
            ["", "motemix reading counter 1\nnext -1\n", "motemix reading counter 1\nnext 5", "\u{ff}"]
        {
            std::fs::write(counter.path(), text).unwrap();
            assert!(matches!(counter.take().unwrap_err().problem, CounterProblem::Malformed), "{text}");
        }
        std::fs::write(counter.path(), format!("{TITLE}\nnext {}\n", u64::MAX)).unwrap();
        assert!(matches!(counter.take().unwrap_err().problem, CounterProblem::Exhausted));
    }
}
