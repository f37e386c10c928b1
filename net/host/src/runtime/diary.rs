//! The node's journal: what was admitted in one round goes to the replay logs with one write. A
//! disk that refuses is asked again every second, and until it takes something nothing leaves the
//! node.

use std::time::{Duration, Instant};

use motemix_directory::Epoch;
use motemix_node::{Admitted, Journal};

use crate::store::ReplayLogs;
use motemix_os::store::StoreError;

/// How long after a failure the disk is asked again.
const AGAIN: Duration = Duration::from_secs(1);

/// Replay logs, and what is to be written to them before anything leaves.
#[derive(Debug)]
pub(super) struct Diary {
    pub(super) logs: ReplayLogs,
    noted: Vec<Admitted>,
    /// Digests of one epoch; reused for each write.
    digests: Vec<u64>,
    /// Why the disk refuses, and when it is asked again.
    refused: Option<(StoreError, Instant)>,
}

/// The disk refuses; [`Diary::refused`] says why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Refused;

impl Diary {
    pub(super) const fn new(logs: ReplayLogs) -> Self {
        Self { logs, noted: Vec::new(), digests: Vec::new(), refused: None }
    }

    /// Why nothing may leave, and when the disk is asked again.
    pub(super) fn refused(&self) -> Option<(&StoreError, Instant)> {
        self.refused.as_ref().map(|(error, again)| (error, *again))
    }

    /// Forgets what was noted of epochs before this one: their keys are gone.
    pub(super) fn forget_before(&mut self, epoch: Epoch) {
        self.noted.retain(|admitted| admitted.epoch >= epoch);
    }

    /// Calls `each` with the digests of an epoch: those of its log, and those that the disk has
    /// refused until now. A clock that was ahead may bring an epoch back while there are some.
    pub(super) fn load<E: From<StoreError>>(
        &mut self,
        epoch: Epoch,
        mut each: impl FnMut(u64) -> Result<(), E>,
    ) -> Result<(), E> {
        self.logs.load(epoch, &mut each)?;
        let noted = self.noted.iter().filter(|admitted| admitted.epoch == epoch);
        noted.map(|admitted| admitted.digest.to_bits()).try_for_each(each)
    }

    fn write(&mut self) -> Result<(), StoreError> {
        // One epoch, or two at their boundary.
        while let Some(epoch) = self.noted.first().map(|admitted| admitted.epoch) {
            self.digests.clear();
            let of_epoch = self.noted.iter().filter(|admitted| admitted.epoch == epoch);
            self.digests.extend(of_epoch.map(|admitted| admitted.digest.to_bits()));
            self.logs.append(epoch, &self.digests)?;
            self.noted.retain(|admitted| admitted.epoch != epoch);
        }
        Ok(())
    }
}

impl Journal for Diary {
    type Error = Refused;

    fn admit(&mut self, admitted: Admitted) {
        self.noted.push(admitted);
    }

    fn commit(&mut self) -> Result<(), Refused> {
        if self.noted.is_empty() {
            self.refused = None;
            return Ok(());
        }
        if self.refused().is_some_and(|(_, again)| Instant::now() < again) {
            return Err(Refused);
        }
        self.refused = self.write().err().map(|error| (error, Instant::now() + AGAIN));
        self.refused.as_ref().map_or(Ok(()), |_| Err(Refused))
    }
}

#[cfg(test)]
mod tests {
    use motemix_node::Digest;

    use super::*;

    #[test]
    fn an_epoch_comes_back_with_what_the_disk_has_and_what_it_has_not_taken_yet() {
        let folder = tempfile::tempdir().unwrap();
        let mut diary = Diary::new(ReplayLogs::open(folder.path()).unwrap());
        let admitted = |epoch, bits| Admitted { epoch: Epoch(epoch), digest: Digest::from_bits(bits) };
        diary.admit(admitted(7, 1));
        diary.commit().unwrap();
        diary.admit(admitted(7, 2));
        diary.admit(admitted(8, 3));
        let mut loaded = Vec::new();
        let each = |bits| {
            loaded.push(bits);
            Ok::<(), StoreError>(())
        };
        diary.load(Epoch(7), each).unwrap();
        assert_eq!(loaded, [1, 2]);
    }
}
