//! One of two neighbours without a network, on an emulated MPS2 board with a Cortex-M3.

#![no_std]
#![no_main]

use cortex_m_rt::entry;
use motemix_emulated::boards::mps2::Mps2;
use motemix_emulated::pair;
use motemix_mote::limits::{AN385, Packets};

#[entry]
fn main() -> ! {
    cortex_m::interrupt::disable();
    pair!(Mps2::new(), Packets, AN385, 4, 4)
}
