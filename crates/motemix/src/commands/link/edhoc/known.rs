//! Whom this node met first at each address: a file with a line for each.
//!
//! ```text
//! ADDRESS IDENTITY
//! ```

use crate::commands::link::in_hex;
use crate::failure::Failure;
use motemix_neighbour::PublicKey;
use motemix_neighbour::suite::PUBLIC_KEY_LEN;
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

pub struct Known {
    path: PathBuf,
    first: BTreeMap<String, PublicKey>,
}

impl Known {
    /// What the file says. None is there before anybody was met.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let mut first = BTreeMap::new();
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => {
                return Err(Failure::broken(format!(
                    "--known: cannot read {}: {error}; check the path and its owner",
                    path.display()
                )));
            }
        };
        for (line, number) in text.lines().zip(1..) {
            let (address, identity) = parse(line).ok_or_else(|| {
                let path = path.display();
                Failure::broken(format!("{path}, line {number}: an address and 66 hex digits are expected"))
            })?;
            first.entry(address).or_insert(identity);
        }
        Ok(Self { path: path.to_owned(), first })
    }

    pub fn path(&self) -> String {
        self.path.display().to_string()
    }

    pub fn at(&self, place: &str) -> Option<PublicKey> {
        self.first.get(place).copied()
    }

    /// Keeps whom this node met, before it trusts it.
    pub fn learn(&mut self, place: &str, identity: &PublicKey) -> Result<(), Failure> {
        let write = || {
            let mut file = OpenOptions::new().append(true).create(true).open(&self.path)?;
            file.write_all(format!("{place} {}\n", in_hex(identity)).as_bytes())?;
            file.sync_all()
        };
        write().map_err(|error: std::io::Error| {
            let path = self.path.display();
            Failure::failed(format!(
                "--known: cannot write {path}: {error}; check its folder and permissions"
            ))
        })?;
        self.first.insert(place.to_owned(), *identity);
        Ok(())
    }
}

fn parse(line: &str) -> Option<(String, PublicKey)> {
    let (address, identity) = line.split_once(' ')?;
    let mut bytes = [0; PUBLIC_KEY_LEN];
    hex::decode_to_slice(identity.trim(), &mut bytes).ok()?;
    Some((address.to_owned(), PublicKey::new(bytes).ok()?))
}
