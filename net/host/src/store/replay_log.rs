//! What was admitted, which a restart must not forget.
//!
//! One append-only file for each epoch:
//!
//! ```text
//!  0            8         16       24
//!  ├────────────┼─────────┼────────┼── ···
//!  │ "mmdigest" │ epoch   │ digest │
//!  └────────────┴─────────┴────────┴── ···
//! ```
//!
//! Numbers are little-endian, 8 bytes. The driver appends the digests of a batch with one write
//! before any of the batch's packets leaves, so a killed process forgets nothing that has left.
//! Writes reach the disk within a second or so: only a failure of the whole machine can forget the
//! last ones.
//!
//! Logs that begin with "mmreplay" have the first eight bytes of replay tags in place of digests;
//! earlier versions wrote them. [`ReplayLogs::convert`] makes them anew.

mod marked;

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use motemix_directory::Epoch;

use super::mark::Mark;
use motemix_os::store::file::{self, Identity};
use motemix_os::store::lock::lock;
use motemix_os::store::{StoreError, StoreProblem};

const MAGIC: [u8; 8] = *b"mmdigest";
/// The first bytes of logs with tags.
const TAGS_MAGIC: [u8; 8] = *b"mmreplay";
pub(super) const HEADER_LEN: u64 = 16;
/// Names the epochs whose logs were made last, a line each, and bytes that the disk had of them: a
/// log that is gone or was cut is to be told from one that never was.
const MADE_FILE: &str = "replay-logs";
/// So many of them.
const MADE: usize = 16;
/// Bytes of that file that are read.
const LONGEST_MADE: u64 = 1024;
const ENTRY_LEN: u64 = 8;
/// Read at a time.
const CHUNK_LEN: usize = 1 << 20;
const SYNC_EVERY: Duration = Duration::from_secs(1);
/// How often it is written down how much the disk has.
const NOTE_EVERY: Duration = Duration::from_secs(10);

/// The replay logs of one node, a file for each epoch, in one folder.
#[derive(Debug)]
pub struct ReplayLogs {
    folder: PathBuf,
    open: Vec<Log>,
    /// Reused for each write.
    bytes: Vec<u8>,
    last_sync: Instant,
    /// What the last call handed out to be synced.
    handed_out: Vec<Made>,
    /// What was synced since it was written down.
    synced: Vec<Made>,
    next_note: Instant,
    /// What the logs must look like at the next start, if somebody wants to know.
    mark: Option<Box<Mark>>,
}

/// A line of [`MADE_FILE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Made {
    epoch: Epoch,
    /// What the disk had of it once. Earlier versions did not say.
    len: u64,
}

#[derive(Debug)]
struct Log {
    epoch: Epoch,
    path: PathBuf,
    file: File,
    /// Which file it was when it was opened, and as long as it must be by now.
    identity: Option<Identity>,
    unsynced: bool,
}

impl ReplayLogs {
    /// Opens the folder, and makes it if it is not there.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, StoreError> {
        let folder = folder.as_ref();
        file::private_folder(folder).map_err(|error| StoreError::io(folder, error))?;
        let now = Instant::now();
        Ok(Self {
            folder: folder.to_owned(),
            open: Vec::new(),
            bytes: Vec::new(),
            last_sync: now,
            handed_out: Vec::new(),
            synced: Vec::new(),
            next_note: now,
            mark: None,
        })
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

    /// Opens the log of an epoch, and makes it if it is not there, so that what follows needs no
    /// file descriptor. A log of tags is left to [`ReplayLogs::convert`].
    ///
    /// # Errors
    /// The file is not a replay log of that epoch, or the system refuses.
    pub fn open_log(&mut self, epoch: Epoch) -> Result<(), StoreError> {
        if self.log_of_tags(epoch)?.is_none() {
            self.log(epoch)?;
        }
        let mut made = self.made();
        if !made.iter().any(|made| made.epoch == epoch) {
            made.push(Made { epoch, len: HEADER_LEN });
            self.write_made(&made);
        }
        Ok(())
    }

