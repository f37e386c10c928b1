//! The chip's own thermometer: accesses to the registers of ADC1, by the addresses that the driver
//! names.

use core::ptr::{read_volatile, write_volatile};

use embedded_hal::delay::DelayNs as _;
use motemix_stm32f1_thermometer::{Register, Registers, tenths};
use stm32f1xx_hal::pac::ADC1;
use stm32f1xx_hal::rcc::{Enable as _, Rcc, Reset as _};

use crate::timer::Wait;

/// The converter, which nothing else in this program uses.
pub(crate) struct Thermometer {
    /// Nobody else has it.
    _converter: ADC1,
}

impl Thermometer {
    pub(crate) fn new(converter: ADC1, rcc: &mut Rcc) -> Self {
        ADC1::enable(rcc);
        ADC1::reset(rcc);
        Self { _converter: converter }
    }

    /// In tenths of a degree Celsius.
    pub(crate) fn tenths(&mut self) -> Option<i32> {
        tenths(self)
    }
}

impl Registers for Thermometer {
    fn read(&mut self, register: Register) -> u32 {
        debug_assert!(register.address() & !0xff == ADC1::PTR as u32);
        // SAFETY: the driver makes up no register but those of ADC1, which this owns: each is
        // aligned, and readable while the converter has its clock, which it has since `new`.
        unsafe { read_volatile(register.address() as *const u32) }
    }

    fn write(&mut self, register: Register, value: u32) {
        // SAFETY: as above, and no register of ADC1 makes a device write to memory: its DMA stays
        // off.
        unsafe { write_volatile(register.address() as *mut u32, value) }
    }

    fn wait_micros(&mut self, micros: u32) {
        Wait.delay_us(micros);
    }
}
