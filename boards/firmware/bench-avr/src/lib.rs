//! Operations on an ATmega2560, measured: each begins and ends with a mark in a register that the
//! emulator traces with the cycle, and its result and stack go to the emulator's console.
//!
//! There is one thread and no interrupt. A real chip does the same, and nobody hears of it.

#![no_std]
#![feature(asm_experimental_arch)]

pub mod chip;
pub mod emulator;
pub mod operations;
#[path = "../../calls/src/place.rs"]
pub mod place;

use core::hint::black_box;
use core::panic::PanicInfo;

/// Runs an operation after what has to be there for it, and reports `NAME VERDICT STACK`.
#[inline(never)]
pub fn measure(name: &str, prepare: fn() -> bool, run: fn() -> bool) {
    // Called, not drawn in: its frame is to lie below the paint.
    let (prepare, run) = (black_box(prepare), black_box(run));
    let is_prepared = prepare();
    chip::paint_stack();
    chip::mark(1);
    let is_good = run();
    chip::mark(0);
    let stack = chip::stack_depth();
    chip::say(name);
    // Without a gap above the static data the stack may have reached it.
    chip::say(match (is_prepared, is_good, stack) {
        (true, true, Some(_)) => " good ",
        (_, _, None) => " overflow ",
        _ => " bad ",
    });
    say_number(stack.unwrap_or(0));
    chip::end_line();
}

/// What has to be there for an operation that takes all from its vectors.
pub fn nothing() -> bool {
    true
}

fn say_number(number: u16) {
    if number > 9 {
        say_number(number / 10);
    }
    chip::say_byte(b'0' + (number % 10) as u8);
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    chip::say("panic");
    chip::end_line();
    chip::stop()
}
