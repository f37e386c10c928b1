//! The board, as the run loop sees it.

use core::cell::RefCell;

use embassy_nrf::pac::TEMP;
use motemix_link::serial::ExtendedAddress;
use motemix_mote::{Board, Decimal, Flash, Record};
use rand_core::Rng as _;

use crate::console::{Console, Uart};
use crate::flash::{self, Nvmc};
use crate::radio::{self, Handle};
use crate::random::{Generator, Random};
use crate::timer;

/// An nRF52840 DK.
pub(crate) struct Dk<'r> {
    random: &'r RefCell<Generator>,
    console: &'r RefCell<Uart>,
    flash: Option<Nvmc>,
    clock: timer::Clock,
}

impl<'r> Dk<'r> {
    pub(crate) fn new(random: &'r RefCell<Generator>, console: &'r RefCell<Uart>, flash: Nvmc) -> Self {
        Self { random, console, flash: Some(flash), clock: timer::Clock::default() }
    }
}

impl<'r> Board for Dk<'r> {
    type Profile = motemix_mote::limits::Packets;
    type Flash = Nvmc;
    type Random = Random<'r>;
    type Radio = Handle;
    type Console = Console<'r>;
    const NAME: &'static str = "nrf52840-dk";

    fn flash(&mut self) -> Result<Flash<Nvmc>, &'static str> {
        let flash = self.flash.take().ok_or("error: the flash was taken before\n")?;
        Ok(Flash { flash, layout: flash::LAYOUT })
    }

    fn random(&mut self) -> Random<'r> {
        Random(self.random)
    }

    fn radio(&mut self) -> Handle {
        Handle
    }

    fn console(&mut self) -> Console<'r> {
        Console(self.console)
    }

    fn join(&mut self, address: ExtendedAddress) {
        radio::start(address, self.random().next_u32());
    }

    fn forget_frames(&mut self) {
        radio::forget();
    }

    fn has_news(&mut self) -> bool {
        radio::has_news() || self.console().has_news()
    }

    fn now_micros(&mut self) -> u64 {
        self.clock.micros()
    }

    fn sleep(&mut self) {
        // An interrupt that came since the last look has set the event, and this returns at once.
        cortex_m::asm::wfe();
    }

    /// The chip's own temperature, in quarters of a degree (nRF52840 Product Specification, 6.27).
    fn measure(&mut self) -> Option<Record<'static>> {
        TEMP.events_datardy().write_value(0);
        TEMP.tasks_start().write_value(1);
        // It takes 36 microseconds. One that does not answer is a broken one.
        let ready = (0..10_000).any(|_| TEMP.events_datardy().read() != 0);
        let quarters = i64::from(TEMP.temp().read().cast_signed());
        TEMP.tasks_stop().write_value(1);
        ready.then_some(Record { name: "t", unit: Some("Cel"), value: Decimal::new(quarters * 25, 2)? })
    }

    /// Stays here, so that the console's last line can be read.
    fn stop(&mut self) -> ! {
        loop {
            cortex_m::asm::wfe();
        }
    }
}
