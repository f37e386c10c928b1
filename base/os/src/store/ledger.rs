//! Small text files that guard against a second use, such as counters: each says which file it is
//! in, so that no copy is taken for it.
//!
//! ```text
//! motemix reading counter 1
//! place 06ad6e2582380d320c54e16f640a9362 9978283:1795824326630798689 7   machine, file, bytes
//! next 42
//! ```
//!
//! The file is replaced as a whole with each change, so that each state of it is another file: one
//! that is put back says that it is a file that is gone. `FILE.mark` beside it is locked meanwhile,
//! and has a line once there was something to be lost.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use super::birth::{Birth, is_machine, machine};
use super::file;
use super::store_mark::{Doubt, path_of};

const TITLE: &str = "motemix store mark 1\n";
/// The longest file, in bytes.
const LONGEST: u64 = 64 << 10;

/// A text file that guards against a second use.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    title: &'static str,
}

/// What is at a ledger's place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// Nothing, and nothing was.
    New,
    /// What it keeps, as it was left: the text below its place.
    Kept(String),
    /// Not what was left; with the text, as far as it is one.
    Doubtful(Doubt, Option<String>),
    /// A file with another title.
    Foreign,
}

/// A ledger that nobody else changes meanwhile.
#[derive(Debug)]
pub struct LockedLedger<'a> {
    ledger: &'a Ledger,
    mark: File,
}

impl Ledger {
    /// The ledger in a file, whose first line is `title`.
    pub const fn at(path: PathBuf, title: &'static str) -> Self {
        Self { path, title }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is there.
    ///
    /// # Errors
    /// The system refuses.
    pub fn read(&self) -> io::Result<Entry> {
        let file = match file::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return self.absent(),
            Err(error) => return Err(error),
        };
        let own = Birth::of(&file.metadata()?);
        let mut bytes = Vec::new();
        file.take(LONGEST + 1).read_to_end(&mut bytes)?;
        if bytes.is_empty() {
            return Ok(Entry::Doubtful(Doubt::Empty, None));
        }
        let Ok(text) = String::from_utf8(bytes) else { return Ok(Entry::Foreign) };
        if self.title.starts_with(text.trim_end_matches('\n')) {
            return Ok(Entry::Doubtful(Doubt::Cut, None));
        }
        let Some(below) = text.strip_prefix(self.title).and_then(|rest| rest.strip_prefix('\n')) else {
            return Ok(Entry::Foreign);
        };
        let Some((place, rest)) = below.split_once('\n') else {
            return Ok(Entry::Doubtful(Doubt::Cut, None));
        };
        let Some((on, birth, len)) = place_of(place) else {
            return Ok(Entry::Doubtful(Doubt::Mark, Some(below.to_owned())));
        };
        let doubt = match () {
            () if len != rest.len() => Some(Doubt::Cut),
            () if !birth.is_of_same_file(&own) => Some(Doubt::Copied),
            () if !is_machine(on) => Some(Doubt::Machine),
            () => None,
        };
        let rest = rest.to_owned();
        Ok(doubt
            .map_or_else(|| Entry::Kept(rest.clone()), |doubt| Entry::Doubtful(doubt, Some(rest.clone()))))
    }

    /// Waits until nobody else changes it.
    ///
    /// # Errors
    /// The system refuses.
    pub fn lock(&self) -> io::Result<LockedLedger<'_>> {
        // The owner of the ledger has to lock it too.
        let mark = file::open_to_append_like(&path_of(&self.path), &self.path)?;
        mark.lock()?;
        Ok(LockedLedger { ledger: self, mark })
    }

    /// Nothing is at its place.
    fn absent(&self) -> io::Result<Entry> {
        match std::fs::metadata(path_of(&self.path)) {
            Ok(mark) if mark.len() > 0 => Ok(Entry::Doubtful(Doubt::Gone, None)),
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(Entry::New),
        }
    }
}

impl LockedLedger<'_> {
    /// What is there.
    ///
    /// # Errors
    /// The system refuses.
    pub fn read(&self) -> io::Result<Entry> {
        self.ledger.read()
    }

    /// Puts this text in the place of the one before, with the place of its file. It is on the disk
    /// when this returns.
    ///
    /// # Errors
    /// The system refuses; what was there is there.
    pub fn write(&mut self, text: &str) -> io::Result<()> {
        let (title, on) = (self.ledger.title, machine());
        let path = &self.ledger.path;
        file::replace_knowing(path, path, 0o600, |own| {
            Zeroizing::new(format!("{title}\nplace {on} {own} {}\n{text}", text.len()).into_bytes())
        })?;
        if self.mark.seek(io::SeekFrom::End(0))? == 0 {
            self.mark.write_all(TITLE.as_bytes())?;
            self.mark.sync_all()?;
        }
        Ok(())
    }
}

