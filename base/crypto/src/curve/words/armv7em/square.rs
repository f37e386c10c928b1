//! Squares.

#![allow(unsafe_code, reason = "the instructions of this core are reached in assembly only")]

use core::arch::naked_asm;

use super::super::arithmetic::WORDS;

/// `a` to the power of 2^`times`, in the place of `a`.
///
/// # Panics
/// If that is no time at all.
#[inline]
pub(super) fn square_times(a: &mut [u32; WORDS], times: usize) {
    assert!(times > 0, "a square at least");
    // SAFETY: reads and writes the eight words, and keeps what a C function has to keep.
    unsafe { square_in_memory(a.as_mut_ptr(), times) }
}

#[unsafe(naked)]
unsafe extern "C" fn square_in_memory(a: *mut u32, times: usize) {
    naked_asm!(
        "push {{r0, r1, r4-r11, lr}}",
        "ldm r0, {{r0-r7}}",
        "2:",
        "bl {square}",
        "ldr r8, [sp, #4]",
        "subs r8, r8, #1",
        "str r8, [sp, #4]",
        "bne 2b",
        "pop {{r8, r9}}",
        "stm r8, {{r0-r7}}",
        "pop {{r4-r11, pc}}",
        square = sym square_in_registers,
    )
}

/// The square of the element in r0 to r7 in the same registers, below 2²⁵⁵ + 2²³⁰. Not a C
/// function: all other registers are lost.
///
/// Column by column: the products of two different words, each row of them with what it carries in
/// a register of its own (r11, r12, lr, r10, r8, r1, r2), are doubled by an addition to itself,
/// whose carry stays in the flags from column to column; no other instruction here changes them.
/// The square of a word is added to every other column; what it carries is in r9. `umaal` by zero
/// (r10, later r0) adds r9 to a column, and leaves in r9 what this carries.
#[allow(clippy::too_many_lines, reason = "an instruction a line")]
#[unsafe(naked)]
pub(super) unsafe extern "C" fn square_in_registers() {
    naked_asm!(
        "str lr, [sp, #-36]!",
        // Words 0 to 7 of the square, to their places.
        "umull r8, r9, r0, r0",
        "str r8, [sp, #4]",
        "mov r10, #0",
        "umull r8, r11, r0, r1",
        "adds r8, r8, r8",
        "umaal r8, r9, r10, r10",
        "str r8, [sp, #8]",
        "mov r8, #0",
        "umaal r8, r11, r0, r2",
        "adcs r8, r8, r8",
        "umaal r8, r9, r1, r1",
        "str r8, [sp, #12]",
        "umull r8, r12, r1, r2",
        "umaal r8, r11, r0, r3",
        "adcs r8, r8, r8",
        "umaal r8, r9, r10, r10",
        "str r8, [sp, #16]",
        "mov r8, #0",
        "umaal r8, r11, r0, r4",
        "umaal r8, r12, r1, r3",
        "adcs r8, r8, r8",
        "umaal r8, r9, r2, r2",
        "str r8, [sp, #20]",
        "umull r8, lr, r2, r3",
        "umaal r8, r11, r0, r5",
        "umaal r8, r12, r1, r4",
        "adcs r8, r8, r8",
        "umaal r8, r9, r10, r10",
        "str r8, [sp, #24]",
        "mov r8, #0",
        "umaal r8, r11, r0, r6",
        "umaal r8, r12, r1, r5",
        "umaal r8, lr, r2, r4",
        "adcs r8, r8, r8",
        "umaal r8, r9, r3, r3",
        "str r8, [sp, #28]",
        "umull r8, r10, r3, r4",
        "umaal r8, r11, r0, r7",
        "umaal r8, r12, r1, r6",
        "umaal r8, lr, r2, r5",
        "adcs r8, r8, r8",
        "mov r0, #0",
        "umaal r8, r9, r0, r0",
        "str r8, [sp, #32]",
        // Words 8 to 15 in registers.
        "umaal r11, r12, r1, r7",
        "umaal r11, lr, r2, r6",
        "umaal r11, r10, r3, r5",
        "adcs r11, r11, r11",
        "umaal r11, r9, r4, r4",
        "mov r8, #0",
        "umaal r12, lr, r2, r7",
        "umaal r12, r10, r3, r6",
        "umaal r12, r8, r4, r5",
        "adcs r12, r12, r12",
        "umaal r12, r9, r0, r0",
        "umaal lr, r10, r3, r7",
        "umaal lr, r8, r4, r6",
        "adcs lr, lr, lr",
        "umaal lr, r9, r5, r5",
        "mov r1, #0",
        "umaal r10, r8, r4, r7",
        "umaal r10, r1, r5, r6",
        "adcs r10, r10, r10",
        "umaal r10, r9, r0, r0",
        "umaal r8, r1, r5, r7",
        "adcs r8, r8, r8",
        "umaal r8, r9, r6, r6",
        "mov r2, #0",
        "umaal r1, r2, r6, r7",
        "adcs r6, r1, r1",
        "umaal r6, r9, r0, r0",
        "adcs r5, r2, r2",
        "umaal r5, r9, r7, r7",
        "adc r9, r9, r0",
        // 38 times the upper words to the lower: the highest first, for what it has above 2²⁵⁵.
        "mov r4, #38",
        "mov r3, #0",
        "ldr r7, [sp, #32]",
        "ldr r0, [sp, #4]",
        "ldr r1, [sp, #8]",
        "ldr r2, [sp, #12]",
        "umaal r7, r3, r9, r4",
        "mov r9, #19",
        "lsls r7, r7, #1",
        "adc r3, r3, r3",
        "lsr r7, r7, #1",
        "mul r9, r3, r9",
        "umaal r0, r9, r11, r4",
        "mov r11, r4",
        "umaal r1, r9, r12, r11",
        "umaal r2, r9, lr, r11",
        "ldr r3, [sp, #16]",
        "ldr r4, [sp, #20]",
        "ldr r12, [sp, #24]",
        "ldr lr, [sp, #28]",
        "umaal r3, r9, r10, r11",
        "umaal r4, r9, r8, r11",
        "umaal r12, r9, r6, r11",
        "umaal lr, r9, r5, r11",
        "mov r5, r12",
        "mov r6, lr",
        "add r7, r7, r9",
        "ldr pc, [sp], #36",
    )
}
