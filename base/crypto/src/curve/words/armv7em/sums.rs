//! Sums, differences and small multiples.

#![allow(unsafe_code, reason = "the instructions of this core are reached in assembly only")]

use core::arch::naked_asm;

use super::super::arithmetic::WORDS;

/// `a + b`, in the place of `a`.
#[inline]
pub(super) fn add(a: &mut [u32; WORDS], b: &[u32; WORDS]) {
    // SAFETY: reads eight words at each of both, writes eight at the first, and keeps what a C
    // function has to keep.
    unsafe { add_in_memory(a.as_mut_ptr(), b.as_ptr()) }
}

/// `a − b`, in the place of `a`.
#[inline]
pub(super) fn subtract(a: &mut [u32; WORDS], b: &[u32; WORDS]) {
    // SAFETY: as above.
    unsafe { subtract_in_memory(a.as_mut_ptr(), b.as_ptr()) }
}

/// `a + b` in the place of `a`, and `a − b` in the place of `b`.
#[inline]
pub(super) fn sum_and_difference(a: &mut [u32; WORDS], b: &mut [u32; WORDS]) {
    // SAFETY: reads and writes eight words at each of both, and keeps what a C function has to
    // keep.
    unsafe { sum_and_difference_in_memory(a.as_mut_ptr(), b.as_mut_ptr()) }
}

/// `a · by` for `by` below 2³¹, in the place of `a`.
#[inline]
pub(super) fn multiply_by_small(a: &mut [u32; WORDS], by: u32) {
    // SAFETY: reads and writes the eight words, and keeps what a C function has to keep.
    unsafe { multiply_small_in_memory(a.as_mut_ptr(), by) }
}

/// The highest words are added first: what they have above 2²⁵⁵ comes around as the first carry.
/// Then an `umaal` by one adds both words and the carry. r12: one, r3: carry.
#[unsafe(naked)]
unsafe extern "C" fn add_in_memory(a: *mut u32, b: *const u32) {
    naked_asm!(
        "push {{r4-r9}}",
        "ldr r2, [r0, #28]",
        "ldr r4, [r1, #28]",
        "mov r12, #1",
        "mov r3, #0",
        "umaal r2, r3, r4, r12",
        // r3 is what is above 2²⁵⁵, at most 3, and r2 is below 2³¹.
        "lsls r2, r2, #1",
        "adc r3, r3, r3",
        "lsr r2, r2, #1",
        "mov r4, #19",
        "mul r3, r3, r4",
        "ldr r4, [r0]",
        "ldr r5, [r0, #4]",
        "ldr r6, [r0, #8]",
        "ldr r7, [r1]",
        "ldr r8, [r1, #4]",
        "ldr r9, [r1, #8]",
        "umaal r4, r3, r7, r12",
        "umaal r5, r3, r8, r12",
        "umaal r6, r3, r9, r12",
        "str r4, [r0]",
        "str r5, [r0, #4]",
        "str r6, [r0, #8]",
        "ldr r4, [r0, #12]",
        "ldr r5, [r0, #16]",
        "ldr r6, [r0, #20]",
        "ldr r7, [r1, #12]",
        "ldr r8, [r1, #16]",
        "ldr r9, [r1, #20]",
        "umaal r4, r3, r7, r12",
        "umaal r5, r3, r8, r12",
        "umaal r6, r3, r9, r12",
        "str r4, [r0, #12]",
        "str r5, [r0, #16]",
        "str r6, [r0, #20]",
        "ldr r4, [r0, #24]",
        "ldr r7, [r1, #24]",
        "umaal r4, r3, r7, r12",
        "add r2, r2, r3",
        "str r4, [r0, #24]",
        "str r2, [r0, #28]",
        "pop {{r4-r9}}",
        "bx lr",
    )
}

/// The element in r0 to r7 less the one at r12. What is borrowed at 2²⁵⁶ is 38 less, which may
/// borrow once more; then the rest is so great that 38 less do not borrow.
macro_rules! subtract {
    () => {
        concat!(
            "ldr r8, [r12]\n",
            "ldr r9, [r12, #4]\n",
            "ldr r10, [r12, #8]\n",
            "ldr r11, [r12, #12]\n",
            "subs r0, r0, r8\n",
            "sbcs r1, r1, r9\n",
            "sbcs r2, r2, r10\n",
            "sbcs r3, r3, r11\n",
            "ldr r8, [r12, #16]\n",
            "ldr r9, [r12, #20]\n",
            "ldr r10, [r12, #24]\n",
            "ldr r11, [r12, #28]\n",
            "sbcs r4, r4, r8\n",
            "sbcs r5, r5, r9\n",
            "sbcs r6, r6, r10\n",
            "sbcs r7, r7, r11\n",
            // All bits if something was borrowed.
            "sbc r8, r8, r8\n",
            "and r8, r8, #38\n",
            "subs r0, r0, r8\n",
            "sbcs r1, r1, #0\n",
            "sbcs r2, r2, #0\n",
            "sbcs r3, r3, #0\n",
            "sbcs r4, r4, #0\n",
            "sbcs r5, r5, #0\n",
            "sbcs r6, r6, #0\n",
            "sbcs r7, r7, #0\n",
            "sbc r8, r8, r8\n",
            "and r8, r8, #38\n",
            "sub r0, r0, r8",
        )
    };
}

