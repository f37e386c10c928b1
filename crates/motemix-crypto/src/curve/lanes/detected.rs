//! Looks for what the lanes need, and calls them where it is there. This is the only file of the
//! lanes that the compiler does not check alone.
#![allow(unsafe_code)] // a call of code for a processor that may be another one

use super::{Words, avx2, ifma};

cpufeatures::new!(avx2_of_processor, "avx2");
cpufeatures::new!(ifma_of_processor, "avx512f", "avx512dq", "avx512ifma");

/// A processor that has AVX2: made only where that was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Avx2(());

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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ifma(());

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
