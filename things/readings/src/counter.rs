//! The number of a device's next reading, in a file beside its key. A number is on the disk as used
//! before anybody gets it: neither `kill -9` nor a power cut makes a device use one twice. The file
//! is a [`Ledger`]: none that was emptied, put back or copied gives a number.
//!
//! Each key counts for itself, in a file of its own: a key that was rotated may still sign in a
//! process that loaded it before, and neither takes numbers of the other.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use motemix_object::{Identity, Reserved};
use motemix_os::store::ledger::Entry;
use motemix_os::store::{Birth, Doubt, Ledger, file};

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
    #[error("not a counter of readings; move it elsewhere, and restore the counter from a backup")]
    Malformed,
    /// It is not the one that was left, so a number that it gave could have been used.
    #[error(
        "{doubt}{known}. Numbers that the device used would be used again. Put the file itself back, or say which \
         number is next, above all that were used: `motemix object register {key} --next N` (N is one more \
         than the last number that was believed, which `motemix object devices` or the broker's page shows)",
        known = next.map_or_else(String::new, |next| format!(", and says that {next} comes next")),
        key = file::typed(key)
    )]
    Doubtful {
        /// What is wrong with it.
        doubt: Doubt,
        /// The number that comes next by what is left of it.
        next: Option<u64>,
        /// The key that it is of, for the remedy.
        key: PathBuf,
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
    ledger: Ledger,
}

impl Counter {
    /// The counter in a file. Without that file, the first number is 0.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { ledger: Ledger::at(path.into(), TITLE) }
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
        self.ledger.path()
    }

    /// The number that comes next, which stays the next one.
    ///
    /// # Errors
    /// See [`CounterProblem`].
    pub fn next(&self) -> Result<u64, CounterError> {
        match self.ledger.read().map_err(|error| self.failed(error))? {
            Entry::New => Ok(0),
            Entry::Kept(text) => number(&text).ok_or_else(|| self.error(CounterProblem::Malformed)),
            Entry::Doubtful(doubt, text) => {
                let (next, key) = (text.as_deref().and_then(number), self.key());
                Err(self.error(CounterProblem::Doubtful { doubt, next, key }))
            }
            Entry::Foreign => Err(self.error(CounterProblem::Malformed)),
        }
    }

    /// The highest number that is known to come next: also that of a counter which was put back
    /// from a backup, or copied.
    ///
    /// # Errors
    /// It is no counter, or the system refuses.
    pub fn known_next(&self) -> Result<u64, CounterError> {
        match self.ledger.read().map_err(|error| self.failed(error))? {
            Entry::New => Ok(0),
            Entry::Kept(text) => number(&text).ok_or_else(|| self.error(CounterProblem::Malformed)),
            Entry::Doubtful(_, text) => Ok(text.as_deref().and_then(number).unwrap_or(0)),
            Entry::Foreign => Err(self.error(CounterProblem::Malformed)),
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
        self.change(Self::next, |next| {
            let after = next.checked_add(count).ok_or_else(|| self.error(CounterProblem::Exhausted))?;
            Ok((after, next..after))
        })
    }

    /// Moves on to a number, or stays where it is if that is higher; returns the number that comes
    /// next. A counter that was lost, copied or restored from a backup goes on there: the caller
    /// says that all numbers that were used are below the number.
    ///
    /// # Errors
    /// See [`CounterProblem`].
    pub fn move_to(&self, number: u64) -> Result<u64, CounterError> {
        self.change(Self::known_next, |next| Ok((number.max(next), number.max(next))))
    }

    /// The number that comes next, to be said to others: nothing below it counts there from then
    /// on. So whoever holds a block of numbers below it is to give up the rest
    /// ([`file`](Self::file)).
    ///
    /// # Errors
    /// See [`CounterProblem`].
    pub fn announce(&self) -> Result<u64, CounterError> {
        self.change(Self::next, |next| Ok((next, next)))
    }

    /// Which file the counter is in: another one each time that somebody takes, moves or announces
    /// a number. `None` where there is none.
    pub fn file(&self) -> Option<Birth> {
        std::fs::metadata(self.path()).ok().map(|found| Birth::of(&found))
    }

    /// The key beside which it is.
    fn key(&self) -> PathBuf {
        let name = self.path().to_string_lossy();
        let key = name.strip_suffix(".counter").and_then(|name| name.rsplit_once('.'));
        key.map_or_else(|| "KEY".into(), |(key, _)| key.into())
    }

    fn change<T>(
        &self,
        next: impl FnOnce(&Self) -> Result<u64, CounterError>,
        change: impl FnOnce(u64) -> Result<(u64, T), CounterError>,
    ) -> Result<T, CounterError> {
        // Two processes may sign for one device: one waits for the other.
        let mut ledger = self.ledger.lock().map_err(|error| self.failed(error))?;
        let (next, result) = change(next(self)?)?;
        ledger.write(&format!("next {next}\n")).map_err(|error| self.failed(error))?;
        Ok(result)
    }

    fn failed(&self, error: io::Error) -> CounterError {
        self.error(CounterProblem::Io(error))
    }

    fn error(&self, problem: CounterProblem) -> CounterError {
        CounterError { file: self.path().to_owned(), problem }
    }
}

