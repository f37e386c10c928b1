//! Which interrupts there are, and who handles them.

use cortex_m::peripheral::NVIC;
use stm32f1xx_hal::pac::{EXTI, Interrupt, interrupt};

/// The console's comes before the radio's, which takes as long as 25 characters. It is so after a
/// reset: of two with the same priority the one with the lower number comes first, but neither
/// interrupts the other, so the radio's gets the next lower priority. Of eight bits this part has
/// the upper four.
const LATER: u8 = 1 << 4;

pub(crate) fn enable_console() {
    // SAFETY: the handler works on what is in a mutex of critical sections.
    unsafe { NVIC::unmask(Interrupt::USART1) };
}

pub(crate) fn enable_radio() {
    // SAFETY: nobody has the NVIC: the core's peripherals went out of use in `main`, which gave
    // nobody this part. Priorities may change while the interrupt is still masked.
    unsafe { cortex_m::Peripherals::steal().NVIC.set_priority(Interrupt::EXTI4, LATER) };
    // SAFETY: the handler uses `Guarded` for what it shares.
    unsafe { NVIC::unmask(Interrupt::EXTI4) };
}

#[interrupt]
fn USART1() {
    crate::console::handle();
}

#[interrupt]
fn EXTI4() {
    // SAFETY: the one register that is written has a bit for each line, and takes notice of ones
    // only.
    unsafe { EXTI::steal() }.pr().write(|w| w.pr4().clear_bit_by_one());
    crate::radio::handle();
}

/// Nothing is to be done: the core is awake.
#[cortex_m_rt::exception]
fn SysTick() {}
