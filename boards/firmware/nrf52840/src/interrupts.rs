//! Which interrupts there are, and who handles them.

use embassy_nrf::interrupt::{self, InterruptExt as _, Priority};

/// The radio and its alarm come before everything else: an acknowledgement is due 192 µs after a
/// frame.
pub(crate) fn enable_radio() {
    for interrupt in [interrupt::RADIO, interrupt::TIMER0] {
        interrupt.set_priority(Priority::P0);
        // SAFETY: the handlers below work on what is in a mutex of critical sections.
        unsafe { interrupt.enable() };
    }
    // The console's comes after.
    interrupt::UARTE0.set_priority(Priority::P3);
}

pub(crate) fn enable_tick() {
    interrupt::TIMER2.set_priority(Priority::P7);
    // SAFETY: its handler works on nothing but the timer's event.
    unsafe { interrupt::TIMER2.enable() };
}

#[cortex_m_rt::interrupt]
fn RADIO() {
    crate::radio::handle_radio();
}

#[cortex_m_rt::interrupt]
fn TIMER0() {
    crate::radio::handle_alarm();
}

#[cortex_m_rt::interrupt]
fn TIMER2() {
    crate::timer::end_tick();
}
