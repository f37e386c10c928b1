//! What the logs say to the mark that tells them from copies of them.

use std::fs;
use std::io::ErrorKind;

use motemix_directory::Epoch;

use super::{ReplayLogs, path_of};
use crate::store::Mark;
use motemix_os::store::{StoreError, StoreProblem};

impl ReplayLogs {
    /// From now on `mark` says what the logs look like.
    pub fn keep(&mut self, mark: Mark) {
        self.mark = Some(Box::new(mark));
    }

    /// An epoch has begun with the keys that there are.
    pub fn begun(&mut self) {
        if let Some(mark) = &mut self.mark {
            mark.begun();
        }
    }

    /// Says before the keys of epochs before `epoch` go that they do.
    ///
    /// # Errors
    /// The system refuses.
    pub fn erasing(&mut self, epoch: Epoch) -> Result<(), StoreError> {
        let Some(mark) = &mut self.mark else { return Ok(()) };
        mark.erase(epoch).map_err(|error| StoreError::io(mark.path(), error))
    }

    /// The first epoch whose log is not as `mark` has it, or is lost.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn altered(&self, mark: &Mark) -> Result<Option<Epoch>, StoreError> {
        let altered = mark.altered(&self.epochs()?, |epoch| path_of(&self.folder, epoch));
        Ok(altered.or_else(|| self.lost().into_iter().find(|epoch| *epoch >= mark.erased())))
    }

    /// The logs that are here.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn found(&self) -> Result<Vec<(Epoch, fs::Metadata)>, StoreError> {
        let found = |epoch| {
            let path = path_of(&self.folder, epoch);
            let found = fs::symlink_metadata(&path).map_err(|error| StoreError::io(&path, error))?;
            Ok((epoch, found))
        };
        self.epochs()?.into_iter().map(found).collect()
    }

    /// A log that could not be begun leaves nothing behind. A node that waits for room over many
    /// epochs would have a file of each, and a mark longer than what is read of it.
    pub(super) fn leave_out(&mut self, epoch: Epoch, problem: &StoreProblem) {
        let path = path_of(&self.folder, epoch);
        // Whoever else has it may be about to write its first bytes.
        let is_ours = matches!(problem, StoreProblem::Full | StoreProblem::Io(_));
        let is_absent = match fs::symlink_metadata(&path) {
            Ok(found) => is_ours && found.is_file() && found.len() == 0 && fs::remove_file(&path).is_ok(),
            Err(error) => error.kind() == ErrorKind::NotFound,
        };
        if let Some(mark) = self.mark.as_mut().filter(|_| is_absent) {
            mark.forget(epoch);
        }
    }

    pub(super) fn mark_log(&mut self, epoch: Epoch) {
        let log = self.open.iter().find(|log| log.epoch == epoch);
        if let (Some(mark), Some(found)) = (&mut self.mark, log.and_then(|log| log.file.metadata().ok())) {
            mark.note(epoch, &found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_could_not_be_begun_leaves_nothing_and_one_that_was_stays() {
        let folder = tempfile::tempdir().unwrap();
        let mark = || Mark::open(folder.path()).unwrap().unwrap();
        let mut logs = ReplayLogs::open(folder.path()).unwrap();
        logs.keep(Mark::make(folder.path(), Epoch(0), false, std::iter::empty()).unwrap());
        logs.open_log(Epoch(7)).unwrap();
        let before = fs::read(mark_of(&logs)).unwrap();
        for epoch in (8..400).map(Epoch) {
            logs.mark.as_mut().unwrap().begin(epoch).unwrap();
            fs::write(path_of(folder.path(), epoch), "").unwrap();
            logs.leave_out(epoch, &StoreProblem::Full);
        }
        assert_eq!(fs::read(mark_of(&logs)).unwrap(), before);
        // Another process's, and one that has begun.
        fs::write(path_of(folder.path(), Epoch(9)), "").unwrap();
        logs.leave_out(Epoch(9), &StoreProblem::InUse);
        logs.leave_out(Epoch(7), &StoreProblem::Full);
        assert_eq!(logs.epochs().unwrap(), [Epoch(7), Epoch(9)]);
        fs::remove_file(path_of(folder.path(), Epoch(9))).unwrap();
        drop(logs);
        assert_eq!(ReplayLogs::open(folder.path()).unwrap().altered(&mark()).unwrap(), None);
    }

    fn mark_of(logs: &ReplayLogs) -> std::path::PathBuf {
        logs.mark.as_ref().unwrap().path().to_owned()
    }
}
