//! Looks for what the lanes need, and calls them where it is there. This is the only file of the
//! lanes that the compiler does not check alone.
#![allow(unsafe_code)] // a call of code for a processor that may be another one

use super::Words;
#[cfg(neon)]
use super::neon;
#[cfg(target_arch = "x86_64")]
use super::{avx2, ifma};

#[cfg(target_arch = "x86_64")]
cpufeatures::new!(avx2_of_processor, "avx2");
#[cfg(target_arch = "x86_64")]
cpufeatures::new!(ifma_of_processor, "avx512f", "avx512dq", "avx512ifma");

/// A processor that has NEON: there is this type only in programs for such.
#[cfg(neon)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Neon(());

#[cfg(neon)]
impl Neon {
    pub(super) const fn detected() -> Self {
        Self(())
    }

    #[allow(clippy::unused_self)] // it is the proof
    pub(super) fn multiply_each(self, scalars: &[Words<2>], points: &mut [Words<2>]) {
        // SAFETY: the whole program is for processors with NEON.
        unsafe { neon::multiply_each(scalars, points) }
    }
}

/// A processor that has AVX2: made only where that was found.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Avx2(());

#[cfg(target_arch = "x86_64")]
impl Avx2 {
    pub(super) fn detected() -> Option<Self> {
        avx2_of_processor::get().then_some(Self(()))
    }

    #[allow(clippy::unused_self)] // it is the proof
    pub(super) fn multiply_each(self, scalars: &[Words<4>], points: &mut [Words<4>]) {
        // SAFETY: there is a `self` only where the processor has AVX2.
        unsafe { avx2::multiply_each(scalars, points) }
    }
}

/// A processor that has AVX-512 with IFMA: made only where that was found.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ifma(());

#[cfg(target_arch = "x86_64")]
impl Ifma {
    pub(super) fn detected() -> Option<Self> {
        ifma_of_processor::get().then_some(Self(()))
    }

    #[allow(clippy::unused_self)] // it is the proof
    pub(super) fn multiply_each(self, scalars: &[Words<8>], points: &mut [Words<8>]) {
        // SAFETY: there is a `self` only where the processor has AVX-512 with IFMA.
        unsafe { ifma::multiply_each(scalars, points) }
    }
}
