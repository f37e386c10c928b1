//! What tells a store that guards against a second use from an empty one, an older one and a copy:
//! a small file beside it, `STORE.mark`.
//!
//! ```text
//! motemix store mark 1
//! machine 06ad6e2582380d320c54e16f640a9362
//! store 9978283:1795824326630798689        which file the store is
//! mark 9978282:1795824326624139245         which file this is
//! changes 00000000000000000042             the store has counted at least so many of its changes
//! ```
//!
//! The store counts its changes itself, in the same commit. After each commit the mark gets their
//! number, so an earlier state of the store alone shows. The first commit of a process puts another
//! file in the place of the mark, and so does each later one if a second has passed: a mark
//! that is put back together with its store is then in another file than it says. Later ones leave
//! that to a thread, as disks may take long. Nothing of it depends on a clock. Where no file can be
//! made, the one that is there gets the number.
//!
//! What a mark cannot know: that a whole disk was set back, or that store and mark were removed
//! together.

use std::fmt;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read as _};
use std::mem;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use zeroize::Zeroizing;

use super::birth::{Birth, is_machine, machine};
use super::file;

const TITLE: &str = "motemix store mark 1";
/// Longer than any mark.
const LONGEST: u64 = 512;
/// How long one file is written to before another one takes its place.
const RENEW_EVERY: Duration = Duration::from_secs(1);

/// Why a store is not the one that its program left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Doubt {
    /// It has no bytes.
    Empty,
    /// It is not there, and its mark is.
    Gone,
    /// It is shorter than it says.
    Cut,
    /// It was used, and has no mark.
    Unmarked,
    /// Its mark is damaged.
    Mark,
    /// It is another file than it was, or its mark is.
    Copied,
    /// The machine is another.
    Machine,
    /// It has fewer changes than it had.
    Older {
        /// What it has.
        has: u64,
        /// What it had.
        had: u64,
    },
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("it is empty, and it was not when it was made"),
            Self::Gone => f.write_str("it is gone, and it was here"),
            Self::Cut => f.write_str("it was cut short"),
            Self::Unmarked => f.write_str("it was copied, or put back from a copy, without its mark"),
            Self::Mark => f.write_str("its mark is damaged"),
            Self::Copied => f.write_str("it was copied, or put back from a copy"),
            Self::Machine => f.write_str("this is another machine than before, or its machine-id is new"),
            Self::Older { has, had } => {
                write!(f, "it is older than it was: it has {has} changes of {had}")
            }
        }
    }
}

/// The mark of one store.
#[derive(Debug)]
pub struct StoreMark {
    path: PathBuf,
    store: PathBuf,
    found: Found,
    /// The file that this process writes to, and when it was made, or making another was tried.
    open: Option<(File, Instant)>,
    /// The next one, while a thread makes it.
    renewal: Option<JoinHandle<io::Result<File>>>,
    /// What this process noted last.
    noted: Option<u64>,
    /// The same for that thread.
    latest: Arc<AtomicU64>,
    /// Whether the operator has heard that no other file can be put in its place.
    told: bool,
}

/// What a mark says.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Found {
    Nothing,
    Damaged,
    Whole(Body),
    /// Whole, and in another file than it says.
    Copied(Body),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Body {
    machine: String,
    store: Birth,
    mark: Birth,
    changes: u64,
}

impl StoreMark {
    /// Reads the mark of a store. To be called before the store is read: what others commit
    /// meanwhile makes the store newer and never older.
    ///
    /// # Errors
    /// The system refuses.
    pub fn of(store: &Path) -> io::Result<Self> {
        let path = path_of(store);
        let found = read(&path)?;
        let (store, latest) = (store.to_owned(), Arc::default());
        Ok(Self { path, store, found, open: None, renewal: None, noted: None, latest, told: false })
    }

    /// Whether the store was used, as far as the mark says.
    pub fn says_used(&self) -> bool {
        match &self.found {
            Found::Nothing => false,
            Found::Damaged => true,
            Found::Whole(body) | Found::Copied(body) => body.changes > 0,
        }
    }

    /// Whether there is one.
    pub fn is_there(&self) -> bool {
        self.found != Found::Nothing
    }

