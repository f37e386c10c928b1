//! The micro:bit: an nRF51822 with a Cortex-M0, 16 MHz.

use core::convert::Infallible;

use rand_core::utils::next_word_via_fill;
use rand_core::{TryCryptoRng, TryRng};

use crate::line::Uart;
use crate::registers::{nrf51, nvic};
use crate::run::Machine;

/// Wakes the core this often, besides when something arrives.
const TICK_MICROS: u32 = 5_000;
const UART_INTERRUPT: u32 = 1 << 2;
const WAKE_INTERRUPT: u32 = 1 << 9;
/// 16 MHz / 2⁴: a count is a microsecond.
const MICROSECONDS: u32 = 4;
const BITS_32: u32 = 3;

/// The board, once its devices are set up.
pub struct Microbit {
    clock: u64,
    last: u32,
}

impl Microbit {
    /// Sets the devices up.
    pub fn new() -> Self {
        nrf51::UART_ENABLE.write(4);
        nrf51::UART_INTERRUPTS.write(1 << 2);
        nrf51::UART_START_RECEIVER.write(1);
        nrf51::UART_START_SENDER.write(1);
        nrf51::RANDOM_CONFIG.write(1);
        nrf51::RANDOM_START.write(1);
        nrf51::CLOCK_BITS.write(BITS_32);
        nrf51::CLOCK_PRESCALER.write(MICROSECONDS);
        nrf51::CLOCK_START.write(1);
        nrf51::WAKE_BITS.write(BITS_32);
        nrf51::WAKE_PRESCALER.write(MICROSECONDS);
        nrf51::WAKE_AT.write(TICK_MICROS);
        // Begins again at zero when it gets there.
        nrf51::WAKE_SHORTS.write(1);
        nrf51::WAKE_INTERRUPTS.write(1 << 16);
        nrf51::WAKE_CLEAR.write(1);
        nrf51::WAKE_START.write(1);
        nvic::ENABLE.write(UART_INTERRUPT | WAKE_INTERRUPT);
        Self { clock: 0, last: 0 }
    }
}

impl Default for Microbit {
    fn default() -> Self {
        Self::new()
    }
}

impl Machine for Microbit {
    type Uart = Nrf51Uart;
    type Random = Nrf51Random;
    const NAME: &'static str = "microbit";

    fn uart(&mut self) -> Nrf51Uart {
        Nrf51Uart { sending: false }
    }

    fn random(&mut self) -> Nrf51Random {
        Nrf51Random(())
    }

    fn now_micros(&mut self) -> u64 {
        nrf51::CLOCK_CAPTURE.write(1);
        let count = nrf51::CLOCK_CAPTURED.read();
        self.clock += u64::from(count.wrapping_sub(self.last));
        self.last = count;
        self.clock
    }

    fn sleep(&mut self) {
        cortex_m::asm::wfi();
        nrf51::WAKE_REACHED.write(0);
        nvic::CLEAR_PENDING.write(UART_INTERRUPT | WAKE_INTERRUPT);
    }
}

/// The UART.
pub struct Nrf51Uart {
    sending: bool,
}

impl Uart for Nrf51Uart {
    fn read(&mut self) -> Option<u8> {
        if nrf51::UART_RECEIVED.read() == 0 {
            return None;
        }
        nrf51::UART_RECEIVED.write(0);
        Some(nrf51::UART_RECEIVE.read() as u8)
    }

    fn write(&mut self, byte: u8) {
        while self.sending && nrf51::UART_SENT.read() == 0 {}
        nrf51::UART_SENT.write(0);
        nrf51::UART_SEND.write(byte.into());
        self.sending = true;
    }
}

/// The generator, with its bias correction on. All clones are the same one.
#[derive(Clone, Copy)]
pub struct Nrf51Random(());

impl TryRng for Nrf51Random {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        next_word_via_fill(self)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        next_word_via_fill(self)
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        for byte in out {
            while nrf51::RANDOM_READY.read() == 0 {}
            nrf51::RANDOM_READY.write(0);
            *byte = nrf51::RANDOM_VALUE.read() as u8;
        }
        Ok(())
    }
}

impl TryCryptoRng for Nrf51Random {}
