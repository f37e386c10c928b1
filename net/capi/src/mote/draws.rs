//! One generator for the mote and its node, which each have a handle.

use core::convert::Infallible;
use core::ptr::NonNull;

use rand_core::{TryCryptoRng, TryRng};

use crate::generator::Generator;

/// A handle to the generator, for the mote and for its node.
#[derive(Clone)]
pub(super) struct Draws(NonNull<Generator>);

impl Draws {
    /// # Safety
    /// The generator is there for as long as this and its clones are used, one at a time, and
    /// nobody else uses it.
    pub(super) const unsafe fn new(generator: NonNull<Generator>) -> Self {
        Self(generator)
    }

    fn generator(&mut self) -> &mut Generator {
        // SAFETY: the generator lies in the mote's memory for longer than the mote and its node.
        // Only they have handles, which are used one at a time: a call is in the mote, and the
        // generator's own callback must not call it.
        unsafe { self.0.as_mut() }
    }
}

impl TryRng for Draws {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.generator().try_next_u32()
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.generator().try_next_u64()
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        self.generator().try_fill_bytes(out)
    }
}

impl TryCryptoRng for Draws {}
