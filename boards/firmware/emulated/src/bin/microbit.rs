//! The application on an emulated micro:bit: a Cortex-M0 with 16 KiB of RAM.

#![no_std]
#![no_main]

use cortex_m_rt::entry;
use motemix_emulated::boards::microbit::Microbit;
use motemix_emulated::run;
use motemix_mote::limits::{MICROBIT, Packets};

#[entry]
fn main() -> ! {
    cortex_m::interrupt::disable();
    run!(Microbit::new(), Packets, MICROBIT)
}
