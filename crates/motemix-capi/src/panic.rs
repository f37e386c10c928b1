//! Where a panic ends on a board. None is known to be reachable; the language wants a place for it.

use core::panic::PanicInfo;

unsafe extern "C" {
    /// The C library's `abort`: newlib's and picolibc's end in the system's fault handling.
    safe fn abort() -> !;
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    abort()
}
