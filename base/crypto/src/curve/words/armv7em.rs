//! Cortex-M4 and M7: `umaal` multiplies two words and adds two more to the product, in one cycle
//! for all operands. The bounds are derived in `docs/research/curve-arithmetic.md`.

mod choose;
mod ladder;
mod multiply;
mod square;
mod sums;

use super::arithmetic::{Arithmetic, ConstantTime, Ladder, Table, WORDS};

/// Arithmetic of the Cortex-M4 and M7.
#[derive(Debug, Clone, Copy)]
pub enum Armv7em {}

impl ConstantTime for Armv7em {}

impl Arithmetic for Armv7em {
    fn add(a: &mut [u32; WORDS], b: &[u32; WORDS]) {
        sums::add(a, b);
    }

    fn subtract(a: &mut [u32; WORDS], b: &[u32; WORDS]) {
        sums::subtract(a, b);
    }

    fn sum_and_difference(a: &mut [u32; WORDS], b: &mut [u32; WORDS]) {
        sums::sum_and_difference(a, b);
    }

    fn multiply(a: &mut [u32; WORDS], b: &[u32; WORDS]) {
        multiply::multiply(a, b);
    }

    fn square(a: &mut [u32; WORDS]) {
        square::square_times(a, 1);
    }

    fn multiply_by_small(a: &mut [u32; WORDS], by: u32) {
        sums::multiply_by_small(a, by);
    }

    fn choose(chosen: &mut [u32; WORDS], table: &Table, index: u32, coordinate: usize) {
        choose::choose(chosen, table, index, coordinate);
    }

    fn square_times(a: &mut [u32; WORDS], times: usize) {
        square::square_times(a, times);
    }

    fn ladder(ladder: &mut Ladder, clamped: &[u32; WORDS]) {
        let Ladder { x2, z2, x3, z3, .. } = ladder;
        Self::sum_and_difference(x2, z2);
        Self::sum_and_difference(x3, z3);
        // Bit i says whether bit i and the bit above it differ.
        let mut changes = *clamped;
        let mut above = 0;
        for word in changes.iter_mut().rev() {
            let shifted = *word >> 1 | above << 31;
            above = *word & 1;
            *word ^= shifted;
        }
        ladder::steps(ladder, &changes);
    }
}
