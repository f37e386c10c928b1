//! The application of a mote on an nRF52840 DK (PCA10056).
//!
//! **Built and not run.** Nobody has run this on a board. It compiles and links for its part; the
//! state machine of its radio is tested on a host (`motemix-csma`), its use of the flash as well
//! (`motemix-write-once`); the accesses to registers in this crate are not tested by anything.
//!
//! | what | how |
//! |---|---|
//! | radio | RADIO in its IEEE 802.15.4 mode, channel 26, 0 dBm; check sequences and clear-channel assessment by the hardware, everything else by `motemix_csma` in interrupt handlers ([`radio`]) |
//! | generator | RNG, with bias correction |
//! | flash | NVMC, the last 256 KiB ([`flash`]) |
//! | console | UARTE0 at 115,200 baud on P0.06 and P0.08, which the DK's debugger shows as a serial port |
//! | clock | TIMER0, by the 32 MHz crystal |
//! | sleep | until an event, 5 ms at most (TIMER2); the radio listens all the time |
//!
//! Deliberately absent: a SoftDevice, CryptoCell 310 (its library is closed; X25519 runs on the
//! core), and low power: a mix listens always.

#![no_std]
#![no_main]

mod board;
mod console;
mod dma;
mod flash;
mod interrupts;
mod panic;
mod radio;
mod random;
mod timer;

use core::cell::RefCell;

use cortex_m_rt::entry;
use embassy_nrf::config::{Config, HfclkSource};
use embassy_nrf::nvmc;

use motemix_mote::Limits;
use motemix_mote::limits::{NRF52840DK, Packets};

use board::Dk;

pub(crate) const LIMITS: Limits = NRF52840DK;

const _: () = assert!(motemix_csma::RECEIVED == LIMITS.frames, "the simulator has as many");

#[entry]
fn main() -> ! {
    let mut config = Config::default();
    // The radio needs the crystal.
    config.hfclk_source = HfclkSource::ExternalXtal;
    let peripherals = embassy_nrf::init(config);
    timer::start();
    let random = RefCell::new(random::start(peripherals.RNG));
    let console = RefCell::new(console::start(
        peripherals.UARTE0,
        peripherals.TIMER1,
        peripherals.PPI_CH0,
        peripherals.PPI_CH1,
        peripherals.PPI_GROUP0,
        peripherals.P0_08,
        peripherals.P0_06,
    ));
    let board = Dk::new(&random, &console, flash::Nvmc::new(nvmc::Nvmc::new(peripherals.NVMC)));
    motemix_mote::run!(board, Packets, LIMITS)
}
