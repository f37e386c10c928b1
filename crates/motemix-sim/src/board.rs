//! What a board's processor and radio need, in time and current.
//!
//! Cycles are those of the stopwatch with the flash's wait states (`docs/boards.md`), currents those of the data sheets.

use crate::scenario::Board;
use std::time::Duration;

/// A board.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traits {
    /// Of the processor.
    pub megahertz: u32,
    /// One X25519 with any point.
    pub multiplication: u32,
    /// What a packet costs besides: MAC, replay filter, one layer, queue.
    pub packet: u32,
    /// Microwatts: the processor computes, the processor sleeps.
    pub computes: u32,
    pub sleeps: u32,
    /// Microwatts: the radio sends, the radio listens or receives.
    pub sends: u32,
    pub listens: u32,
}

impl Traits {
    pub const fn of(board: Board) -> Self {
        match board {
            // SAM R21 data sheet: 5.8 mA computing, some microamperes in standby; its AT86RF233: 13.8 mA at +4 dBm, 11.8 mA.
            Board::Samr21Xpro => Self {
                megahertz: 48,
                multiplication: 12_129_378,
                packet: 134_965,
                computes: 19_140,
                sleeps: 12,
                sends: 45_540,
                listens: 38_940,
            },
            // STM32F103xE data sheet: 30.5 mA computing, 14 µA in stop mode; AT86RF231: 14 mA at +3 dBm, 13.2 mA.
            Board::IotlabM3 => Self {
                megahertz: 72,
                multiplication: 3_594_221,
                packet: 96_303,
                computes: 100_650,
                sleeps: 46,
                sends: 46_200,
                listens: 43_560,
            },
            // nRF52840 product specification, 3 V with DC/DC: 3.3 mA computing, 1.5 µA; radio 6.4 mA at 0 dBm, 6.26 mA.
            Board::Nrf52840dk => Self {
                megahertz: 64,
                multiplication: 1_988_775,
                packet: 69_150,
                computes: 9_900,
                sleeps: 5,
                sends: 19_200,
                listens: 18_780,
            },
        }
    }

    pub fn time(&self, cycles: u64) -> Duration {
        Duration::from_micros(cycles.div_ceil(u64::from(self.megahertz)))
    }
}
