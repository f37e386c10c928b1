//! What tells a file from every copy of it.

use std::fmt;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

use blake2::{Blake2s256, Digest as _};

/// In the place of the digest of an id that is not there.
const NO_ID: &str = "-";

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

    /// Whether both are of one file. A later kernel may report when a file was made and an earlier
    /// one not, so that counts only if both have it.
    pub fn is_of_same_file(&self, other: &Self) -> bool {
        let may_be = self.created.zip(other.created).is_none_or(|(one, other)| one == other);
        self.inode == other.inode && may_be
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

/// What this machine is known by, `-` if it has no id that lasts. A digest: machine-id(5) asks
/// programs to tell nobody the id itself.
pub fn machine() -> String {
    machine_of(Path::new("/"))
}

/// Whether this is the machine that is known by what [`machine`] gave, as far as ids tell.
pub fn is_machine(noted: &str) -> bool {
    is_same_machine(noted, &machine())
}

fn is_same_machine(one: &str, other: &str) -> bool {
    one == other || one == NO_ID || other == NO_ID
}

fn machine_of(root: &Path) -> String {
    // Where systemd cannot write to /etc, it makes an id here for each start of the machine, and
    // mounts it there.
    if root.join("run/machine-id").exists() {
        return NO_ID.to_owned();
    }
    let of = |path: &str| fs::read_to_string(root.join(path)).ok().map(|id| id.trim().to_owned());
    let known = |id: &String| !id.is_empty() && id != "uninitialized";
    let id = ["etc/machine-id", "var/lib/dbus/machine-id"].into_iter().filter_map(of).find(known);
    let Some(id) = id else { return NO_ID.to_owned() };
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

    #[test]
    fn a_birth_that_a_kernel_does_not_report_may_be_any() {
        let birth = |text: &str| text.parse::<Birth>().unwrap();
        let same = |one: &str, other: &str| birth(one).is_of_same_file(&birth(other));
        assert!(same("5:7", "5:7") && same("5:-", "5:7") && same("5:7", "5:-") && same("5:-", "5:-"));
        assert!(!same("5:7", "5:8") && !same("5:7", "6:7") && !same("5:-", "6:7") && !same("5:-", "6:-"));
    }

    #[test]
    fn an_id_that_lasts_for_one_start_of_the_machine_is_none() {
        let root = tempfile::tempdir().unwrap();
        let etc = root.path().join("etc");
        fs::create_dir(&etc).unwrap();
        assert_eq!(machine_of(root.path()), NO_ID);
        let with = |id: &str| {
            fs::write(etc.join("machine-id"), id).unwrap();
            machine_of(root.path())
        };
        assert_eq!(with("uninitialized\n"), NO_ID);
        let (one, other) = (with("one\n"), with("other\n"));
        assert!(is_same_machine(&one, &one) && !is_same_machine(&one, &other));
        assert!(is_same_machine(NO_ID, &one) && is_same_machine(&one, NO_ID));
        fs::create_dir(root.path().join("run")).unwrap();
        fs::write(root.path().join("run/machine-id"), "other\n").unwrap();
        assert_eq!(machine_of(root.path()), NO_ID);
    }
}
