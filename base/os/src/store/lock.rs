//! Locks of files, and what the system says where it has none.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;

use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

use super::{StoreError, StoreProblem};

/// Locks a file for this process until it is closed: two nodes with one state would each miss what
/// the other has seen.
pub fn lock(file: &File, path: &Path) -> Result<(), StoreError> {
    let problem = match file.try_lock() {
        Ok(()) => return Ok(()),
        Err(TryLockError::WouldBlock) => StoreProblem::InUse,
        Err(TryLockError::Error(error)) => StoreProblem::NoLocks(error),
    };
    Err(StoreError::new(path, problem))
}

/// Why files beside this one cannot be locked in the way of `SQLite`, which takes a file system
/// without locks for another process; `None` if they can be, or nobody knows.
pub fn refused_beside(path: &Path) -> Option<io::Error> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Not the file itself: whoever closes a file gives up all that this process has locked of it.
    let probe = tempfile::tempfile_in(folder).ok()?;
    fcntl(&probe, FcntlArg::F_SETLK(&WHOLE)).err().map(Into::into)
}

/// All of a file, for its one writer.
const WHOLE: libc::flock =
    libc::flock { l_type: libc::F_WRLCK as _, l_whence: libc::SEEK_SET as _, l_start: 0, l_len: 0, l_pid: 0 };

/// Refuses a store of these files that a program has open: it has locked a part of one of them in
/// the way of `SQLite`, for as long as it has. Only for files that this process has not open
/// itself.
pub(super) fn check_free(store: &Path, files: &[&Path]) -> Result<(), StoreError> {
    for path in files {
        let mut found = WHOLE;
        let asked = File::open(path).map_err(|_| ()).and_then(|file| {
            let asked = fcntl(&file, FcntlArg::F_GETLK(&mut found));
            asked.map_err(|_| ())
        });
        // Where there is no file, or there are no locks, nobody is seen.
        if asked.is_ok() && i32::from(found.l_type) != libc::F_UNLCK {
            return Err(StoreError::new(store, StoreProblem::Open { by: name_of(found.l_pid) }));
        }
    }
    Ok(())
}

/// A process by its number, and by its name if the system tells it.
fn name_of(pid: libc::pid_t) -> Option<String> {
    if pid <= 0 {
        return None;
    }
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok();
    Some(name.map_or_else(|| format!("process {pid}"), |name| format!("process {pid} ({})", name.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_with_locks_is_known_as_one() {
        let folder = tempfile::tempdir().unwrap();
        assert!(refused_beside(&folder.path().join("any")).is_none());
        assert!(refused_beside(Path::new("any")).is_none());
        assert!(refused_beside(&folder.path().join("gone/any")).is_none(), "nobody knows");
    }

    #[test]
    fn whoever_has_a_lock_is_told_from_a_system_that_has_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let (one, other) = (File::create(&path).unwrap(), File::create(&path).unwrap());
        lock(&one, &path).unwrap();
        assert!(matches!(lock(&other, &path).unwrap_err().problem, StoreProblem::InUse));
        let said = StoreError::new(&path, StoreProblem::NoLocks(io::Error::from_raw_os_error(libc::ENOLCK)));
        let said = said.to_string();
        assert!(said.contains("No locks available") && !said.contains("in use"), "{said}");
    }
}
