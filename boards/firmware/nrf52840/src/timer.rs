//! TIMER0 counts microseconds: the clock, the radio's alarm, and the moment at which an
//! acknowledgement begins. TIMER2 wakes the core.

use embassy_nrf::pac::timer::vals::Bitmode;
use embassy_nrf::pac::{TIMER0, TIMER2};

/// Which compare register is whose. The first is wired to the radio's sender (PPI channel 20).
pub(crate) const ACKNOWLEDGE: usize = 0;
const NOW: usize = 1;
/// When the frame ended that was received last.
pub(crate) const ENDED: usize = 2;
const ALARM: usize = 3;

/// 16 MHz / 2⁴.
const MICROSECONDS: u8 = 4;
/// Wakes the core this often, besides when something arrives.
const TICK_MICROS: u32 = 5_000;

/// Starts both.
pub(crate) fn start() {
    for timer in [TIMER0, TIMER2] {
        timer.bitmode().write(|w| w.set_bitmode(Bitmode::_32bit));
        timer.prescaler().write(|w| w.set_prescaler(MICROSECONDS));
        timer.tasks_clear().write_value(1);
    }
    TIMER2.cc(0).write_value(TICK_MICROS);
    TIMER2.shorts().write(|w| w.set_compare_clear(0, true));
    TIMER2.intenset().write(|w| w.set_compare(0, true));
    TIMER0.tasks_start().write_value(1);
    TIMER2.tasks_start().write_value(1);
    crate::interrupts::enable_tick();
}

/// What TIMER0 has counted. From the main thread, inside a critical section only: handlers use it
/// too.
pub(crate) fn now() -> u32 {
    TIMER0.tasks_capture(NOW).write_value(1);
    TIMER0.cc(NOW).read()
}

/// Has TIMER0 interrupt after so many microseconds.
pub(crate) fn set_alarm(after: u32) {
    cancel_alarm();
    // A comparison with a moment that passes while it is written would come in 71 minutes.
    TIMER0.cc(ALARM).write_value(now().wrapping_add(after.max(5)));
    TIMER0.intenset().write(|w| w.set_compare(ALARM, true));
}

pub(crate) fn cancel_alarm() {
    TIMER0.intenclr().write(|w| w.set_compare(ALARM, true));
    TIMER0.events_compare(ALARM).write_value(0);
}

/// Whether the alarm rings; it rings once.
pub(crate) fn take_alarm() -> bool {
    let rings = TIMER0.events_compare(ALARM).read() != 0;
    if rings {
        cancel_alarm();
    }
    rings
}

/// The core is awake.
pub(crate) fn end_tick() {
    TIMER2.events_compare(0).write_value(0);
    // Read back: otherwise the handler can end before the event is cleared, and is called again.
    let _ = TIMER2.events_compare(0).read();
}

/// Microseconds since the start, in 64 bits. The core looks far more often than every 71 minutes.
#[derive(Default)]
pub(crate) struct Clock {
    micros: u64,
    last: u32,
}

impl Clock {
    pub(crate) fn micros(&mut self) -> u64 {
        let count = critical_section::with(|_| now());
        self.micros += u64::from(count.wrapping_sub(self.last));
        self.last = count;
        self.micros
    }
}
