//! The STM32F103's own thermometer: a diode on channel 16 of ADC1 (RM0008, 11.10).
//!
//! ```text
//! power up ─ calibrate ─ channel 16: the diode ─ channel 17: 1.20 V ─ power down
//! ```
//!
//! The diode's voltage is told as a part of the chip's reference, so the supply's does not matter.
//! It is 1.43 V at 25 °C and falls by 4.3 mV a degree, both typical (data sheet, 5.3.21). **From
//! one chip to another a temperature is off by up to 45 °C** (RM0008, 11.10): this shows how one
//! board gets warmer and colder, and is no thermometer before somebody has compared it with one.
//!
//! Whoever drives it has enabled the clock of ADC1, at 14 MHz at most.

#![no_std]
#![forbid(unsafe_code)]

/// A register of ADC1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Register(u32);

impl Register {
    /// Where it is.
    pub const fn address(self) -> u32 {
        self.0
    }
}

/// Registers of ADC1, by their names in RM0008 (11.12).
pub mod adc1 {
    use super::Register;

    /// Status.
    pub const SR: Register = Register(0x4001_2400);
    /// Control.
    pub const CR2: Register = Register(0x4001_2408);
    /// How long channels 10 to 17 are sampled.
    pub const SMPR1: Register = Register(0x4001_240c);
    /// How many conversions there are in a sequence, less one.
    pub const SQR1: Register = Register(0x4001_242c);
    /// Which channel comes first.
    pub const SQR3: Register = Register(0x4001_2434);
    /// The result.
    pub const DR: Register = Register(0x4001_244c);
}

/// The chip, or a model of it.
pub trait Registers {
    /// Reads a register.
    fn read(&mut self, register: Register) -> u32;
    /// Writes a register.
    fn write(&mut self, register: Register, value: u32);
    /// Waits for so long at least.
    fn wait_micros(&mut self, micros: u32);
}

/// In `SR`: a conversion has ended. Reading the result clears it.
const ENDED: u32 = 1 << 1;
/// In `CR2`.
const POWER: u32 = 1 << 0;
const CALIBRATE: u32 = 1 << 2;
const RESET_CALIBRATION: u32 = 1 << 3;
/// `CR2`'s `EXTSEL` and `EXTTRIG`: a conversion begins when `SWSTART` is set.
const BY_SOFTWARE: u32 = 7 << 17 | 1 << 20;
const START: u32 = 1 << 22;
/// `TSVREFE`: diode and reference are connected.
const CONNECT: u32 = 1 << 23;
/// In `SMPR1`: 239.5 cycles for channels 16 and 17, which are 17.1 µs at 14 MHz, as RM0008 wants.
const LONG_SAMPLES: u32 = 7 << 18 | 7 << 21;

const DIODE: u32 = 16;
const REFERENCE: u32 = 17;

/// The converter's power-up and the diode's take 10 µs at most (data sheet, 5.3.18 and 5.3.21).
const POWER_UP_MICROS: u32 = 10;
/// Questions until it is given up. A conversion takes 252 cycles, a calibration 83.
const PATIENCE: u32 = 10_000;
/// The reference, in microvolts.
const REFERENCE_MICROVOLTS: u32 = 1_200_000;
/// The diode at 25 °C.
const AT_25_MICROVOLTS: i32 = 1_430_000;
const MICROVOLTS_A_TENTH: i32 = 430;

/// The temperature in tenths of a degree Celsius; `None` if the converter does not answer, or says
/// what no chip that works can say.
pub fn tenths(chip: &mut impl Registers) -> Option<i32> {
    let measured = measure(chip);
    chip.write(adc1::CR2, 0);
    let (diode, reference) = measured?;
    // Both results have twelve bits.
    let microvolts = u64::from(diode) * u64::from(REFERENCE_MICROVOLTS) / u64::from(reference);
    let below = AT_25_MICROVOLTS - i32::try_from(microvolts).ok()?;
    let tenths = 250 + below.div_euclid(MICROVOLTS_A_TENTH);
    // The part works from -40 to 105 °C, and the diode is off by 45 °C.
    (-850..=1500).contains(&tenths).then_some(tenths)
}

fn measure(chip: &mut impl Registers) -> Option<(u32, u32)> {
    let control = POWER | BY_SOFTWARE | CONNECT;
    chip.write(adc1::CR2, 0);
    // The first time it is set, this bit powers up and does not convert; nothing else may change
    // with it when it is set again.
    chip.write(adc1::CR2, control);
    chip.wait_micros(POWER_UP_MICROS);
    for step in [RESET_CALIBRATION, CALIBRATE] {
        chip.write(adc1::CR2, control | step);
        until(chip, |chip| chip.read(adc1::CR2) & step == 0)?;
    }
    chip.write(adc1::SMPR1, LONG_SAMPLES);
    chip.write(adc1::SQR1, 0);
    Some((convert(chip, control, DIODE)?, convert(chip, control, REFERENCE).filter(|it| *it > 0)?))
}

fn convert(chip: &mut impl Registers, control: u32, channel: u32) -> Option<u32> {
    chip.write(adc1::SQR3, channel);
    chip.write(adc1::CR2, control | START);
    until(chip, |chip| chip.read(adc1::SR) & ENDED != 0)?;
    Some(chip.read(adc1::DR) & 0xfff)
}

fn until<R: Registers>(chip: &mut R, mut is_done: impl FnMut(&mut R) -> bool) -> Option<()> {
    (0..PATIENCE).any(|_| is_done(chip)).then_some(())
}
