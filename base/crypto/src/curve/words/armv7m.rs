//! Arithmetic for the Cortex-M3, whose long products take a time that depends on their factors:
//! from products of 16 bits, in assembly. `docs/research/curve-arithmetic.md` explains it.

// Assembly.
#![allow(unsafe_code)]

use core::arch::global_asm;
use core::hint::black_box;

use super::arithmetic::{Arithmetic, COORDINATES, ConstantTime, Ladder, PRIME, PRIME_TIMES_64, Table, WORDS};
use super::field::Element;
use super::product::OfHalves;

global_asm!(
    include_str!("armv7m/frame.s"),
    include_str!("armv7m/multiply.s"),
    include_str!("armv7m/square.s"),
    include_str!("armv7m/add.s"),
    include_str!("armv7m/choose.s"),
    include_str!("armv7m/inverse.s"),
    include_str!("armv7m/ladder.s"),
    include_str!("armv7m/public.s"),
    options(raw)
);

unsafe extern "C" {
    fn motemix_armv7m_add(a: &mut [u32; WORDS], b: &[u32; WORDS]);
    fn motemix_armv7m_subtract(a: &mut [u32; WORDS], b: &[u32; WORDS]);
    fn motemix_armv7m_sum_and_difference(a: &mut [u32; WORDS], b: &mut [u32; WORDS]);
    fn motemix_armv7m_choose(chosen: &mut [u32; WORDS], table: &Table, index: u32, coordinate: usize);
    fn motemix_armv7m_multiply(a: &mut [u32; WORDS], b: &[u32; WORDS]);
    fn motemix_armv7m_square_times(a: &mut [u32; WORDS], times: usize);
    fn motemix_armv7m_inverse(numbers: &mut [[u32; WORDS + 2]; 4]);
    fn motemix_armv7m_ladder_step(ladder: &mut Ladder, exchanged: u32);
}

#[cfg(not(little_code))]
unsafe extern "C" {
    fn motemix_armv7m_multiply_public(a: &mut [u32; WORDS], b: &[u32; WORDS]);
    fn motemix_armv7m_square_public_times(a: &mut [u32; WORDS], times: usize);
    fn motemix_armv7m_double_public(
        x: &mut [u32; WORDS],
        y: &mut [u32; WORDS],
        z: &mut [u32; WORDS],
        t: &mut [u32; WORDS],
        with_t: u32,
    );
}

/// That of a Cortex-M3.
#[derive(Debug, Clone, Copy)]
pub enum Armv7m {}

impl ConstantTime for Armv7m {}

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
        // SAFETY: it reads and writes eight words at `a` and at `b`, and keeps to the procedure
        // call standard.
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

    fn invert(a: &mut [u32; WORDS]) {
        // It takes numbers below p.
        let least = Element::<Self>::from_bytes(&Element::<Self>::new(*a).to_bytes()).words();
        // f = 0·a + p, g = 1·a: d and e are what a is multiplied by. Each has a word beneath it.
        let mut numbers = [[0; WORDS + 2]; 4];
        numbers[0][1..=WORDS].copy_from_slice(&PRIME);
        numbers[1][1..=WORDS].copy_from_slice(&least);
        numbers[3][1] = 1;
        // SAFETY: it reads and writes four numbers, and keeps to the procedure call standard.
        unsafe { motemix_armv7m_inverse(&mut numbers) }
        // f is 1 or -1 now, or p if there is no inverse; d is less than 2^260 in magnitude.
        let [f, _, d, _] = &numbers;
        let negative = black_box(f[WORDS + 1]);
        let (mut carried, mut above) = (u64::from(negative & 1), 0);
        for (at, (word, multiple)) in d[1..].iter().zip(PRIME_TIMES_64).enumerate() {
            let total = u64::from(word ^ negative) + u64::from(multiple) + carried;
            *a.get_mut(at).unwrap_or(&mut above) = total as u32;
            carried = total >> 32;
        }
        // 2^256 is 38.
        Self::add(a, &[38 * above, 0, 0, 0, 0, 0, 0, 0]);
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

/// That of a Cortex-M3 for numbers that everybody may know: products of whole words, which end
/// early for small ones. Where code is to be small, those of secrets serve both.
#[cfg(not(little_code))]
#[derive(Debug, Clone, Copy)]
pub enum Public {}

#[cfg(not(little_code))]
impl Arithmetic for Public {
    #[inline]
    fn add(a: &mut [u32; WORDS], b: &[u32; WORDS]) {
        Armv7m::add(a, b);
    }

    #[inline]
    fn subtract(a: &mut [u32; WORDS], b: &[u32; WORDS]) {
        Armv7m::subtract(a, b);
    }

    #[inline]
    fn sum_and_difference(a: &mut [u32; WORDS], b: &mut [u32; WORDS]) {
        Armv7m::sum_and_difference(a, b);
    }

    #[inline]
    fn multiply(a: &mut [u32; WORDS], b: &[u32; WORDS]) {
        // SAFETY: it reads and writes eight words at `a`, reads eight at `b`, and keeps to the
        // procedure call standard.
        unsafe { motemix_armv7m_multiply_public(a, b) }
    }

    #[inline]
    fn square(a: &mut [u32; WORDS]) {
        Self::square_times(a, 1);
    }

    #[inline]
    fn square_times(a: &mut [u32; WORDS], times: usize) {
        if times > 0 {
            // SAFETY: it reads and writes eight words at `a`, and keeps to the procedure call
            // standard.
            unsafe { motemix_armv7m_square_public_times(a, times) }
        }
    }

    #[inline]
    fn multiply_by_small(a: &mut [u32; WORDS], by: u32) {
        Armv7m::multiply_by_small(a, by);
    }

    #[inline]
    fn double_point([x, y, z, t]: [&mut [u32; WORDS]; 4], with_t: bool) {
        // SAFETY: it reads and writes eight words at each of the four, and keeps to the procedure
        // call standard.
        unsafe { motemix_armv7m_double_public(x, y, z, t, with_t.into()) }
    }

    #[inline]
    fn invert(a: &mut [u32; WORDS]) {
        Armv7m::invert(a);
    }
}