    /// Why the store is not the one that was left, with the number of changes that it has counted.
    pub fn doubt(&self, store: &Metadata, changes: u64) -> Option<Doubt> {
        if changes == 0 && !self.says_used() {
            return None;
        }
        let body = match &self.found {
            Found::Nothing => return Some(Doubt::Unmarked),
            Found::Damaged => return Some(Doubt::Mark),
            Found::Copied(_) => return Some(Doubt::Copied),
            Found::Whole(body) => body,
        };
        if !body.store.is_of_same_file(&Birth::of(store)) {
            return Some(Doubt::Copied);
        }
        if !is_machine(&body.machine) {
            return Some(Doubt::Machine);
        }
        (changes < body.changes).then_some(Doubt::Older { has: changes, had: body.changes })
    }

    /// The store has counted nothing yet. Another process may count while this one looks, so a mark
    /// that is right stays.
    ///
    /// # Errors
    /// The system refuses.
    pub fn begin(&mut self) -> io::Result<()> {
        let store = Birth::of(&fs::metadata(&self.store)?);
        match &self.found {
            Found::Whole(body) if body.store.is_of_same_file(&store) && is_machine(&body.machine) => Ok(()),
            Found::Nothing => {
                let machine = machine();
                let made = file::create_knowing(&self.path, &self.store, 0o600, |mark| {
                    text(&Body { machine: machine.clone(), store, mark, changes: 0 })
                });
                made.or_else(
                    |error| if error.kind() == ErrorKind::AlreadyExists { Ok(()) } else { Err(error) },
                )
            }
            _ => self.renew(0),
        }
    }

    /// The store has counted so many changes. Where no file can be made, the one that is there gets
    /// the number. What the disk refuses altogether stops nobody, and is told.
    pub fn note(&mut self, changes: u64) {
        if self.noted.replace(changes) == Some(changes) {
            return;
        }
        self.latest.store(changes, Ordering::Release);
        if self.renewal.as_ref().is_some_and(JoinHandle::is_finished) {
            self.end_renewal();
        }
        if self.note_in_place(changes) {
            return;
        }
        // The thread may have put its file there.
        if self.end_renewal() && self.note_in_place(changes) {
            return;
        }
        // Another process may have been faster.
        if let Ok(Found::Whole(body)) = read(&self.path)
            && body.changes >= changes
        {
            return;
        }
        if let Err(refused) = self.renew(changes) {
            self.note_in_what_is_there(changes, &refused);
        }
    }

    /// Writes the number into the file that is there, as another cannot be put in its place.
    fn note_in_what_is_there(&mut self, changes: u64, refused: &io::Error) {
        let noted = file::open_to_write(&self.path).and_then(|file| {
            let is_noted = note_in(&self.path, &file, changes)?;
            is_noted.then_some(file).ok_or_else(|| io::Error::other("it is no mark any more"))
        });
        match noted {
            Ok(file) => {
                self.tell(refused);
                self.open = Some((file, Instant::now()));
            }
            Err(error) if !mem::replace(&mut self.told, true) => tracing::warn!(
                "{}: cannot be written ({error}): it would not be noticed that the store is gone, or older \
                 than it was; check the folder, its permissions and its free space",
                self.path.display()
            ),
            Err(_) => {}
        }
    }

    /// Tells once why no other file is in the place of the mark.
    fn tell(&mut self, refused: &io::Error) {
        if !mem::replace(&mut self.told, true) {
            tracing::warn!(
                "{}: cannot be replaced ({refused}), so the file that is there goes on: it would not be noticed \
                 that it is put back together with its store; check the folder, its permissions and its free space",
                self.path.display()
            );
        }
    }

