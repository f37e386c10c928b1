//! ARM's MPS2 boards with the images AN385 (Cortex-M3) and AN386 (Cortex-M4), 25 MHz.

use crate::HostRandom;
use crate::line::Uart;
use crate::registers::{cmsdk, nvic, tick};
use crate::run::Machine;

const MEGAHERTZ: u32 = 25;
/// Wakes the core this often, besides when something arrives.
const TICK_MICROS: u32 = 5_000;
/// In data and state: a byte waits to be taken, there is no room for another.
const ARRIVED: u32 = 1 << 1;
const FULL: u32 = 1 << 0;
const RECEIVE_INTERRUPT: u32 = 1 << 0;

/// The board, once its devices are set up.
pub struct Mps2 {
    clock: u64,
    last: u32,
}

impl Mps2 {
    /// Sets the devices up.
    pub fn new() -> Self {
        cmsdk::UART_DIVIDER.write(16);
        // Sender, receiver, receive interrupt.
        cmsdk::UART_CONTROL.write(0b1011);
        cmsdk::TIMER_LOAD.write(u32::MAX);
        // Enabled, 32 bits, wrapping.
        cmsdk::TIMER_CONTROL.write(0b1000_0010);
        nvic::ENABLE.write(RECEIVE_INTERRUPT);
        tick::RELOAD.write(MEGAHERTZ * TICK_MICROS - 1);
        tick::CURRENT.write(0);
        // Enabled, with interrupt, by the core's clock.
        tick::CONTROL.write(0b111);
        Self { clock: 0, last: 0 }
    }
}

impl Default for Mps2 {
    fn default() -> Self {
        Self::new()
    }
}

impl Machine for Mps2 {
    type Uart = CmsdkUart;
    type Random = HostRandom;
    const NAME: &'static str = "mps2";

    fn uart(&mut self) -> CmsdkUart {
        CmsdkUart(())
    }

    fn random(&mut self) -> HostRandom {
        HostRandom
    }

    fn now_micros(&mut self) -> u64 {
        // The timer counts down and wraps after 171 s; the core wakes far more often.
        let count = !cmsdk::TIMER_VALUE.read();
        self.clock += u64::from(count.wrapping_sub(self.last));
        self.last = count;
        self.clock / u64::from(MEGAHERTZ)
    }

    fn sleep(&mut self) {
        cortex_m::asm::wfi();
        cmsdk::UART_INTERRUPTS.write(0b10);
        nvic::CLEAR_PENDING.write(RECEIVE_INTERRUPT);
        nvic::STATE.write(nvic::CLEAR_PENDING_TICK);
    }
}

/// UART 0.
pub struct CmsdkUart(());

impl Uart for CmsdkUart {
    fn read(&mut self) -> Option<u8> {
        (cmsdk::UART_STATE.read() & ARRIVED != 0).then(|| cmsdk::UART_DATA.read() as u8)
    }

    fn write(&mut self, byte: u8) {
        while cmsdk::UART_STATE.read() & FULL != 0 {}
        cmsdk::UART_DATA.write(byte.into());
    }
}
