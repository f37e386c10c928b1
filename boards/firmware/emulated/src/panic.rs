//! What happens when something happened that must not.

use core::panic::PanicInfo;

/// Ends the emulator with a line about where. A board would restart; here somebody should look.
#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    use semihosting::io::Write as _;
    if let Ok(mut out) = semihosting::io::stderr() {
        let _ = writeln!(out, "motemix: {info}");
    }
    semihosting::process::exit(70)
}
