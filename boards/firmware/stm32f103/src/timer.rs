//! The clock: TIM2 counts microseconds, and TIM3 how often TIM2 began again. Counters, because
//! interrupts that count get lost while a page of the flash is erased. SysTick wakes the core.

use core::cell::RefCell;

use cortex_m::peripheral::SYST;
use cortex_m::peripheral::syst::SystClkSource;
use critical_section::Mutex;
use embedded_hal::delay::DelayNs;
use stm32f1xx_hal::pac::{TIM2, TIM3};
use stm32f1xx_hal::rcc::{Enable as _, Rcc, Reset as _};

const MEGAHERTZ: u32 = 72;
/// Wakes the core this often, besides when something arrives.
const TICK_MICROS: u32 = 5_000;

struct Counters {
    low: TIM2,
    high: TIM3,
}

static COUNTERS: Mutex<RefCell<Option<Counters>>> = Mutex::new(RefCell::new(None));

pub(crate) fn start(low: TIM2, high: TIM3, rcc: &mut Rcc) {
    TIM2::enable(rcc);
    TIM2::reset(rcc);
    TIM3::enable(rcc);
    TIM3::reset(rcc);
    low.psc().write(|w| w.psc().set(MEGAHERTZ as u16 - 1));
    low.arr().write(|w| w.arr().set(u16::MAX));
    high.arr().write(|w| w.arr().set(u16::MAX));
    // The prescaler is taken over at an update, which must not be counted.
    low.egr().write(|w| w.ug().set_bit());
    // TIM2 says when it begins again (RM0008, 15.4.2), and TIM3 counts that: its internal trigger 1
    // is TIM2 (table 86).
    low.cr2().modify(|_, w| w.mms().update());
    high.smcr().modify(|_, w| w.ts().itr1().sms().ext_clock_mode());
    high.cr1().modify(|_, w| w.cen().set_bit());
    low.cr1().modify(|_, w| w.cen().set_bit());
    critical_section::with(|section| COUNTERS.borrow_ref_mut(section).replace(Counters { low, high }));
}

pub(crate) fn start_tick(mut tick: SYST) {
    tick.set_clock_source(SystClkSource::Core);
    tick.set_reload(MEGAHERTZ * TICK_MICROS - 1);
    tick.clear_current();
    tick.enable_interrupt();
    tick.enable_counter();
}

/// Microseconds, which begin again after 71 minutes.
pub(crate) fn now() -> u32 {
    critical_section::with(|section| COUNTERS.borrow_ref(section).as_ref().map_or(0, Counters::read))
}

impl Counters {
    fn read(&self) -> u32 {
        let mut upper = self.high.cnt().read().cnt().bits();
        loop {
            let lower = self.low.cnt().read().cnt().bits();
            let again = self.high.cnt().read().cnt().bits();
            if again == upper {
                return u32::from(upper) << 16 | u32::from(lower);
            }
            upper = again;
        }
    }
}

/// Microseconds since the start, in 64 bits. The core looks far more often than every 71 minutes.
#[derive(Default)]
pub(crate) struct Clock {
    micros: u64,
    last: u32,
}

impl Clock {
    pub(crate) fn micros(&mut self) -> u64 {
        let count = now();
        self.micros += u64::from(count.wrapping_sub(self.last));
        self.last = count;
        self.micros
    }
}

/// Waits by counting cycles.
pub(crate) struct Wait;

impl DelayNs for Wait {
    fn delay_ns(&mut self, nanos: u32) {
        cortex_m::asm::delay((nanos / 1_000 + 1) * MEGAHERTZ);
    }
}
