//! Arithmetic for the Cortex-M3, whose long products take a time that depends on their factors: from
//! products of 16 bits, in assembly. `docs/curve-arithmetic.md` explains it.

// Assembly.
#![allow(unsafe_code)]

use core::arch::global_asm;

use super::arithmetic::{Arithmetic, COORDINATES, Ladder, Table, WORDS};
use super::product::OfHalves;

global_asm!(
    include_str!("armv7m/frame.s"),
    include_str!("armv7m/multiply.s"),
    include_str!("armv7m/square.s"),
    include_str!("armv7m/add.s"),
    include_str!("armv7m/choose.s"),
    include_str!("armv7m/ladder.s"),
    options(raw)
);

unsafe extern "C" {
    fn motemix_armv7m_add(a: &mut [u32; WORDS], b: &[u32; WORDS]);
    fn motemix_armv7m_subtract(a: &mut [u32; WORDS], b: &[u32; WORDS]);
    fn motemix_armv7m_sum_and_difference(a: &mut [u32; WORDS], b: &mut [u32; WORDS]);
    fn motemix_armv7m_choose(chosen: &mut [u32; WORDS], table: &Table, index: u32, coordinate: usize);
    fn motemix_armv7m_multiply(a: &mut [u32; WORDS], b: &[u32; WORDS]);
    fn motemix_armv7m_square_times(a: &mut [u32; WORDS], times: usize);
    fn motemix_armv7m_ladder_step(ladder: &mut Ladder, exchanged: u32);
}

/// That of a Cortex-M3.
#[derive(Debug, Clone, Copy)]
pub enum Armv7m {}

impl Arithmetic for Armv7m {
    #[inline]
    fn add(a: &mut [u32; WORDS], b: &[u32; WORDS]) {
        // SAFETY: it reads and writes eight words at `a`, reads eight at `b`, and keeps to the
        // procedure call standard.
        unsafe { motemix_armv7m_add(a, b) }
    }

    #[inline]
    fn subtract(a: &mut [u32; WORDS], b: &[u32; WORDS]) {
        // SAFETY: as in `add`.
        unsafe { motemix_armv7m_subtract(a, b) }
    }

    #[inline]
    fn sum_and_difference(a: &mut [u32; WORDS], b: &mut [u32; WORDS]) {
        // SAFETY: it reads and writes eight words at `a` and at `b`, and keeps to the procedure call
        // standard.
        unsafe { motemix_armv7m_sum_and_difference(a, b) }
    }

    #[inline]
    fn multiply(a: &mut [u32; WORDS], b: &[u32; WORDS]) {
        // SAFETY: as in `add`.
        unsafe { motemix_armv7m_multiply(a, b) }
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
            unsafe { motemix_armv7m_square_times(a, times) }
        }
    }

    #[inline]
    fn ladder_step(ladder: &mut Ladder) {
        Self::exchange_and_step(ladder, 0);
    }

    #[inline]
    fn exchange_and_step(ladder: &mut Ladder, exchanged: u8) {
        // SAFETY: it reads and writes the ladder, whose coordinates lie in the order of their
        // declaration, and keeps to the procedure call standard.
        unsafe { motemix_armv7m_ladder_step(ladder, exchanged.into()) }
    }

    #[inline]
    fn choose(chosen: &mut [u32; WORDS], table: &Table, index: u32, coordinate: usize) {
        assert!(coordinate < COORDINATES, "no such coordinate");
        // SAFETY: it writes eight words at `chosen`, reads those of this coordinate in the table,
        // and keeps to the procedure call standard.
        unsafe { motemix_armv7m_choose(chosen, table, index, coordinate) }
    }
}
