//! Looks after the directory: when its file changes, it is read again.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use tokio::task::{JoinHandle, spawn_blocking};

use crate::files::{Directory, NodeEntry, NodeFiles};

/// What tells one version of a file from another.
type Version = (u64, i64, i64, u64);

/// The directory's file of one node.
#[derive(Debug)]
pub(super) struct Watch {
    dir: PathBuf,
    file: PathBuf,
    own: NodeEntry,
    seen: Option<Version>,
    look: Option<JoinHandle<Look>>,
}

/// What a look at the file has brought.
#[derive(Debug)]
enum Look {
    Unchanged,
    Changed { version: Option<Version>, directory: Result<Box<Directory>, String> },
}

impl Watch {
    /// Watches the directory of the node in `dir`, whose entry there is `own`.
    pub(super) fn new(dir: &Path, file: PathBuf, own: NodeEntry) -> Self {
        let seen = version(&file);
        Self { dir: dir.to_owned(), file, own, seen, look: None }
    }

    /// A new directory, if there is one that can be used. One that cannot is said once; the old one
    /// stays in force. It does not wait: looking and reading are done on another thread.
    pub(super) async fn poll(&mut self) -> Option<Directory> {
        if self.look.as_ref().is_some_and(|look| !look.is_finished()) {
            return None;
        }
        let look = self.look.take();
        let (dir, file, own, seen) = (self.dir.clone(), self.file.clone(), self.own.clone(), self.seen);
        let looked = match look {
            // A thread that failed has seen nothing.
            Some(look) => look.await.unwrap_or(Look::Unchanged),
            None => Look::Unchanged,
        };
        let Look::Changed { version, directory } = looked else {
            self.look = Some(spawn_blocking(move || look_again(&dir, &file, &own, seen)));
            return None;
        };
        self.seen = version;
        directory
            .inspect_err(|problem| tracing::error!("{problem}; the directory from before stays in force"))
            .ok()
            .map(|directory| *directory)
    }
}

fn look_again(dir: &Path, file: &Path, own: &NodeEntry, seen: Option<Version>) -> Look {
    let version = version(file);
    if version == seen {
        return Look::Unchanged;
    }
    let directory = match NodeFiles::open(dir) {
        Ok(files) if files.own == *own => Ok(Box::new(files.directory)),
        Ok(_) => Err(format!("{}: this node's own entry has changed; start the node again", file.display())),
        Err(error) => Err(error.to_string()),
    };
    Look::Changed { version, directory }
}

/// `None` for a file that is not there.
fn version(file: &Path) -> Option<Version> {
    let metadata = fs::metadata(file).ok()?;
    Some((metadata.ino(), metadata.mtime(), metadata.mtime_nsec(), metadata.len()))
}
