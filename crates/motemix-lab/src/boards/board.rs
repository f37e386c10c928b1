//! The three boards of the thesis.

use motemix_mcu::{Core, FlashTiming};
use std::time::Duration;

/// A board: its core, how its flash keeps up, and what it draws.
#[derive(Debug)]
pub struct Board {
    /// As the table of programs calls it.
    pub name: &'static str,
    pub core: Core,
    pub clock_hz: u32,
    /// Wait states at that clock, by the reference manual.
    pub flash: FlashTiming,
    pub supply: Supply,
    /// What the thesis measured on it.
    pub thesis: Thesis,
}

/// What the processor draws while it computes; the radio is off.
#[derive(Debug)]
pub struct Supply {
    pub volts: f64,
    pub milliamperes: f64,
    /// Table of the data sheet, and its conditions.
    pub source: &'static str,
}

/// Figures 4 and 5 of the thesis.
#[derive(Debug)]
pub struct Thesis {
    /// Seconds for a new message, by path lengths 6 to 10.
    pub create_s: [f64; 5],
    pub forward_ms: f64,
    pub receive_ms: f64,
    pub acknowledge_ms: f64,
}

pub static BOARDS: [Board; 3] = [
    Board {
        name: "samr21-xpro",
        core: Core::M0Plus,
        clock_hz: 48_000_000,
        // SAM R21 data sheet, NVM characteristics: one wait state above 24 MHz; the bus is 64 bits
        // wide.
        flash: FlashTiming { line_bytes: 8, sequential: 1, jump: 1 },
        supply: Supply {
            volts: 3.3,
            milliamperes: 5.8,
            source: "SAM R21 and D21 data sheets, active mode, CoreMark at 48 MHz, 25 °C, typical",
        },
        thesis: Thesis {
            create_s: [57.7, 74.7, 94.0, 115.3, 138.8],
            forward_ms: 4447.0,
            receive_ms: 4435.0,
            acknowledge_ms: 2146.0,
        },
    },
    Board {
        name: "iotlab-m3",
        core: Core::M3,
        clock_hz: 72_000_000,
        // STM32F10xxx flash programming manual: two wait states above 48 MHz; a prefetch buffer of
        // 64 bits.
        flash: FlashTiming { line_bytes: 8, sequential: 2, jump: 2 },
        supply: Supply {
            volts: 3.3,
            milliamperes: 30.5,
            source: "STM32F103xC/D/E data sheet, run mode from flash, 72 MHz, peripherals off, 25 °C, typical",
        },
        thesis: Thesis {
            create_s: [14.7, 19.1, 25.3, 29.5, 35.5],
            forward_ms: 1176.0,
            receive_ms: 1141.0,
            acknowledge_ms: 549.0,
        },
    },
    Board {
        name: "nrf52840dk",
        core: Core::M4,
        clock_hz: 64_000_000,
        // nRF52840 product specification, NVMC: wait states without the instruction cache, lines of
        // 128 bits.
        flash: FlashTiming { line_bytes: 16, sequential: 1, jump: 1 },
        supply: Supply {
            volts: 3.0,
            milliamperes: 3.3,
            source: "nRF52840 product specification, CoreMark from flash at 64 MHz, DC/DC, 25 °C, typical",
        },
        thesis: Thesis {
            create_s: [12.7, 16.5, 20.7, 25.4, 30.6],
            forward_ms: 945.0,
            receive_ms: 948.0,
            acknowledge_ms: 474.0,
        },
    },
];

impl Board {
    /// How long so many cycles take.
    pub fn time(&self, cycles: u64) -> Duration {
        let nanos = u128::from(cycles) * 1_000_000_000 / u128::from(self.clock_hz);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// What the processor takes from the battery in so many cycles.
    pub fn millijoules(&self, cycles: u64) -> f64 {
        self.time(cycles).as_secs_f64() * self.supply.milliamperes * self.supply.volts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seventy_two_million_cycles_are_a_second_of_an_m3_and_a_tenth_of_a_joule() {
        let board = BOARDS.iter().find(|board| board.name == "iotlab-m3").unwrap();
        assert_eq!(board.time(72_000_000), Duration::from_secs(1));
        assert!((board.millijoules(72_000_000) - 100.65).abs() < 1e-6);
    }
}
