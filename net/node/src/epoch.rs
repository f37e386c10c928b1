//! Mix keys and their replay filters, and the boundary between two epochs.

use core::fmt;

use motemix_crypto::Secret;
use motemix_directory::{Epoch, PathError, TopologyError};
use motemix_sphinx::{MixKey, ReplayError, ReplayTag};
use siphasher::sip::SipHasher13;

use crate::Instant;
use crate::admission::{Admission, Classes, LinkId, Places};
use crate::journal::{Admitted, Digest};
use crate::replay::{Fingerprints, Owner};

/// Why an epoch cannot begin or be prepared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
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

/// The mix key of one epoch, and what was admitted under it.
struct EpochKey {
    epoch: Epoch,
    keys: Option<Keys>,
    owner: Owner,
    admission: Admission,
}

struct Keys {
    mix: MixKey,
    /// The key of the digests in the replay filter.
    filter: Secret<16>,
}

impl EpochKey {
    const fn none(owner: Owner) -> Self {
        Self { epoch: Epoch(0), keys: None, owner, admission: Admission::ahead() }
    }

    /// SipHash-1-3 of the tag's first eight bytes; `None` without the key.
    fn digest(&self, start: [u8; 8]) -> Option<u64> {
        self.keys.as_ref().map(|keys| SipHasher13::new_with_key(keys.filter.expose()).hash(&start))
    }
}

/// What an epoch has of the replay filter, in packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EpochFill {
    /// Which epoch.
    pub epoch: Epoch,
    /// Packets admitted.
    pub tags: u32,
    /// How many it can admit in all.
    pub capacity: u32,
    /// How many more there is room for now. Less than is left of the capacity while the epoch
    /// before still has its part of the memory.
    pub room: u32,
}

impl EpochFill {
    /// Whether nothing more is admitted.
    pub const fn is_full(&self) -> bool {
        self.room == 0
    }
}

/// How full the replay filter is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReplayFill {
    /// The current epoch.
    pub current: EpochFill,
    /// The epoch before, until its overlap ends; the epoch after, once it is prepared.
    pub neighbour: Option<EpochFill>,
}

/// Which of the two keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Which {
    Current,
    /// The epoch before, for a while after the boundary; the epoch after, for a while before
    /// it.
    Neighbour,
}

/// At most two keys at a time, and the replay filter that they share.
pub(crate) struct Epochs<'s> {
    current: EpochKey,
    neighbour: EpochKey,
    begun: bool,
    retire_neighbour: Instant,
    filter: Fingerprints<'s>,
    classes: Classes,
}

impl<'s> Epochs<'s> {
    pub(crate) fn new(filter: Fingerprints<'s>) -> Self {
        Self {
            current: EpochKey::none(Owner::One),
            neighbour: EpochKey::none(Owner::Two),
            begun: false,
            retire_neighbour: Instant::NEVER,
            filter,
            classes: Classes::new([0; 2]),
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
        let filter = key.replay_filter_key();
        let neighbour = &mut self.neighbour;
        if neighbour.keys.is_none() || neighbour.epoch != epoch {
            self.filter.release(neighbour.owner);
            neighbour.admission = Admission::ahead();
        }
        neighbour.epoch = epoch;
        neighbour.keys = Some(Keys { mix: key, filter });
        self.retire_neighbour = Instant::NEVER;
        Ok(())
    }

    pub(crate) const fn is_prepared(&self, epoch: Epoch) -> bool {
        self.neighbour.keys.is_some() && self.neighbour.epoch.0 == epoch.0
    }

    /// The prepared key becomes the current one, until `ends`; the one before it is accepted until
    /// `retire`. `classes` are those of neighbours from now on.
    pub(crate) fn begin(&mut self, now: Instant, ends: Instant, retire: Instant, classes: Classes) {
        core::mem::swap(&mut self.current, &mut self.neighbour);
        self.current.admission.last_until(now, ends);
        self.retire_neighbour = if self.begun { retire } else { Instant::NEVER };
        if self.begun && ends != Instant::NEVER {
            self.neighbour.admission.last_until(now, retire);
        }
        self.classes = classes;
        self.begun = true;
    }

    /// Forgets both keys.
    pub(crate) fn end(&mut self) {
        for key in [&mut self.current, &mut self.neighbour] {
            key.keys = None;
            self.filter.release(key.owner);
        }
        self.begun = false;
        self.retire_neighbour = Instant::NEVER;
    }

    /// When the key of the epoch before is to be wiped.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        (self.retire_neighbour != Instant::NEVER).then_some(self.retire_neighbour)
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if self.retire_neighbour <= now {
            self.neighbour.keys = None;
            self.filter.release(self.neighbour.owner);
            self.retire_neighbour = Instant::NEVER;
        }
    }

    /// The keys to try a packet with, likeliest first.
    pub(crate) fn candidates(&self) -> impl Iterator<Item = (Which, &MixKey)> {
        let current = self.current.keys.as_ref().map(|keys| (Which::Current, &keys.mix));
        current.into_iter().chain(self.neighbour.keys.as_ref().map(|keys| (Which::Neighbour, &keys.mix)))
    }