fn place_of(line: &str) -> Option<(&str, Birth, usize)> {
    let mut words = line.strip_prefix("place ")?.split(' ');
    let place = (words.next()?, words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    words.next().is_none().then_some(place)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, chown};

    use super::*;

    fn ledger(folder: &Path) -> Ledger {
        Ledger::at(folder.join("numbers"), "motemix numbers 1")
    }

    fn write(ledger: &Ledger, text: &str) {
        ledger.lock().unwrap().write(text).unwrap();
    }

    #[test]
    fn it_is_new_once_and_what_was_written_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = ledger(folder.path());
        assert_eq!(ledger.read().unwrap(), Entry::New);
        // A process that was killed before it wrote anything.
        drop(ledger.lock().unwrap());
        assert_eq!(ledger.read().unwrap(), Entry::New);
        for text in ["next 1\n", ""] {
            write(&ledger, text);
            assert_eq!(ledger.read().unwrap(), Entry::Kept(text.to_owned()));
        }
        let renamed = folder.path().join("renamed");
        fs::rename(ledger.path(), &renamed).unwrap();
        assert_eq!(ledger.read().unwrap(), Entry::Doubtful(Doubt::Gone, None));
        fs::rename(&renamed, ledger.path()).unwrap();
        assert_eq!(ledger.read().unwrap(), Entry::Kept(String::new()));
    }

    #[test]
    fn what_is_empty_cut_or_foreign_is_not_it() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = ledger(folder.path());
        write(&ledger, "one 1\nanother 2\n");
        let whole = fs::read(ledger.path()).unwrap();
        for len in 0..whole.len() {
            fs::File::options().write(true).open(ledger.path()).unwrap().set_len(len as u64).unwrap();
            // In place, so that it is the same file.
            fs::write(ledger.path(), &whole[..len]).unwrap();
            let expected = if len == 0 { Doubt::Empty } else { Doubt::Cut };
            match ledger.read().unwrap() {
                Entry::Doubtful(doubt, _) if doubt == expected => {}
                // Its place is not whole, and tells nothing.
                Entry::Doubtful(Doubt::Mark, _) => {}
                other => panic!("{len}: {other:?}"),
            }
        }
        for foreign in ["5\n", "motemix numbers 2\nnext 1\n", "motemix obeyed servers 1\n"] {
            fs::write(ledger.path(), foreign).unwrap();
            assert_eq!(ledger.read().unwrap(), Entry::Foreign, "{foreign}");
        }
        fs::write(ledger.path(), "motemix numbers 1\nnext 5\n").unwrap();
        assert!(matches!(ledger.read().unwrap(), Entry::Doubtful(Doubt::Mark, Some(_))));
    }

    #[test]
    fn no_copy_is_it_however_it_was_put_back() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = ledger(folder.path());
        write(&ledger, "next 1\n");
        let copy = |from: &Path, to: &Path| assert!(fs::copy(from, to).is_ok());
        let backup = folder.path().join("backup");
        copy(ledger.path(), &backup);
        write(&ledger, "next 2\n");
        let copied = Entry::Doubtful(Doubt::Copied, Some("next 1\n".to_owned()));
        copy(&backup, ledger.path());
        assert_eq!(ledger.read().unwrap(), copied);
        fs::remove_file(ledger.path()).unwrap();
        copy(&backup, ledger.path());
        assert_eq!(ledger.read().unwrap(), copied);
        // Whoever says what is to be goes on from there.
        write(&ledger, "next 9\n");
        assert_eq!(ledger.read().unwrap(), Entry::Kept("next 9\n".to_owned()));
    }

    #[test]
    fn root_takes_neither_a_ledger_nor_its_mark_from_the_folder_s_owner() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = ledger(folder.path());
        // Only root can give files away.
        if chown(folder.path(), Some(1234), Some(1235)).is_err() {
            return;
        }
        for text in ["next 1\n", "next 2\n"] {
            write(&ledger, text);
            for path in [ledger.path().to_owned(), path_of(ledger.path())] {
                assert_eq!(fs::metadata(path).unwrap().uid(), 1234);
            }
        }
    }
}
