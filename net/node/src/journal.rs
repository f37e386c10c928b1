//! What a node has written down, so that a restart lets no packet through a second time.

use core::convert::Infallible;

use motemix_directory::Epoch;

/// What the replay filter keeps of a tag: SipHash-1-3 of the tag's first eight bytes, under a key
/// that follows from the epoch's mix key (`docs/spec/epochs.md`). It means nothing to who lacks the
/// mix key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Digest(u64);

/// Bits that a filter of [`FingerprintBits::NARROW`](crate::FingerprintBits::NARROW) or less uses:
/// 16 for the place, 16 for the fingerprint.
const SHORT: u64 = 0xffff_0000_0000_ffff;

impl Digest {
    /// The digest as a number, for a journal.
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// The digest that a journal kept.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The same in four bytes: all that a filter of narrow fingerprints needs. `None` for digests
    /// of other filters, which would be cut short.
    pub const fn to_short(self) -> Option<u32> {
        if self.0 & !SHORT != 0 {
            return None;
        }
        Some((self.0 >> 32) as u32 | self.0 as u32)
    }

    /// The digest of [`to_short`](Self::to_short).
    pub const fn from_short(short: u32) -> Self {
        Self(((short >> 16) as u64) << 48 | (short & 0xffff) as u64)
    }

    /// Without the bits that a narrow filter does not use.
    #[must_use]
    pub(crate) const fn shortened(self) -> Self {
        Self(self.0 & SHORT)
    }
}

/// A packet that the replay filter admitted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Admitted {
    /// The epoch of the mix key.
    pub epoch: Epoch,
    /// The digest of the packet's replay tag.
    pub digest: Digest,
}

/// Where a node writes down what it admits, before anything of it leaves: what
/// [`Node::restore_admitted`](crate::Node::restore_admitted) gets back after a restart.
///
/// Nothing leaves a node without a journal, or without saying that there is none:
///
/// ```compile_fail
/// # use motemix_node::{Instant, Node};
/// # use motemix_sphinx::Profile;
/// # use rand_core::CryptoRng;
/// fn send<P: Profile, R: CryptoRng>(node: &mut Node<'_, P, R>, now: Instant, out: &mut [u8]) {
///     node.poll_transmit(now, out);
/// }
/// ```
///
/// ```
/// # use motemix_node::{Instant, NoJournal, Node};
/// # use motemix_sphinx::Profile;
/// # use rand_core::CryptoRng;
/// fn send<P: Profile, R: CryptoRng>(node: &mut Node<'_, P, R>, now: Instant, out: &mut [u8]) {
///     let Ok(transmit) = node.poll_transmit(now, &mut NoJournal, out);
/// }
/// ```
pub trait Journal {
    /// Why something could not be written down.
    type Error;

    /// Notes what was admitted. It may be written at once or with others in
    /// [`commit`](Self::commit), which also tells of a failure here.
    fn admit(&mut self, admitted: Admitted);

    /// Returns when all that was noted survives what the caller means to survive: the end of the
    /// process, or of the machine. Called before each packet that leaves, so it costs nothing if
    /// nothing is new. After an error no packet leaves until a later call succeeds; what could not
    /// be written stays noted.
    fn commit(&mut self) -> Result<(), Self::Error>;
}

impl<J: Journal> Journal for &mut J {
    type Error = J::Error;

    fn admit(&mut self, admitted: Admitted) {
        (**self).admit(admitted);
    }

    fn commit(&mut self) -> Result<(), J::Error> {
        (**self).commit()
    }
}

/// Writes nothing down: after a restart within an epoch, packets recorded before pass once more.
/// For nodes whose mix key does not outlive them, and for simulations.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct NoJournal;

impl Journal for NoJournal {
    type Error = Infallible;

    fn admit(&mut self, _: Admitted) {}

    fn commit(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_bytes_hold_a_digest_of_a_narrow_filter_and_no_other() {
        let digest = Digest(0x1234_5678_9abc_def0);
        assert_eq!(digest.to_short(), None);
        let short = digest.shortened().to_short().expect("shortened");
        assert_eq!((short, Digest::from_short(short)), (0x1234_def0, digest.shortened()));
    }
}
