//! How a core computes modulo p = 2²⁵⁵ − 19.

#[cfg(not(any(armv6m, armv7m, armv7em)))]
use super::product::Long;

/// Words of an element.
pub const WORDS: usize = 8;

/// Arithmetic modulo p on eight words, the least first. Any eight words are an element, not only
/// those below p, and so is every result. A type, because each core has instructions of its own.
///
/// Every operation takes one time for all operands on the core that it is made for.
pub trait Arithmetic {
    /// `a + b`, in the place of `a`.
    fn add(a: &mut [u32; WORDS], b: &[u32; WORDS]);

    /// `a − b`, in the place of `a`.
    fn subtract(a: &mut [u32; WORDS], b: &[u32; WORDS]);

    /// `a · b`, in the place of `a`.
    fn multiply(a: &mut [u32; WORDS], b: &[u32; WORDS]);

    /// `a²`, in the place of `a`.
    fn square(a: &mut [u32; WORDS]);

    /// `a · by` for `by` below 2³¹, in the place of `a`.
    fn multiply_by_small(a: &mut [u32; WORDS], by: u32);

    /// `a` to the power of 2^`times`, in the place of `a`.
    #[inline]
    fn square_times(a: &mut [u32; WORDS], times: usize) {
        for _ in 0..times {
            Self::square(a);
        }
    }

    /// One step of the ladder, its points in place.
    #[inline]
    fn ladder_step(ladder: &mut Ladder)
    where
        Self: Sized,
    {
        super::step::<Self>(ladder);
    }
}

/// The ladder of RFC 7748 §5 between two steps, in the RFC's names.
#[repr(C)]
pub struct Ladder {
    /// The point that is multiplied.
    pub x1: [u32; WORDS],
    /// The product of the bits before.
    pub x2: [u32; WORDS],
    /// Its denominator.
    pub z2: [u32; WORDS],
    /// The sum of it and the point.
    pub x3: [u32; WORDS],
    /// Its denominator.
    pub z3: [u32; WORDS],
}

/// The arithmetic of the core that this is compiled for: constant time there, and the fastest.
#[cfg(not(any(armv6m, armv7m, armv7em)))]
pub type OfThisCore = Long;
/// The arithmetic of the core that this is compiled for: constant time there, and the fastest.
#[cfg(any(armv6m, armv7m))]
pub type OfThisCore = super::product::OfHalves;
/// The arithmetic of the core that this is compiled for: constant time there, and the fastest.
#[cfg(armv7em)]
pub type OfThisCore = super::product::Long;
