//! What the logs say to the mark that tells them from copies of them.

use std::fs;

use motemix_directory::Epoch;

use super::{ReplayLogs, path_of};
use crate::store::{Mark, StoreError};

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

    pub(super) fn mark_log(&mut self, epoch: Epoch) {
        let log = self.open.iter().find(|log| log.epoch == epoch);
        if let (Some(mark), Some(found)) = (&mut self.mark, log.and_then(|log| log.file.metadata().ok())) {
            mark.note(epoch, &found);
        }
    }
}
