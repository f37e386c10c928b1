//! The start of an ELF that is never run by itself: the stopwatch calls its functions.

use core::arch::asm;
use core::panic::PanicInfo;

/// What follows the initial stack pointer in the table of vectors.
// Unsafe: the section is the linker script's, which puts it where the core looks for it.
#[used]
#[unsafe(link_section = ".vectors")]
static RESET: extern "C" fn() -> ! = reset;

// Unsafe: the symbol is the linker script's entry.
#[unsafe(no_mangle)]
extern "C" fn reset() -> ! {
    loop {
        core::hint::spin_loop();
    }
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {
        // Unsafe: an undefined instruction is how a call is given up; the stopwatch reports the
        // place.
        unsafe { asm!("udf #0") }
    }
}
