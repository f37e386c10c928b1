//! The thermometer on a model of its converter, written from the reference manual (RM0008, 11): it
//! panics where the manual forbids something, and is as slow as the manual says.

use motemix_stm32f1_thermometer::{Register, Registers, adc1, tenths};

/// Cycles of the converter in a microsecond.
const MEGAHERTZ: u32 = 12;
/// Each access to a register takes so long at least.
const ACCESS_CYCLES: u32 = 1;

/// What does not end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    ResetOfCalibration,
    Calibration,
    Conversion,
}

struct Converter {
    /// The diode and the reference, in microvolts, and the supply.
    diode: u64,
    reference: u64,
    supply: u64,
    fault: Fault,
    cycles: u32,
    control: u32,
    sampled: u32,
    sequence: u32,
    channel: u32,
    powered_at: Option<u32>,
    connected_at: Option<u32>,
    /// When a step of the calibration ends, and which bit it clears.
    calibrating: Option<(u32, u32)>,
    is_calibrated: bool,
    /// When a conversion ends, and its result.
    converting: Option<(u32, u32)>,
    result: Option<u32>,
}

impl Converter {
    fn new(diode: u64, supply: u64) -> Self {
        Self {
            diode,
            reference: 1_200_000,
            supply,
            fault: Fault::None,
            cycles: 0,
            control: 0,
            sampled: 0,
            sequence: 0,
            channel: 0,
            powered_at: None,
            connected_at: None,
            calibrating: None,
            is_calibrated: false,
            converting: None,
            result: None,
        }
    }

    /// At a temperature, with the data sheet's typical diode.
    fn at(tenths: i64, supply: u64) -> Self {
        let diode = 1_430_000 - (tenths - 250) * 430;
        Self::new(u64::try_from(diode).unwrap(), supply)
    }

    fn advance(&mut self, cycles: u32) {
        self.cycles += cycles;
        if let Some((until, bit)) = self.calibrating
            && self.cycles >= until
        {
            (self.calibrating, self.control) = (None, self.control & !bit);
            self.is_calibrated |= bit == 1 << 2;
        }
        if let Some((until, result)) = self.converting
            && self.cycles >= until
        {
            (self.converting, self.result) = (None, Some(result));
        }
    }

    fn since(&self, event: Option<u32>) -> u32 {
        self.cycles - event.expect("it was not switched on")
    }

    fn begin(&mut self) {
        assert!(self.is_calibrated, "without a calibration the result is off");
        assert!(self.converting.is_none(), "one conversion at a time");
        assert!(self.since(self.connected_at) >= 10 * MEGAHERTZ, "the diode needs 10 µs");
        assert_eq!(self.sequence >> 20, 0, "one conversion");
        let (volts, at) = match self.channel {
            16 => (self.diode, 18),
            17 => (self.reference, 21),
            other => panic!("nothing is measured on channel {other}"),
        };
        // 239.5 cycles, and 12.5 for the conversion.
        assert_eq!(self.sampled >> at & 7, 7, "17.1 µs at least");
        let result = u32::try_from(volts * 4095 / self.supply).unwrap().min(4095);
        if self.fault != Fault::Conversion {
            self.converting = Some((self.cycles + 252, result));
        }
    }
}

impl Registers for Converter {
    fn read(&mut self, register: Register) -> u32 {
        self.advance(ACCESS_CYCLES);
        match register {
            adc1::CR2 => self.control,
            adc1::SR => u32::from(self.result.is_some()) << 1,
            adc1::DR => self.result.take().expect("nothing was converted"),
            other => panic!("{other:?} is not read"),
        }
    }

    fn write(&mut self, register: Register, value: u32) {
        self.advance(ACCESS_CYCLES);
        match register {
            adc1::CR2 => {
                let was = self.control;
                let (set, on) = (value & !was, value & 1 == 1);
                // "If any other bit in this register apart from ADON is changed at the same time,
                // then conversion is not triggered" (11.12.3).
                assert!(was & 1 == 0 || !on || value != was, "it would begin a conversion");
                self.control = value & !(1 << 22);
                self.powered_at = if on { self.powered_at.or(Some(self.cycles)) } else { None };
                let connected = value & 1 << 23 != 0;
                self.connected_at = if connected { self.connected_at.or(Some(self.cycles)) } else { None };
                if !on {
                    (self.is_calibrated, self.calibrating, self.converting) = (false, None, None);
                }
                for (bit, fault) in [(1 << 3, Fault::ResetOfCalibration), (1 << 2, Fault::Calibration)] {
                    if set & bit != 0 {
                        assert!(self.since(self.powered_at) >= MEGAHERTZ, "1 µs to power up");
                        assert!(self.calibrating.is_none(), "one step of the calibration at a time");
                        let cycles = if self.fault == fault { u32::MAX / 2 } else { 83 };
                        self.calibrating = Some((self.cycles + cycles, bit));
                    }
                }
                if value & 1 << 22 != 0 {
                    assert_eq!(value >> 17 & 0b1111, 0b1111, "begun by software");
                    self.begin();
                }
            }
            adc1::SMPR1 => self.sampled = value,
            adc1::SQR1 => self.sequence = value,
            adc1::SQR3 => self.channel = value,
            other => panic!("{other:?} is not written"),
        }
    }

    fn wait_micros(&mut self, micros: u32) {
        self.advance(micros * MEGAHERTZ);
    }
}

#[test]
fn a_temperature_is_right_within_a_step_of_the_converter_whatever_the_supply() {
    for supply in [2_400_000, 3_000_000, 3_300_000, 3_600_000] {
        for degrees in [-40, -1, 0, 21, 25, 85, 105] {
            let mut converter = Converter::at(degrees * 10, supply);
            let measured = i64::from(tenths(&mut converter).expect("it answers"));
            // Both results are off by a step, of 0.8 mV at most; 4.3 mV are a degree.
            assert!((measured - degrees * 10).abs() <= 6, "{degrees} °C at {supply} µV: {measured}");
        }
    }
}

#[test]
fn it_is_switched_off_afterwards_and_measures_again() {
    let mut converter = Converter::at(200, 3_300_000);
    let first = tenths(&mut converter);
    assert_eq!((converter.control, converter.powered_at, converter.connected_at), (0, None, None));
    converter.diode -= 10 * 4_300;
    let second = tenths(&mut converter);
    let warmer = second.unwrap() - first.unwrap();
    assert!((94..=106).contains(&warmer), "{warmer} tenths");
}

#[test]
fn a_converter_that_does_not_answer_is_given_up_and_switched_off() {
    for fault in [Fault::ResetOfCalibration, Fault::Calibration, Fault::Conversion] {
        let mut converter = Converter::at(200, 3_300_000);
        converter.fault = fault;
        assert_eq!(tenths(&mut converter), None);
        assert_eq!(converter.control, 0);
        // 100 ms of the converter's time are more than anybody waits.
        assert!(converter.cycles < 100_000 * MEGAHERTZ, "{} cycles", converter.cycles);
    }
}

#[test]
fn what_no_chip_that_works_can_say_is_no_temperature() {
    for (diode, reference) in [(0, 1_200_000), (3_300_000, 1_200_000), (1_430_000, 0), (1_430_000, 1)] {
        let mut converter = Converter::new(diode, 3_300_000);
        converter.reference = reference;
        assert_eq!(tenths(&mut converter), None, "{diode} and {reference} µV");
    }
}
