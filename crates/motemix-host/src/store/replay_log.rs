//! Replay tags that a restart must not forget.
//!
//! One append-only file for each epoch:
//!
//! ```text
//!  0           8        16              24
//!  ├───────────┼────────┼───────────────┼── ···
//!  │ "mmreplay"│ epoch  │ tag           │
//!  └───────────┴────────┴───────────────┴── ···
//! ```
//!
//! Numbers are little-endian, 8 bytes. The driver appends the tags of a batch with one write before any of the
//! batch's packets leaves, so a killed process forgets nothing that has left. Writes reach the disk within a
//! second or so: only a failure of the whole machine can forget the last ones.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use motemix_directory::Epoch;

use super::{StoreError, StoreProblem};

const MAGIC: [u8; 8] = *b"mmreplay";
const HEADER_LEN: u64 = 16;
const TAG_LEN: u64 = 8;
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// The replay logs of one node, a file for each epoch, in one folder.
#[derive(Debug)]
pub struct ReplayLogs {
    folder: PathBuf,
    open: Vec<Log>,
    /// Reused for each write.
    bytes: Vec<u8>,
    last_sync: Instant,
}

#[derive(Debug)]
struct Log {
    epoch: Epoch,
    path: PathBuf,
    file: File,
    unsynced: bool,
}

impl ReplayLogs {
    /// Opens the folder, and makes it if it is not there.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, StoreError> {
        let folder = folder.as_ref();
        super::file::private_folder(folder).map_err(|error| StoreError::io(folder, error))?;
        Ok(Self { folder: folder.to_owned(), open: Vec::new(), bytes: Vec::new(), last_sync: Instant::now() })
    }

    /// The epochs that have a log here, in ascending order.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn epochs(&self) -> Result<Vec<Epoch>, StoreError> {
        let failed = |error| StoreError::io(&self.folder, error);
        let mut epochs = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(failed)? {
            epochs.extend(entry.map_err(failed)?.file_name().to_str().and_then(epoch_of));
        }
        epochs.sort_unstable();
        Ok(epochs)
    }

    /// The tags of an epoch, in the order in which they were admitted; a tag torn by a crash is cut off.
    ///
    /// # Errors
    /// The file is not a replay log of that epoch, or the system refuses.
    pub fn load(&mut self, epoch: Epoch) -> Result<Vec<u64>, StoreError> {
        let log = self.log(epoch)?;
        let failed = |error| StoreError::io(&log.path, error);
        let mut bytes = Vec::new();
        log.file.seek(SeekFrom::Start(HEADER_LEN)).map_err(failed)?;
        log.file.read_to_end(&mut bytes).map_err(failed)?;
        let (tags, _) = bytes.as_chunks();
        Ok(tags.iter().map(|tag| u64::from_le_bytes(*tag)).collect())
    }

    /// Appends the tags of one epoch with one write. They survive the end of this process once it returns.
    ///
    /// # Errors
    /// The disk is full or the system refuses. The packets with these tags must not be forwarded then. What
    /// was written of them is taken back as far as the system lets us.
    pub fn append(&mut self, epoch: Epoch, tags: &[u64]) -> Result<(), StoreError> {
        if tags.is_empty() {
            return Ok(());
        }
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        bytes.extend(tags.iter().flat_map(|tag| tag.to_le_bytes()));
        let written = self.log(epoch).and_then(|log| log.append(&bytes));
        self.bytes = bytes;
        written
    }

    /// The files that hold tags the disk may not have yet, at most once a second; the caller calls
    /// [`File::sync_data`] on each, where that does not hold up packets.
    ///
    /// # Errors
    /// The system has no handles left.
    pub fn due_for_sync(&mut self, now: Instant) -> Result<Vec<File>, StoreError> {
        if now.saturating_duration_since(self.last_sync) < SYNC_EVERY {
            return Ok(Vec::new());
        }
        self.last_sync = now;
        let unsynced = self.open.iter_mut().filter(|log| log.unsynced);
        unsynced
            .map(|log| {
                let handle = log.file.try_clone().map_err(|error| StoreError::io(&log.path, error))?;
                log.unsynced = false;
                Ok(handle)
            })
            .collect()
    }

    /// Writes everything to the disk before it returns.
    ///
    /// # Errors
    /// The system refuses.
    pub fn sync(&mut self) -> Result<(), StoreError> {
        for log in self.open.iter_mut().filter(|log| log.unsynced) {
            log.file.sync_data().map_err(|error| StoreError::io(&log.path, error))?;
            log.unsynced = false;
        }
        Ok(())
    }

    /// Removes the logs of epochs before `epoch`, whose mix keys are gone.
    ///
    /// # Errors
    /// The system refuses.
    pub fn remove_older_than(&mut self, epoch: Epoch) -> Result<(), StoreError> {
        self.open.retain(|log| log.epoch >= epoch);
        let failed = |error| StoreError::io(&self.folder, error);
        for entry in fs::read_dir(&self.folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.file_name().to_str().and_then(epoch_of).is_some_and(|of| of < epoch) {
                fs::remove_file(entry.path()).map_err(|error| StoreError::io(&entry.path(), error))?;
            }
        }
        Ok(())
    }

    fn log(&mut self, epoch: Epoch) -> Result<&mut Log, StoreError> {
        // Two or three epochs are alive at a time.
        let known = self.open.iter().position(|log| log.epoch == epoch);
        let index = known.unwrap_or(self.open.len());
        if known.is_none() {
            self.open.push(Log::open(&self.folder, epoch)?);
        }
        Ok(&mut self.open[index])
    }
}

