//! The boards: the three of the thesis, and that of IoT-CryptoDiet at two clocks.

use motemix_mcu::{Core, FlashTiming};
use std::time::Duration;

/// A board: its core, how its flash keeps up, and what it draws.
#[derive(Debug)]
pub struct Board {
    pub name: &'static str,
    /// Whose images it runs, as the table of programs calls it: those for its core.
    pub images: &'static str,
    pub core: Core,
    pub clock_hz: u32,
    /// Wait states at that clock, by the reference manual.
    pub flash: FlashTiming,
    pub supply: Supply,
    pub radio: Radio,
    /// What the thesis measured on it, if it is one of its boards.
    pub thesis: Option<Thesis>,
}

/// What the processor draws while it computes; the radio is off.
#[derive(Debug)]
pub struct Supply {
    pub volts: f64,
    pub milliamperes: f64,
    /// Table of the data sheet, and its conditions.
    pub source: &'static str,
}

/// What the radio draws, at the processor's voltage.
#[derive(Debug)]
pub struct Radio {
    pub sends_milliamperes: f64,
    pub receives_milliamperes: f64,
    /// The data sheet, and its conditions.
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

/// The boards of the thesis.
pub static BOARDS: [Board; 3] = [
    Board {
        name: "samr21-xpro",
        images: "samr21-xpro",
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
        radio: Radio {
            sends_milliamperes: 13.8,
            receives_milliamperes: 11.8,
            source: "SAM R21 data sheet, its AT86RF233, +4 dBm",
        },
        thesis: Some(Thesis {
            create_s: [57.7, 74.7, 94.0, 115.3, 138.8],
            forward_ms: 4447.0,
            receive_ms: 4435.0,
            acknowledge_ms: 2146.0,
        }),
    },
    Board {
        name: "iotlab-m3",
        images: "iotlab-m3",
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
        radio: Radio {
            sends_milliamperes: 14.0,
            receives_milliamperes: 13.2,
            source: "AT86RF231 data sheet, +3 dBm",
        },
        thesis: Some(Thesis {
            create_s: [14.7, 19.1, 25.3, 29.5, 35.5],
            forward_ms: 1176.0,
            receive_ms: 1141.0,
            acknowledge_ms: 549.0,
        }),
    },
    Board {
        name: "nrf52840dk",
        images: "nrf52840dk",
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
        radio: Radio {
            sends_milliamperes: 6.4,
            receives_milliamperes: 6.26,
            source: "nRF52840 product specification, 0 dBm, DC/DC",
        },
        thesis: Some(Thesis {
            create_s: [12.7, 16.5, 20.7, 25.4, 30.6],
            forward_ms: 945.0,
            receive_ms: 948.0,
            acknowledge_ms: 474.0,
        }),
    },
];

/// The radio of the [`CC2538`].
const CC2538_RADIO: Radio = Radio {
    sends_milliamperes: 24.0,
    receives_milliamperes: 20.0,
    source: "CC2538 data sheet SWRS096, 0 dBm, receiving at -50 dBm, processor idle",
};

/// The chip of IoT-CryptoDiet's boards (Zolertia RE-Mote and Orion), at the clock that Contiki-NG
/// sets and at its highest.
///
/// TI's driver library says that flash is read in places of 64 bits, behind a cache that can be
/// switched off (FCTL.CM and FADDR in `hw_flash_ctrl.h`), and names no wait states. At 16 MHz
/// nothing is charged here, as if each line were in the cache; at 32 MHz each line costs a cycle,
/// as if none were. Both are assumptions.
pub static CC2538: [Board; 2] = [
    Board {
        name: "cc2538-16mhz",
        images: "iotlab-m3",
        core: Core::M3,
        clock_hz: 16_000_000,
        flash: FlashTiming { line_bytes: 8, sequential: 0, jump: 0 },
        supply: Supply {
            volts: 3.0,
            milliamperes: 13.0,
            source: "CC2538 data sheet SWRS096, what it takes at 32 MHz from flash, no radio; less at 16 MHz",
        },
        radio: CC2538_RADIO,
        thesis: None,
    },
    Board {
        name: "cc2538-32mhz",
        images: "iotlab-m3",
        core: Core::M3,
        clock_hz: 32_000_000,
        flash: FlashTiming { line_bytes: 8, sequential: 1, jump: 1 },
        supply: Supply {
            volts: 3.0,
            milliamperes: 13.0,
            source: "CC2538 data sheet SWRS096, at 32 MHz from flash, no radio",
        },
        radio: CC2538_RADIO,
        thesis: None,
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

    /// What the radio takes from the battery for sending and receiving so long.
    pub fn radio_millijoules(&self, sends: Duration, receives: Duration) -> f64 {
        let charge = sends.as_secs_f64() * self.radio.sends_milliamperes
            + receives.as_secs_f64() * self.radio.receives_milliamperes;
        charge * self.supply.volts
    }

    /// How it is modelled, in two lines.
    pub fn heading(&self, zero_wait: bool) -> String {
        let Self { name, core, clock_hz, flash, supply, .. } = self;
        let waits = if zero_wait || flash.sequential + flash.jump == 0 {
            "no wait states".to_owned()
        } else {
            format!(
                "flash in lines of {} bytes, wait states {},{}",
                flash.line_bytes, flash.sequential, flash.jump
            )
        };
        let mhz = clock_hz / 1_000_000;
        let draws = format!("{} mA at {} V ({})", supply.milliamperes, supply.volts, supply.source);
        format!("{name}: {core}, {mhz} MHz, {waits}\n{draws}")
    }

    /// What its radio draws, in a line.
    pub fn radio_heading(&self) -> String {
        let Radio { sends_milliamperes, receives_milliamperes, source } = &self.radio;
        format!("radio: {sends_milliamperes} mA sending, {receives_milliamperes} mA receiving ({source})")
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
