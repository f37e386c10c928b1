//! Blocks of `ChaCha20` on a Cortex-M3, M4 or M7.

#![allow(unsafe_code, reason = "the rotations that are free on these cores are reached in assembly only")]

use core::arch::naked_asm;

/// Words of a state, and of a block.
pub(super) const WORDS: usize = 16;

/// The block of the stream that belongs to `state` (RFC 8439 §2.3).
#[inline]
pub(super) fn block(stream: &mut [u32; WORDS], state: &[u32; WORDS]) {
    // SAFETY: reads and writes sixteen words each, and keeps what a C function has to keep.
    unsafe { block_in_memory(stream, state) }
}

/// A quarter round (RFC 8439 §2.1). The second operand of an instruction is rotated for nothing, so
/// b and d are rotated when they are read next: b by 25 to the right and d by 24 between quarter
/// rounds.
macro_rules! quarter_round {
    ($a:literal $b:literal $c:literal $d:literal) => {
        concat!(
            concat!("add ", $a, ", ", $a, ", ", $b, ", ror #25\n"),
            concat!("eor ", $d, ", ", $a, ", ", $d, ", ror #24\n"),
            concat!("add ", $c, ", ", $c, ", ", $d, ", ror #16\n"),
            concat!("eor ", $b, ", ", $c, ", ", $b, ", ror #25\n"),
            concat!("add ", $a, ", ", $a, ", ", $b, ", ror #20\n"),
            concat!("eor ", $d, ", ", $a, ", ", $d, ", ror #16\n"),
            concat!("add ", $c, ", ", $c, ", ", $d, ", ror #24\n"),
            concat!("eor ", $b, ", ", $c, ", ", $b, ", ror #20"),
        )
    };
}

/// Words 0 to 7 are in r0 to r7, words 12 to 15 in r8 to r11, and two of the words 8 to 11 in r12
/// and lr. On the stack: the double rounds that are left, words 8 to 11 and word 15; then the
/// arguments.
#[allow(clippy::too_many_lines, reason = "an instruction a line")]
#[unsafe(naked)]
unsafe extern "C" fn block_in_memory(stream: *mut [u32; WORDS], state: *const [u32; WORDS]) {
    naked_asm!(
        "push {{r0, r1, r4-r11, lr}}",
        "sub sp, #24",
        "mov r0, #10",
        "str r0, [sp]",
        "ldr r8, [r1, #40]",
        "ldr r9, [r1, #44]",
        "str r8, [sp, #12]",
        "str r9, [sp, #16]",
        "mov r12, r1",
        "ldm r12!, {{r0-r7}}",
        "add r12, r12, #16",
        "ldm r12, {{r8-r11}}",
        "ldr lr, [r12, #-12]",
        "ldr r12, [r12, #-16]",
        "ror r4, r4, #7",
        "ror r5, r5, #7",
        "ror r6, r6, #7",
        "ror r7, r7, #7",
        "ror r8, r8, #8",
        "ror r9, r9, #8",
        "ror r10, r10, #8",
        "ror r11, r11, #8",
        "2:",
        quarter_round!("r0" "r4" "r12" "r8"),
        quarter_round!("r1" "r5" "lr" "r9"),
        "str r12, [sp, #4]",
        "str lr, [sp, #8]",
        "ldr r12, [sp, #12]",
        "ldr lr, [sp, #16]",
        quarter_round!("r2" "r6" "r12" "r10"),
        quarter_round!("r3" "r7" "lr" "r11"),
        quarter_round!("r0" "r5" "r12" "r11"),
        quarter_round!("r1" "r6" "lr" "r8"),
        "str r12, [sp, #12]",
        "str lr, [sp, #16]",
        "ldr lr, [sp]",
        "ldr r12, [sp, #4]",
        // The flag is read at the end: no quarter round changes it.
        "subs lr, lr, #1",
        "str lr, [sp]",
        "ldr lr, [sp, #8]",
        quarter_round!("r2" "r7" "r12" "r9"),
        quarter_round!("r3" "r4" "lr" "r10"),
        "bne 2b",
        // The sums with the state, which is at r12, go to lr.
        "str r12, [sp, #4]",
        "str lr, [sp, #8]",
        "str r11, [sp, #20]",
        "ldr lr, [sp, #24]",
        "ldr r12, [sp, #28]",
        "ldr r11, [r12]",
        "add r0, r0, r11",
        "str r0, [lr]",
        "ldr r0, [r12, #4]",
        "ldr r11, [r12, #8]",
        "add r1, r1, r0",
        "add r2, r2, r11",
        "str r1, [lr, #4]",
        "str r2, [lr, #8]",
        "ldr r0, [r12, #12]",
        "ldr r1, [r12, #16]",
        "ldr r2, [r12, #20]",
        "ldr r11, [r12, #24]",
        "add r3, r3, r0",
        "add r4, r1, r4, ror #25",
        "add r5, r2, r5, ror #25",
        "add r6, r11, r6, ror #25",
        "str r3, [lr, #12]",
        "str r4, [lr, #16]",
        "str r5, [lr, #20]",
        "str r6, [lr, #24]",
        "ldr r0, [r12, #28]",
        "ldr r1, [r12, #48]",
        "ldr r2, [r12, #52]",
        "ldr r3, [r12, #56]",
        "ldr r4, [r12, #60]",
        "ldr r11, [sp, #20]",
        "add r7, r0, r7, ror #25",
        "add r8, r1, r8, ror #24",
        "add r9, r2, r9, ror #24",
        "add r10, r3, r10, ror #24",
        "add r11, r4, r11, ror #24",
        "str r7, [lr, #28]",
        "str r8, [lr, #48]",
        "str r9, [lr, #52]",
        "str r10, [lr, #56]",
        "str r11, [lr, #60]",
        "ldr r0, [sp, #4]",
        "ldr r1, [sp, #8]",
        "ldr r2, [sp, #12]",
        "ldr r3, [sp, #16]",
        "ldr r4, [r12, #32]",
        "ldr r5, [r12, #36]",
        "ldr r6, [r12, #40]",
        "ldr r7, [r12, #44]",
        "add r0, r0, r4",
        "add r1, r1, r5",
        "add r2, r2, r6",
        "add r3, r3, r7",
        "str r0, [lr, #32]",
        "str r1, [lr, #36]",
        "str r2, [lr, #40]",
        "str r3, [lr, #44]",
        // Who knew these words and the stream would know the key.
        "str lr, [sp, #4]",
        "str lr, [sp, #8]",
        "str lr, [sp, #12]",
        "str lr, [sp, #16]",
        "str lr, [sp, #20]",
        "add sp, #32",
        "pop {{r4-r11, pc}}",
    )
}
