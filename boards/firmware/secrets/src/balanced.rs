//! A branch whose two sides take the same number of cycles on each core, which no compiler makes.

use core::arch::asm;

/// Branches on the lowest bit of `secret`.
pub fn branch(secret: u32) {
    // One side does not branch, and then it does: 1 and 2 cycles. The other branches, and waits: 2
    // and 1.
    // Unsafe: no memory is touched, and the only register that changes is declared.
    unsafe {
        asm!(
            "lsls {secret}, {secret}, #31",
            "beq 2f",
            "b 3f",
            "2:",
            "nop",
            "3:",
            // Of 16 bits: where a branch leads to a longer one, it may take a cycle more.
            "nop",
            secret = inout(reg) secret => _,
            options(nomem, nostack),
        );
    }
}
