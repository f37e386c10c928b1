//! Four ladders in the vectors of AVX2, whose multiplier makes 64 bits of 32 and 32.

use core::arch::x86_64::{
    __m256i, _mm_cvtsi64_si128, _mm256_add_epi64, _mm256_and_si256, _mm256_blendv_epi8, _mm256_cmpeq_epi64,
    _mm256_cmpgt_epi64, _mm256_extract_epi64, _mm256_mul_epu32, _mm256_or_si256, _mm256_set_epi64x,
    _mm256_set1_epi64x, _mm256_setzero_si256, _mm256_sll_epi64, _mm256_slli_epi64, _mm256_srli_epi64,
    _mm256_sub_epi64, _mm256_xor_si256,
};

use super::MOST;
use super::ladder::ladder;
use super::nine_limbs::field_of_nine_limbs;
use super::rows::{add_row_of_2, add_row_of_3, add_row_of_4, add_row_of_5, add_row_of_6, add_row_of_8};

pub(super) const LANES: usize = 4;
/// So many groups of lanes share an inversion.
const GROUPS: usize = MOST / LANES;

type Vector = __m256i;
/// All bits of a lane, or none.
type Mask = __m256i;

field_of_nine_limbs!(#[target_feature(enable = "avx2")]);
ladder!(#[target_feature(enable = "avx2")]);
#[cfg(test)]
super::extremes::operations!(#[target_feature(enable = "avx2")], 9);

#[target_feature(enable = "avx2")]
#[inline]
fn splat(value: u64) -> Vector {
    _mm256_set1_epi64x(value.cast_signed())
}

#[target_feature(enable = "avx2")]
#[inline]
fn load(lanes: &[u64; LANES]) -> Vector {
    let l = lanes.map(u64::cast_signed);
    _mm256_set_epi64x(l[3], l[2], l[1], l[0])
}

#[target_feature(enable = "avx2")]
#[inline]
fn store(a: Vector) -> [u64; LANES] {
    [
        _mm256_extract_epi64::<0>(a).cast_unsigned(),
        _mm256_extract_epi64::<1>(a).cast_unsigned(),
        _mm256_extract_epi64::<2>(a).cast_unsigned(),
        _mm256_extract_epi64::<3>(a).cast_unsigned(),
    ]
}

#[target_feature(enable = "avx2")]
#[inline]
fn add(a: Vector, b: Vector) -> Vector {
    _mm256_add_epi64(a, b)
}

#[target_feature(enable = "avx2")]
#[inline]
fn subtract(a: Vector, b: Vector) -> Vector {
    _mm256_sub_epi64(a, b)
}

#[target_feature(enable = "avx2")]
#[inline]
fn and(a: Vector, b: Vector) -> Vector {
    _mm256_and_si256(a, b)
}

#[target_feature(enable = "avx2")]
#[inline]
fn or(a: Vector, b: Vector) -> Vector {
    _mm256_or_si256(a, b)
}

#[target_feature(enable = "avx2")]
#[inline]
fn shift_left<const BITS: i32>(a: Vector) -> Vector {
    _mm256_slli_epi64::<BITS>(a)
}

#[target_feature(enable = "avx2")]
#[inline]
fn shift_right<const BITS: i32>(a: Vector) -> Vector {
    _mm256_srli_epi64::<BITS>(a)
}

/// The product of the lower 32 bits of each.
#[target_feature(enable = "avx2")]
#[inline]
fn multiply(a: Vector, b: Vector) -> Vector {
    _mm256_mul_epu32(a, b)
}

#[target_feature(enable = "avx2")]
#[inline]
fn none() -> Mask {
    _mm256_setzero_si256()
}

#[target_feature(enable = "avx2")]
#[inline]
fn bit_is_set(words: Vector, bit: usize) -> Mask {
    // As the sign, which is then below zero.
    let shifted = _mm256_sll_epi64(words, _mm_cvtsi64_si128((63 - bit).cast_signed() as i64));
    _mm256_cmpgt_epi64(_mm256_setzero_si256(), shifted)
}

#[target_feature(enable = "avx2")]
#[inline]
fn is_zero(a: Vector) -> Mask {
    _mm256_cmpeq_epi64(a, _mm256_setzero_si256())
}

#[target_feature(enable = "avx2")]
#[inline]
fn differs(a: Mask, b: Mask) -> Mask {
    _mm256_xor_si256(a, b)
}

#[target_feature(enable = "avx2")]
#[inline]
fn choose(choice: Mask, a: Vector, b: Vector) -> Vector {
    _mm256_blendv_epi8(a, b, choice)
}
