//! Eight ladders in the vectors of AVX-512, with its multiplier of 52 bits (IFMA).

use core::arch::x86_64::{
    __m512i, __mmask8, _mm256_extract_epi64, _mm512_add_epi64, _mm512_and_si512, _mm512_extracti64x4_epi64,
    _mm512_madd52hi_epu64, _mm512_madd52lo_epu64, _mm512_mask_blend_epi64, _mm512_mullo_epi64,
    _mm512_or_si512, _mm512_set_epi64, _mm512_set1_epi64, _mm512_slli_epi64, _mm512_srli_epi64,
    _mm512_sub_epi64, _mm512_test_epi64_mask, _mm512_testn_epi64_mask,
};

use super::MOST;
use super::five_limbs::field_of_five_limbs;
use super::ladder::ladder;

pub(super) const LANES: usize = 8;
/// So many groups of lanes share an inversion.
const GROUPS: usize = MOST / LANES;

type Vector = __m512i;
/// One bit for each lane.
type Mask = __mmask8;

field_of_five_limbs!(#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]);
ladder!(#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]);
#[cfg(test)]
super::extremes::operations!(#[target_feature(enable = "avx512f,avx512dq,avx512ifma")], 5);

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn splat(value: u64) -> Vector {
    _mm512_set1_epi64(value.cast_signed())
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn load(lanes: &[u64; LANES]) -> Vector {
    let l = lanes.map(u64::cast_signed);
    _mm512_set_epi64(l[7], l[6], l[5], l[4], l[3], l[2], l[1], l[0])
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn store(a: Vector) -> [u64; LANES] {
    let (low, high) = (_mm512_extracti64x4_epi64::<0>(a), _mm512_extracti64x4_epi64::<1>(a));
    [
        _mm256_extract_epi64::<0>(low).cast_unsigned(),
        _mm256_extract_epi64::<1>(low).cast_unsigned(),
        _mm256_extract_epi64::<2>(low).cast_unsigned(),
        _mm256_extract_epi64::<3>(low).cast_unsigned(),
        _mm256_extract_epi64::<0>(high).cast_unsigned(),
        _mm256_extract_epi64::<1>(high).cast_unsigned(),
        _mm256_extract_epi64::<2>(high).cast_unsigned(),
        _mm256_extract_epi64::<3>(high).cast_unsigned(),
    ]
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn add(a: Vector, b: Vector) -> Vector {
    _mm512_add_epi64(a, b)
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn subtract(a: Vector, b: Vector) -> Vector {
    _mm512_sub_epi64(a, b)
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn and(a: Vector, b: Vector) -> Vector {
    _mm512_and_si512(a, b)
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn or(a: Vector, b: Vector) -> Vector {
    _mm512_or_si512(a, b)
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn shift_left<const BITS: u32>(a: Vector) -> Vector {
    _mm512_slli_epi64::<BITS>(a)
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn shift_right<const BITS: u32>(a: Vector) -> Vector {
    _mm512_srli_epi64::<BITS>(a)
}

/// The lower 64 bits of the product.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn multiply_low(a: Vector, b: Vector) -> Vector {
    _mm512_mullo_epi64(a, b)
}

/// Adds bits 0 to 51 of the product of the lower 52 bits of each.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn add_low_product(sum: Vector, a: Vector, b: Vector) -> Vector {
    _mm512_madd52lo_epu64(sum, a, b)
}

/// Adds bits 52 to 103 of the product of the lower 52 bits of each.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn add_high_product(sum: Vector, a: Vector, b: Vector) -> Vector {
    _mm512_madd52hi_epu64(sum, a, b)
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn none() -> Mask {
    0
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn bit_is_set(words: Vector, bit: usize) -> Mask {
    _mm512_test_epi64_mask(words, splat(1 << bit))
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn is_zero(a: Vector) -> Mask {
    _mm512_testn_epi64_mask(a, a)
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn differs(a: Mask, b: Mask) -> Mask {
    a ^ b
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn choose(choice: Mask, a: Vector, b: Vector) -> Vector {
    _mm512_mask_blend_epi64(choice, a, b)
}
