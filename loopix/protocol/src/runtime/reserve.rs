//! Numbers for requests to a provider, `state/counter`.
//!
//! Each process takes the next numbers, as many as it will never use up, before it uses any. The
//! file is a help and not a need: a provider takes no number twice, and tells a client that begins
//! below its last one how far it was. So nothing ends when the file is empty, gone or older.

use std::io;
use std::path::{Path, PathBuf};

use motemix_os::store::file;

/// What the file is called.
const NAME: &str = "counter";
/// So many at once: ten a second last for a dozen years.
const AT_ONCE: u64 = 1 << 32;
/// More bytes than the file ever has.
const LONGEST: u64 = 64;

/// The numbers that this process may use.
#[derive(Debug)]
pub(super) struct Reserve {
    path: PathBuf,
    /// The first one that it may not.
    end: u64,
}

impl Reserve {
    /// Takes the next numbers. The second is the last one before them.
    pub(super) fn open(state: &Path) -> (Self, u64) {
        let path = state.join(NAME);
        let last = match read(&path) {
            Ok(Some(last)) => last,
            Ok(None) => {
                let path = path.display();
                tracing::warn!("{path}: it has no number; the provider will say how far this client was");
                0
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => {
                tracing::warn!("{}: cannot read it: {error}; check its permissions", path.display());
                0
            }
        };
        let mut reserve = Self { path, end: last };
        reserve.cover(last);
        (reserve, last)
    }

    /// Takes more numbers, if `used` is not one of those that were taken: the provider has said
    /// that it was further.
    pub(super) fn cover(&mut self, used: u64) {
        if used < self.end {
            return;
        }
        self.end = used.saturating_add(AT_ONCE);
        if let Err(error) = file::replace_unsynced(&self.path, 0o600, format!("{}\n", self.end).as_bytes()) {
            let path = self.path.display();
            tracing::warn!(
                "{path}: cannot write it: {error}; the next start asks the provider how far this client was"
            );
        }
    }
}

fn read(path: &Path) -> io::Result<Option<u64>> {
    let text = io::read_to_string(io::Read::take(file::open(path)?, LONGEST))?;
    Ok(text.trim_end().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_process_begins_below_what_another_may_have_used() {
        let folder = tempfile::tempdir().unwrap();
        let (mut first, last) = Reserve::open(folder.path());
        assert_eq!(last, 0);
        first.cover(7);
        let (mut second, last) = Reserve::open(folder.path());
        assert_eq!(last, AT_ONCE);
        // The provider says that it was further.
        second.cover(1 << 60);
        let (_, last) = Reserve::open(folder.path());
        assert_eq!(last, (1 << 60) + AT_ONCE);
    }

    #[test]
    fn a_file_that_says_nothing_stops_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        for nothing in ["", "-1\n", "no number", "99999999999999999999999999\n"] {
            std::fs::write(&path, nothing).unwrap();
            assert_eq!(Reserve::open(folder.path()).1, 0, "{nothing:?}");
            assert_eq!(Reserve::open(folder.path()).1, AT_ONCE);
        }
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert_eq!(Reserve::open(folder.path()).1, 0);
    }
}
