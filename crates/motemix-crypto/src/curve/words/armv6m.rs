//! Cortex-M0, M0+ and M23, which have no long product: from products of 16 bits, in assembly.
//! `docs/curve-arithmetic.md` explains it.

// Assembly.
#![allow(unsafe_code)]

use core::arch::global_asm;

use super::arithmetic::{Arithmetic, Ladder, WORDS};
use super::product::OfHalves;

global_asm!(
    include_str!("armv6m/frame.s"),
    include_str!("armv6m/product.s"),
    include_str!("armv6m/multiply.s"),
    include_str!("armv6m/sum.s"),
    include_str!("armv6m/ladder.s"),
    options(raw)
);

unsafe extern "C" {
    fn motemix_armv6m_add(a: &mut [u32; WORDS], b: &[u32; WORDS]);
    fn motemix_armv6m_subtract(a: &mut [u32; WORDS], b: &[u32; WORDS]);
    fn motemix_armv6m_multiply(a: &mut [u32; WORDS], b: &[u32; WORDS]);
    fn motemix_armv6m_square_times(a: &mut [u32; WORDS], times: usize);
    fn motemix_armv6m_ladder(ladder: &mut Ladder, clamped: &[u32; WORDS]);
}

/// Karatsuba's way to products, down to 32 bits.
#[derive(Debug, Clone, Copy)]
pub enum Armv6m {}

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
}
