//! The board, as the run loop sees it.

use core::cell::RefCell;

use chacha20::ChaCha20Rng;
use motemix_link::serial::ExtendedAddress;
use motemix_mote::{Board, Decimal, Flash, Record};
use rand_core::Rng as _;

use crate::console::{Console, Sender};
use crate::flash::{self, Store};
use crate::radio::{self, Handle};
use crate::random::Random;
use crate::thermometer::Thermometer;
use crate::{console, timer};

/// An IoT-LAB M3.
pub(crate) struct Node<'r> {
    random: &'r RefCell<ChaCha20Rng>,
    console: &'r RefCell<Sender>,
    flash: Option<Store>,
    thermometer: Thermometer,
    clock: timer::Clock,
}

impl<'r> Node<'r> {
    pub(crate) fn new(
        random: &'r RefCell<ChaCha20Rng>,
        console: &'r RefCell<Sender>,
        flash: Store,
        thermometer: Thermometer,
    ) -> Self {
        Self { random, console, flash: Some(flash), thermometer, clock: timer::Clock::default() }
    }
}

impl<'r> Board for Node<'r> {
    type Profile = motemix_mote::limits::Packets;
    type Flash = Store;
    type Random = Random<'r>;
    type Radio = Handle;
    type Console = Console<'r>;
    const NAME: &'static str = "iotlab-m3";

    fn flash(&mut self) -> Result<Flash<Store>, &'static str> {
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
        let seed = self.random().next_u32() as u16;
        if let Err(error) = radio::join(address, seed) {
            use core::fmt::Write as _;
            let _ = writeln!(self.console(), "error: {error}");
        }
    }

    fn forget_frames(&mut self) {
        radio::forget();
    }

    fn has_news(&mut self) -> bool {
        radio::has_news() || console::has_news()
    }

    fn now_micros(&mut self) -> u64 {
        self.clock.micros()
    }

    fn sleep(&mut self) {
        // An interrupt that came since the last look has set the event, and this returns at once.
        cortex_m::asm::wfe();
    }

    /// The chip's own temperature, which is off by up to 45 °C from one chip to another.
    fn measure(&mut self) -> Option<Record<'static>> {
        let tenths = self.thermometer.tenths()?;
        Some(Record { name: "t", unit: Some("Cel"), value: Decimal::new(tenths.into(), 1)? })
    }

    fn stop(&mut self) -> ! {
        halt()
    }
}

/// Stays here, so that the console's last line can be read.
pub(crate) fn halt() -> ! {
    loop {
        cortex_m::asm::wfe();
    }
}
