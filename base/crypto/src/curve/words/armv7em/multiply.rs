//! Products.

#![allow(unsafe_code, reason = "the instructions of this core are reached in assembly only")]

use core::arch::naked_asm;

use super::super::arithmetic::WORDS;

/// `a · b`, in the place of `a`.
#[inline]
pub(super) fn multiply(a: &mut [u32; WORDS], b: &[u32; WORDS]) {
    // SAFETY: reads eight words at each of both, writes eight at the first, and keeps what a C
    // function has to keep.
    unsafe { multiply_in_memory(a.as_mut_ptr(), b.as_ptr()) }
}

#[unsafe(naked)]
unsafe extern "C" fn multiply_in_memory(a: *mut u32, b: *const u32) {
    naked_asm!(
        "push {{r0, r4-r11, lr}}",
        "mov r8, r0",
        "mov r9, r1",
        "bl {multiply}",
        "pop {{r8}}",
        "stm r8, {{r0-r7}}",
        "pop {{r4-r11, pc}}",
        multiply = sym multiply_to_registers,
    )
}

/// The product of the elements at r8 and r9 in r0 to r7, below 2²⁵⁵ + 2²³⁰. Not a C function: all
/// other registers are lost.
///
/// Four products of halves of four words. What is carried out of one is what the next one adds: an
/// `umaal` has two summands beside its product, so that no sum is made by itself. On the stack,
/// above lr: words 0 to 7 of the product from 4 and words 8 to 11 of the first product of halves
/// from 36; its words 4 to 7 wait in the places of those of the whole.
///
/// | product | half of a | half of b | words | carried |
/// |---|---|---|---|---|
/// | a4 to a7, b0 to b3 | r5 r10 r6 r7 | r11 r0 r1 r2 | r3 | r4 r12 lr r5 |
/// | a0 to a3, b0 to b3 | r5 r10 r6 r7 | r11 r0 r1 r2 | r3 | r4 r12 lr r11 |
/// | a0 to a3, b4 to b7 | r5 r10 r6 r7 | r0 r1 r2 r9 | r4 r12 lr r11 | r3 r4 r5 r12 |
/// | a4 to a7, b4 to b7 | r10 r6 lr r7 | r0 r1 r2 r9 | r3 r4 r5 r12 | r11 r8 r10 r6 |
///
/// The first two go column by column, the last two row by row, where each row frees the word of a
/// that it is made of. Then r3 r4 r5 r12 r11 r8 r10 r6 are words 8 to 15, r9 is 38, and lr carries.
#[allow(clippy::too_many_lines, reason = "an instruction a line")]
#[unsafe(naked)]
pub(super) unsafe extern "C" fn multiply_to_registers() {
    naked_asm!(
        "str lr, [sp, #-52]!",
        // Upper half of a times lower half of b: words 4 to 7 and 8 to 11, to their places.
        "ldr r5, [r8, #16]",
        "ldr r10, [r8, #20]",
        "ldr r6, [r8, #24]",
        "ldr r7, [r8, #28]",
        "ldr r11, [r9]",
        "ldr r0, [r9, #4]",
        "ldr r1, [r9, #8]",
        "ldr r2, [r9, #12]",
        "umull r3, r4, r5, r11",
        "str r3, [sp, #20]",
        "umull r3, r12, r5, r0",
        "umaal r3, r4, r10, r11",
        "str r3, [sp, #24]",
        "umull r3, lr, r5, r1",
        "umaal r3, r12, r10, r0",
        "umaal r3, r4, r6, r11",
        "str r3, [sp, #28]",
        "umull r3, r5, r5, r2",
        "umaal r3, lr, r10, r1",
        "umaal r3, r12, r6, r0",
        "umaal r3, r4, r7, r11",
        "str r3, [sp, #32]",
        "umaal r4, r5, r10, r2",
        "umaal r4, lr, r6, r1",
        "umaal r4, r12, r7, r0",
        "str r4, [sp, #36]",
        "umaal r12, r5, r6, r2",
        "umaal r12, lr, r7, r1",
        "str r12, [sp, #40]",
        "umaal lr, r5, r7, r2",
        "str lr, [sp, #44]",
        "str r5, [sp, #48]",
        // Lower half times lower half: words 0 to 3, and 4 to 7, which stay in registers.
        "ldr r5, [r8]",
        "ldr r10, [r8, #4]",
        "ldr r6, [r8, #8]",
        "ldr r7, [r8, #12]",
        "umull r3, r4, r5, r11",
        "str r3, [sp, #4]",
        "umull r3, r12, r10, r11",
        "umaal r3, r4, r5, r0",
        "str r3, [sp, #8]",
        "umull r3, lr, r6, r11",
        "umaal r3, r12, r10, r0",
        "umaal r3, r4, r5, r1",
        "str r3, [sp, #12]",
        "umull r3, r11, r7, r11",
        "umaal r3, lr, r6, r0",
        "umaal r3, r12, r10, r1",
        "umaal r3, r4, r5, r2",
        "str r3, [sp, #16]",
        "umaal r4, r11, r7, r0",
        "umaal r4, lr, r6, r1",
        "umaal r4, r12, r10, r2",
        "umaal r12, r11, r7, r1",
        "umaal r12, lr, r6, r2",
        "umaal lr, r11, r7, r2",
        // Lower half of a times upper half of b, and what is there: words 4 to 7, and 8 to 11 stay
        // in registers.
        "ldr r3, [sp, #20]",
        "ldr r0, [r9, #16]",
        "ldr r1, [r9, #20]",
        "ldr r2, [r9, #24]",
        "ldr r9, [r9, #28]",
        "umaal r4, r3, r5, r0",
        "umaal r12, r3, r5, r1",
        "umaal lr, r3, r5, r2",
        "umaal r11, r3, r5, r9",
        "str r4, [sp, #20]",
        "ldr r4, [sp, #24]",
        "ldr r5, [sp, #28]",
        "umaal r12, r4, r10, r0",
        "umaal lr, r4, r10, r1",
        "umaal r11, r4, r10, r2",
        "umaal r3, r4, r10, r9",
        "str r12, [sp, #24]",
        "umaal lr, r5, r6, r0",
        "umaal r11, r5, r6, r1",
        "umaal r3, r5, r6, r2",
        "umaal r4, r5, r6, r9",
        "str lr, [sp, #28]",
        "ldr r12, [sp, #32]",
        "ldr r10, [r8, #16]",
        "ldr r6, [r8, #20]",
        "ldr lr, [r8, #24]",
        "umaal r11, r12, r7, r0",
        "umaal r3, r12, r7, r1",
        "umaal r4, r12, r7, r2",
        "umaal r5, r12, r7, r9",
        "str r11, [sp, #32]",
        // Upper half times upper half, and what is there: words 8 to 15 in registers.
        "ldr r7, [r8, #28]",
        "ldr r11, [sp, #36]",
        "ldr r8, [sp, #40]",
        "umaal r3, r11, r10, r0",
        "umaal r4, r11, r10, r1",
        "umaal r5, r11, r10, r2",
        "umaal r12, r11, r10, r9",
        "umaal r4, r8, r6, r0",
        "umaal r5, r8, r6, r1",
        "umaal r12, r8, r6, r2",
        "umaal r11, r8, r6, r9",
        "ldr r10, [sp, #44]",
        "ldr r6, [sp, #48]",
        "umaal r5, r10, lr, r0",
        "umaal r12, r10, lr, r1",
        "umaal r11, r10, lr, r2",
        "umaal r8, r10, lr, r9",
        "umaal r12, r6, r7, r0",
        "umaal r11, r6, r7, r1",
        "umaal r8, r6, r7, r2",
        "umaal r10, r6, r7, r9",
        // 38 times the upper words to the lower: the highest first, for what it has above 2²⁵⁵.
        "mov r9, #38",
        "mov lr, #0",
        "ldr r7, [sp, #32]",
        "ldr r0, [sp, #4]",
        "ldr r1, [sp, #8]",
        "ldr r2, [sp, #12]",
        "umaal r7, lr, r6, r9",
        "mov r6, #19",
        "lsls r7, r7, #1",
        "adc lr, lr, lr",
        "lsr r7, r7, #1",
        "mul lr, lr, r6",
        "umaal r0, lr, r3, r9",
        "umaal r1, lr, r4, r9",
        "umaal r2, lr, r5, r9",
        "ldr r3, [sp, #16]",
        "ldr r4, [sp, #20]",
        "ldr r5, [sp, #24]",
        "ldr r6, [sp, #28]",
        "umaal r3, lr, r12, r9",
        "umaal r4, lr, r11, r9",
        "umaal r5, lr, r8, r9",
        "umaal r6, lr, r10, r9",
        "add r7, r7, lr",
        "ldr pc, [sp], #52",
    )
}
