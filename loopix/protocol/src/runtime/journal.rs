//! Replay tags on disk, for keys that nobody changes on a schedule.
//!
//! The logs of `motemix-host` are kept in numbered parts in place of epochs. A part that is full is
//! followed by the next one. A node that forgets keeps the newest parts only, as many tags as it
//! remembers itself; one that never forgets keeps them all.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Instant;

use motemix_directory::Epoch;
use motemix_host::store::{Mark, ReplayLogs};
use motemix_os::store::{StoreError, StoreProblem};

use crate::role::WhenFull;

/// Parts of a node that forgets, the one that is being filled included.
const PARTS: u32 = 2;
/// Parts of a full record that is never forgotten: few, as each is an open file.
const PARTS_OF_ALL: usize = 16;
/// Tags that are handed over at a time: a record of millions is never whole in memory.
const CHUNK: usize = 4096;

/// The replay tags of one key.
#[derive(Debug)]
pub(super) struct Journal {
    folder: PathBuf,
    logs: ReplayLogs,
    when_full: WhenFull,
    part: Epoch,
    in_part: usize,
    part_len: usize,
    /// Admitted, and not yet written.
    unwritten: Vec<u64>,
    failing: bool,
    is_lost: bool,
}

fn tell_of_loss(folder: &Path) {
    tracing::error!(
        "{}: replay tags of this key are gone, so packets that passed before could pass a second time; renew the \
         key (`motemix loopix renew --help`)",
        folder.display()
    );
}

/// Tags that are never to be forgotten have the mark that nodes' replay logs have.
fn keep_mark(folder: &Path, logs: &mut ReplayLogs) -> Result<(), StoreError> {
    let mark = match Mark::open(folder)? {
        Some(mark) if logs.altered(&mark)?.is_none() => mark,
        None if logs.epochs()?.is_empty() && logs.lost().is_empty() => {
            Mark::make(folder, Epoch(0), false, std::iter::empty())?
        }
        _ => return Err(StoreError { file: folder.to_owned(), problem: StoreProblem::TagsLost }),
    };
    logs.keep(mark);
    Ok(())
}

impl Journal {
    /// Opens the journal in `folder` for a node of that capacity.
    ///
    /// # Errors
    /// Another process uses it, it is damaged, tags are gone that were never to be forgotten, or
    /// the system refuses.
    pub(super) fn open(folder: &Path, capacity: usize, when_full: WhenFull) -> Result<Self, StoreError> {
        let mut logs = ReplayLogs::open(folder)?;
        for part in logs.epochs()? {
            // What is kept here are the tags themselves, in parts of earlier versions as well.
            logs.convert(part, |start| u64::from_le_bytes(*start))?;
        }
        let is_lost = !logs.lost().is_empty();
        match when_full {
            WhenFull::Refuse => keep_mark(folder, &mut logs)?,
            WhenFull::Forget if is_lost => tell_of_loss(folder),
            WhenFull::Forget => {}
        }
        let part = logs.epochs()?.last().copied().unwrap_or(Epoch(0));
        let mut in_part = 0;
        // Opening a part locks it, even if nothing is in it yet.
        logs.open_log(part)?;
        logs.load::<StoreError>(part, |_| {
            in_part += 1;
            Ok(())
        })?;
        let parts = match when_full {
            WhenFull::Forget => PARTS as usize,
            WhenFull::Refuse => PARTS_OF_ALL,
        };
        let part_len = (capacity / parts).max(1);
        Ok(Self {
            folder: folder.to_owned(),
            logs,
            when_full,
            part,
            in_part,
            part_len,
            unwritten: Vec::new(),
            failing: false,
            is_lost,
        })
    }

    /// Looks whether tags of this key are gone, and tells it once.
    pub(super) fn look(&mut self) {
        if !self.is_lost && self.logs.damaged().is_some() {
            self.is_lost = true;
            tell_of_loss(&self.folder);
        }
    }

    /// Whether tags are gone, as far as was seen: a packet that passed before could pass again.
    pub(super) const fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Gives `take` the tags of earlier processes, oldest first and some thousands at a time. Of a
    /// node that forgets, at least the newer half of its capacity is there.
    ///
    /// # Errors
    /// A part is damaged, or the system refuses.
    pub(super) fn known(&mut self, mut take: impl FnMut(&[u64])) -> Result<(), StoreError> {
        let mut chunk = Vec::with_capacity(CHUNK);
        for part in self.logs.epochs()? {
            self.logs.load::<StoreError>(part, |tag| {
                chunk.push(tag);
                if chunk.len() == CHUNK {
                    take(&chunk);
                    chunk.clear();
                }
                Ok(())
            })?;
        }
        take(&chunk);
        Ok(())
    }

