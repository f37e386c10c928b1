//! Where a key file is: its own lines say so, and no copy of it can say it of itself.

use std::fmt;
use std::fs;
use std::path::Path;

use blake2::{Blake2s256, Digest as _};

use crate::store::Birth;

/// Which machine, which file, and which mark of replay logs belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// [`machine`] when the file was written.
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

/// What this machine is known by, `-` if it has no id. A digest: machine-id(5) asks programs to
/// tell nobody the id itself.
pub(crate) fn machine() -> String {
    let of = |path: &str| fs::read_to_string(path).ok().map(|id| id.trim().to_owned());
    let known = |id: &String| !id.is_empty() && id != "uninitialized";
    let id = ["/etc/machine-id", "/var/lib/dbus/machine-id"].into_iter().filter_map(of).find(known);
    let Some(id) = id else { return "-".to_owned() };
    let digest = Blake2s256::new().chain_update(b"motemix/1 machine").chain_update(id).finalize();
    hex::encode(&digest[..16])
}

/// Which file is at `path`; `None` if none can be looked at.
pub(crate) fn birth_of(path: &Path) -> Option<Birth> {
    fs::metadata(path).ok().map(|found| Birth::of(&found))
}
