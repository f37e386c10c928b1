//! Who this node is, and whom it takes for a neighbour.

use heapless::Vec;
use motemix_neighbour::diet::settled::{Admission, Identity};
use motemix_neighbour::suite::HalfWordsP256;
use motemix_neighbour::{PublicKey, Refused};
use rand_core::CryptoRng;

/// Identities that are admitted at a time.
const ADMITTED: usize = 4;

/// What the suite has made. An accelerator may fail at that; the processor does not.
pub(super) fn made<T>(result: Result<T, Refused>) -> T {
    result.unwrap_or_else(|_| unreachable!("P-256 is computed by the processor"))
}

/// Who this node is, and whom it admits: nobody, to begin with.
pub(super) struct Own {
    pub(super) identity: Identity,
    admitted: Vec<PublicKey, ADMITTED>,
    anybody: bool,
}

impl Own {
    /// A new identity.
    #[inline(never)]
    pub(super) fn generate<R: CryptoRng>(rng: &mut R) -> Self {
        let identity = made(Identity::generate(&mut HalfWordsP256, rng));
        Self { identity, admitted: Vec::new(), anybody: false }
    }

    /// How many are admitted then; `None` if there is no room.
    pub(super) fn admit(&mut self, neighbour: PublicKey) -> Option<usize> {
        if !self.admitted.contains(&neighbour) {
            self.admitted.push(neighbour).ok()?;
        }
        Some(self.admitted.len())
    }

    pub(super) const fn admit_anybody(&mut self) {
        self.anybody = true;
    }

    pub(super) fn admission(&self) -> Admission<'_> {
        if self.anybody { Admission::Anybody } else { Admission::Of(&self.admitted) }
    }

    /// Whether this neighbour was named, and is not merely one of those that come.
    pub(super) fn names(&self, neighbour: &PublicKey) -> bool {
        self.admitted.contains(neighbour)
    }

    /// Whether a neighbour may have this key. The own one is nobody else's: what this node says may
    /// come back to it.
    pub(super) fn admits(&self, neighbour: &PublicKey) -> bool {
        *neighbour != self.identity.public_key() && (self.anybody || self.names(neighbour))
    }
}
