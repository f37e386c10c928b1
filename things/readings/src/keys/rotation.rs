//! A device's key gives way to a new one, and signs who follows before it is wiped.
//!
//! ```text
//! KEY ─ write KEY.successor ─ write statement ─ link KEY.retiring ─ rename to KEY ─ wipe KEY.retiring
//! ```
//!
//! Each step is on the disk before the next one begins. Whenever the process dies, KEY is the old
//! key or the new one, and the new one is never there without the statement; the next rotation
//! goes on where the last one ended.
//!
//! One rotation of a key at a time: the file at KEY is locked, before and after it is another one.
//! The system drops the lock with the process, so that none is left by one that was killed.

use std::fs::{self, File, Metadata, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use motemix_object::{Identity, Signer as _, retire};

use super::DeviceKey;
use motemix_os::key_file::{KeyError, KeyProblem};
use motemix_os::store::file;

/// Two credentials at their longest, and three signatures.
const STATEMENT_LEN: usize = 4096;

/// How a rotation ended.
#[derive(Debug)]
pub struct Rotated {
    /// The identity that is retired; unknown if an earlier rotation had wiped its key before it
    /// was interrupted.
    pub before: Option<Identity>,
    /// The key that is in the file now.
    pub key: DeviceKey,
    /// Where the statement is; unknown in the same case: an earlier rotation had written it.
    pub statement: Option<PathBuf>,
    /// Whether an earlier rotation was brought to its end, and no new one begun.
    pub resumed: bool,
}

/// Puts a new key, with the same values beside it, in place of the one at `path`. `statement` says
/// where the retirement goes, by the identity that is retired.
///
/// # Errors
/// Another rotation of this key is at work ([`KeyProblem::Rotating`]): nothing was changed. Or a
/// file cannot be read or written. Then the old key is in its place, or the new one with the
/// statement, and rotating again goes on from there.
pub fn rotate(path: &Path, statement: impl Fn(&Identity) -> PathBuf) -> Result<Rotated, KeyError> {
    rotate_by(path, &statement, &mut |_| Ok(()))
}

/// What is on the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Done {
    Successor,
    Statement,
    Linked,
    Renamed,
    Overwritten,
    Wiped,
}

type Hook<'h> = &'h mut dyn FnMut(Done) -> Result<(), KeyError>;

fn rotate_by(
    path: &Path,
    statement: &dyn Fn(&Identity) -> PathBuf,
    done: Hook<'_>,
) -> Result<Rotated, KeyError> {
    let (successor, retiring) = (beside(path, "successor"), beside(path, "retiring"));
    let locked = lock(path, path)?;
    // Whoever opened the old key before it was renamed gets its lock when that rotation has ended.
    if !is_name_of(path, &locked).map_err(written(path))? {
        return Err(KeyError::new(path, KeyProblem::Rotating));
    }
    refuse_links(path, &successor, &retiring)?;
    let mut old = DeviceKey::load_itself(path)?;
    if retiring.exists() && !is_same_file(path, &retiring).map_err(written(path))? {
        // A folder that was copied has two files in place of one with two names.
        if DeviceKey::load_itself(&retiring).is_ok_and(|key| key.identity() == old.identity()) {
            remove_copy(&retiring).map_err(written(&retiring))?;
        } else {
            return finish(path, &retiring, statement, done);
        }
    }
    let resumed = successor.exists();
    let (before, to) = (old.identity(), statement(&old.identity()));
    refuse_place(path, &to)?;
    if !resumed {
        is_there(&to, None)?;
    }
    let mut new = if resumed {
        DeviceKey::load_itself(&successor)?
    } else {
        let others: Vec<_> = old.others().map(|other| (other.kind, other.value.to_vec())).collect();
        DeviceKey::create(&successor, old.signer().public_key().algorithm(), &others)?
    };
    done(Done::Successor)?;
    write_statement(&mut old, &mut new, &to)?;
    done(Done::Statement)?;
    if !retiring.exists() {
        fs::hard_link(path, &retiring).and_then(|()| file::sync_folder(path)).map_err(written(&retiring))?;
    }
    done(Done::Linked)?;
    drop(old);
    // It is to be the file at `path`, and locked from its first moment there.
    let _locked_too = lock(&successor, path)?;
    fs::rename(&successor, path).and_then(|()| file::sync_folder(path)).map_err(written(path))?;
    done(Done::Renamed)?;
    wipe(path, &retiring, done)?;
    Ok(Rotated { before: Some(before), key: new, statement: Some(to), resumed })
}