    /// Whether the log of an epoch was here once, and is gone or shorter than the disk had it.
    pub fn is_lost(&self, epoch: Epoch) -> bool {
        self.lost().contains(&epoch)
    }

    /// The epochs of which that is so.
    pub fn lost(&self) -> Vec<Epoch> {
        let len = |epoch| fs::metadata(path_of(&self.folder, epoch)).map_or(0, |found| found.len());
        let lost = |made: &Made| (len(made.epoch) < made.len).then_some(made.epoch);
        self.made().iter().filter_map(lost).collect()
    }

    /// The epoch of a log that was removed, replaced or cut since it was opened here.
    pub fn damaged(&self) -> Option<Epoch> {
        let is_whole = |log: &&Log| {
            let found = fs::metadata(&log.path).map(|found| Identity::of(&found)).ok();
            log.identity.is_none_or(|known| found.is_some_and(|found| known.goes_on_as(&found)))
        };
        self.open.iter().find(|log| !is_whole(log)).map(|log| log.epoch)
    }

    /// The logs that were made last.
    fn made(&self) -> Vec<Made> {
        let mut lines = String::new();
        let read = file::open(&self.folder.join(MADE_FILE))
            .and_then(|file| file.take(LONGEST_MADE).read_to_string(&mut lines));
        if read.is_err() {
            return Vec::new();
        }
        let parse = |line: &str| {
            let mut words = line.split_whitespace();
            let epoch = Epoch(words.next()?.parse().ok()?);
            Some(Made { epoch, len: words.next().map_or(Some(HEADER_LEN), |len| len.parse().ok())? })
        };
        lines.lines().filter_map(parse).collect()
    }

    /// Writes down the last of them. Where that fails nothing is lost but a warning.
    fn write_made(&self, made: &[Made]) {
        let last = made.iter().skip(made.len().saturating_sub(MADE));
        let mut lines = String::new();
        for Made { epoch, len } in last {
            // A string takes all that is written into it.
            let _ = writeln!(lines, "{epoch} {len}");
        }
        let _ = file::replace_unsynced(&self.folder.join(MADE_FILE), 0o600, lines.as_bytes());
    }

    /// Calls `each` with the digests of an epoch, in the order in which they were admitted; one
    /// that was torn by a crash is cut off.
    ///
    /// # Errors
    /// The file is not a replay log of that epoch, the system refuses, or `each` does.
    pub fn load<E: From<StoreError>>(
        &mut self,
        epoch: Epoch,
        each: impl FnMut(u64) -> Result<(), E>,
    ) -> Result<(), E> {
        let log = self.log(epoch)?;
        log.file.seek(SeekFrom::Start(HEADER_LEN)).map_err(|error| StoreError::io(&log.path, error))?;
        each_entry(&mut log.file, &log.path, each)
    }

    /// Makes a log of tags one of digests, before the epoch's log is used; any other is left alone.
    /// `digest_of` gets the first eight bytes of a tag.
    ///
    /// # Errors
    /// The file is not a replay log of that epoch, or the system refuses; it is as it was then.
    pub fn convert(&self, epoch: Epoch, digest_of: impl Fn(&[u8; 8]) -> u64) -> Result<(), StoreError> {
        let Some(mut earlier) = self.log_of_tags(epoch)? else { return Ok(()) };
        let path = path_of(&self.folder, epoch);
        let failed = |error| StoreError::io(&path, error);
        lock(&earlier, &path)?;
        let file = tempfile::Builder::new().prefix(".motemix-").tempfile_in(&self.folder).map_err(failed)?;
        let mut out = BufWriter::with_capacity(CHUNK_LEN, file);
        out.write_all(&header(MAGIC, epoch)).map_err(failed)?;
        each_entry(&mut earlier, &path, |start: u64| {
            out.write_all(&digest_of(&start.to_le_bytes()).to_le_bytes()).map_err(failed)
        })?;
        let file = out.into_inner().map_err(|error| failed(error.into_error()))?;
        file.as_file().sync_all().map_err(failed)?;
        file.persist(&path).map_err(|refused| failed(refused.error))?;
        Ok(())
    }

