//! The folder of a node's state, as the node opened it: whether it is still where it was.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use motemix_os::store::file::typed;

/// An open folder and the path that it was opened by.
#[derive(Debug)]
pub(super) struct StateFolder {
    path: PathBuf,
    folder: File,
    /// Where the system had it then, without links.
    was_at: Option<PathBuf>,
}

impl StateFolder {
    /// Opens a folder that is there.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let folder = File::open(path)?;
        Ok(Self { path: path.to_owned(), was_at: place_of(&folder), folder })
    }

    /// From where to where it was moved, in words with a remedy; `None` if it is still at its path,
    /// or was removed.
    pub(super) fn moved(&self) -> Option<String> {
        if self.is_at(&self.path) {
            return None;
        }
        let is_at = place_of(&self.folder).filter(|path| self.is_at(path))?;
        let (from, to) = moved_above(self.was_at.as_ref().unwrap_or(&self.path), &is_at);
        let typed = typed(to);
        Some(format!(
            "{} was moved to {} while the node ran, and it still looks for files and documents where they were; start \
             it again: of a network on this machine, all with `motemix net down {typed}`, then `motemix net up {typed}`",
            from.display(),
            to.display()
        ))
    }

    fn is_at(&self, path: &Path) -> bool {
        let (Ok(found), Ok(own)) = (fs::metadata(path), self.folder.metadata()) else { return false };
        (found.dev(), found.ino()) == (own.dev(), own.ino())
    }
}

/// Where the system has an open file now.
fn place_of(file: &File) -> Option<PathBuf> {
    fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()
}

/// The folder above that was moved with all in it: of a network, all nodes name the same.
fn moved_above<'p>(mut from: &'p Path, mut to: &'p Path) -> (&'p Path, &'p Path) {
    while let (Some(from_above), Some(to_above)) = (from.parent(), to.parent()) {
        if from.file_name() != to.file_name() || from_above.exists() {
            break;
        }
        (from, to) = (from_above, to_above);
    }
    (from, to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_nodes_of_a_network_that_was_moved_name_its_folder() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().canonicalize().unwrap();
        let at = |path: &str| place.join(path);
        let nodes = ["plant/nodes/mix-1/state", "plant/nodes/mix-2/state"].map(at);
        let folders = nodes.map(|path| {
            fs::create_dir_all(&path).unwrap();
            StateFolder::open(&path).unwrap()
        });
        assert!(folders.iter().all(|folder| folder.moved().is_none()));
        fs::rename(at("plant"), at("plant2")).unwrap();
        let told = folders.each_ref().map(|folder| folder.moved().unwrap());
        let (from, to) = (at("plant"), at("plant2"));
        assert!(told[0].starts_with(&format!("{} was moved to {} while", from.display(), to.display())));
        assert!(told[0].ends_with(&format!("`motemix net up {}`", to.display())), "{}", told[0]);
        assert_eq!(told[0], told[1]);
        fs::rename(at("plant2"), at("plant")).unwrap();
        assert!(folders.iter().all(|folder| folder.moved().is_none()), "it was moved back");

        // A folder of one node, and others in its place.
        fs::rename(at("plant/nodes/mix-1/state"), at("elsewhere")).unwrap();
        let told = folders[0].moved().unwrap();
        let words = format!("{} was moved to {} ", nodes_of(&folders[0]), at("elsewhere").display());
        assert!(told.starts_with(&words), "{told}");
        fs::create_dir(at("plant/nodes/mix-1/state")).unwrap();
        assert_eq!(folders[0].moved().unwrap(), told);
        fs::remove_dir(at("elsewhere")).unwrap();
        assert_eq!(folders[0].moved(), None, "it is gone, and what is missing of it is told");
    }

    fn nodes_of(folder: &StateFolder) -> std::path::Display<'_> {
        folder.path.display()
    }
}
