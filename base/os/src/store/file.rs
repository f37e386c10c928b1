//! Small files that are replaced as a whole.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown};
use std::path::{Component, Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;
use tempfile::NamedTempFile;
use zeroize::Zeroizing;

use super::birth::Birth;

/// Regular files do not know it.
const O_NONBLOCK: i32 = OFlags::NONBLOCK.bits().cast_signed();
/// What changes a file follows no link to it: where the folder is another user's, that user says
/// where its links lead.
const O_NOFOLLOW: i32 = OFlags::NOFOLLOW.bits().cast_signed();
/// How often a file is opened again that somebody replaces at that moment.
const TRIES: usize = 16;

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

/// Opens a file to be read as [`open`] does, and follows no symbolic link to it.
///
/// # Errors
/// The system refuses, or it is not a regular file.
pub fn open_itself(path: &Path) -> io::Result<File> {
    let opened = File::options().read(true).custom_flags(O_NONBLOCK | O_NOFOLLOW).open(path);
    of_regular(opened.map_err(no_link)?)
}

/// Opens a file to be read and appended to; makes it, for its owner alone, unless it is there.
/// Waits for nothing, and takes no file that has another name.
///
/// # Errors
/// The system refuses, or it is not a regular file with this name alone.
pub fn open_to_append(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).append(true).create(true).mode(0o600);
    open_by_its_only_name(path, options)
}

/// Like [`open_to_append`]. A file that this makes belongs to the owner of what is at `like`, as of
/// [`replace_knowing`], if it may be given away; one that is there keeps its owner.
///
/// # Errors
/// The system refuses, or it is not a regular file with this name alone.
pub fn open_to_append_like(path: &Path, like: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).append(true);
    for _ in 0..TRIES {
        match open_by_its_only_name(path, options.clone()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            opened => return opened,
        }
        let made = filled(path, 0o600, &[])?;
        match give(made.as_file(), like) {
            Err(error) if error.kind() != io::ErrorKind::PermissionDenied => return Err(error),
            _ => {}
        }
        match made.persist_noclobber(path) {
            Err(refused) if refused.error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(refused.error);
            }
            _ => {}
        }
    }
    Err(replaced_meanwhile())
}

/// Opens a file that is there, to be read and to be written in place. Waits for nothing, and takes
/// no file that has another name.
///
/// # Errors
/// The system refuses, or it is not a regular file with this name alone.
pub fn open_to_write(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true);
    open_by_its_only_name(path, options)
}

/// Opens a file that is to be changed. A link, whether symbolic or hard, may lead to any file of
/// the machine: a command of root would change it for the user who made the link.
fn open_by_its_only_name(path: &Path, mut options: OpenOptions) -> io::Result<File> {
    options.custom_flags(O_NONBLOCK | O_NOFOLLOW);
    for _ in 0..TRIES {
        let file = of_regular(options.open(path).map_err(no_link)?)?;
        // One look at both: names that come and go in between would hide another name.
        let named = match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            named => named?,
        };
        if !Identity::of(&named).is_same_file(&Identity::of(&file.metadata()?)) {
            continue;
        }
        if named.nlink() != 1 {
            return Err(invalid("it has another name, a hard link; put a copy in its place"));
        }
        return Ok(file);
    }
    Err(replaced_meanwhile())
}

fn no_link(error: io::Error) -> io::Error {
    match Errno::from_io_error(&error) {
        Some(Errno::LOOP) => invalid("it is a symbolic link; put the file itself there"),
        _ => error,
    }
}

fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

fn replaced_meanwhile() -> io::Error {
    io::Error::other("another program replaces it all the time; find out which one does")
}

fn of_regular(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(invalid("it is not a regular file"))
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
    replace_and_keep(path, mode, bytes).map(drop)
}

/// Like [`replace`], and returns the new file, to be read and written: its name may stand for
/// another one by the time that it is opened.
///
/// # Errors
/// The system refuses; what was there is there.
pub fn replace_and_keep(path: &Path, mode: u32, bytes: &[u8]) -> io::Result<File> {
    let file = written(path, mode, bytes)?.persist(path).map_err(|refused| refused.error)?;
    sync_folder(path).map(|()| file)
}

/// Like [`replace_and_keep`], with bytes that say which file they are in. It belongs to the owner
/// of what is at `like`, whoever runs this: a command of root takes no file from the program that
/// needs it.
///
/// # Errors
/// The system refuses; what was there is there.
pub fn replace_knowing(
    path: &Path,
    like: &Path,
    mode: u32,
    bytes: impl Fn(Birth) -> Zeroizing<Vec<u8>>,
) -> io::Result<File> {
    let file = knowing(path, like, mode, bytes)?.persist(path).map_err(|refused| refused.error)?;
    sync_folder(path).map(|()| file)
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

/// Gives a file that this process has made, and no other, to the owner of what is at `like`, or of
/// its folder if nothing is there.
///
/// # Errors
/// The system refuses. A new file that may not be given away stays with its maker: it is taken from
/// nobody.
fn give(file: &File, like: &Path) -> io::Result<()> {
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
pub fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(folder(path))?.sync_all()
}

/// A path as a person types it in a shell, for the commands that messages name.
pub fn typed(path: &Path) -> String {
    let path = path.to_string_lossy();
    // No path has a byte of zero, the only one that has no form.
    shlex::try_quote(&path).map_or_else(|_| path.to_string(), String::from)
}

/// The folder that a file is in.
pub fn folder(path: &Path) -> &Path {
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

    /// Root has commands for folders of another user, who may put links there.
    #[test]
    fn what_is_changed_in_place_is_no_file_that_a_link_leads_to() {
        let folder = tempfile::tempdir().unwrap();
        let [place, like, victim, absent] =
            ["place", "like", "victim", "absent"].map(|name| folder.path().join(name));
        fs::write(&victim, "somebody's").unwrap();
        fs::set_permissions(&victim, Permissions::from_mode(0o640)).unwrap();
        // The attacker's folder, where only root can make one.
        let is_root = chown(folder.path(), Some(1236), Some(1237)).is_ok();
        let look = |path: &Path| {
            let found = fs::metadata(path).unwrap();
            (found.uid(), found.gid(), found.mode(), fs::read(path).unwrap())
        };
        let before = look(&victim);
        let refused = || {
            [open_to_append(&place), open_to_append_like(&place, &like), open_to_write(&place)]
                .map(|opened| opened.unwrap_err().to_string())
        };
        for target in [&victim, &absent] {
            std::os::unix::fs::symlink(target, &place).unwrap();
            assert_eq!(refused(), ["it is a symbolic link; put the file itself there"; 3]);
            fs::remove_file(&place).unwrap();
        }
        fs::hard_link(&victim, &place).unwrap();
        assert_eq!(refused(), ["it has another name, a hard link; put a copy in its place"; 3]);
        fs::remove_file(&place).unwrap();
        assert_eq!((look(&victim), absent.exists()), (before, false));
        // What is made belongs to the folder's owner, and what was there to whom it did.
        drop(open_to_append_like(&place, &like).unwrap());
        if is_root {
            assert_eq!(fs::metadata(&place).unwrap().uid(), 1236);
            chown(&place, Some(0), Some(0)).unwrap();
            drop(open_to_append_like(&place, &like).unwrap());
            assert_eq!(fs::metadata(&place).unwrap().uid(), 0);
        }
    }
}