fn number(text: &str) -> Option<u64> {
    text.strip_prefix("next ")?.strip_suffix('\n')?.parse().ok()
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
        assert_eq!((counter.move_to(500).unwrap(), counter.move_to(499).unwrap()), (500, 500));
        for text in ["5\n", "motemix obeyed servers 1\nnext 5\n", "next 5"] {
            std::fs::write(counter.path(), text).unwrap();
            for refused in [counter.take().map(drop), counter.move_to(1000).map(drop)] {
                assert!(matches!(refused.unwrap_err().problem, CounterProblem::Malformed), "{text}");
            }
        }
        std::fs::remove_file(counter.path()).unwrap();
        counter.move_to(u64::MAX).unwrap();
        assert!(matches!(counter.take().unwrap_err().problem, CounterProblem::Exhausted));
    }

    #[test]
    fn one_that_was_taken_away_emptied_or_put_back_gives_no_number_until_somebody_says_which_is_next() {
        use std::fs;
        let deeds: [fn(&Path, &Path); 5] = [
            |counter, _| fs::remove_file(counter).unwrap(),
            |counter, _| fs::write(counter, "").unwrap(),
            |counter, _| fs::File::options().write(true).open(counter).unwrap().set_len(90).unwrap(),
            |counter, backup| {
                fs::copy(backup, counter).unwrap();
            },
            |counter, backup| fs::rename(backup, counter).unwrap(),
        ];
        for deed in deeds {
            let folder = tempfile::tempdir().unwrap();
            let (counter, backup) =
                (Counter::beside(folder.path().join("key"), &DEVICE), folder.path().join("b"));
            counter.take_block(7).unwrap();
            fs::copy(counter.path(), &backup).unwrap();
            counter.take_block(7).unwrap();
            deed(counter.path(), &backup);
            let refused = counter.take().unwrap_err();
            let CounterProblem::Doubtful { next, .. } = refused.problem else { panic!("{refused}") };
            // What is left of it says how far it was, and the remedy names the key.
            assert!(next.is_none_or(|next| next == 7), "{refused}");
            let key = folder.path().join("key");
            assert!(
                refused.to_string().contains(&format!("register {} --next N", key.display())),
                "{refused}"
            );
            assert_eq!(refused.to_string().contains("says that 7 comes next"), next.is_some(), "{refused}");
            assert!(counter.next().is_err() && counter.announce().is_err() && counter.take_block(1).is_err());
            counter.move_to(14).unwrap();
            assert_eq!(counter.take().unwrap().number(), 14);
        }
    }

    #[test]
    fn whoever_holds_a_block_sees_that_a_number_above_it_was_announced() {
        let folder = tempfile::tempdir().unwrap();
        let counter = Counter::beside(folder.path().join("key"), &DEVICE);
        assert_eq!(counter.file(), None);
        counter.take_block(64).unwrap();
        let held = counter.file();
        assert!(held.is_some() && held == counter.file());
        assert_eq!(counter.next().unwrap(), 64, "whoever only looks changes nothing");
        assert_eq!(held, counter.file());
        assert_eq!(counter.announce().unwrap(), 64, "no number is used for it");
        assert_ne!(held, counter.file());
    }
}
