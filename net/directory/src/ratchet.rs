//! A node's mix keys, epoch after epoch, from one seed that only moves forward.
//!
//! `docs/spec/epochs.md` is normative and has the test vectors.

use core::fmt;

use blake2::Blake2sMac256;
use blake2::digest::{FixedOutput, KeyInit, Update};
use motemix_crypto::Secret;
use motemix_time::Epoch;

const NEXT_EPOCH: &[u8] = b"motemix/1 next epoch";
const MIX_KEY: &[u8] = b"motemix/1 mix key";

/// The most epochs that a key is derived ahead of its seed: 34 years of five-minute epochs.
const FARTHEST: u32 = 3_600_000;

/// The seed of an epoch: it gives that epoch's mix key and all later ones, and none before.
///
/// Wiped on drop. Where it is stored, the seed it replaces has to go, or the keys of passed epochs
/// stay.
pub struct KeyRatchet {
    epoch: Epoch,
    seed: Secret<32>,
}

impl KeyRatchet {
    /// A ratchet at `epoch`. A first seed is 32 bytes of the platform's entropy.
    pub const fn new(epoch: Epoch, seed: Secret<32>) -> Self {
        Self { epoch, seed }
    }

    /// The earliest epoch whose key can still be derived.
    pub const fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The seed of [`epoch`](Self::epoch), to be stored.
    pub const fn expose_seed(&self) -> &[u8; 32] {
        self.seed.expose()
    }

    /// A second copy, which wipes itself as well: to store what comes next before this one is given
    /// up.
    #[must_use]
    pub const fn duplicate(&self) -> Self {
        Self { epoch: self.epoch, seed: self.seed.duplicate() }
    }

    /// The X25519 mix key of an epoch; one hash for each epoch ahead, and one.
    ///
    /// # Errors
    /// The epoch has passed, or it is implausibly far ahead.
    pub fn mix_secret(&self, epoch: Epoch) -> Result<Secret<32>, RatchetError> {
        Ok(derive(&self.seed_of(epoch)?, MIX_KEY))
    }

    /// Forgets the keys of all epochs before `epoch`.
    ///
    /// # Errors
    /// The epoch has passed, or it is implausibly far ahead; the ratchet has not moved then.
    pub fn advance_to(&mut self, epoch: Epoch) -> Result<(), RatchetError> {
        self.seed = self.seed_of(epoch)?;
        self.epoch = epoch;
        Ok(())
    }

    /// How many epochs ahead an epoch is, and so how many hashes.
    ///
    /// # Errors
    /// The epoch has passed, or it is implausibly far ahead.
    pub fn steps_to(&self, epoch: Epoch) -> Result<u32, RatchetError> {
        let have = self.epoch;
        let steps = epoch.0.checked_sub(have.0).ok_or(RatchetError::Passed { asked: epoch, have })?;
        if steps > FARTHEST { Err(RatchetError::TooFarAhead { asked: epoch, have }) } else { Ok(steps) }
    }

    // Not inlined, because small boards have little flash.
    #[inline(never)]
    fn seed_of(&self, epoch: Epoch) -> Result<Secret<32>, RatchetError> {
        let steps = self.steps_to(epoch)?;
        let mut seed = self.seed.duplicate();
        for _ in 0..steps {
            seed = derive(&seed, NEXT_EPOCH);
        }
        Ok(seed)
    }
}

impl fmt::Debug for KeyRatchet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyRatchet(..)")
    }
}

/// Why a ratchet has no key for an epoch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RatchetError {
    /// The key of an epoch that has passed has been erased.
    Passed {
        /// Epoch asked for.
        asked: Epoch,
        /// The earliest epoch whose key can still be derived.
        have: Epoch,
    },
    /// Deriving so many steps ahead would only follow an error somewhere else.
    TooFarAhead {
        /// Epoch asked for.
        asked: Epoch,
        /// The ratchet's epoch.
        have: Epoch,
    },
}

impl fmt::Display for RatchetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed { asked, have } => {
                write!(f, "the key of epoch {asked} is gone, the ratchet is at epoch {have}; check the clock")
            }
            Self::TooFarAhead { asked, have } => write!(
                f,
                "epoch {asked} is too far ahead of epoch {have}; check the clock and the network document"
            ),
        }
    }
}

impl core::error::Error for RatchetError {}

/// BLAKE2s-256 of RFC 7693 with a key.
fn derive(key: &Secret<32>, label: &[u8]) -> Secret<32> {
    let mut mac = <Blake2sMac256 as KeyInit>::new(key.expose().into());
    mac.update(label);
    let mut output = Secret::zero();
    mac.finalize_into(output.expose_mut().into());
    output
}
