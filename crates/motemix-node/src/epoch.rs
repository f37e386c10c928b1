//! Mix keys and their replay filters, and the boundary between two epochs.

use core::fmt;

use motemix_directory::{Epoch, PathError, TopologyError};
use motemix_sphinx::{MixKey, ReplayError};

use crate::replay::TagTable;
use crate::time::Instant;

/// Why an epoch cannot begin or be prepared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EpochError {
    /// `prepare_epoch` was not called for it.
    NotPrepared,
    /// The current epoch is the same or a later one.
    NotLater,
    /// The nodes make no network, or are more than the memory lent for them.
    Topology(TopologyError),
    /// The network is too small for its own paths.
    Path(PathError),
}

impl fmt::Display for EpochError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPrepared => f.write_str("the epoch's mix key was not prepared"),
            Self::NotLater => f.write_str("the epoch is not later than the current one"),
            Self::Topology(error) => error.fmt(f),
            Self::Path(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for EpochError {}

/// The mix key of one epoch and the tags it has seen.
pub(crate) struct EpochKey<'s> {
    pub(crate) epoch: Epoch,
    key: Option<MixKey>,
    pub(crate) seen: TagTable<'s>,
}

/// Which of the two keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Which {
    Current,
    /// Of the epoch before, for a while after the boundary; of the epoch after, for a while before it.
    Neighbour,
}

/// At most two keys at a time.
pub(crate) struct Epochs<'s> {
    current: EpochKey<'s>,
    neighbour: EpochKey<'s>,
    begun: bool,
    retire_neighbour: Instant,
}

impl<'s> Epochs<'s> {
    pub(crate) const fn new(current: TagTable<'s>, neighbour: TagTable<'s>) -> Self {
        Self {
            current: EpochKey { epoch: Epoch(0), key: None, seen: current },
            neighbour: EpochKey { epoch: Epoch(0), key: None, seen: neighbour },
            begun: false,
            retire_neighbour: Instant::NEVER,
        }
    }

    /// The current epoch, if one has begun.
    pub(crate) fn current(&self) -> Option<Epoch> {
        self.begun.then_some(self.current.epoch)
    }

    /// Accepts packets under `key` from now on.
    pub(crate) fn prepare(&mut self, epoch: Epoch, key: MixKey) -> Result<(), EpochError> {
        if self.begun && epoch <= self.current.epoch {
            return Err(EpochError::NotLater);
        }
        if self.neighbour.key.is_none() || self.neighbour.epoch != epoch {
            self.neighbour.seen.clear();
        }
        self.neighbour.epoch = epoch;
        self.neighbour.key = Some(key);
        self.retire_neighbour = Instant::NEVER;
        Ok(())
    }

    pub(crate) fn is_prepared(&self, epoch: Epoch) -> bool {
        self.neighbour.key.is_some() && self.neighbour.epoch == epoch
    }

    /// The prepared key becomes the current one; the one before it is accepted until `retire`.
    pub(crate) fn begin(&mut self, retire: Instant) {
        core::mem::swap(&mut self.current, &mut self.neighbour);
        self.retire_neighbour = if self.begun { retire } else { Instant::NEVER };
        self.begun = true;
    }

    /// When the key of the epoch before is to be wiped.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        (self.retire_neighbour != Instant::NEVER).then_some(self.retire_neighbour)
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if self.retire_neighbour <= now {
            self.neighbour.key = None;
            self.neighbour.seen.clear();
            self.retire_neighbour = Instant::NEVER;
        }
    }

    /// The keys to try a packet with, likeliest first.
    pub(crate) fn candidates(&self) -> impl Iterator<Item = (Which, &MixKey)> {
        let current = self.current.key.as_ref().map(|key| (Which::Current, key));
        current.into_iter().chain(self.neighbour.key.as_ref().map(|key| (Which::Neighbour, key)))
    }

    pub(crate) fn get_mut(&mut self, which: Which) -> &mut EpochKey<'s> {
        match which {
            Which::Current => &mut self.current,
            Which::Neighbour => &mut self.neighbour,
        }
    }

    /// Puts a tag back that was admitted before a restart. Tags of other epochs are of no use.
    pub(crate) fn restore(&mut self, epoch: Epoch, tag: u64) -> Result<(), ReplayError> {
        for key in [&mut self.current, &mut self.neighbour] {
            if key.key.is_some() && key.epoch == epoch {
                return match key.seen.insert(tag) {
                    Err(ReplayError::Full) => Err(ReplayError::Full),
                    Ok(()) | Err(ReplayError::Replayed) => Ok(()),
                };
            }
        }
        Ok(())
    }

    /// Tags in the current epoch's filter, and how many it takes.
    pub(crate) const fn fill(&self) -> (usize, usize) {
        (self.current.seen.len(), self.current.seen.capacity())
    }
}
