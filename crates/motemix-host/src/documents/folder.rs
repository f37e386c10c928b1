//! A folder of network documents, `<epoch>.cbor`, as files and over HTTP.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use motemix_directory::Epoch;

use crate::web::Answer;

/// The epochs of a list that somebody gave, as [`Folder::answer`] writes one.
pub fn listed(list: &[u8]) -> Vec<Epoch> {
    String::from_utf8_lossy(list).lines().filter_map(|line| line.trim().parse().ok()).map(Epoch).collect()
}

/// The folder. Nothing in it is known to be a document.
#[derive(Debug, Clone)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// The folder at this path, whether it is there or not.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file of an epoch, whether it is there or not.
    pub fn file(&self, epoch: Epoch) -> PathBuf {
        self.path.join(format!("{epoch}.cbor"))
    }

    /// The epochs of the files, in ascending order.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn epochs(&self) -> io::Result<Vec<Epoch>> {
        let mut epochs = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let name = entry?.file_name();
            epochs.extend(name.to_str().and_then(|name| name.strip_suffix(".cbor")?.parse().ok()).map(Epoch));
        }
        epochs.sort_unstable();
        Ok(epochs)
    }

    /// The file of an epoch, if it is there.
    pub fn read(&self, epoch: Epoch) -> Option<Vec<u8>> {
        fs::read(self.file(epoch)).ok()
    }

    /// What is said to who asks for `/documents`, the epochs that are there, or `/documents/EPOCH`;
    /// `None` to other questions.
    pub fn answer(&self, path: &str) -> Option<Answer> {
        let rest = path.strip_prefix("/documents")?;
        if rest.is_empty() {
            let mut list = String::new();
            for epoch in self.epochs().unwrap_or_default() {
                list = list + &epoch.to_string() + "\n";
            }
            return Some(Answer::text(200, list));
        }
        let document = rest.strip_prefix('/')?.parse().ok().and_then(|epoch| self.read(Epoch(epoch)));
        Some(document.map_or_else(Answer::nothing, |file| Answer::found("application/cbor", file)))
    }
}
