//! What a board's processor and radio need, in time and current.
//!
//! Cycles are those of the stopwatch with the flash's wait states (`docs/research/boards.md`),
//! currents those of the data sheets.

use crate::flash::Part;
use crate::scenario::Board;
use std::time::Duration;

/// A board.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traits {
    /// The processor's clock.
    pub megahertz: u32,
    /// One X25519 with any point, on the curve that the board's program has.
    pub multiplication: u32,
    /// The check of one Ed25519 signature and of its key: of a network document, of a reading.
    pub verification: u32,
    /// A signed reading: the key of its seed, and one Ed25519 signature, in constant time.
    pub signature: u32,
    /// What a packet costs besides: MAC, replay filter, one layer, queue.
    pub packet: u32,
    /// Protecting or opening a frame of the greatest length (AES-CCM): the two differ by a
    /// thousandth.
    pub protection: u32,
    /// Microwatts: the processor computes, the processor sleeps.
    pub computes: u32,
    pub sleeps: u32,
    /// Microwatts: the radio sends, the radio listens or receives.
    pub sends: u32,
    pub listens: u32,
    pub flash: Part,
}

/// SHA-512 on 32-bit cores, cycles for each byte of a network document.
const HASH: u64 = 200;

const fn flash(word_ns: u64, page_ms: u64, endurance: u32) -> Part {
    Part { word: Duration::from_nanos(word_ns), page: Duration::from_millis(page_ms), endurance }
}

impl Traits {
    pub const fn of(board: Board) -> Self {
        match board {
            // SAM R21 data sheet: 5.8 mA computing, some microamperes in standby; its AT86RF233:
            // 13.8 mA at +4 dBm, 11.8 mA.
            Board::Samr21Xpro => Self {
                megahertz: 48,
                multiplication: 3_683_262,
                verification: 7_390_730,
                signature: 2_778_855,
                packet: 139_790,
                protection: 148_398,
                computes: 19_140,
                sleeps: 12,
                sends: 45_540,
                listens: 38_940,
                // Table 37-31: a page of 64 bytes 2.5 ms, a row 6 ms, four of which the store
                // erases at once; 25,000 times.
                flash: flash(156_250, 24, 25_000),
            },
            // STM32F103xE data sheet: 30.5 mA computing, 14 µA in stop mode; AT86RF231: 14 mA at +3
            // dBm, 13.2 mA.
            Board::IotlabM3 => Self {
                megahertz: 72,
                multiplication: 3_067_401,
                verification: 6_220_021,
                signature: 2_321_477,
                packet: 81_290,
                protection: 120_719,
                computes: 100_650,
                sleeps: 46,
                sends: 46_200,
                listens: 43_560,
                // Tables 45 and 46: a half-word 52.5 µs, a page of 2 KiB up to 40 ms, 10,000 times.
                flash: flash(52_500, 40, 10_000),
            },
            // nRF52840 product specification, 3 V with DC/DC: 3.3 mA computing, 1.5 µA; radio 6.4
            // mA at 0 dBm, 6.26 mA.
            Board::Nrf52840dk => Self {
                megahertz: 64,
                multiplication: 543_016,
                verification: 1_419_106,
                signature: 770_197,
                packet: 57_240,
                protection: 85_473,
                computes: 9_900,
                sleeps: 5,
                sends: 19_200,
                listens: 18_780,
                // 4.3.10: a word 41 µs, a page of 4 KiB 85 ms, 10,000 times.
                flash: flash(41_000, 85, 10_000),
            },
            // nRF51822 product specification, 3 V: 4.4 mA computing, 2.6 µA; the cycles are the
            // stopwatch's of a Cortex-M0+ without wait states. The radio at its serial line is
            // taken for an AT86RF231.
            Board::Microbit => Self {
                megahertz: 16,
                multiplication: 3_047_934,
                verification: 6_133_267,
                signature: 2_286_457,
                packet: 118_957,
                protection: 122_858,
                computes: 13_200,
                sleeps: 8,
                sends: 46_200,
                listens: 43_560,
                // 8.24: a word up to 46.3 µs, a page of 1 KiB 22.3 ms, 20,000 times.
                flash: flash(46_300, 22, 20_000),
            },
        }
    }

    /// Cycles for the check of a network document with one signature.
    pub fn check(&self, document: usize) -> u64 {
        u64::from(self.verification) + HASH * document as u64
    }

    pub fn time(&self, cycles: u64) -> Duration {
        Duration::from_micros(cycles.div_ceil(u64::from(self.megahertz)))
    }
}
