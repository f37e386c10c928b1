//! Cortex-M0, M0+ and M23, which have no long product: from products of 16 bits, in assembly.
//! `docs/research/curve-arithmetic.md` explains it.

// Assembly.
#![allow(unsafe_code)]

use core::arch::global_asm;

use super::arithmetic::{Arithmetic, COORDINATES, ConstantTime, Ladder, Table, WORDS};
#[cfg(not(little_code))]
use super::arithmetic::{PRIME, PRIME_TIMES_64};
#[cfg(not(little_code))]
use super::field::Element;
use super::product::OfHalves;

#[cfg(not(little_code))]
global_asm!(
    include_str!("armv6m/frame.s"),
    include_str!("armv6m/product.s"),
    include_str!("armv6m/multiply.s"),
    include_str!("armv6m/fast.s"),
    include_str!("armv6m/calls.s"),
    include_str!("armv6m/sum.s"),
    include_str!("armv6m/choose.s"),
    include_str!("armv6m/ladder.s"),
    include_str!("armv6m/inverse.s"),
    options(raw)
);
// A program that is to be small inverts by a power, too.
#[cfg(little_code)]
global_asm!(
    include_str!("armv6m/frame.s"),
    include_str!("armv6m/product.s"),
    include_str!("armv6m/multiply.s"),
    include_str!("armv6m/little.s"),
    include_str!("armv6m/calls.s"),
    include_str!("armv6m/sum.s"),
    include_str!("armv6m/choose.s"),
    include_str!("armv6m/ladder.s"),
    options(raw)
);

unsafe extern "C" {
    fn motemix_armv6m_add(a: &mut [u32; WORDS], b: &[u32; WORDS]);
    fn motemix_armv6m_subtract(a: &mut [u32; WORDS], b: &[u32; WORDS]);
    fn motemix_armv6m_sum_and_difference(a: &mut [u32; WORDS], b: &mut [u32; WORDS]);
    fn motemix_armv6m_choose(chosen: &mut [u32; WORDS], table: &Table, index: u32, coordinate: usize);
    fn motemix_armv6m_multiply(a: &mut [u32; WORDS], b: &[u32; WORDS]);
    fn motemix_armv6m_square_times(a: &mut [u32; WORDS], times: usize);
    fn motemix_armv6m_ladder(ladder: &mut Ladder, clamped: &[u32; WORDS]);
    #[cfg(not(little_code))]
    fn motemix_armv6m_inverse(divisors: &mut Divisors);
}

/// Two numbers of nine words, interleaved, in two's complement.
#[cfg(not(little_code))]
type Pair = [[u32; 2]; WORDS + 1];

/// What the search for a common divisor works on.
#[cfg(not(little_code))]
#[repr(C)]
struct Divisors {
    /// The two numbers.
    numbers: Pair,
    /// What the number that is inverted has to be multiplied with to be these, modulo p.
    multiples: Pair,
}

/// Karatsuba's way to products, down to 32 bits.
#[derive(Debug, Clone, Copy)]
pub enum Armv6m {}

impl ConstantTime for Armv6m {}

impl Arithmetic for Armv6m {
    #[inline]
    fn add(a: &mut [u32; WORDS], b: &[u32; WORDS]) {
        // SAFETY: it reads and writes eight words at `a`, reads eight at `b`, and keeps to the
        // procedure call standard.
        unsafe { motemix_armv6m_add(a, b) }
    }

    #[inline]
    fn subtract(a: &mut [u32; WORDS], b: &[u32; WORDS]) {
        // SAFETY: as in `add`.
        unsafe { motemix_armv6m_subtract(a, b) }
    }

    #[inline]
    fn sum_and_difference(a: &mut [u32; WORDS], b: &mut [u32; WORDS]) {
        // SAFETY: it reads and writes eight words at `a` and at `b`, and keeps to the procedure
        // call standard.
        unsafe { motemix_armv6m_sum_and_difference(a, b) }
    }

    #[inline]
    fn choose(chosen: &mut [u32; WORDS], table: &Table, index: u32, coordinate: usize) {
        assert!(coordinate < COORDINATES, "no such coordinate");
        // SAFETY: it writes eight words at `chosen`, reads those of this coordinate in the table,
        // and keeps to the procedure call standard.
        unsafe { motemix_armv6m_choose(chosen, table, index, coordinate) }
    }

    #[inline]
    fn multiply(a: &mut [u32; WORDS], b: &[u32; WORDS]) {
        // SAFETY: as in `add`.
        unsafe { motemix_armv6m_multiply(a, b) }
    }

    #[inline]
    fn square(a: &mut [u32; WORDS]) {
        Self::square_times(a, 1);
    }

    #[inline]
    fn multiply_by_small(a: &mut [u32; WORDS], by: u32) {
        OfHalves::multiply_by_small(a, by);
    }

    #[inline]
    fn square_times(a: &mut [u32; WORDS], times: usize) {
        if times > 0 {
            // SAFETY: it reads and writes eight words at `a`, and keeps to the procedure call
            // standard.
            unsafe { motemix_armv6m_square_times(a, times) }
        }
    }

    #[inline]
    fn ladder(ladder: &mut Ladder, clamped: &[u32; WORDS]) {
        // SAFETY: it reads and writes the ladder, whose coordinates lie in the order of their
        // declaration, reads eight words at `clamped`, and keeps to the procedure call standard.
        unsafe { motemix_armv6m_ladder(ladder, clamped) }
    }

    #[cfg(not(little_code))]
    fn invert(a: &mut [u32; WORDS]) {
        // It takes numbers below p.
        let least = Element::<Self>::from_bytes(&Element::<Self>::new(*a).to_bytes()).words();
        let mut divisors = Divisors { numbers: [[0; 2]; WORDS + 1], multiples: [[0; 2]; WORDS + 1] };
        divisors.numbers.iter_mut().zip(least.iter().zip(PRIME)).for_each(|(pair, (a, p))| *pair = [*a, p]);
        divisors.multiples[0] = [1, 0];
        // SAFETY: it reads and writes four numbers of nine words, which lie in the order of their
        // declaration, and keeps to the procedure call standard.
        unsafe { motemix_armv6m_inverse(&mut divisors) }
        // The second is the inverse; it is less than 2^260 in magnitude.
        let mut carried = 0;
        let mut above = 0;
        for (at, (pair, multiple)) in divisors.multiples.iter().zip(PRIME_TIMES_64).enumerate() {
            let total = u64::from(pair[1]) + u64::from(multiple) + carried;
            *a.get_mut(at).unwrap_or(&mut above) = total as u32;
            carried = total >> 32;
        }
        // 2^256 is 38.
        Self::add(a, &[38 * above, 0, 0, 0, 0, 0, 0, 0]);
    }
}
