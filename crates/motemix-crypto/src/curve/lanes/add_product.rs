//! The step that a field of AVX2 is made of, in assembly. From intrinsics the compiler makes other
//! sums with as many terms, which keep more values at a time than there are registers: a tenth of
//! the time of a ladder.
#![allow(unsafe_code)] // two instructions

use core::arch::asm;
use core::arch::x86_64::__m256i;

/// `sum` and the product of the lower 32 bits of each lane of `a` and `b`.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn add_product(mut sum: __m256i, a: __m256i, b: __m256i) -> __m256i {
    // SAFETY: both instructions are of AVX2, which the caller's processor has; they change the two
    // registers that are named, and neither memory nor flags.
    unsafe {
        asm!(
            "vpmuludq {product}, {a}, {b}",
            "vpaddq {sum}, {sum}, {product}",
            product = out(ymm_reg) _,
            sum = inout(ymm_reg) sum,
            a = in(ymm_reg) a,
            b = in(ymm_reg) b,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    sum
}
