//! Device registers: the only accesses to memory that the compiler does not know.
//!
//! Every register is named here with its address, so that no code elsewhere can make up one.

use core::ptr::{read_volatile, write_volatile};

/// A device register of 32 bits.
#[derive(Clone, Copy)]
pub(crate) struct Register(usize);

impl Register {
    pub(crate) fn read(self) -> u32 {
        // SAFETY: the field is private and every address in this file is that of a device register,
        // aligned and readable at any time. These boards have one core, and no interrupt handler
        // touches a device.
        unsafe { read_volatile(self.0 as *const u32) }
    }

    pub(crate) fn write(self, value: u32) {
        // SAFETY: as above, and no register in this file makes a device write to memory.
        unsafe { write_volatile(self.0 as *mut u32, value) }
    }
}

/// ARM CMSDK UART 0 and dual timer, as on the MPS2 boards (DUI 0475, AN385, AN386).
pub(crate) mod cmsdk {
    use super::Register;

    pub(crate) const UART_DATA: Register = Register(0x4000_4000);
    pub(crate) const UART_STATE: Register = Register(0x4000_4004);
    pub(crate) const UART_CONTROL: Register = Register(0x4000_4008);
    pub(crate) const UART_INTERRUPTS: Register = Register(0x4000_400c);
    pub(crate) const UART_DIVIDER: Register = Register(0x4000_4010);
    pub(crate) const TIMER_LOAD: Register = Register(0x4000_2000);
    pub(crate) const TIMER_VALUE: Register = Register(0x4000_2004);
    pub(crate) const TIMER_CONTROL: Register = Register(0x4000_2008);
}

/// Nordic nRF51 UART, generator and timers (nRF51 Series Reference Manual 3.0).
pub(crate) mod nrf51 {
    use super::Register;

    pub(crate) const UART_START_RECEIVER: Register = Register(0x4000_2000);
    pub(crate) const UART_START_SENDER: Register = Register(0x4000_2008);
    pub(crate) const UART_RECEIVED: Register = Register(0x4000_2108);
    pub(crate) const UART_SENT: Register = Register(0x4000_211c);
    pub(crate) const UART_INTERRUPTS: Register = Register(0x4000_2304);
    pub(crate) const UART_ENABLE: Register = Register(0x4000_2500);
    pub(crate) const UART_RECEIVE: Register = Register(0x4000_2518);
    pub(crate) const UART_SEND: Register = Register(0x4000_251c);
    pub(crate) const RANDOM_START: Register = Register(0x4000_d000);
    pub(crate) const RANDOM_READY: Register = Register(0x4000_d100);
    pub(crate) const RANDOM_CONFIG: Register = Register(0x4000_d504);
    pub(crate) const RANDOM_VALUE: Register = Register(0x4000_d508);
    /// Counts microseconds.
    pub(crate) const CLOCK_START: Register = Register(0x4000_8000);
    pub(crate) const CLOCK_CAPTURE: Register = Register(0x4000_8040);
    pub(crate) const CLOCK_BITS: Register = Register(0x4000_8508);
    pub(crate) const CLOCK_PRESCALER: Register = Register(0x4000_8510);
    pub(crate) const CLOCK_CAPTURED: Register = Register(0x4000_8540);
    /// Wakes the core.
    pub(crate) const WAKE_START: Register = Register(0x4000_9000);
    pub(crate) const WAKE_CLEAR: Register = Register(0x4000_900c);
    pub(crate) const WAKE_REACHED: Register = Register(0x4000_9140);
    pub(crate) const WAKE_SHORTS: Register = Register(0x4000_9200);
    pub(crate) const WAKE_INTERRUPTS: Register = Register(0x4000_9304);
    pub(crate) const WAKE_BITS: Register = Register(0x4000_9508);
    pub(crate) const WAKE_PRESCALER: Register = Register(0x4000_9510);
    pub(crate) const WAKE_AT: Register = Register(0x4000_9540);
}

/// The interrupt controller of every Cortex-M (Armv6-M ARM, B3.4). Interrupts stay masked, and
/// serve to wake the core from its sleep.
pub(crate) mod nvic {
    use super::Register;

    pub(crate) const ENABLE: Register = Register(0xe000_e100);
    pub(crate) const CLEAR_PENDING: Register = Register(0xe000_e280);
    /// Interrupt control and state.
    pub(crate) const STATE: Register = Register(0xe000_ed04);
    pub(crate) const CLEAR_PENDING_TICK: u32 = 1 << 25;
}

/// The tick of every Cortex-M3 and M4 (Armv7-M ARM, B3.3).
pub(crate) mod tick {
    use super::Register;

    pub(crate) const CONTROL: Register = Register(0xe000_e010);
    pub(crate) const RELOAD: Register = Register(0xe000_e014);
    pub(crate) const CURRENT: Register = Register(0xe000_e018);
}
