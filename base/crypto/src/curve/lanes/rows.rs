//! A row of products, the step that a field of AVX2 is made of, in assembly. From intrinsics the
//! compiler makes other sums, which keep more values at a time than there are registers, and stores
//! what it has just loaded.
#![allow(unsafe_code)] // two instructions, over and over

use core::arch::asm;
use core::arch::x86_64::__m256i;

/// Makes a function for rows of so many products: `sums[from + i] += a · b[i]`, of the lower 32
/// bits of each lane.
macro_rules! rows {
    ($($name:ident($count:literal): $($sum:ident $at:literal),+;)+) => { $(
        #[target_feature(enable = "avx2")]
        #[inline]
        pub(super) fn $name(sums: &mut [__m256i; 17], from: usize, a: __m256i, b: &[__m256i; $count]) {
            $(let mut $sum = sums[from + $at];)+
            // SAFETY: both instructions are of AVX2, which the caller's processor has. They read
            // the vectors of `b`, change the registers that are named, and neither memory nor
            // flags.
            unsafe {
                asm!(
                    $(
                        concat!("vpmuludq {product}, {a}, [{b} + 32 * ", $at, "]"),
                        concat!("vpaddq {", stringify!($sum), "}, {", stringify!($sum), "}, {product}"),
                    )+
                    product = out(ymm_reg) _,
                    $($sum = inout(ymm_reg) $sum,)+
                    a = in(ymm_reg) a,
                    b = in(reg) b.as_ptr(),
                    options(pure, readonly, nostack, preserves_flags),
                );
            }
            $(sums[from + $at] = $sum;)+
        }
    )+ };
}

rows! {
    add_row_of_2(2): s0 0, s1 1;
    add_row_of_3(3): s0 0, s1 1, s2 2;
    add_row_of_4(4): s0 0, s1 1, s2 2, s3 3;
    add_row_of_5(5): s0 0, s1 1, s2 2, s3 3, s4 4;
    add_row_of_6(6): s0 0, s1 1, s2 2, s3 3, s4 4, s5 5;
    add_row_of_8(8): s0 0, s1 1, s2 2, s3 3, s4 4, s5 5, s6 6, s7 7;
}