#[unsafe(naked)]
unsafe extern "C" fn subtract_in_memory(a: *mut u32, b: *const u32) {
    naked_asm!(
        "push {{r0, r4-r11, lr}}",
        "mov r12, r1",
        "ldm r0, {{r0-r7}}",
        subtract!(),
        "pop {{r8}}",
        "stm r8, {{r0-r7}}",
        "pop {{r4-r11, pc}}",
    )
}

/// The difference first; it and twice what was subtracted are the sum, which is made as the one
/// above. lr: two, r10: carry.
#[unsafe(naked)]
unsafe extern "C" fn sum_and_difference_in_memory(a: *mut u32, b: *mut u32) {
    naked_asm!(
        "push {{r0, r4-r11, lr}}",
        "mov r12, r1",
        "ldm r0, {{r0-r7}}",
        subtract!(),
        "mov lr, #2",
        "mov r10, #0",
        "ldr r9, [r12, #28]",
        "ldr r8, [r12]",
        "ldr r11, [r12, #4]",
        "str r7, [r12, #28]",
        "str r0, [r12]",
        "str r1, [r12, #4]",
        "umaal r7, r10, r9, lr",
        // r10 is what is above 2²⁵⁵, at most 5, and r7 is below 2³¹.
        "lsls r7, r7, #1",
        "adc r10, r10, r10",
        "lsr r7, r7, #1",
        "mov r9, #19",
        "mul r10, r10, r9",
        "umaal r0, r10, r8, lr",
        "umaal r1, r10, r11, lr",
        "ldr r8, [r12, #8]",
        "ldr r9, [r12, #12]",
        "ldr r11, [r12, #16]",
        "str r2, [r12, #8]",
        "str r3, [r12, #12]",
        "str r4, [r12, #16]",
        "umaal r2, r10, r8, lr",
        "umaal r3, r10, r9, lr",
        "umaal r4, r10, r11, lr",
        "ldr r8, [r12, #20]",
        "ldr r9, [r12, #24]",
        "str r5, [r12, #20]",
        "str r6, [r12, #24]",
        "umaal r5, r10, r8, lr",
        "umaal r6, r10, r9, lr",
        "add r7, r7, r10",
        "pop {{r8}}",
        "stm r8, {{r0-r7}}",
        "pop {{r4-r11, pc}}",
    )
}

/// The product has up to 287 bits. What is above 2²⁵⁵ has up to 32, and its 19-fold, in two words,
/// leaves no carry: then 2²⁵⁵ + 2³⁷ is above all.
#[unsafe(naked)]
unsafe extern "C" fn multiply_small_in_memory(a: *mut u32, by: u32) {
    naked_asm!(
        "push {{r0, r4-r11, lr}}",
        "mov r12, r1",
        "ldm r0, {{r0-r7}}",
        "mov r9, #0",
        "umull r0, r8, r0, r12",
        // By turns, because the factor is lost: a carry in r8 or r9, zero or the word in the other.
        "umaal r9, r8, r1, r12",
        "mov r1, r9",
        "mov r9, #0",
        "umaal r9, r8, r2, r12",
        "mov r2, r9",
        "mov r9, #0",
        "umaal r9, r8, r3, r12",
        "mov r3, r9",
        "mov r9, #0",
        "umaal r9, r8, r4, r12",
        "mov r4, r9",
        "mov r9, #0",
        "umaal r9, r8, r5, r12",
        "mov r5, r9",
        "mov r9, #0",
        "umaal r9, r8, r6, r12",
        "mov r6, r9",
        "mov r9, #0",
        "umaal r9, r8, r7, r12",
        "lsls r9, r9, #1",
        "adc r8, r8, r8",
        "lsr r7, r9, #1",
        "mov r10, #19",
        "umull r8, r9, r8, r10",
        "adds r0, r0, r8",
        "adcs r1, r1, r9",
        "adcs r2, r2, #0",
        "adcs r3, r3, #0",
        "adcs r4, r4, #0",
        "adcs r5, r5, #0",
        "adcs r6, r6, #0",
        "adc r7, r7, #0",
        "pop {{r8}}",
        "stm r8, {{r0-r7}}",
        "pop {{r4-r11, pc}}",
    )
}
