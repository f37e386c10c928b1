//! Whom this node met first at each address: a file with a line for each.
//!
//! ```text
//! ADDRESS IDENTITY
//! ```

use crate::commands::link::in_hex;
use motemix_coap::Source;
use motemix_neighbour::PublicKey;
use motemix_neighbour::suite::PUBLIC_KEY_LEN;
use motemix_os::store::file;
use motemix_program::failure::Failure;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Identities in a file. Nobody who was met is forgotten for another.
const MOST: usize = 4096;
/// Those of them that were met at addresses of one source.
const MOST_OF_A_SOURCE: usize = 256;

/// The mode of a file that is made. One that was there keeps its own.
const MODE: u32 = 0o600;

pub struct Known {
    path: PathBuf,
    first: BTreeMap<String, PublicKey>,
}

impl Known {
    /// What the file says. None is there before anybody was met.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let text = read(path).map_err(|error| {
            Failure::broken(format!(
                "cannot read {}: {error}; name another file with --known",
                path.display()
            ))
        })?;
        let first = parse_all(path, text.as_deref().unwrap_or_default())?;
        Ok(Self { path: path.to_owned(), first })
    }

    pub fn path(&self) -> String {
        self.path.display().to_string()
    }

    pub fn at(&self, place: &str) -> Option<PublicKey> {
        self.first.get(place).copied()
    }

    /// Keeps whom this node met, before it trusts it. The file is replaced as a whole: whatever
    /// happens meanwhile, all that was in it is in it.
    ///
    /// # Errors
    /// It cannot be kept, or another program that shares the file has met another one there first.
    pub fn learn(&mut self, place: &str, identity: &PublicKey) -> Result<(), Failure> {
        let cannot = |error: io::Error| {
            Failure::failed(format!(
                "{}: cannot keep whom this node met first at {place}: {error}; {}. The file is as it was, and \
                 whoever is met there is not trusted",
                self.path.display(),
                remedy(error.kind())
            ))
        };
        // A link stays a link.
        let path = match fs::canonicalize(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => self.path.clone(),
            path => path.map_err(cannot)?,
        };
        // Another program may keep somebody in the same file. Where a file system has no locks, two
        // must not share one.
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let lock = File::open(folder.unwrap_or(Path::new("."))).map_err(cannot)?;
        let _ = lock.lock();
        let mut text = read(&path).map_err(cannot)?.unwrap_or_default();
        let mut first = parse_all(&path, &text)?;
        if let Some(other) = first.get(place).filter(|other| *other != identity) {
            let (path, other) = (self.path.display(), in_hex(other));
            return Err(Failure::failed(format!(
                "{path}: {other} was met first at {place}, by another program"
            )));
        }
        if !first.contains_key(place) {
            has_room(&first, place).map_err(|full| {
                let path = self.path.display();
                Failure::failed(format!(
                    "{path}: {full}; whoever is new at {place} is not trusted until lines of others are removed"
                ))
            })?;
            // Whoever edits a file may leave the last line without an end.
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.extend([place, " ", &in_hex(identity), "\n"]);
            let mode = fs::metadata(&path).map_or(MODE, |metadata| metadata.permissions().mode() & 0o7777);
            file::replace(&path, mode, text.as_bytes()).map_err(cannot)?;
            first.insert(place.to_owned(), *identity);
        }
        self.first = first;
        Ok(())
    }
}

/// Whether one more may be met at an address. Whoever has many addresses must not fill the disk, or
/// the places of others.
fn has_room(first: &BTreeMap<String, PublicKey>, place: &str) -> Result<(), String> {
    let source_of = |place: &str| place.parse().ok().map(Source::of);
    let Some(source) = source_of(place) else { return Ok(()) };
    if first.len() >= MOST {
        return Err(format!("{MOST} were met"));
    }
    let of_source = first.keys().filter(|place| source_of(place) == Some(source)).count();
    if of_source >= MOST_OF_A_SOURCE {
        return Err(format!("{MOST_OF_A_SOURCE} were met at {source}"));
    }
    Ok(())
}

/// What is in the file; `None` if it is not there.
fn read(path: &Path) -> io::Result<Option<String>> {
    let mut file = match file::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    if text.is_empty() {
        let empty = "it is empty, and without it whoever is met next would be trusted; put it back";
        return Err(io::Error::new(ErrorKind::InvalidData, empty));
    }
    Ok(Some(text))
}

fn remedy(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            "make room on its disk, or name a file on another one with --known"
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "let this user write to its folder, or name another file with --known"
        }
        _ => "check its folder, or name another file with --known",
    }
}

fn parse_all(path: &Path, text: &str) -> Result<BTreeMap<String, PublicKey>, Failure> {
    let mut first = BTreeMap::new();
    for (line, number) in text.lines().zip(1..) {
        let (address, identity) = parse(line).ok_or_else(|| {
            let path = path.display();
            Failure::broken(format!("{path}, line {number}: an address and 66 hex digits are expected"))
        })?;
        first.entry(address).or_insert(identity);
    }
    Ok(first)
}

fn parse(line: &str) -> Option<(String, PublicKey)> {
    let (address, identity) = line.split_once(' ')?;
    let mut bytes = [0; PUBLIC_KEY_LEN];
    hex::decode_to_slice(identity.trim(), &mut bytes).ok()?;
    Some((address.to_owned(), PublicKey::new(bytes).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::link::rng;
    use motemix_neighbour::diet::settled::Identity;
    use motemix_neighbour::suite::P256;

    #[test]
    fn a_network_with_many_addresses_has_its_share_of_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("known");
        let mut rng = rng().expect("random numbers");
        let identity = Identity::generate(&mut P256, &mut rng).expect("in software").public_key();
        let line = |number: usize| format!("2001:db8::{number:x} {}\n", in_hex(&identity));
        fs::write(&path, (1..MOST_OF_A_SOURCE).map(line).collect::<String>()).expect("a file");
        let mut known = Known::open(&path).expect("lines");
        known.learn("2001:db8::a:1", &identity).expect("the last one");
        let refused = known.learn("2001:db8::a:2", &identity).expect_err("one too many").to_string();
        assert!(refused.contains("256 were met at 2001:db8::/64; whoever is new"), "{refused}");
        // Others are met, and whoever was met stays.
        known.learn("2001:db8:0:1::1", &identity).expect("another network");
        known.learn("2001:db8::1", &identity).expect("met before");
        assert_eq!(Known::open(&path).expect("lines").first.len(), MOST_OF_A_SOURCE + 1);
    }
}
