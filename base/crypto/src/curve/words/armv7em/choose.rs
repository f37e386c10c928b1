//! A choice from a table.

#![allow(unsafe_code, reason = "the instructions of this core are reached in assembly only")]

use core::arch::naked_asm;

use super::super::arithmetic::{COORDINATES, Table, WORDS};

/// The coordinate of the point of this index, below 8. All points are read, whichever it is.
///
/// # Panics
/// If there is no such coordinate.
#[inline]
pub(super) fn choose(chosen: &mut [u32; WORDS], table: &Table, index: u32, coordinate: usize) {
    assert!(coordinate < COORDINATES, "a coordinate of three");
    let words = table.as_flattened().as_flattened();
    // SAFETY: reads the eight words of this coordinate in each point, which are all in the table,
    // writes eight words, and keeps what a C function has to keep.
    unsafe { choose_from_memory(chosen.as_mut_ptr(), words.as_ptr().add(WORDS * coordinate), index) }
}

/// Words times one or zero, which r3 to r10 are.
#[unsafe(naked)]
unsafe extern "C" fn choose_from_memory(chosen: *mut u32, first: *const u32, index: u32) {
    naked_asm!(
        "push {{r4-r11, lr}}",
        "mov r3, #1",
        "lsl r2, r3, r2",
        "and r3, r2, #1",
        "ubfx r4, r2, #1, #1",
        "ubfx r5, r2, #2, #1",
        "ubfx r6, r2, #3, #1",
        "ubfx r7, r2, #4, #1",
        "ubfx r8, r2, #5, #1",
        "ubfx r9, r2, #6, #1",
        "ubfx r10, r2, #7, #1",
        "mov r2, #8",
        "2:",
        "ldr r11, [r1]",
        "ldr r12, [r1, #96]",
        "ldr lr, [r1, #192]",
        "mul r11, r11, r3",
        "mla r11, r12, r4, r11",
        "mla r11, lr, r5, r11",
        "ldr r12, [r1, #288]",
        "ldr lr, [r1, #384]",
        "mla r11, r12, r6, r11",
        "mla r11, lr, r7, r11",
        "ldr r12, [r1, #480]",
        "ldr lr, [r1, #576]",
        "mla r11, r12, r8, r11",
        "mla r11, lr, r9, r11",
        "ldr r12, [r1, #672]",
        "add r1, r1, #4",
        "mla r11, r12, r10, r11",
        "str r11, [r0], #4",
        "subs r2, r2, #1",
        "bne 2b",
        "pop {{r4-r11, pc}}",
    )
}
