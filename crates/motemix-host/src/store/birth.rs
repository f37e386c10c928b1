//! What tells a file from every copy of it.

use std::fmt;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

use blake2::{Blake2s256, Digest as _};

/// What a file has from the moment it was made until it is removed: its inode, and when it was
/// made. No tool that copies, packs or restores files can give a copy these two.
///
/// The number of the device is left out: many file systems have another one after each start of the
/// machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Birth {
    inode: u64,
    /// Nanoseconds since 1970; unknown on file systems that do not keep it.
    created: Option<u128>,
}

impl Birth {
    /// That of the file with these metadata.
    pub fn of(metadata: &Metadata) -> Self {
        let since = |time: SystemTime| time.duration_since(UNIX_EPOCH).ok();
        let created = metadata.created().ok().and_then(since).map(|since| since.as_nanos());
        Self { inode: metadata.ino(), created }
    }
}

impl fmt::Display for Birth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.created {
            Some(created) => write!(f, "{}:{created}", self.inode),
            None => write!(f, "{}:-", self.inode),
        }
    }
}

impl FromStr for Birth {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (inode, created) = text.split_once(':').ok_or(())?;
        let created = if created == "-" { None } else { Some(created.parse().map_err(|_| ())?) };
        Ok(Self { inode: inode.parse().map_err(|_| ())?, created })
    }
}

/// What this machine is known by, `-` if it has no id. A digest: machine-id(5) asks programs to
/// tell nobody the id itself.
pub fn machine() -> String {
    let of = |path: &str| fs::read_to_string(path).ok().map(|id| id.trim().to_owned());
    let known = |id: &String| !id.is_empty() && id != "uninitialized";
    let id = ["/etc/machine-id", "/var/lib/dbus/machine-id"].into_iter().filter_map(of).find(known);
    let Some(id) = id else { return "-".to_owned() };
    let digest = Blake2s256::new().chain_update(b"motemix/1 machine").chain_update(id).finalize();
    hex::encode(&digest[..16])
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_rename_and_what_is_written_keep_it_and_no_copy_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let [file, renamed, copy] = ["file", "renamed", "copy"].map(|name| folder.path().join(name));
        fs::write(&file, "before").unwrap();
        let born = Birth::of(&fs::metadata(&file).unwrap());
        fs::write(&file, "after").unwrap();
        fs::rename(&file, &renamed).unwrap();
        assert_eq!(Birth::of(&fs::metadata(&renamed).unwrap()), born);
        assert_eq!(born.to_string().parse(), Ok(born));
        assert!(Command::new("cp").arg("-a").args([&renamed, &copy]).status().unwrap().success());
        assert_ne!(Birth::of(&fs::metadata(&copy).unwrap()), born);
        // Its inode may be given to another file; the moment cannot.
        fs::remove_file(&renamed).unwrap();
        assert!(Command::new("cp").arg("-a").args([&copy, &renamed]).status().unwrap().success());
        assert_ne!(Birth::of(&fs::metadata(&renamed).unwrap()), born);
    }
}
