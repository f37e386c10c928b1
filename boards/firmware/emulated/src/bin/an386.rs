//! The application on an emulated MPS2 board with a Cortex-M4, with the limits of the board that
//! has this core.

#![no_std]
#![no_main]

use cortex_m_rt::entry;
use motemix_emulated::boards::mps2::Mps2;
use motemix_emulated::run;
use motemix_mote::limits::{AN386, Packets};

#[entry]
fn main() -> ! {
    cortex_m::interrupt::disable();
    run!(Mps2::new(), Packets, AN386)
}