    /// Writes the number into the file that this process has open, and has the next one made if
    /// that is a second old; `false` if it is not in the mark's place.
    fn note_in_place(&mut self, changes: u64) -> bool {
        let Some((file, made)) = &self.open else { return false };
        if !matches!(note_in(&self.path, file, changes), Ok(true)) {
            return false;
        }
        if made.elapsed() >= RENEW_EVERY && self.renewal.is_none() {
            let (path, store, latest) = (self.path.clone(), self.store.clone(), Arc::clone(&self.latest));
            let renewal = move || {
                let file = renewed(&path, &store, latest.load(Ordering::Acquire))?;
                // What was noted meanwhile is in the file before this one.
                note_in(&path, &file, latest.load(Ordering::Acquire)).map(|_| file)
            };
            // Where there is no thread, the next commit tries again.
            self.renewal = thread::Builder::new().name("mark".to_owned()).spawn(renewal).ok();
        }
        true
    }

    /// Waits for the thread; `true` if it has put a file in the mark's place.
    fn end_renewal(&mut self) -> bool {
        match self.renewal.take().and_then(|renewal| renewal.join().ok()) {
            Some(Ok(file)) => {
                (self.open, self.told) = (Some((file, Instant::now())), false);
                true
            }
            Some(Err(refused)) => {
                self.tell(&refused);
                self.open = self.open.take().map(|(file, _)| (file, Instant::now()));
                false
            }
            None => false,
        }
    }

    /// Puts another file in the place of the mark. It is on the disk when this returns.
    ///
    /// # Errors
    /// The system refuses; the mark is as it was.
    pub fn renew(&mut self, changes: u64) -> io::Result<()> {
        self.open = Some((renewed(&self.path, &self.store, changes)?, Instant::now()));
        self.told = false;
        Ok(())
    }

    /// Forgets the mark: what is at the store's place next is new.
    ///
    /// # Errors
    /// The system refuses.
    pub fn remove(mut self) -> io::Result<()> {
        self.end_renewal();
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => file::sync_folder(&self.path),
        }
    }
}

impl Drop for StoreMark {
    fn drop(&mut self) {
        self.end_renewal();
    }
}

/// Puts another file in the place of a mark, and returns it.
fn renewed(path: &Path, store: &Path, changes: u64) -> io::Result<File> {
    let (birth, machine) = (Birth::of(&fs::metadata(store)?), machine());
    // Whoever has the store has its mark, also if somebody with more rights changed it.
    file::replace_knowing(path, store, 0o600, |mark| {
        text(&Body { machine: machine.clone(), store: birth, mark, changes })
    })
}

/// Where the mark of a store is.
pub fn path_of(store: &Path) -> PathBuf {
    let mut path = store.as_os_str().to_owned();
    path.push(".mark");
    path.into()
}

/// Writes the number in place; `false` if the mark is another file by now.
fn note_in(path: &Path, file: &File, changes: u64) -> io::Result<bool> {
    // Another process reads it whole, or waits. Some file systems have no locks.
    let _ = file.lock();
    let written = (|| {
        let own = Birth::of(&file.metadata()?);
        if !Birth::of(&fs::metadata(path)?).is_of_same_file(&own) {
            return Ok(false);
        }
        let mut found = String::new();
        read_all(file, &mut found)?;
        match parse(&found) {
            Some(body) if body.changes < changes => {
                file.write_all_at(&text(&Body { changes, ..body }), 0).map(|()| true)
            }
            Some(_) => Ok(true),
            None => Ok(false),
        }
    })();
    let _ = file.unlock();
    written
}

fn read(path: &Path) -> io::Result<Found> {
    let file = match file::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(error) => return Err(error),
    };
    let _ = file.lock_shared();
    let mut found = String::new();
    match read_all(&file, &mut found) {
        Err(error) if error.kind() == ErrorKind::InvalidData => return Ok(Found::Damaged),
        other => other?,
    }
    let own = Birth::of(&file.metadata()?);
    Ok(match parse(&found) {
        None => Found::Damaged,
        Some(body) if body.mark.is_of_same_file(&own) => Found::Whole(body),
        Some(body) => Found::Copied(body),
    })
}

fn read_all(file: &File, to: &mut String) -> io::Result<()> {
    let mut bytes = vec![0; usize::try_from(LONGEST).unwrap_or(0)];
    let read = file.read_at(&mut bytes, 0)?;
    bytes.truncate(read);
    bytes.as_slice().read_to_string(to).map(|_| ())
}

