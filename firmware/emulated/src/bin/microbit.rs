//! The application on an emulated micro:bit: a Cortex-M0 with 16 KiB of RAM.

#![no_std]
#![no_main]

use cortex_m_rt::entry;
use motemix_emulated::boards::microbit::Microbit;
use motemix_emulated::run;

#[entry]
fn main() -> ! {
    cortex_m::interrupt::disable();
    run::<_, 704, 3, 3, 64, 1, 9>(Microbit::new())
}
