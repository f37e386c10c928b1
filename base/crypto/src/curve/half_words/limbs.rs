//! Numbers of 260 bits in twenty limbs of 13, and their products.
//!
//! Limbs are signed. A product of two has 26 bits and a few more, so that twenty can be added
//! before the sum leaves 31 bits: nothing is carried before all products are added. LLVM makes MUL
//! and MLA of them.

// A call for each limb would cost more than what it does.
#![allow(clippy::inline_always)]

pub(crate) const LIMBS: usize = 20;
pub(crate) const BITS: u32 = 13;
pub(crate) const MASK: i32 = (1 << BITS) - 1;
/// Columns of a product.
pub(crate) const COLUMNS: usize = 2 * LIMBS;
/// A product is made of blocks of so many limbs of each factor.
const BLOCK: usize = 5;

/// From little-endian bytes; each limb is between 0 and 2¹³ − 1.
// Not inlined: it is written out for each limb.
#[inline(never)]
pub(crate) fn unpack(bytes: &[u8; 32]) -> [i32; LIMBS] {
    let (mut buffer, mut held, mut rest) = (0, 0, bytes.iter());
    core::array::from_fn(|_| {
        while held < BITS {
            // Behind the last byte come the four bits that make 260 of 256.
            buffer |= i32::from(rest.next().copied().unwrap_or(0)) << held;
            held += 8;
        }
        let limb = buffer & MASK;
        buffer >>= BITS;
        held -= BITS;
        limb
    })
}

/// To little-endian bytes, from limbs between 0 and 2¹³ − 1.
pub(crate) fn pack(limbs: &[i32; LIMBS]) -> [u8; 32] {
    let (mut buffer, mut held, mut rest) = (0, 0, limbs.iter());
    core::array::from_fn(|_| {
        if held < 8 {
            buffer |= rest.next().map_or(0, |limb| limb.cast_unsigned()) << held;
            held += BITS;
        }
        let byte = buffer as u8;
        buffer >>= 8;
        held -= 8;
        byte
    })
}

/// Adds a product to as many columns as its factors have limbs together.
#[inline(always)]
pub(crate) fn add_product(columns: &mut [i32], a: &[i32], b: &[i32]) {
    for (i, a) in a.as_chunks().0.iter().enumerate() {
        for (j, b) in b.as_chunks().0.iter().enumerate() {
            if let Some(columns) = columns[(i + j) * BLOCK..].first_chunk_mut() {
                add_block(columns, a, b);
            }
        }
    }
}

/// Five limbs of each factor fit the registers of a Cortex-M.
#[inline(always)]
fn add_block(columns: &mut [i32; 2 * BLOCK - 1], a: &[i32; BLOCK], b: &[i32; BLOCK]) {
    add_column::<0>(columns, a, b);
    add_column::<1>(columns, a, b);
    add_column::<2>(columns, a, b);
    add_column::<3>(columns, a, b);
    add_column::<4>(columns, a, b);
    add_column::<5>(columns, a, b);
    add_column::<6>(columns, a, b);
    add_column::<7>(columns, a, b);
    add_column::<8>(columns, a, b);
}

/// A constant column, so that its sum is unrolled.
#[inline(always)]
fn add_column<const AT: usize>(columns: &mut [i32; 2 * BLOCK - 1], a: &[i32; BLOCK], b: &[i32; BLOCK]) {
    let rows = AT.saturating_sub(BLOCK - 1)..=AT.min(BLOCK - 1);
    columns[AT] = rows.fold(columns[AT], |sum, row| sum + a[row] * b[AT - row]);
}

/// Adds what is carried to a limb, and carries on the multiple of 2¹³ that is nearest.
#[inline(always)]
pub(crate) fn carry(limb: i32, carried: &mut i32) -> i32 {
    let sum = limb + *carried;
    *carried = (sum + (1 << (BITS - 1))) >> BITS;
    sum - (*carried << BITS)
}

/// Carries so that each limb is between 0 and 2¹³ − 1. Returns what is left above.
pub(crate) fn settle(limbs: &mut [i32; LIMBS]) -> i32 {
    let mut carried = 0;
    for limb in limbs {
        let sum = *limb + carried;
        carried = sum >> BITS;
        *limb = sum & MASK;
    }
    carried
}
