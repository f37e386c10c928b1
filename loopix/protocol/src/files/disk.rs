//! Files as a whole: read up to a bound, replaced all at once.

use super::{FileError, wrong};
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;
use zeroize::Zeroizing;

/// For everybody: directory, configuration, public keys.
pub(super) const PUBLIC: u32 = 0o644;
/// For the owner alone: secret keys.
pub(super) const PRIVATE: u32 = 0o600;

/// All of a file, if it has no more than `most` bytes; they are wiped when they are no longer used.
pub(super) fn read(path: &Path, most: usize) -> Result<Zeroizing<Vec<u8>>, FileError> {
    // Room for all of it and one byte more: a vector that grows leaves copies behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(most + 1));
    let file = motemix_os::store::file::open(path).map_err(|error| unreadable(path, &error))?;
    file.take(most as u64 + 1).read_to_end(&mut bytes).map_err(|error| unreadable(path, &error))?;
    if bytes.len() > most {
        let problem = format!("is longer than {most} bytes, which no such file is");
        return Err(wrong(path, "", problem, "check that it is the file you meant"));
    }
    Ok(bytes)
}

pub(super) fn unreadable(path: &Path, error: &io::Error) -> FileError {
    let remedy = match error.kind() {
        ErrorKind::NotFound => "check the path, or make the file first",
        ErrorKind::InvalidInput => "put the file in its place",
        _ => "check the path and its permissions",
    };
    wrong(path, "", format!("cannot read it: {error}"), remedy)
}

/// Puts `bytes` in place of what is at `path`: all of them or none.
pub(super) fn replace(path: &Path, mode: u32, bytes: &[u8]) -> Result<(), FileError> {
    motemix_os::store::file::replace(path, mode, bytes).map_err(|error| unwritable(path, &error))
}

/// Like [`replace`], where nothing may be yet.
pub(super) fn create(path: &Path, mode: u32, bytes: &[u8]) -> Result<(), FileError> {
    motemix_os::store::file::create(path, mode, bytes).map_err(|error| unwritable(path, &error))
}

fn unwritable(path: &Path, error: &io::Error) -> FileError {
    let remedy = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            return wrong(path, "", "the disk is full", "free some space and try again");
        }
        ErrorKind::AlreadyExists => {
            return wrong(path, "", "is there already", "remove it first if it is to be replaced");
        }
        _ => "check the folder and its permissions",
    };
    wrong(path, "", format!("cannot write it: {error}"), remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_in_the_place_of_a_file_holds_nobody_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let error = read(&path, 100).unwrap_err().to_string();
        assert!(
            error.ends_with("cannot read it: it is not a regular file; put the file in its place"),
            "{error}"
        );
    }
}
