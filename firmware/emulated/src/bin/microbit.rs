//! The application on an emulated micro:bit: a Cortex-M0 with 16 KiB of RAM.

#![no_std]
#![no_main]

use cortex_m_rt::entry;
use motemix_emulated::boards::microbit::Microbit;
use motemix_emulated::{BoardMemory, run};

#[entry]
fn main() -> ! {
    cortex_m::interrupt::disable();
    let memory = cortex_m::singleton!(: BoardMemory<'static, 3, 64, 1, 10, 1024> = BoardMemory::new());
    run(Microbit::new(), memory.expect("the first and only time"))
}
