//! What a bug does on a board. A panic would be one: no call of this interface is meant to cause
//! any, whatever it is given.

use core::panic::PanicInfo;

/// An undefined instruction is a fault, which every operating system reports with the place, and
/// ends or restarts the board. To call the C library's `abort` would need what not every one has.
#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    #[cfg(target_arch = "arm")]
    // SAFETY: the instruction does nothing but fault, and never goes on.
    unsafe {
        core::arch::asm!("udf #0", options(noreturn))
    }
    #[cfg(not(target_arch = "arm"))]
    loop {}
}
