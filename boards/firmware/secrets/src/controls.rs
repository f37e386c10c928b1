//! Operations that leak on purpose, each in one way: a check that notices no more than cycles would
//! pass some of them. Buffers and outcomes are those of `operations`.

use crate::balanced;
use crate::operations::with;
use core::hint::black_box;

/// 16 bytes, and at 32 16 more: compared up to the first that differs. The last byte of the buffer
/// says how many are equal.
#[unsafe(no_mangle)]
extern "C" fn bench_control_comparison() -> u32 {
    with(|buffer| {
        let (first, second) = (buffer.get(..16)?, buffer.get(32..48)?);
        let is_equal = |(a, b): &(&u8, &u8)| black_box(**a) == **b;
        let equal = first.iter().zip(second).take_while(is_equal).count();
        *buffer.last_mut()? = equal as u8;
        Some(true)
    })
}

/// Branches on the lowest bit, and takes the same time on both sides. Nothing is changed.
#[unsafe(no_mangle)]
extern "C" fn bench_control_branch() -> u32 {
    with(|buffer| {
        balanced::branch(u32::from(*buffer.first()?));
        Some(true)
    })
}

/// The first byte is looked up; what was found takes its place.
#[unsafe(no_mangle)]
extern "C" fn bench_control_table() -> u32 {
    with(|buffer| {
        let first = buffer.first_mut()?;
        *first = TABLE[usize::from(black_box(*first))];
        Some(true)
    })
}

/// A byte for each byte.
static TABLE: [u8; 256] = {
    let mut table = [0; 256];
    let mut at = 0;
    while at < table.len() {
        table[at] = (at as u8).wrapping_mul(3) ^ 0x5c;
        at += 1;
    }
    table
};

/// Two words; the quotient takes the place of the first.
#[unsafe(no_mangle)]
extern "C" fn bench_control_division() -> u32 {
    with(|buffer| {
        let (first, rest) = buffer.split_first_chunk_mut::<4>()?;
        let divisor = u32::from_le_bytes(*rest.first_chunk()?) | 1;
        *first = (u32::from_le_bytes(*first) / divisor).to_le_bytes();
        Some(true)
    })
}
