//! Small files that are replaced as a whole.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown};
use std::path::{Component, Path, PathBuf};

use rustix::fs::OFlags;
use tempfile::NamedTempFile;
use zeroize::Zeroizing;

use super::birth::Birth;

/// Regular files do not know it.
const O_NONBLOCK: i32 = OFlags::NONBLOCK.bits().cast_signed();

/// Which file it is, and how long. What is written to a file that is open goes nowhere when its
/// name is gone or stands for another, and the system says nothing of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    device: u64,
    inode: u64,
    len: u64,
}

impl Identity {
    /// The identity of the file that has these metadata.
    pub fn of(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino(), len: metadata.len() }
    }

    /// Its length in bytes.
    #[expect(clippy::len_without_is_empty, reason = "it is the length of a file and no collection")]
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// After so many bytes were appended.
    #[must_use]
    pub const fn longer_by(mut self, bytes: u64) -> Self {
        self.len += bytes;
        self
    }

    /// Whether `later` is the same file, and at least as long.
    pub const fn goes_on_as(&self, later: &Self) -> bool {
        self.is_same_file(later) && self.len <= later.len
    }

    /// Whether `later` is the same file, of whatever length.
    pub const fn is_same_file(&self, later: &Self) -> bool {
        self.device == later.device && self.inode == later.inode
    }
}

/// Opens a file to be read. Nothing that a name in a folder can stand for makes it wait: a pipe
/// that nobody writes to would hold a node up for good.
///
/// # Errors
/// The system refuses, or it is not a regular file.
pub fn open(path: &Path) -> io::Result<File> {
    of_regular(File::options().read(true).custom_flags(O_NONBLOCK).open(path)?)
}

/// Opens a file to be read and appended to; makes it, for its owner alone, unless it is there.
/// Waits for nothing.
///
/// # Errors
/// The system refuses, or it is not a regular file.
pub fn open_to_append(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).append(true).create(true).mode(0o600).custom_flags(O_NONBLOCK);
    of_regular(options.open(path)?)
}

fn of_regular(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
}

/// The path without `name/..`, as people would type it, if it leads to the same place: behind a
/// symbolic link it does not.
pub fn without_detours(path: &Path) -> PathBuf {
    let mut short = PathBuf::new();
    for part in path.components() {
        let goes_back = part == Component::ParentDir
            && matches!(short.components().next_back(), Some(Component::Normal(_)));
        if !(goes_back && short.pop()) {
            short.push(part);
        }
    }
    // The last name need not be there.
    let place = |path: &Path| match (path.components().next_back(), path.parent()) {
        (Some(Component::Normal(name)), Some(_)) => {
            Some((fs::canonicalize(folder(path)).ok()?, name.to_owned()))
        }
        _ => Some((fs::canonicalize(path).ok()?, OsString::new())),
    };
    let is_same = || place(path).is_some_and(|place_of| Some(place_of) == place(&short));
    if short == path || is_same() { short } else { path.to_owned() }
}

/// Puts `bytes` in place of what is at `path`. After a crash either all of the old or all of the
/// new is there.
///
/// # Errors
/// The system refuses; what was there is there.
pub fn replace(path: &Path, mode: u32, bytes: &[u8]) -> io::Result<()> {
    let file = written(path, mode, bytes)?;
    file.persist(path).map_err(|refused| refused.error)?;
    sync_folder(path)
}

/// Like [`replace`], with bytes that say which file they are in. It belongs to the owner of what is
/// at `like`, whoever runs this: a command of root takes no file from the program that needs it.
///
/// # Errors
/// The system refuses; what was there is there.
pub fn replace_knowing(
    path: &Path,
    like: &Path,
    mode: u32,
    bytes: impl Fn(Birth) -> Zeroizing<Vec<u8>>,
) -> io::Result<()> {
    knowing(path, like, mode, bytes)?.persist(path).map_err(|refused| refused.error)?;
    sync_folder(path)
}

/// Like [`create`], with bytes that say which file they are in, for the owner as of
/// [`replace_knowing`].
///
/// # Errors
/// Something is there, or the system refuses.
pub fn create_knowing(
    path: &Path,
    like: &Path,
    mode: u32,
    bytes: impl Fn(Birth) -> Zeroizing<Vec<u8>>,
) -> io::Result<()> {
    knowing(path, like, mode, bytes)?.persist_noclobber(path).map_err(|refused| refused.error)?;
    sync_folder(path)
}

