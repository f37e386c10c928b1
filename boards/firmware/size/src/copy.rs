//! Copies of memory in 50 bytes of code. The compiler's own, unrolled for every alignment, take 2.3
//! kB.

use core::arch::global_asm;

// In assembly, because a compiler that sees a loop of copies makes a call of `memcpy` out of it.
// All names of the run-time ABI of the Arm architecture (§4.3.4) go to one routine that heeds
// overlaps; r0 is left as it came, as `memcpy` promises. Strong symbols win over the weak ones of
// the compiler's library.
global_asm!(
    ".syntax unified",
    ".section .text.copy, \"ax\", %progbits",
    ".p2align 1",
    ".irp name, memcpy, memmove, __aeabi_memcpy, __aeabi_memcpy4, __aeabi_memcpy8, __aeabi_memmove, __aeabi_memmove4, __aeabi_memmove8",
    ".global \\name",
    ".type \\name, %function",
    ".thumb_func",
    "\\name:",
    ".endr",
    "    mov  r12, r0",
    // Backwards only if the destination begins inside the source; unsigned, so that one below it
    // counts as far away.
    "    subs r3, r0, r1",
    "    cmp  r3, r2",
    "    blo  4f",
    "    movs r3, r0",
    "    orrs r3, r1",
    "    lsls r3, r3, #30",
    "    bne  2f",
    "1:  subs r2, #4",
    "    blo  3f",
    "    ldmia r1!, {{r3}}",
    "    stmia r0!, {{r3}}",
    "    b    1b",
    "3:  adds r2, #4",
    "2:  subs r2, #1",
    "    blo  5f",
    "    ldrb r3, [r1]",
    "    strb r3, [r0]",
    "    adds r1, #1",
    "    adds r0, #1",
    "    b    2b",
    "4:  subs r2, #1",
    "    blo  5f",
    "    ldrb r3, [r1, r2]",
    "    strb r3, [r0, r2]",
    "    b    4b",
    "5:  mov  r0, r12",
    "    bx   lr",
);