fn text(body: &Body) -> Zeroizing<Vec<u8>> {
    let Body { machine, store, mark, changes } = body;
    let text = format!("{TITLE}\nmachine {machine}\nstore {store}\nmark {mark}\nchanges {changes:020}\n");
    Zeroizing::new(text.into_bytes())
}

fn parse(text: &str) -> Option<Body> {
    let mut lines = text.strip_suffix('\n')?.split('\n');
    (lines.next()? == TITLE).then_some(())?;
    let mut value = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ');
    let machine = value("machine")?.to_owned();
    let (store, mark) = (value("store")?.parse().ok()?, value("mark")?.parse().ok()?);
    let changes = value("changes")?.parse().ok()?;
    lines.next().is_none().then_some(Body { machine, store, mark, changes })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A store with a mark that has seen this many changes.
    fn kept(changes: u64) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store");
        fs::write(&store, "what it keeps").unwrap();
        StoreMark::of(&store).unwrap().renew(changes).unwrap();
        (folder, store)
    }

    fn doubt(store: &Path, changes: u64) -> Option<Doubt> {
        StoreMark::of(store).unwrap().doubt(&fs::metadata(store).unwrap(), changes)
    }

    fn copy(from: &Path, to: &Path) {
        // In this process: a child would have the locks of other tests for a moment.
        fs::copy(from, to).unwrap();
    }

    #[test]
    fn what_was_left_is_gone_on_from_and_so_is_what_is_newer() {
        let (_folder, store) = kept(5);
        assert_eq!((doubt(&store, 5), doubt(&store, 6)), (None, None));
        assert_eq!(doubt(&store, 4), Some(Doubt::Older { has: 4, had: 5 }));
        let mut mark = StoreMark::of(&store).unwrap();
        for changes in 6..9 {
            mark.note(changes);
            assert_eq!(doubt(&store, changes), None);
            assert!(doubt(&store, changes - 1).is_some());
        }
    }

    #[test]
    fn another_file_takes_its_place_while_a_store_is_used() {
        let (_folder, store) = kept(5);
        let mut mark = StoreMark::of(&store).unwrap();
        mark.note(6);
        let file = |at: &Path| Birth::of(&fs::metadata(path_of(at)).unwrap());
        let (first, begun) = (file(&store), Instant::now());
        for changes in 7.. {
            mark.note(changes);
            // What the thread has still to say of the last ones is no reason for doubt.
            assert_eq!(doubt(&store, changes), None);
            assert!(begun.elapsed() < Duration::from_mins(1), "it is the same");
            if !file(&store).is_of_same_file(&first) {
                drop(mark);
                assert!(begun.elapsed() >= RENEW_EVERY);
                assert_eq!(doubt(&store, changes - 1), Some(Doubt::Older { has: changes - 1, had: changes }));
                return;
            }
        }
    }

    /// A folder in which what has a short name can be opened, and nothing can be made, by whomever:
    /// a new file begins with a longer name, which no path has room for.
    fn let_nothing_be_made_in(folder: &Path) -> PathBuf {
        const LONGEST_PATH: usize = 4095;
        let mut full = folder.with_file_name("full");
        while LONGEST_PATH - full.as_os_str().len() > 300 {
            full.push("f".repeat(250));
        }
        fs::create_dir_all(&full).unwrap();
        full.push("f".repeat(LONGEST_PATH - full.as_os_str().len() - "//store.mark".len()));
        fs::rename(folder, &full).unwrap();
        full
    }

    #[test]
    fn where_no_file_can_be_made_the_mark_that_is_there_gets_the_number() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("folder");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("store"), "what it keeps").unwrap();
        StoreMark::of(&folder.join("store")).unwrap().begin().unwrap();
        let store = let_nothing_be_made_in(&folder).join("store");
        let mut mark = StoreMark::of(&store).unwrap();
        assert!(!mark.says_used() && mark.renew(1).is_err());
        for changes in 1..4 {
            mark.note(changes);
            assert_eq!(doubt(&store, changes), None);
            assert_eq!(doubt(&store, changes - 1), Some(Doubt::Older { has: changes - 1, had: changes }));
        }
        // The next try is for another second.
        mark.open = mark.open.take().map(|(file, made)| (file, made.checked_sub(RENEW_EVERY).unwrap()));
        mark.note(4);
        assert!(!mark.end_renewal() && mark.told);
        mark.note(5);
        drop(mark);
        assert_eq!(doubt(&store, 4), Some(Doubt::Older { has: 4, had: 5 }));
        // It has room again.
        let folder = parent.path().join("again");
        fs::rename(store.parent().unwrap(), &folder).unwrap();
        let store = folder.join("store");
        let before = Birth::of(&fs::metadata(path_of(&store)).unwrap());
        StoreMark::of(&store).unwrap().note(6);
        assert!(!Birth::of(&fs::metadata(path_of(&store)).unwrap()).is_of_same_file(&before));
    }

    #[test]
    fn store_and_mark_that_are_put_back_together_are_noticed_however_that_was_done() {
        let (folder, store) = kept(5);
        let backup = folder.path().join("backup");
        fs::create_dir(&backup).unwrap();
        copy(&store, &backup.join("store"));
        copy(&path_of(&store), &backup.join("store.mark"));
        StoreMark::of(&store).unwrap().note(6);
        // Over what is there, which keeps both inodes.
        copy(&backup.join("store"), &store);
        copy(&backup.join("store.mark"), &path_of(&store));
        assert_eq!(doubt(&store, 5), Some(Doubt::Copied));
        // In new files.
        fs::remove_file(&store).unwrap();
        copy(&backup.join("store"), &store);
        assert_eq!(doubt(&store, 5), Some(Doubt::Copied));
        assert_eq!(doubt(&backup.join("store"), 5), Some(Doubt::Copied));
    }

    #[test]
    fn a_mark_that_is_gone_damaged_or_of_another_machine_is_noticed() {
        let (_folder, store) = kept(5);
        let path = path_of(&store);
        let whole = fs::read_to_string(&path).unwrap();
        let elsewhere = whole.replace(&format!("machine {}", machine()), "machine 0123");
        fs::write(&path, elsewhere).unwrap();
        // Without an id of its own this machine may be any.
        assert_eq!(doubt(&store, 5), (machine() != "-").then_some(Doubt::Machine));
        for len in 0..whole.len() {
            fs::write(&path, &whole[..len]).unwrap();
            assert_eq!(doubt(&store, 5), Some(Doubt::Mark), "{len}");
        }
        fs::remove_file(&path).unwrap();
        assert_eq!((doubt(&store, 5), doubt(&store, 0)), (Some(Doubt::Unmarked), None));
    }

    #[test]
    fn a_store_that_was_never_used_may_be_copied() {
        let (folder, store) = kept(0);
        let other = folder.path().join("other");
        copy(&store, &other);
        copy(&path_of(&store), &path_of(&other));
        assert_eq!(doubt(&other, 0), None);
        assert!(!StoreMark::of(&other).unwrap().says_used());
    }

    #[test]
    fn of_two_processes_none_makes_the_mark_older() {
        let (_folder, store) = kept(5);
        let [mut one, mut other] = [(); 2].map(|()| StoreMark::of(&store).unwrap());
        one.note(6);
        other.note(7);
        one.note(8);
        other.note(7);
        assert!(matches!(doubt(&store, 7), Some(Doubt::Older { had: 8, .. })));
    }

    #[test]
    fn a_mark_of_an_earlier_kernel_or_of_a_machine_without_an_id_is_gone_on_from() {
        let (_folder, store) = kept(5);
        let path = path_of(&store);
        let mut body = parse(&fs::read_to_string(&path).unwrap()).unwrap();
        let without_time = |birth: Birth| {
            let text = birth.to_string();
            format!("{}:-", text.split(':').next().unwrap()).parse().unwrap()
        };
        body.machine = "-".to_owned();
        (body.store, body.mark) = (without_time(body.store), without_time(body.mark));
        fs::write(&path, &*text(&body)).unwrap();
        assert_eq!((doubt(&store, 5), doubt(&store, 6)), (None, None));
        assert_eq!(doubt(&store, 4), Some(Doubt::Older { has: 4, had: 5 }));
    }
}