    /// The same keys by their epochs.
    pub(crate) fn keys_by_epoch(&self) -> impl Iterator<Item = (Epoch, &MixKey)> + Clone {
        let keys = [&self.current, &self.neighbour].into_iter();
        keys.filter_map(|key| Some((key.epoch, &key.keys.as_ref()?.mix)))
    }

    /// Which of the two an epoch's key is; `None` if it is gone.
    pub(crate) fn which(&self, epoch: Epoch) -> Option<Which> {
        let is_its = |key: &EpochKey| key.keys.is_some() && key.epoch == epoch;
        if is_its(&self.current) {
            return Some(Which::Current);
        }
        is_its(&self.neighbour).then_some(Which::Neighbour)
    }

    /// Admits a tag that was not seen, if there is room and a place is due to who sent it.
    pub(crate) fn admit(
        &mut self,
        now: Instant,
        from: LinkId,
        which: Which,
        tag: &ReplayTag,
    ) -> Result<Admitted, ReplayError> {
        let key = match which {
            Which::Current => &mut self.current,
            Which::Neighbour => &mut self.neighbour,
        };
        let start = *tag.0.first_chunk().expect("a tag has sixteen bytes");
        let digest = self.filter.digest(key.digest(start).ok_or(ReplayError::Full)?);
        if self.filter.contains(key.owner, digest) {
            return Err(ReplayError::Replayed);
        }
        let room = self.filter.room(key.owner);
        if room == 0 {
            return Err(ReplayError::Full);
        }
        let capacity = self.filter.capacity(key.owner);
        let left = capacity - self.filter.tags(key.owner);
        // What the epoch before still has comes back to the current one; not the other way round.
        let left = if which == Which::Current { left } else { left.min(room) };
        let class = self.classes.of(from);
        if !key.admission.admits(now, class, Places { capacity, left }) {
            return Err(ReplayError::Rationed);
        }
        self.filter.insert(key.owner, digest).map_err(|_| ReplayError::Full)?;
        key.admission.took(class);
        Ok(Admitted { epoch: key.epoch, digest })
    }

    /// Puts back what was admitted before a restart. Digests of other epochs are of no use.
    pub(crate) fn restore(&mut self, admitted: Admitted) -> Result<(), ReplayError> {
        let Some(key) = self.key_of(admitted.epoch) else { return Ok(()) };
        let (owner, digest) = (key.owner, self.filter.digest(admitted.digest.to_bits()));
        if self.filter.contains(owner, digest) {
            return Ok(());
        }
        self.filter.insert(owner, digest).map_err(|_| ReplayError::Full)
    }

    /// The digest of a tag that begins like this; `None` without the epoch's key.
    pub(crate) fn digest(&self, epoch: Epoch, start: [u8; 8]) -> Option<Digest> {
        Some(self.filter.digest(self.key_of(epoch)?.digest(start)?))
    }

    fn key_of(&self, epoch: Epoch) -> Option<&EpochKey> {
        [&self.current, &self.neighbour].into_iter().find(|key| key.keys.is_some() && key.epoch == epoch)
    }

    pub(crate) fn fill(&self) -> ReplayFill {
        let fill = |key: &EpochKey| EpochFill {
            epoch: key.epoch,
            tags: self.filter.tags(key.owner),
            capacity: self.filter.capacity(key.owner),
            room: self.filter.room(key.owner),
        };
        let neighbour = self.neighbour.keys.as_ref().map(|_| fill(&self.neighbour));
        ReplayFill { current: fill(&self.current), neighbour }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::FingerprintBits;

    fn bytes<const N: usize>(hex: &str) -> [u8; N] {
        core::array::from_fn(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).expect("hex"))
    }

    /// The vectors of `docs/spec/epochs.md`.
    #[test]
    fn digests_are_those_of_the_specification() {
        let tag: [u8; 16] = bytes("addb0901225f283f4f24f836bbac5712");
        let start = *tag.first_chunk().expect("sixteen bytes");
        for (epoch, mix_secret, filter_key, digest, short) in [
            (
                7,
                "4a69d4a8d948ec5eb83feb844b319d74f1271a3bbc1e9ba86ec9018ac649eeeb",
                "e5c6e90ecb063b6cbdea683854773a61",
                0xe806_b015_9c08_9706,
                0xe806_9706,
            ),
            (
                8,
                "79cfbedce836f0d9e89fd9ceab4c17fcacbe856d89e5360c7f9d92f444cbf9a4",
                "a19373a9def5e50ed4b1a5c7c12037fe",
                0x9cc0_8cc3_2a8f_4065,
                0x9cc0_4065,
            ),
        ] {
            let key = || MixKey::new(Secret::new(bytes(mix_secret)));
            assert_eq!(key().replay_filter_key().expose(), &bytes::<16>(filter_key));
            let digest_with = |bits| {
                let mut epochs = Epochs::new(Fingerprints::new(&mut [], bits));
                epochs.prepare(Epoch(epoch), key()).expect("the first");
                epochs.digest(Epoch(epoch), start).expect("its key is there")
            };
            assert_eq!(digest_with(FingerprintBits::HOST).to_bits(), digest);
            assert_eq!(digest_with(FingerprintBits::BOARD).to_short(), Some(short));
        }
    }
}
