//! How a core computes modulo p = 2²⁵⁵ − 19.

use core::hint::black_box;

#[cfg(not(any(armv6m, armv7m, armv7em)))]
use super::product::Long;

/// Words of an element.
pub const WORDS: usize = 8;

/// Coordinates of a point that is kept to be added.
pub const COORDINATES: usize = 3;

/// Points to choose from.
pub type Table = [[[u32; WORDS]; COORDINATES]; 8];

/// p.
#[cfg(any(all(armv6m, not(little_code)), armv7m))]
pub(super) const PRIME: [u32; WORDS] =
    [0xffff_ffed, u32::MAX, u32::MAX, u32::MAX, u32::MAX, u32::MAX, u32::MAX, u32::MAX >> 1];
/// 64·p: with it, what an inversion leaves becomes positive.
#[cfg(any(all(armv6m, not(little_code)), armv7m))]
pub(super) const PRIME_TIMES_64: [u32; WORDS + 1] =
    [0xffff_fb40, u32::MAX, u32::MAX, u32::MAX, u32::MAX, u32::MAX, u32::MAX, u32::MAX, 31];

/// Arithmetic modulo p on eight words, the least first. Any eight words are an element, not only
/// those below p, and so is every result. A type, because each core has instructions of its own.
///
/// Where secrets come in, it has to be [`ConstantTime`] as well.
pub trait Arithmetic {
    /// `a + b`, in the place of `a`.
    fn add(a: &mut [u32; WORDS], b: &[u32; WORDS]);

    /// `a − b`, in the place of `a`.
    fn subtract(a: &mut [u32; WORDS], b: &[u32; WORDS]);

    /// `a + b` in the place of `a`, and `a − b` in the place of `b`.
    #[inline]
    fn sum_and_difference(a: &mut [u32; WORDS], b: &mut [u32; WORDS]) {
        let other = *b;
        *b = *a;
        Self::subtract(b, &other);
        Self::add(a, &other);
    }

    /// `a · b`, in the place of `a`.
    fn multiply(a: &mut [u32; WORDS], b: &[u32; WORDS]);

    /// `a²`, in the place of `a`.
    fn square(a: &mut [u32; WORDS]);

    /// `a · by` for `by` below 2³¹, in the place of `a`.
    fn multiply_by_small(a: &mut [u32; WORDS], by: u32);

    /// The coordinate of the point of this index, below 8. All points are read, whichever it is.
    #[inline]
    fn choose(chosen: &mut [u32; WORDS], table: &Table, index: u32, coordinate: usize) {
        // Neither how great the index may be nor that masks are all bits or none is seen by the
        // compiler: of either it could make branches.
        let index = black_box(index);
        *chosen = [0; WORDS];
        for (at, point) in (0..).zip(table) {
            let mask = black_box(((index ^ at).wrapping_sub(1).cast_signed() >> 31).cast_unsigned());
            chosen.iter_mut().zip(&point[coordinate]).for_each(|(word, other)| *word |= other & mask);
        }
    }

    /// `a` to the power of 2^`times`, in the place of `a`.
    #[inline]
    fn square_times(a: &mut [u32; WORDS], times: usize) {
        for _ in 0..times {
            Self::square(a);
        }
    }

    /// `1 / a`, in the place of `a`; zero stays zero.
    #[inline]
    fn invert(a: &mut [u32; WORDS])
    where
        Self: Sized,
    {
        super::field::invert_by_power::<Self>(a);
    }

    /// Twice the point of the Edwards form of the curve with these X, Y, Z and T, in its place.
    /// What T is at first does not matter; in the end it is right if `with_t` says so.
    ///
    /// H. Hisil and others, "Twisted Edwards Curves Revisited", 2008, §3.3.
    #[inline(never)]
    fn double_point([x, y, z, t]: [&mut [u32; WORDS]; 4], with_t: bool) {
        // T = (X + Y)²
        *t = *x;
        Self::add(t, y);
        Self::square(t);
        // A = X², B = Y², C = 2·Z²
        Self::square(x);
        Self::square(y);
        Self::square(z);
        let once = *z;
        Self::add(z, &once);
        // H = A + B, −G = B − A, −E = T − H, F = C + G, in the places of Y, X, T and Z. What
        // follows is all negative, which is the same point.
        Self::sum_and_difference(y, x);
        Self::subtract(t, y);
        Self::subtract(z, x);
        // X = E·F, Y = G·H, Z = F·G, T = E·H
        let mut new_x = *t;
        Self::multiply(&mut new_x, z);
        if with_t {
            Self::multiply(t, y);
        }
        Self::multiply(y, x);
        Self::multiply(z, x);
        *x = new_x;
    }

    /// One step of the ladder, its points in place. Its coordinates are products and squares, or
    /// below 2²⁵⁵.
    #[inline]
    fn ladder_step(ladder: &mut Ladder)
    where
        Self: Sized,
    {
        super::step::<Self>(ladder);
    }

    /// The same after its two points changed places if `exchanged` is 1; if it is 0, they stay.
    #[inline]
    fn exchange_and_step(ladder: &mut Ladder, exchanged: u8)
    where
        Self: Sized,
    {
        super::exchange_if(exchanged, ladder);
        Self::ladder_step(ladder);
    }

    /// All steps of the ladder from where it begins, for a clamped number.
    #[inline]
    fn ladder(ladder: &mut Ladder, clamped: &[u32; WORDS])
    where
        Self: Sized,
    {
        super::steps::<Self>(ladder, clamped);
    }
}

/// Arithmetic whose operations take one time for all operands, on the core that it is made for:
/// what secrets may be computed with.
pub trait ConstantTime: Arithmetic {}

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
#[cfg(armv6m)]
pub type OfThisCore = super::armv6m::Armv6m;
/// The arithmetic of the core that this is compiled for: constant time there, and the fastest.
#[cfg(armv7m)]
pub type OfThisCore = super::armv7m::Armv7m;
/// The arithmetic of the core that this is compiled for: constant time there, and the fastest.
#[cfg(armv7em)]
pub type OfThisCore = super::armv7em::Armv7em;

/// The arithmetic of this core for numbers that everybody may know: it may take a time that depends
/// on them.
#[cfg(not(all(armv7m, not(little_code))))]
pub type OfPublicNumbers = OfThisCore;
/// The arithmetic of this core for numbers that everybody may know: it takes a time that depends on
/// them.
#[cfg(all(armv7m, not(little_code)))]
pub type OfPublicNumbers = super::armv7m::Public;
