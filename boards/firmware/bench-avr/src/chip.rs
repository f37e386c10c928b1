//! What takes the chip's own instructions and addresses: registers for the emulator, and the stack. All
//! unsafe code of this program but for the emulator's section is here.

use core::arch::asm;
use core::ptr::{read_volatile, write_volatile};

/// General-purpose register 0 (ATmega2560 data sheet, register summary), by its number for IN and OUT.
pub const MARKS: u16 = 0x1e;
/// General-purpose register 1.
pub const CONSOLE: u16 = 0x2a;
/// How much lower the numbers for IN and OUT are than addresses.
pub const IO_BASE: u16 = 0x20;

/// What lies where the stack has not been.
const PAINT: u8 = 0xa5;
/// Bytes below the stack pointer that are left alone: this function may use them.
const MARGIN: u16 = 32;

unsafe extern "C" {
    /// The linker's: the end of the static data.
    static mut _end: u8;
}

/// Writes the register that the emulator traces.
#[inline(always)]
pub fn mark(value: u8) {
    // Unsafe: the register does nothing. Memory counts as written: nothing measured moves past a mark.
    unsafe { asm!("out {marks}, {value}", marks = const MARKS, value = in(reg) value) }
}

/// Writes a byte for the emulator's console.
pub fn say_byte(byte: u8) {
    // Unsafe: the register does nothing on a chip.
    unsafe { asm!("out {console}, {byte}", console = const CONSOLE, byte = in(reg) byte) }
}

/// Writes a text for the emulator's console.
pub fn say(text: &str) {
    text.bytes().for_each(say_byte);
}

/// Ends the line.
pub fn end_line() {
    say_byte(b'\r');
}

fn stack_pointer() -> u16 {
    let (low, high): (u8, u8);
    // Unsafe: reads two registers.
    unsafe { asm!("in {low}, 0x3d", "in {high}, 0x3e", low = out(reg) low, high = out(reg) high) }
    u16::from_le_bytes([low, high])
}

/// Paints all between the static data and the stack.
#[inline(never)]
pub fn paint_stack() {
    let first = &raw mut _end;
    let len = stack_pointer() - MARGIN - first as u16;
    for at in 0..len {
        // Unsafe: below the stack pointer, above the static data; there is no heap and no interrupt.
        unsafe { write_volatile(first.add(usize::from(at)), PAINT) }
    }
}

/// How far below this call the paint is gone, bytes. `None` if none is left above the static data.
#[inline(never)]
pub fn stack_depth() -> Option<u16> {
    let first = &raw const _end;
    let len = stack_pointer() - first as u16;
    // Unsafe: RAM between the static data and the stack.
    let untouched = (0..len).take_while(|at| unsafe { read_volatile(first.add(usize::from(*at))) } == PAINT);
    let untouched = untouched.count() as u16;
    (untouched > 0).then_some(len - untouched)
}

/// Sleeps without a way to wake up, which ends the emulator.
pub fn stop() -> ! {
    loop {
        // Unsafe: no interrupt is on.
        unsafe { asm!("cli", "sleep") }
    }
}