    /// Writes tags down, and those before them that could not be written; `false` if not all of
    /// them are: then nothing may leave, or a restart would let it pass again.
    pub(super) fn append(&mut self, mut tags: Vec<u64>) -> bool {
        self.unwritten.append(&mut tags);
        if self.unwritten.is_empty() {
            return true;
        }
        let written = self.write();
        match &written {
            Ok(()) if self.failing => tracing::info!("the replay log can be written again"),
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
            self.logs.open_log(next)?;
            self.logs.append(next, &self.unwritten)?;
            (self.part, self.in_part) = (next, 0);
            if self.when_full == WhenFull::Forget {
                self.logs.remove_older_than(Epoch(next.0.saturating_sub(PARTS - 1)))?;
            }
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

    fn open(folder: &Path, capacity: usize, when_full: WhenFull) -> (Journal, Vec<u64>) {
        let mut tags = Vec::new();
        let mut journal = Journal::open(folder, capacity, when_full).unwrap();
        journal.known(|found| tags.extend_from_slice(found)).unwrap();
        (journal, tags)
    }

    #[test]
    fn the_newest_tags_come_back_in_order_and_the_folder_stays_small() {
        let folder = tempfile::tempdir().unwrap();
        let (mut journal, tags) = open(folder.path(), 10, WhenFull::Forget);
        assert!(tags.is_empty());
        for batch in 0..25 {
            assert!(journal.append(vec![4 * batch, 4 * batch + 1, 4 * batch + 2, 4 * batch + 3]));
        }
        assert!(journal.append(Vec::new()));
        drop(journal);

        let (journal, tags) = open(folder.path(), 10, WhenFull::Forget);
        assert!((5..=16).contains(&tags.len()), "{tags:?}");
        assert_eq!(tags, (100 - tags.len() as u64..100).collect::<Vec<_>>());
        // And the list of parts.
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2 + 1);
        let second = Journal::open(folder.path(), 10, WhenFull::Forget);
        assert!(second.unwrap_err().to_string().contains("in use"));
        drop(journal);
    }

    #[test]
    fn tags_that_are_gone_are_noticed_while_the_node_runs_and_a_hardened_node_does_not_start_without_them() {
        let folder = tempfile::tempdir().unwrap();
        let (mut journal, _) = open(folder.path(), 10, WhenFull::Refuse);
        assert!(journal.append(vec![1, 2, 3]));
        journal.sync().unwrap();
        journal.look();
        assert!(!journal.is_lost());
        let log = folder.path().join("replay-0.log");
        File::options().write(true).open(&log).unwrap().set_len(16).unwrap();
        journal.look();
        assert!(journal.is_lost());
        drop(journal);
        let deeds: [fn(&Path) -> std::io::Result<()>; 2] =
            [|log| std::fs::write(log, ""), |log| std::fs::remove_file(log)];
        for deed in deeds {
            let refused = Journal::open(folder.path(), 10, WhenFull::Refuse).unwrap_err().to_string();
            assert!(
                refused.contains("would pass a second time") && refused.contains("loopix renew"),
                "{refused}"
            );
            deed(&log).unwrap();
        }
        // Who forgets anyhow goes on.
        let (journal, tags) = open(folder.path(), 10, WhenFull::Forget);
        assert!(journal.is_lost() && tags.is_empty());
    }

    #[test]
    fn tags_that_were_put_back_or_copied_are_not_those_that_the_node_left() {
        let folder = tempfile::tempdir().unwrap();
        let (tags, backup) = (folder.path().join("tags"), folder.path().join("backup"));
        let (mut journal, _) = open(&tags, 10, WhenFull::Refuse);
        assert!(journal.append(vec![1, 2, 3]));
        journal.sync().unwrap();
        drop(journal);
        let copy = |from: &Path, to: &Path| {
            std::fs::create_dir_all(to).unwrap();
            for file in std::fs::read_dir(from).unwrap() {
                let file = file.unwrap();
                std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
            }
        };
        copy(&tags, &backup);
        let (mut journal, known) = open(&tags, 10, WhenFull::Refuse);
        assert_eq!(known, [1, 2, 3]);
        assert!(journal.append(vec![4]));
        journal.sync().unwrap();
        drop(journal);
        let refused = |folder: &Path| Journal::open(folder, 10, WhenFull::Refuse).unwrap_err().to_string();
        assert!(refused(&backup).contains("loopix renew"));
        copy(&backup, &tags);
        assert!(refused(&tags).contains("loopix renew"));
        std::fs::remove_file(tags.join("replay-mark")).unwrap();
        assert!(refused(&tags).contains("loopix renew"));
    }

    #[test]
    fn a_part_that_another_capacity_left_is_read_and_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (mut journal, _) = open(folder.path(), 100, WhenFull::Forget);
        assert!(journal.append((0..50).collect()));
        drop(journal);
        let (mut journal, tags) = open(folder.path(), 10, WhenFull::Forget);
        assert_eq!(tags, (0..50).collect::<Vec<_>>());
        assert!(journal.append(vec![50]));
        drop(journal);
        let (_, tags) = open(folder.path(), 10, WhenFull::Forget);
        assert_eq!(tags, (0..51).collect::<Vec<_>>());
    }

    /// A larger record has larger parts; those from before must stay.
    #[test]
    fn what_is_never_to_be_forgotten_survives_a_larger_record() {
        let folder = tempfile::tempdir().unwrap();
        let (mut journal, _) = open(folder.path(), 16, WhenFull::Refuse);
        (0..16).for_each(|tag| assert!(journal.append(vec![tag])));
        drop(journal);
        let (mut journal, tags) = open(folder.path(), 160, WhenFull::Refuse);
        assert_eq!(tags, (0..16).collect::<Vec<_>>());
        (16..160).for_each(|tag| assert!(journal.append(vec![tag])));
        drop(journal);
        let (_, tags) = open(folder.path(), 160, WhenFull::Refuse);
        assert_eq!(tags, (0..160).collect::<Vec<_>>());
    }
}
