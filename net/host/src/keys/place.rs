//! Where a key file is: its own lines say so, and no copy of it can say it of itself.

use std::fmt;
use std::fs;
use std::path::Path;

use motemix_os::store::Birth;

/// Which machine, which file, and which mark of replay logs belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// [`machine`](motemix_os::store::birth::machine) when the file was written.
    pub(crate) machine: String,
    /// The key file's own.
    pub(crate) file: Birth,
    /// That of `state/replay-mark`; `None` if no node has used the key.
    pub(crate) mark: Option<Birth>,
}

impl Place {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let machine = words.next()?.to_owned();
        let file = words.next()?.parse().ok()?;
        let mark = match words.next()? {
            "-" => None,
            word => Some(word.parse().ok()?),
        };
        words.next().is_none().then_some(Self { machine, file, mark })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { machine, file, mark } = self;
        match mark {
            Some(mark) => write!(f, "{machine} {file} {mark}"),
            None => write!(f, "{machine} {file} -"),
        }
    }
}

/// Which file is at `path`; `None` if none can be looked at.
pub(crate) fn birth_of(path: &Path) -> Option<Birth> {
    fs::metadata(path).ok().map(|found| Birth::of(&found))
}