    /// A log of tags, behind its header.
    fn log_of_tags(&self, epoch: Epoch) -> Result<Option<File>, StoreError> {
        let path = path_of(&self.folder, epoch);
        let failed = |error| StoreError::io(&path, error);
        let file = match file::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let mut found = Vec::new();
        (&file).take(HEADER_LEN).read_to_end(&mut found).map_err(failed)?;
        let begins = |magic| header(magic, epoch).starts_with(&found);
        Ok((begins(TAGS_MAGIC) && !begins(MAGIC)).then_some(file))
    }

    /// Appends the digests of one epoch with one write. They survive the end of this process once
    /// it returns.
    ///
    /// # Errors
    /// The disk is full or the system refuses. The packets of these digests must not be forwarded
    /// then. What was written of them is taken back as far as the system lets us.
    pub fn append(&mut self, epoch: Epoch, digests: &[u64]) -> Result<(), StoreError> {
        if digests.is_empty() {
            return Ok(());
        }
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        bytes.extend(digests.iter().flat_map(|digest| digest.to_le_bytes()));
        let written = self.log(epoch).and_then(|log| log.append(&bytes));
        self.bytes = bytes;
        self.mark_log(epoch);
        written
    }

    /// The files that hold digests the disk may not have yet, at most once a second; the caller
    /// calls [`File::sync_data`] on each, where that does not hold up packets, and calls again
    /// once that is done.
    ///
    /// # Errors
    /// The system has no handles left.
    pub fn due_for_sync(&mut self, now: Instant) -> Result<Vec<File>, StoreError> {
        if now.saturating_duration_since(self.last_sync) < SYNC_EVERY {
            return Ok(Vec::new());
        }
        self.last_sync = now;
        self.synced.append(&mut self.handed_out);
        if now >= self.next_note && !self.synced.is_empty() {
            self.next_note = now + NOTE_EVERY;
            let synced = std::mem::take(&mut self.synced);
            self.note(&synced);
        }
        let mut files = Vec::new();
        for log in self.open.iter_mut().filter(|log| log.unsynced) {
            files.push(log.file.try_clone().map_err(|error| StoreError::io(&log.path, error))?);
            log.unsynced = false;
            self.handed_out.push(log.made());
        }
        Ok(files)
    }

    /// Writes everything to the disk before it returns, and then how much that is.
    ///
    /// # Errors
    /// The system refuses.
    pub fn sync(&mut self) -> Result<(), StoreError> {
        for log in self.open.iter_mut().filter(|log| log.unsynced) {
            log.file.sync_data().map_err(|error| StoreError::io(&log.path, error))?;
            log.unsynced = false;
        }
        let synced: Vec<_> = self.open.iter().map(Log::made).collect();
        self.note(&synced);
        let Some(mark) = &mut self.mark else { return Ok(()) };
        mark.end().map_err(|error| StoreError::io(mark.path(), error))
    }

    /// Writes down that the disk has so much. A log that was lost is told as long as it is shorter
    /// than before.
    fn note(&self, synced: &[Made]) {
        let before = self.made();
        let mut made = before.clone();
        for made in &mut made {
            let lens = synced.iter().filter(|synced| synced.epoch == made.epoch).map(|synced| synced.len);
            made.len = made.len.max(lens.max().unwrap_or(0));
        }
        if made != before {
            self.write_made(&made);
        }
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
        let mut made = self.made();
        let count = made.len();
        made.retain(|made| made.epoch >= epoch);
        if made.len() < count {
            self.write_made(&made);
        }
        Ok(())
    }

    fn log(&mut self, epoch: Epoch) -> Result<&mut Log, StoreError> {
        // Two or three epochs are alive at a time.
        let known = self.open.iter().position(|log| log.epoch == epoch);
        let index = known.unwrap_or(self.open.len());
        if known.is_none() {
            if let Some(mark) = &mut self.mark {
                mark.begin(epoch).map_err(|error| StoreError::io(mark.path(), error))?;
            }
            let opened = Log::open(&self.folder, epoch);
            if let Err(error) = &opened {
                self.leave_out(epoch, &error.problem);
            }
            self.open.push(opened?);
            self.mark_log(epoch);
        }
        Ok(&mut self.open[index])
    }
}

