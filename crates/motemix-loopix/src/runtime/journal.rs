//! Replay tags on disk, for keys that nobody changes on a schedule.
//!
//! The logs of `motemix-host` are kept in numbered parts in place of epochs. A part that is full is followed by
//! the next one, and only the newest parts are kept: as many tags as the node itself remembers.

use std::fs::File;
use std::path::Path;
use std::time::Instant;

use motemix_directory::Epoch;
use motemix_host::store::{ReplayLogs, StoreError};

/// Parts that are kept, the one that is being filled included.
const PARTS: u32 = 2;

/// The replay tags of one key.
#[derive(Debug)]
pub(super) struct Journal {
    logs: ReplayLogs,
    part: Epoch,
    in_part: usize,
    part_len: usize,
    /// Admitted, and not yet written.
    unwritten: Vec<u64>,
    failing: bool,
}

impl Journal {
    /// Opens the journal in `folder`, and returns the tags that are in it, oldest first. Of more than `capacity` tags
    /// at least the newer half is kept; that is what a node of that capacity remembers.
    ///
    /// # Errors
    /// Another process uses it, it is damaged, or the system refuses.
    pub(super) fn open(folder: &Path, capacity: usize) -> Result<(Self, Vec<u64>), StoreError> {
        let mut logs = ReplayLogs::open(folder)?;
        let mut parts = logs.epochs()?;
        // Opening a part locks it, even if nothing is in it yet.
        if parts.is_empty() {
            parts.push(Epoch(0));
        }
        let (mut tags, mut part, mut in_part) = (Vec::new(), Epoch(0), 0);
        for number in parts {
            let found = logs.load(number)?;
            (part, in_part) = (number, found.len());
            tags.extend(found);
        }
        let part_len = (capacity / PARTS as usize).max(1);
        Ok((Self { logs, part, in_part, part_len, unwritten: Vec::new(), failing: false }, tags))
    }

    /// Writes tags down, and those before them that could not be written; `false` if not all of them are: then nothing
    /// may leave, or a restart would let it pass again.
    pub(super) fn append(&mut self, mut tags: Vec<u64>) -> bool {
        self.unwritten.append(&mut tags);
        if self.unwritten.is_empty() {
            return true;
        }
        let written = self.write();
        match &written {
            Ok(()) if self.failing => tracing::warn!("the replay log can be written again"),
            Err(error) if !self.failing => tracing::error!("{error}; until then nothing is sent or received"),
            _ => {}
        }
        self.failing = written.is_err();
        !self.failing
    }

    /// Whether tags wait to be written.
    pub(super) const fn is_failing(&self) -> bool {
        self.failing
    }

    /// See [`ReplayLogs::due_for_sync`].
    pub(super) fn due_for_sync(&mut self, now: Instant) -> Result<Vec<File>, StoreError> {
        self.logs.due_for_sync(now)
    }

    /// See [`ReplayLogs::sync`].
    pub(super) fn sync(&mut self) -> Result<(), StoreError> {
        self.logs.sync()
    }

    fn write(&mut self) -> Result<(), StoreError> {
        if self.in_part >= self.part_len {
            let next = Epoch(self.part.0.saturating_add(1));
            // In this order: opened, and so locked, before the older one goes.
            self.logs.append(next, &self.unwritten)?;
            (self.part, self.in_part) = (next, 0);
            self.logs.remove_older_than(Epoch(next.0.saturating_sub(PARTS - 1)))?;
        } else {
            self.logs.append(self.part, &self.unwritten)?;
        }
        self.in_part += self.unwritten.len();
        self.unwritten.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_tags_come_back_in_order_and_the_folder_stays_small() {
        let folder = tempfile::tempdir().unwrap();
        let (mut journal, tags) = Journal::open(folder.path(), 10).unwrap();
        assert!(tags.is_empty());
        for batch in 0..25 {
            assert!(journal.append(vec![4 * batch, 4 * batch + 1, 4 * batch + 2, 4 * batch + 3]));
        }
        assert!(journal.append(Vec::new()));
        drop(journal);

        let (journal, tags) = Journal::open(folder.path(), 10).unwrap();
        assert!((5..=16).contains(&tags.len()), "{tags:?}");
        assert_eq!(tags, (100 - tags.len() as u64..100).collect::<Vec<_>>());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
        assert!(Journal::open(folder.path(), 10).unwrap_err().to_string().contains("in use"));
        drop(journal);
    }

    #[test]
    fn a_part_that_another_capacity_left_is_read_and_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (mut journal, _) = Journal::open(folder.path(), 100).unwrap();
        assert!(journal.append((0..50).collect()));
        drop(journal);
        let (mut journal, tags) = Journal::open(folder.path(), 10).unwrap();
        assert_eq!(tags, (0..50).collect::<Vec<_>>());
        assert!(journal.append(vec![50]));
        drop(journal);
        let (_, tags) = Journal::open(folder.path(), 10).unwrap();
        assert_eq!(tags, (0..51).collect::<Vec<_>>());
    }
}
