//! The application on an emulated MPS2 board, with a Cortex-M3 or a Cortex-M4.

#![no_std]
#![no_main]

use cortex_m_rt::entry;
use motemix_emulated::boards::mps2::Mps2;
use motemix_emulated::run;

#[entry]
fn main() -> ! {
    cortex_m::interrupt::disable();
    run::<_, 4096, 6, 12, 256, 4, 32>(Mps2::new())
}