/// The new key is in its place, and the old one is still to be wiped.
fn finish(
    path: &Path,
    retiring: &Path,
    statement: &dyn Fn(&Identity) -> PathBuf,
    done: Hook<'_>,
) -> Result<Rotated, KeyError> {
    let mut new = DeviceKey::load_itself(path)?;
    let (mut before, mut to) = (None, None);
    match DeviceKey::load_itself(retiring) {
        Ok(mut old) => {
            let file = statement(&old.identity());
            refuse_place(path, &file)?;
            // The same bytes as before: signatures are deterministic.
            write_statement(&mut old, &mut new, &file)?;
            (before, to) = (Some(old.identity()), Some(file));
        }
        // Overwritten before the process died.
        Err(_) if is_overwritten(retiring) => {}
        Err(error) => return Err(error),
    }
    wipe(path, retiring, done)?;
    Ok(Rotated { before, key: new, statement: to, resumed: true })
}

fn write_statement(old: &mut DeviceKey, new: &mut DeviceKey, to: &Path) -> Result<(), KeyError> {
    let mut bytes = [0; STATEMENT_LEN];
    let (old_key, old_others) = old.parts();
    let (new_key, new_others) = new.parts();
    let len = retire(old_key, &old_others, new_key, &new_others, &mut bytes)
        .map_err(|error| written(to)(io::Error::other(error)))?;
    let mut text = base16ct::lower::encode_string(bytes.get(..len).unwrap_or_default());
    text.push('\n');
    if is_there(to, Some(&text))? {
        return Ok(());
    }
    file::create(to, 0o644, text.as_bytes()).map_err(written(to))
}

/// Whether the statement is there, as a rotation that was interrupted has left it. Any other file
/// in its place is somebody's, such as a key or the statement of an earlier rotation.
fn is_there(to: &Path, statement: Option<&str>) -> Result<bool, KeyError> {
    let mut there = Vec::new();
    let read =
        file::open(to).and_then(|file| file.take(STATEMENT_LEN as u64 * 2 + 1).read_to_end(&mut there));
    match read {
        Ok(_) if statement.is_some_and(|statement| statement.as_bytes() == there) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) if error.kind() != io::ErrorKind::InvalidInput => Err(written(to)(error)),
        _ => Err(KeyError::new(to, KeyProblem::Taken)),
    }
}

/// Refuses to write the statement where a key of this rotation is or will be.
fn refuse_place(path: &Path, statement: &Path) -> Result<(), KeyError> {
    let place =
        |file: &Path| Some((fs::canonicalize(file::folder(file)).ok()?, file.file_name()?.to_owned()));
    let wanted = place(statement);
    let keys = [path.to_owned(), beside(path, "successor"), beside(path, "retiring")];
    if wanted.is_some() && keys.iter().any(|key| place(key) == wanted) {
        return Err(KeyError::new(statement, KeyProblem::Taken));
    }
    Ok(())
}

/// Its name goes first: were it overwritten under that name when the process dies, the key would
/// seem to be retired.
fn remove_copy(path: &Path) -> io::Result<()> {
    let file = file::open_to_write(path)?;
    fs::remove_file(path)?;
    file::sync_folder(path)?;
    overwrite(file)
}

/// Overwrites the old key before its name goes. What a file system or a flash chip has copied
/// elsewhere is out of reach from here.
fn wipe(path: &Path, retiring: &Path, done: Hook<'_>) -> Result<(), KeyError> {
    let old = file::open_to_write(retiring).map_err(written(retiring))?;
    // Never the key that is in use, whoever changed names meanwhile.
    if is_name_of(path, &old).map_err(written(path))? {
        return Err(written(retiring)(io::Error::other("it is the key that is in use")));
    }
    overwrite(old).map_err(written(retiring))?;
    done(Done::Overwritten)?;
    fs::remove_file(retiring).and_then(|()| file::sync_folder(path)).map_err(written(retiring))?;
    done(Done::Wiped)
}