impl Log {
    fn open(folder: &Path, epoch: Epoch) -> Result<Self, StoreError> {
        let path = path_of(folder, epoch);
        let opened = file::open_to_append(&path);
        let mut log = Self {
            epoch,
            file: opened.map_err(|error| StoreError::io(&path, error))?,
            path,
            identity: None,
            unsynced: false,
        };
        lock(&log.file, &log.path)?;
        log.check_header()?;
        let found = log.file.metadata().map_err(|error| StoreError::io(&log.path, error))?;
        log.identity = Some(Identity::of(&found));
        Ok(log)
    }

    /// How much was written to it.
    fn made(&self) -> Made {
        Made { epoch: self.epoch, len: self.identity.map_or(0, |known| known.len()) }
    }

    fn check_header(&mut self) -> Result<(), StoreError> {
        let expected = header(MAGIC, self.epoch);
        let failed = |error| StoreError::io(&self.path, error);
        let len = self.file.metadata().map_err(failed)?.len();
        let mut header = Vec::with_capacity(expected.len());
        (&self.file).take(HEADER_LEN).read_to_end(&mut header).map_err(failed)?;
        if !expected.starts_with(&header) {
            let problem =
                "it does not begin like a replay log of this epoch. Without its log a node takes packets \
                           a second time: let the next epoch begin early first (`motemix net renew --early`)"
                    .to_owned();
            return Err(StoreError::new(&self.path, StoreProblem::Damaged(problem)));
        }
        // A crash can tear the header, which then holds nothing, or the last digest.
        let whole = len.checked_sub(HEADER_LEN).map_or(0, |entries| len - entries % ENTRY_LEN);
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
            // Half a digest in the middle would make every later one unreadable.
            let _ = self.file.set_len(len);
            match error.kind() {
                ErrorKind::WriteZero => StoreError::new(&self.path, StoreProblem::Full),
                _ => StoreError::io(&self.path, error),
            }
        })?;
        // By what was written, so that one which was cut stays shorter.
        self.identity = self.identity.map(|known| known.longer_by(bytes.len() as u64));
        self.unsynced = true;
        Ok(())
    }
}

fn header(magic: [u8; 8], epoch: Epoch) -> [u8; HEADER_LEN as usize] {
    let mut header = [0; HEADER_LEN as usize];
    header[..8].copy_from_slice(&magic);
    header[8..].copy_from_slice(&u64::from(epoch.0).to_le_bytes());
    header
}

/// Calls `each` with the numbers up to the end of the file; a last one that is not whole is left
/// out.
fn each_entry<E: From<StoreError>>(
    file: &mut File,
    path: &Path,
    mut each: impl FnMut(u64) -> Result<(), E>,
) -> Result<(), E> {
    let mut chunk = vec![0; CHUNK_LEN];
    let mut kept = 0;
    loop {
        let read = match file.read(&mut chunk[kept..]) {
            Ok(0) => return Ok(()),
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(StoreError::io(path, error).into()),
        };
        let filled = kept + read;
        let (entries, rest) = chunk[..filled].as_chunks();
        entries.iter().try_for_each(|entry| each(u64::from_le_bytes(*entry)))?;
        kept = rest.len();
        chunk.copy_within(filled - kept..filled, 0);
    }
}

fn path_of(folder: &Path, epoch: Epoch) -> PathBuf {
    folder.join(format!("replay-{epoch}.log"))
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
        let Ok(file) = File::options().append(true).open(&path) else { return };
        let mut log = Log { epoch: Epoch(7), path, file, identity: None, unsynced: false };
        let error = log.append(&[0; 8]).unwrap_err();
        assert_eq!(error.to_string(), "/dev/full: the disk is full; free some space");
        assert!(!log.unsynced);
    }
}
