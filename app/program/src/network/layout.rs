//! Where the files of a network are.
//!
//! ```text
//! DIR/authority.key             signs the documents
//! DIR/authority.pub             its public half, as nodes and people name it
//! DIR/documents/<epoch>.cbor    signed network documents
//! DIR/nodes/<name>/node.toml    configuration
//!                  node.key     forward-secure mix key
//!                  device.key   signs the readings of a mote
//!                  node.log     what the process wrote
//!                  node.pid     which process it is
//!                  state/       what outlives the process; control socket
//! ```

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// A network's folder.
#[derive(Debug, Clone)]
pub struct NetworkDir {
    root: PathBuf,
}

/// A node's folder in it.
#[derive(Debug, Clone)]
pub struct NodeDir {
    root: PathBuf,
}

impl NetworkDir {
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    pub fn path(&self) -> &Path {
        &self.root
    }

    pub fn authority_key(&self) -> PathBuf {
        self.root.join("authority.key")
    }

    pub fn authority_public_key(&self) -> PathBuf {
        self.root.join("authority.pub")
    }

    pub fn documents(&self) -> PathBuf {
        self.root.join("documents")
    }

    pub fn document(&self, epoch: impl std::fmt::Display) -> PathBuf {
        self.documents().join(format!("{epoch}.cbor"))
    }

    pub fn nodes(&self) -> PathBuf {
        self.root.join("nodes")
    }

    pub fn node(&self, name: &str) -> NodeDir {
        NodeDir { root: self.nodes().join(name) }
    }

    /// Keeps other commands from starting or stopping its nodes until what is returned is dropped:
    /// two that start a node at once lose sight of one of them.
    ///
    /// # Errors
    /// Another command is at work.
    pub fn lock(&self) -> io::Result<File> {
        let folder = File::open(self.path())?;
        match folder.try_lock() {
            Err(TryLockError::WouldBlock) => {
                let folder = self.path().display();
                Err(io::Error::other(format!(
                    "{folder}: another command starts or stops nodes here; wait until it has ended"
                )))
            }
            Err(TryLockError::Error(error)) => Err(io::Error::other(format!(
                "{}: cannot lock it: {error}; use a folder on a file system with locks, as those of local disks have",
                self.path().display()
            ))),
            Ok(()) => Ok(folder),
        }
    }

    /// The folders of all nodes, by name; numbers in names count as numbers.
    pub fn list(&self) -> io::Result<Vec<NodeDir>> {
        // Each folder: what is missing in it is named when it is read.
        NodeDir::list(&self.nodes(), |node| node.path().is_dir())
    }
}

impl NodeDir {
    /// The folders in `nodes` that belong to nodes, by name; numbers in names count as numbers.
    pub fn list(nodes: &Path, is_node: impl Fn(&Self) -> bool) -> io::Result<Vec<Self>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(nodes)? {
            let node = Self { root: entry?.path() };
            if is_node(&node) {
                found.push(node);
            }
        }
        found.sort_by_cached_key(|node| by_number(&node.name()));
        Ok(found)
    }

    pub fn path(&self) -> &Path {
        &self.root
    }

    pub fn name(&self) -> String {
        self.root.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    pub fn config(&self) -> PathBuf {
        self.root.join("node.toml")
    }

    pub fn key(&self) -> PathBuf {
        self.root.join("node.key")
    }

    /// What outlives the process.
    pub fn state(&self) -> PathBuf {
        self.root.join("state")
    }

    /// What signs the node's readings.
    pub fn device_key(&self) -> PathBuf {
        self.root.join("device.key")
    }

    pub fn log(&self) -> PathBuf {
        self.root.join("node.log")
    }

    pub fn pid(&self) -> PathBuf {
        self.root.join("node.pid")
    }

    /// The socket for whoever collects figures.
    pub fn metrics(&self) -> PathBuf {
        self.root.join("state/metrics.sock")
    }

    /// What a node of Loopix printed, a line of JSON for each event.
    pub fn events(&self) -> PathBuf {
        self.root.join("node.events")
    }

    /// Where a client of Loopix is told what to send.
    pub fn input(&self) -> PathBuf {
        self.root.join("node.input")
    }
}

/// `mix-10` after `mix-2`.
fn by_number(name: &str) -> (String, u64) {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (stem.to_owned(), name[stem.len()..].parse().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::by_number;

    #[test]
    fn numbers_in_names_count_as_numbers() {
        let mut names = ["receiver-2", "mix-10", "mote-1", "receiver", "mix-2"];
        names.sort_by_cached_key(|name| by_number(name));
        assert_eq!(names, ["mix-2", "mix-10", "mote-1", "receiver", "receiver-2"]);
    }
}