impl Log {
    fn open(folder: &Path, epoch: Epoch) -> Result<Self, StoreError> {
        let path = folder.join(format!("replay-{epoch}.log"));
        let opened = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(&path);
        let mut log = Self {
            epoch,
            file: opened.map_err(|error| StoreError::io(&path, error))?,
            path,
            unsynced: false,
        };
        log.lock()?;
        log.check_header()?;
        Ok(log)
    }

    /// Two nodes with one state would each miss what the other has seen.
    fn lock(&self) -> Result<(), StoreError> {
        match self.file.try_lock() {
            Ok(()) => Ok(()),
            Err(fs::TryLockError::WouldBlock) => Err(StoreError::new(&self.path, StoreProblem::InUse)),
            Err(fs::TryLockError::Error(error)) => Err(StoreError::io(&self.path, error)),
        }
    }

    fn check_header(&mut self) -> Result<(), StoreError> {
        let mut expected = [0; HEADER_LEN as usize];
        expected[..8].copy_from_slice(&MAGIC);
        expected[8..].copy_from_slice(&u64::from(self.epoch.0).to_le_bytes());

        let failed = |error| StoreError::io(&self.path, error);
        let len = self.file.metadata().map_err(failed)?.len();
        let mut header = Vec::with_capacity(expected.len());
        (&self.file).take(HEADER_LEN).read_to_end(&mut header).map_err(failed)?;
        if !expected.starts_with(&header) {
            let problem = "it does not begin like a replay log of this epoch".to_owned();
            return Err(StoreError::new(&self.path, StoreProblem::Damaged(problem)));
        }
        // A crash can tear the header, which then holds no tag, or the last tag.
        let whole = len.checked_sub(HEADER_LEN).map_or(0, |tags| len - tags % TAG_LEN);
        if whole != len {
            self.file.set_len(whole).map_err(failed)?;
        }
        if whole == 0 {
            self.append(&expected)?;
        }
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let len = self.file.metadata().map_err(|error| StoreError::io(&self.path, error))?.len();
        self.file.write_all(bytes).map_err(|error| {
            // Half a tag in the middle would make every later tag unreadable.
            let _ = self.file.set_len(len);
            match error.kind() {
                ErrorKind::WriteZero => StoreError::new(&self.path, StoreProblem::Full),
                _ => StoreError::io(&self.path, error),
            }
        })?;
        self.unsynced = true;
        Ok(())
    }
}

fn epoch_of(name: &str) -> Option<Epoch> {
    name.strip_prefix("replay-")?.strip_suffix(".log")?.parse().ok().map(Epoch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_one_clear_line() {
        let path = PathBuf::from("/dev/full");
        // The device that refuses every byte is Linux's own.
        let Ok(file) = OpenOptions::new().append(true).open(&path) else { return };
        let mut log = Log { epoch: Epoch(7), path, file, unsynced: false };
        let error = log.append(&[0; 8]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "/dev/full: the disk is full; free some space and start the node again"
        );
        assert!(!log.unsynced);
    }
}
