//! Two ladders in the vectors of NEON, whose multiplier makes 64 bits of 32 and 32.

use core::arch::aarch64::{
    uint64x2_t, vaddq_u64, vandq_u64, vbslq_u64, vceqzq_u64, vdupq_n_s64, vdupq_n_u64, veorq_u64,
    vgetq_lane_u64, vmlal_u32, vmovn_u64, vmull_u32, vorrq_u64, vsetq_lane_u64, vshlq_n_u64, vshlq_u64,
    vshrq_n_u64, vsubq_u64, vtstq_u64,
};

use super::MOST;
use super::ladder::ladder;
use super::nine_limbs::field_of_nine_limbs;

pub(super) const LANES: usize = 2;
/// So many groups of lanes share an inversion.
const GROUPS: usize = MOST / LANES;

type Vector = uint64x2_t;
/// All bits of a lane, or none.
type Mask = uint64x2_t;

field_of_nine_limbs!(#[target_feature(enable = "neon")]);
ladder!(#[target_feature(enable = "neon")]);

#[target_feature(enable = "neon")]
#[inline]
fn splat(value: u64) -> Vector {
    vdupq_n_u64(value)
}

#[target_feature(enable = "neon")]
#[inline]
fn load(lanes: &[u64; LANES]) -> Vector {
    vsetq_lane_u64::<1>(lanes[1], vdupq_n_u64(lanes[0]))
}

#[target_feature(enable = "neon")]
#[inline]
fn store(a: Vector) -> [u64; LANES] {
    [vgetq_lane_u64::<0>(a), vgetq_lane_u64::<1>(a)]
}

#[target_feature(enable = "neon")]
#[inline]
fn add(a: Vector, b: Vector) -> Vector {
    vaddq_u64(a, b)
}

#[target_feature(enable = "neon")]
#[inline]
fn subtract(a: Vector, b: Vector) -> Vector {
    vsubq_u64(a, b)
}

#[target_feature(enable = "neon")]
#[inline]
fn and(a: Vector, b: Vector) -> Vector {
    vandq_u64(a, b)
}

#[target_feature(enable = "neon")]
#[inline]
fn or(a: Vector, b: Vector) -> Vector {
    vorrq_u64(a, b)
}

#[target_feature(enable = "neon")]
#[inline]
fn shift_left<const BITS: i32>(a: Vector) -> Vector {
    vshlq_n_u64::<BITS>(a)
}

#[target_feature(enable = "neon")]
#[inline]
fn shift_right<const BITS: i32>(a: Vector) -> Vector {
    vshrq_n_u64::<BITS>(a)
}

/// The product of the lower 32 bits of each.
#[target_feature(enable = "neon")]
#[inline]
fn multiply(a: Vector, b: Vector) -> Vector {
    vmull_u32(vmovn_u64(a), vmovn_u64(b))
}

/// Makes a function for rows of so many products, as `rows.rs` for AVX2. NEON has twice as many
/// registers, so the compiler's order will do.
macro_rules! rows {
    ($($name:ident($count:literal);)+) => { $(
        #[target_feature(enable = "neon")]
        #[inline]
        fn $name(sums: &mut [Vector; 17], from: usize, a: Vector, b: &[Vector; $count]) {
            let a = vmovn_u64(a);
            for i in 0..$count {
                sums[from + i] = vmlal_u32(sums[from + i], a, vmovn_u64(b[i]));
            }
        }
    )+ };
}

rows! {
    add_row_of_2(2);
    add_row_of_3(3);
    add_row_of_4(4);
    add_row_of_5(5);
    add_row_of_6(6);
    add_row_of_8(8);
}

#[target_feature(enable = "neon")]
#[inline]
fn none() -> Mask {
    vdupq_n_u64(0)
}

#[target_feature(enable = "neon")]
#[inline]
fn bit_is_set(words: Vector, bit: usize) -> Mask {
    // To the lowest place: a shift to the left by less than nothing.
    let shifted = vshlq_u64(words, vdupq_n_s64(-(bit.cast_signed() as i64)));
    vtstq_u64(shifted, vdupq_n_u64(1))
}

#[target_feature(enable = "neon")]
#[inline]
fn is_zero(a: Vector) -> Mask {
    vceqzq_u64(a)
}

#[target_feature(enable = "neon")]
#[inline]
fn differs(a: Mask, b: Mask) -> Mask {
    veorq_u64(a, b)
}

#[target_feature(enable = "neon")]
#[inline]
fn choose(choice: Mask, a: Vector, b: Vector) -> Vector {
    vbslq_u64(choice, b, a)
}