fn knowing(
    path: &Path,
    like: &Path,
    mode: u32,
    bytes: impl Fn(Birth) -> Zeroizing<Vec<u8>>,
) -> io::Result<NamedTempFile> {
    let mut file = filled(path, mode, &[])?;
    // Before it has its name: killed in between, it would stay with whoever runs this.
    give(file.as_file(), like)?;
    let bytes = bytes(Birth::of(&file.as_file().metadata()?));
    file.as_file_mut().write_all(&bytes)?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// Gives a file to the owner of what is at `like`, or of its folder if nothing is there.
///
/// # Errors
/// The system refuses. A new file that may not be given away stays with its maker: it is taken from
/// nobody.
pub(super) fn give(file: &File, like: &Path) -> io::Result<()> {
    let (owner, is_new) = match fs::metadata(like) {
        Ok(found) => (found, false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => (fs::metadata(folder(like))?, true),
        Err(error) => return Err(error),
    };
    if file.metadata()?.uid() == owner.uid() {
        return Ok(());
    }
    match fchown(file, Some(owner.uid()), Some(owner.gid())) {
        Err(error) if is_new && error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        given => given,
    }
}

/// Like [`replace`], but leaves it to the system when the disk has it: after a crash either may be
/// there.
///
/// # Errors
/// The system refuses; what was there is there.
pub fn replace_unsynced(path: &Path, mode: u32, bytes: &[u8]) -> io::Result<()> {
    filled(path, mode, bytes)?.persist(path).map_err(|refused| refused.error)?;
    Ok(())
}

/// Like [`replace`], but fails with [`io::ErrorKind::AlreadyExists`] if something is at `path`.
///
/// # Errors
/// Something is there, or the system refuses.
pub fn create(path: &Path, mode: u32, bytes: &[u8]) -> io::Result<()> {
    let file = written(path, mode, bytes)?;
    file.persist_noclobber(path).map_err(|refused| refused.error)?;
    sync_folder(path)
}

/// Makes a folder that only its owner may enter, unless it is there.
///
/// # Errors
/// The system refuses.
pub fn private_folder(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// The mode of a folder in which others than its owner may make, remove and exchange files; `None`
/// if they may not. `others` are the bits that say so: [`GROUP_WRITES`], [`ALL_WRITE`].
///
/// # Errors
/// The system refuses.
pub fn exposed(folder: &Path, others: u32) -> io::Result<Option<u32>> {
    let mode = fs::metadata(folder)?.permissions().mode() & 0o7777;
    Ok(Some(mode).filter(|mode| mode & others != 0))
}

/// The folder of a file in whose place everybody may put another, and the folder's mode; `None` if
/// not. In a folder as `/tmp` a file is removed by its owner alone.
///
/// # Errors
/// The system refuses.
pub fn folder_open_to_all(path: &Path) -> io::Result<Option<(PathBuf, u32)>> {
    let folder = folder(path);
    let mode = exposed(folder, ALL_WRITE)?.filter(|mode| mode & STICKY == 0);
    Ok(mode.map(|mode| (folder.to_owned(), mode)))
}

/// The group may write.
pub const GROUP_WRITES: u32 = 0o020;
/// Everybody may write.
pub const ALL_WRITE: u32 = 0o002;
/// Files can be removed by their owners alone.
const STICKY: u32 = 0o1000;

/// A file without a name of its own yet, beside the one whose place it is to take.
pub(super) fn unfinished(path: &Path, mode: u32) -> io::Result<NamedTempFile> {
    filled(path, mode, &[])
}

fn written(path: &Path, mode: u32, bytes: &[u8]) -> io::Result<NamedTempFile> {
    let file = filled(path, mode, bytes)?;
    file.as_file().sync_all()?;
    Ok(file)
}

fn filled(path: &Path, mode: u32, bytes: &[u8]) -> io::Result<NamedTempFile> {
    // The system's reason alone: `tempfile` adds the unfinished file's name, which nobody gave.
    let mut reason = None;
    let named = tempfile::Builder::new().prefix(".motemix-").make_in(folder(path), |unfinished| {
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(mode).open(unfinished);
        file.map_err(|error| {
            let kind = error.kind();
            reason = Some(error);
            kind.into()
        })
    });
    let mut file = named.map_err(|error| reason.unwrap_or(error))?;
    file.as_file_mut().write_all(bytes)?;
    // The mode given at creation went through the umask.
    file.as_file().set_permissions(Permissions::from_mode(mode))?;
    Ok(file)
}

/// The rename itself is durable once the folder is.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(folder(path))?.sync_all()
}

/// The folder that a file is in.
pub(crate) fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::chown;

    use super::*;

    #[test]
    fn a_path_goes_there_directly_unless_a_link_leads_elsewhere() {
        let place = tempfile::tempdir().unwrap();
        let at = |path: &str| place.path().join(path);
        for folder in ["plant/nodes/mix-1", "plant/documents", "other/nodes/mix-2"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        assert_eq!(without_detours(&at("plant/nodes/mix-1/../../documents")), at("plant/documents"));
        assert_eq!(without_detours(&at("plant/nodes/mix-1/../../none")), at("plant/none"));
        assert_eq!(without_detours(Path::new("src/../src")), Path::new("src"));
        assert_eq!(without_detours(Path::new("../a/b")), Path::new("../a/b"));
        std::os::unix::fs::symlink(at("other/nodes/mix-2"), at("plant/nodes/mix-2")).unwrap();
        let behind_a_link = at("plant/nodes/mix-2/../../documents");
        assert_eq!(without_detours(&behind_a_link), behind_a_link);
    }

    #[test]
    fn what_root_writes_belongs_to_the_owner_of_what_was_there_or_of_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let [file, new, mark] = ["file", "new", "mark"].map(|name| folder.path().join(name));
        let owner = |path: &Path| fs::metadata(path).map(|found| (found.uid(), found.gid())).unwrap();
        let text = |_| Zeroizing::new(b"text".to_vec());
        create_knowing(&file, &file, 0o600, text).unwrap();
        let own = owner(&file);
        replace_knowing(&file, &file, 0o600, text).unwrap();
        assert_eq!(owner(&file), own);
        // Only root can give files away, and others have no need to.
        if chown(&file, Some(1234), Some(1235)).is_err() {
            return;
        }
        replace_knowing(&file, &file, 0o600, text).unwrap();
        assert_eq!(owner(&file), (1234, 1235));
        create_knowing(&mark, &file, 0o600, text).unwrap();
        assert_eq!(owner(&mark), (1234, 1235));
        chown(folder.path(), Some(1236), Some(1237)).unwrap();
        create_knowing(&new, &new, 0o600, text).unwrap();
        assert_eq!(owner(&new), (1236, 1237));
        assert_eq!(owner(&file), (1234, 1235));
    }
}
