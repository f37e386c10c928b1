//! The node's generator: ChaCha20 under a key that replaces itself, seeded through the C callback.
//!
//! A board's generator can fail and is slow, and a node cannot fail in the middle of a header. So
//! the callback is asked for 32 bytes when the node is made, where failing is an answer, and again
//! from time to time, where failing leaves a generator that is as good as before.

use core::convert::Infallible;

use motemix_crypto::{Secret, hash, stream};
use rand_core::utils::next_word_via_fill;
use rand_core::{TryCryptoRng, TryRng};

use crate::random::Source;
use crate::status::Status;

const OUTPUT: &stream::Label = b"motemix/rand";
const NEXT: &stream::Label = b"motemix/next";
const MIX_IN: &[u8] = b"motemix/1 fresh";
/// So many requests are served before fresh bytes are asked for.
const REQUESTS: u16 = 4096;

pub(crate) struct Generator {
    key: Secret<32>,
    served: u16,
    source: Source,
}

impl Generator {
    /// Fails if the source fails.
    pub(crate) fn new(source: Source) -> Result<Self, Status> {
        Ok(Self { key: source.seed()?, served: 0, source })
    }

    fn refresh(&mut self) {
        self.served = 0;
        if let Ok(fresh) = self.source.seed() {
            // Keyed with the old key, so that a source that has gone bad takes nothing away.
            let mut message = Secret::<{ 32 + MIX_IN.len() }>::zero();
            let (first, rest) = message.expose_mut().split_at_mut(32);
            first.copy_from_slice(fresh.expose());
            rest.copy_from_slice(MIX_IN);
            self.key = hash::blake2s_256(self.key.expose(), message.expose());
        }
    }
}

impl TryRng for Generator {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        next_word_via_fill(self)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        next_word_via_fill(self)
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        if self.served == REQUESTS {
            self.refresh();
        }
        self.served += 1;
        stream::fill(self.key.expose(), OUTPUT, out);
        // Who learns the key learns nothing of what was drawn before.
        let mut next = Secret::zero();
        stream::fill(self.key.expose(), NEXT, next.expose_mut());
        self.key = next;
        Ok(())
    }
}

impl TryCryptoRng for Generator {}