fn overwrite(mut file: File) -> io::Result<()> {
    let len = usize::try_from(file.metadata()?.len().min(1 << 16)).unwrap_or_default();
    file.write_all(&vec![0; len])?;
    file.sync_all()
}

fn is_overwritten(path: &Path) -> bool {
    fs::read(path).is_ok_and(|bytes| bytes.first() == Some(&0))
}

/// Whether the key at `path` is this file by another name, a hard link.
fn is_same_file(path: &Path, other: &Path) -> io::Result<bool> {
    Ok(is_same(&fs::metadata(path)?, &fs::symlink_metadata(other)?))
}

fn is_name_of(path: &Path, file: &File) -> io::Result<bool> {
    Ok(is_same(&fs::metadata(path)?, &file.metadata()?))
}

fn is_same(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Refuses files that are links. A symbolic one may lead to a key of somebody who runs this for
/// another: that key would sign for its successor, and be wiped. A file with another name is wiped
/// there too.
fn refuse_links(path: &Path, successor: &Path, retiring: &Path) -> Result<(), KeyError> {
    let both = 1 + u64::from(is_same_file(path, retiring).is_ok_and(|is_same| is_same));
    for (file, names) in [(path, both), (successor, 1), (retiring, both)] {
        let link = match fs::symlink_metadata(file) {
            Ok(found) if found.is_symlink() => "it is a symbolic link; put the file itself there",
            Ok(found) if found.nlink() > names => "it has another name, a hard link; remove that first",
            _ => continue,
        };
        return Err(written(file)(io::Error::new(io::ErrorKind::InvalidInput, link)));
    }
    Ok(())
}

/// Locks the key in `file`, for the rotation of the one at `path`.
fn lock(file: &Path, path: &Path) -> Result<File, KeyError> {
    let read = |error| KeyError::new(file, KeyProblem::Read(error));
    let opened = file::open(file).map_err(read)?;
    match opened.try_lock() {
        Ok(()) => Ok(opened),
        Err(TryLockError::WouldBlock) => Err(KeyError::new(path, KeyProblem::Rotating)),
        Err(TryLockError::Error(error)) => Err(KeyError::new(path, KeyProblem::NoLocks(error))),
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}

fn written(path: &Path) -> impl Fn(io::Error) -> KeyError {
    move |error| KeyError::new(path, KeyProblem::Write(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use motemix_object::{Algorithm, OtherKind, check_retirement};

    const STEPS: [Done; 6] =
        [Done::Successor, Done::Statement, Done::Linked, Done::Renamed, Done::Overwritten, Done::Wiped];

    struct Device {
        _folder: tempfile::TempDir,
        path: PathBuf,
        identity: Identity,
    }

    impl Device {
        fn new(algorithm: Algorithm) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("key");
            let key = DeviceKey::create(&path, algorithm, &[(OtherKind::Serial, b"A-17".to_vec())]).unwrap();
            Self { path, identity: key.identity(), _folder: folder }
        }

        fn statement(&self) -> PathBuf {
            self.path.with_extension("retired")
        }

        fn rotate(&self) -> Rotated {
            rotate(&self.path, |_| self.statement()).unwrap()
        }

        fn dies_after(&self, step: Done) {
            let died = rotate_by(&self.path, &|_| self.statement(), &mut |done| {
                if done == step { Err(written(&self.path)(io::Error::other("power cut"))) } else { Ok(()) }
            });
            assert!(died.is_err(), "{step:?}");
        }

        /// The identity that follows, as the statement says.
        fn successor(&self) -> Identity {
            let text = fs::read(self.statement()).unwrap();
            let mut bytes = [0; STATEMENT_LEN];
            let bytes = base16ct::lower::decode(text.trim_ascii(), &mut bytes).unwrap();
            check_retirement(bytes, &self.identity).unwrap().0
        }

        fn files(&self) -> usize {
            fs::read_dir(self.path.parent().unwrap()).unwrap().count()
        }
    }

    #[test]
    fn the_new_identity_is_the_one_that_the_old_one_names() {
        for algorithm in [Algorithm::Ed25519, Algorithm::Es256] {
            let device = Device::new(algorithm);
            let rotated = device.rotate();
            let now = DeviceKey::load(&device.path).unwrap();
            assert_eq!((rotated.before, rotated.resumed), (Some(device.identity), false));
            assert_eq!(now.identity(), device.successor());
            assert_eq!(now.others().next().unwrap().value, b"A-17");
            assert_ne!(now.identity(), device.identity);
            assert_eq!(device.files(), 2);
        }
    }

    #[test]
    fn whenever_it_dies_the_old_key_or_the_new_one_with_the_statement_is_there() {
        for (at, step) in STEPS.into_iter().enumerate() {
            let device = Device::new(Algorithm::Ed25519);
            device.dies_after(step);
            let between = DeviceKey::load(&device.path).unwrap().identity();
            if between == device.identity {
                assert!(at < 3, "{step:?}: the old key is still there");
            } else {
                assert!(at >= 3, "{step:?}: the new key came too early");
                assert_eq!(between, device.successor());
            }
            if step == Done::Wiped {
                assert_eq!(device.files(), 2);
                continue;
            }
            let rotated = device.rotate();
            assert!(rotated.resumed, "{step:?}");
            // One rotation and not two, and the successor is the one that the statement has named.
            assert_eq!(rotated.key.identity(), device.successor());
            assert!(at < 3 || rotated.key.identity() == between);
            assert_eq!(device.files(), 2, "{step:?}: something is left");
        }
    }

    #[test]
    fn a_second_rotation_at_any_moment_of_the_first_is_refused_and_changes_nothing() {
        for step in STEPS {
            let device = Device::new(Algorithm::Ed25519);
            let mut refused = None;
            let rotated = rotate_by(&device.path, &|_| device.statement(), &mut |done| {
                if done == step {
                    let before = (device.files(), fs::read(&device.path).unwrap());
                    refused = rotate(&device.path, |_| device.path.with_extension("second")).err();
                    assert!(before == (device.files(), fs::read(&device.path).unwrap()), "{step:?}");
                }
                Ok(())
            });
            assert!(matches!(refused.unwrap().problem, KeyProblem::Rotating), "{step:?}");
            assert_eq!(rotated.unwrap().key.identity(), device.successor());
            // It has ended: the next one is one of its own.
            assert!(!rotate(&device.path, |_| device.path.with_extension("next")).unwrap().resumed);
        }
    }

    #[test]
    fn rotations_that_begin_at_once_end_one_after_the_other_or_are_refused() {
        let device = Device::new(Algorithm::Ed25519);
        let statement = |before: &Identity| device.path.with_extension(format!("{before:.8}.retired"));
        let rotated: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| rotate(&device.path, statement))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let (mut identity, mut steps) = (device.identity, 0);
        // Each identity names one that follows, up to the key that is there now.
        while let Ok(text) = fs::read(statement(&identity)) {
            let mut bytes = [0; STATEMENT_LEN];
            let bytes = base16ct::lower::decode(text.trim_ascii(), &mut bytes).unwrap();
            identity = check_retirement(bytes, &identity).unwrap().0;
            steps += 1;
        }
        assert_eq!(identity, DeviceKey::load(&device.path).unwrap().identity());
        assert_eq!(steps, rotated.iter().filter(|rotated| rotated.is_ok()).count());
        for refused in rotated.into_iter().filter_map(Result::err) {
            assert!(matches!(refused.problem, KeyProblem::Rotating), "{refused}");
        }
    }

    #[test]
    fn the_old_secret_is_nowhere_in_the_folder() {
        let device = Device::new(Algorithm::Ed25519);
        let seed = fs::read_to_string(&device.path).unwrap().lines().last().unwrap().to_owned();
        // The old file itself, which would outlive its name.
        let old = File::open(&device.path).unwrap();
        device.rotate();
        let mut left = String::new();
        io::Read::read_to_string(&mut &old, &mut left).unwrap();
        assert!(!left.is_empty() && left.bytes().all(|byte| byte == 0), "{left:?}");
        for entry in fs::read_dir(device.path.parent().unwrap()).unwrap() {
            let text = fs::read_to_string(entry.unwrap().path()).unwrap();
            assert!(!text.contains(&seed));
        }
    }

    #[test]
    fn a_folder_that_was_copied_in_the_middle_goes_on_with_the_successor_that_was_named() {
        for step in STEPS.into_iter().take(3) {
            let device = Device::new(Algorithm::Ed25519);
            device.dies_after(step);
            // A backup makes two files of one that has two names.
            let (retiring, copy) = (beside(&device.path, "retiring"), device.path.with_extension("copy"));
            fs::copy(&device.path, &copy).unwrap();
            fs::rename(&copy, &retiring).unwrap();
            let rotated = device.rotate();
            assert_eq!(rotated.before, Some(device.identity), "{step:?}");
            assert_eq!(rotated.key.identity(), device.successor(), "{step:?}");
            assert_eq!(DeviceKey::load(&device.path).unwrap().identity(), device.successor());
            assert_eq!(device.files(), 2, "{step:?}: something is left");
        }
    }

    #[test]
    fn a_statement_takes_the_place_of_no_other_file() {
        let device = Device::new(Algorithm::Ed25519);
        let notes = device.path.with_extension("notes");
        fs::write(&notes, "somebody's notes").unwrap();
        let key = fs::read(&device.path).unwrap();
        let own = ["successor", "retiring"].map(|ending| beside(&device.path, ending));
        let by_another_name = device.path.parent().unwrap().join(".").join("key");
        for taken in [&notes, &device.path, &by_another_name, &own[0], &own[1]] {
            let before = fs::read(taken).ok();
            let refused = rotate(&device.path, |_| taken.clone()).unwrap_err();
            assert!(matches!(refused.problem, KeyProblem::Taken) && refused.file == *taken, "{refused}");
            assert_eq!(fs::read(taken).ok(), before);
            assert_eq!(fs::read(&device.path).unwrap(), key);
        }
        // Nor that of the new key, when a rotation is brought to its end.
        device.dies_after(Done::Renamed);
        let key = fs::read(&device.path).unwrap();
        assert!(rotate(&device.path, |_| device.path.clone()).is_err());
        assert_eq!(fs::read(&device.path).unwrap(), key);
        device.rotate();
        // Nor of an earlier statement: without it nobody could follow from identity to identity.
        let statement = fs::read(device.statement()).unwrap();
        let refused = rotate(&device.path, |_| device.statement()).unwrap_err();
        assert!(matches!(refused.problem, KeyProblem::Taken), "{refused}");
        assert_eq!(fs::read(device.statement()).unwrap(), statement);
    }

    #[test]
    fn a_file_that_only_has_the_name_is_not_wiped() {
        let device = Device::new(Algorithm::Ed25519);
        let retiring = beside(&device.path, "retiring");
        fs::write(&retiring, "somebody's notes").unwrap();
        assert!(rotate(&device.path, |_| device.statement()).is_err());
        assert_eq!(fs::read_to_string(&retiring).unwrap(), "somebody's notes");
    }

    #[test]
    fn no_key_signs_and_no_file_is_wiped_that_a_link_leads_to() {
        let elsewhere = Device::new(Algorithm::Ed25519);
        let zeros = elsewhere.path.with_extension("zeros");
        fs::write(&zeros, "\0 is how it begins").unwrap();
        // In the place of the key, of the next one, and of the one that is to be wiped.
        let device = Device::new(Algorithm::Ed25519);
        let [successor, retiring] = ["successor", "retiring"].map(|ending| beside(&device.path, ending));
        for (victim, link) in [
            (&elsewhere.path, &device.path),
            (&elsewhere.path, &successor),
            (&elsewhere.path, &retiring),
            (&zeros, &retiring),
        ] {
            for is_hard in [false, true] {
                let kept = fs::read(&device.path).unwrap();
                let _ = fs::remove_file(link);
                if is_hard {
                    fs::hard_link(victim, link).unwrap();
                } else {
                    std::os::unix::fs::symlink(victim, link).unwrap();
                }
                let before = fs::read(victim).unwrap();
                let refused = rotate(&device.path, |_| device.statement()).unwrap_err();
                assert!(refused.to_string().contains("link"), "{refused}");
                assert_eq!(fs::read(victim).unwrap(), before);
                assert!(!device.statement().exists(), "another key than the device's has signed");
                fs::remove_file(link).unwrap();
                if link == &device.path {
                    motemix_os::store::file::create(&device.path, 0o600, &kept).unwrap();
                }
            }
        }
        // Nothing was begun that would have to be finished.
        assert!(!device.rotate().resumed);
    }
}
