//! A folder of network documents, `<epoch>.cbor`, as files and over HTTP.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use motemix_directory::{Epoch, MAX_NODES, MAX_SIGNATURES, document_len_limit};

use motemix_os::store::file;
use motemix_os::web::Answer;

/// No document is longer.
const LONGEST: usize = document_len_limit(MAX_NODES, MAX_SIGNATURES);

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
    pub fn new(path: impl AsRef<Path>) -> Self {
        Self { path: file::without_detours(path.as_ref()) }
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

    /// The file of an epoch, if it is there and no longer than a document can be.
    pub fn read(&self, epoch: Epoch) -> Option<Vec<u8>> {
        self.load(epoch).ok().filter(|file| file.len() <= LONGEST)
    }

    /// The file of an epoch; of one that is too long only as much as shows it. Whoever can put
    /// something into the folder must neither make its readers wait nor fill their memory.
    ///
    /// # Errors
    /// It is not there, or not a regular file, or the system refuses.
    pub(super) fn load(&self, epoch: Epoch) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        file::open(&self.file(epoch))?.take(LONGEST as u64 + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
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

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::symlink;
    use std::process::Command;
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// How long the document of epoch 7 is, if there is one, for who asks for it. Whoever reads it
    /// is not waited for.
    fn asked(path: &Path) -> Option<usize> {
        let folder = Folder::new(path);
        let (tell, hear) = mpsc::channel();
        thread::spawn(move || {
            assert!(folder.answer("/documents/7").is_some());
            tell.send(folder.read(Epoch(7)).map(|file| file.len())).unwrap();
        });
        hear.recv_timeout(Duration::from_secs(20)).expect("an answer")
    }

    #[test]
    fn a_document_is_read_as_long_as_one_can_be() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::new(place.path());
        for (len, read) in [(0, Some(0)), (LONGEST, Some(LONGEST)), (LONGEST + 1, None)] {
            fs::write(folder.file(Epoch(7)), vec![1; len]).unwrap();
            assert_eq!(asked(place.path()), read);
        }
        // Longer than memory is, and a hole on the disk.
        File::create(folder.file(Epoch(7))).unwrap().set_len(1 << 40).unwrap();
        assert_eq!(folder.load(Epoch(7)).unwrap().len(), LONGEST + 1);
        assert_eq!(asked(place.path()), None);
    }

    #[test]
    fn a_pipe_or_a_device_in_a_document_s_place_holds_nobody_up() {
        let place = tempfile::tempdir().unwrap();
        let path = Folder::new(place.path()).file(Epoch(7));
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        assert_eq!(asked(place.path()), None, "a pipe");
        fs::remove_file(&path).unwrap();
        symlink("/dev/zero", &path).unwrap();
        assert_eq!(asked(place.path()), None, "a device");
        assert_eq!(Folder::new(place.path()).epochs().unwrap(), [Epoch(7)], "the list says names alone");
    }
}
