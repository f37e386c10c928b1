//! `__aeabi_lmul`, in assembly because the compiler would call the very function that this is.

use core::arch::naked_asm;

/// `(r1:r0) · (r3:r2)` modulo 2⁶⁴ in `r1:r0`, as the run-time ABI of the Arm architecture says
/// (§4.2).
///
/// # Safety
/// To be called by that ABI. It touches r0–r3, r12 and the flags, and no memory.
// Naked: registers and returns as written, so that neither a prologue nor a spill can depend on
// anything. The symbol is the ABI's name, which is what makes it win over the compiler's weak one.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn __aeabi_lmul(a: u64, b: u64) -> u64 {
    naked_asm!(
        // The upper word of either factor counts only modulo 2³².
        "muls r1, r2",
        "muls r3, r0",
        "adds r1, r3",
        // a₀·b₀ from halves of 16 bits. r4 is kept in r12: two cycles, where the stack takes six.
        "mov  r12, r4",
        "lsrs r3, r0, #16",
        "lsrs r4, r2, #16",
        "muls r3, r4",
        "adds r1, r3",
        "lsrs r3, r0, #16",
        "uxth r0, r0",
        "uxth r2, r2",
        "muls r4, r0",
        "muls r3, r2",
        "muls r0, r2",
        // The two middle products, each with its carry.
        "lsls r2, r4, #16",
        "lsrs r4, r4, #16",
        "adds r0, r2",
        "adcs r1, r4",
        "lsls r2, r3, #16",
        "lsrs r3, r3, #16",
        "adds r0, r2",
        "adcs r1, r3",
        "mov  r4, r12",
        "bx   lr",
    )
}
