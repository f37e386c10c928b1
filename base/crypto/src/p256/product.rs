//! Products of numbers of twenty limbs, written out: compilers for little code would make loops,
//! which keep no limb in a register and cost five times as much.

use crate::curve::half_words::limbs::{COLUMNS, LIMBS};

const HALF: usize = LIMBS / 2;
/// Limbs of a row: they stay in registers while it is multiplied, and as many of the other factor.
const ROW: usize = 5;

/// a₀·b₀ + a₁·b₁ + …
macro_rules! sum {
    ($a:ident; $b:ident) => { $a * $b };
    ($a:ident $($as:ident)+; $b:ident $($bs:ident)+) => { $a * $b + sum!($($as)+; $($bs)+) };
}

/// Adds all products of two numbers' limbs, by column. Each column has to stay below 2³¹: if limbs
/// are at most v·2¹² and w·2¹² in magnitude, v·w may be up to 6 (20·6·2²⁴ < 2³¹ − 2²⁶).
#[inline(never)]
pub(super) fn add_product(columns: &mut [i32; COLUMNS], a: &[i32; LIMBS], b: &[i32; LIMBS]) {
    for (i, row) in a.as_chunks().0.iter().enumerate() {
        if let Some(columns) = columns[ROW * i..].first_chunk_mut() {
            add_row(columns, row, b);
        }
    }
}

/// Makes the columns all products of a number's limbs with each other.
#[inline(never)]
pub(super) fn set_square(columns: &mut [i32; COLUMNS], a: &[i32; LIMBS]) {
    let [low, high]: &[[i32; HALF]; 2] = a.as_chunks().0.as_array().expect("two halves are all");
    if let [lower, upper] = columns.as_chunks_mut().0 {
        square_half(lower, low);
        square_half(upper, high);
    }
    for (i, row) in low.as_chunks().0.iter().enumerate() {
        if let Some(columns) = columns[HALF + ROW * i..].first_chunk_mut() {
            add_half_row(columns, row, high);
        }
    }
}

/// Adds to columns: which one, limbs of the row, and where the other factor has those that they are
/// multiplied by.
macro_rules! add_row {
    ($columns:ident, $by:ident; $($at:literal: $($a:ident)+, $($b:literal)+;)+) => {
        $(
            let sum = $columns[$at];
            $( let sum = sum + $a * $by[$b]; )+
            $columns[$at] = sum;
        )+
    };
}

/// Adds five limbs times ten, twice.
#[inline(never)]
fn add_half_row(columns: &mut [i32; ROW + HALF - 1], row: &[i32; ROW], by: &[i32; HALF]) {
    let [a0, a1, a2, a3, a4] = [2 * row[0], 2 * row[1], 2 * row[2], 2 * row[3], 2 * row[4]];
    add_row! {
        columns, by;
        0: a0, 0;
        1: a0 a1, 1 0;
        2: a0 a1 a2, 2 1 0;
        3: a0 a1 a2 a3, 3 2 1 0;
        4: a0 a1 a2 a3 a4, 4 3 2 1 0;
        5: a0 a1 a2 a3 a4, 5 4 3 2 1;
        6: a0 a1 a2 a3 a4, 6 5 4 3 2;
        7: a0 a1 a2 a3 a4, 7 6 5 4 3;
        8: a0 a1 a2 a3 a4, 8 7 6 5 4;
        9: a0 a1 a2 a3 a4, 9 8 7 6 5;
        10: a1 a2 a3 a4, 9 8 7 6;
        11: a2 a3 a4, 9 8 7;
        12: a3 a4, 9 8;
        13: a4, 9;
    }
}

/// Adds five limbs times twenty.
#[inline(never)]
fn add_row(columns: &mut [i32; ROW + LIMBS - 1], row: &[i32; ROW], by: &[i32; LIMBS]) {
    let [a0, a1, a2, a3, a4] = *row;
    add_row! {
        columns, by;
        0: a0, 0;
        1: a0 a1, 1 0;
        2: a0 a1 a2, 2 1 0;
        3: a0 a1 a2 a3, 3 2 1 0;
        4: a0 a1 a2 a3 a4, 4 3 2 1 0;
        5: a0 a1 a2 a3 a4, 5 4 3 2 1;
        6: a0 a1 a2 a3 a4, 6 5 4 3 2;
        7: a0 a1 a2 a3 a4, 7 6 5 4 3;
        8: a0 a1 a2 a3 a4, 8 7 6 5 4;
        9: a0 a1 a2 a3 a4, 9 8 7 6 5;
        10: a0 a1 a2 a3 a4, 10 9 8 7 6;
        11: a0 a1 a2 a3 a4, 11 10 9 8 7;
        12: a0 a1 a2 a3 a4, 12 11 10 9 8;
        13: a0 a1 a2 a3 a4, 13 12 11 10 9;
        14: a0 a1 a2 a3 a4, 14 13 12 11 10;
        15: a0 a1 a2 a3 a4, 15 14 13 12 11;
        16: a0 a1 a2 a3 a4, 16 15 14 13 12;
        17: a0 a1 a2 a3 a4, 17 16 15 14 13;
        18: a0 a1 a2 a3 a4, 18 17 16 15 14;
        19: a0 a1 a2 a3 a4, 19 18 17 16 15;
        20: a1 a2 a3 a4, 19 18 17 16;
        21: a2 a3 a4, 19 18 17;
        22: a3 a4, 19 18;
        23: a4, 19;
    }
}

/// Ten limbs times themselves; they fit the registers.
#[inline(never)]
fn square_half(columns: &mut [i32; LIMBS], half: &[i32; HALF]) {
    let [a0, a1, a2, a3, a4, a5, a6, a7, a8, a9] = *half;
    *columns = [
        a0 * a0,
        2 * (a0 * a1),
        2 * (a0 * a2) + a1 * a1,
        2 * sum!(a0 a1; a3 a2),
        2 * sum!(a0 a1; a4 a3) + a2 * a2,
        2 * sum!(a0 a1 a2; a5 a4 a3),
        2 * sum!(a0 a1 a2; a6 a5 a4) + a3 * a3,
        2 * sum!(a0 a1 a2 a3; a7 a6 a5 a4),
        2 * sum!(a0 a1 a2 a3; a8 a7 a6 a5) + a4 * a4,
        2 * sum!(a0 a1 a2 a3 a4; a9 a8 a7 a6 a5),
        2 * sum!(a1 a2 a3 a4; a9 a8 a7 a6) + a5 * a5,
        2 * sum!(a2 a3 a4 a5; a9 a8 a7 a6),
        2 * sum!(a3 a4 a5; a9 a8 a7) + a6 * a6,
        2 * sum!(a4 a5 a6; a9 a8 a7),
        2 * sum!(a5 a6; a9 a8) + a7 * a7,
        2 * sum!(a6 a7; a9 a8),
        2 * (a7 * a9) + a8 * a8,
        2 * (a8 * a9),
        a9 * a9,
        0,
    ];
}
