//! An emulated board, as the run loop sees it: its radio and its console share a serial line, and
//! its flash is a file of the host.

use core::cell::RefCell;
use core::ffi::CStr;
use core::marker::PhantomData;

use motemix_link::serial::ExtendedAddress;
use motemix_mote::limits::FlashLimits;
use motemix_mote::{Board, Decimal, Flash, Record};
use motemix_sphinx::Profile;
use rand_core::CryptoRng;

use crate::flash::HostFlash;
use crate::line::{ConsoleOnLine, Line, RadioOnLine, Uart};

/// What an emulated board has.
pub trait Machine {
    /// Its serial port.
    type Uart: Uart;
    /// Its generator.
    type Random: CryptoRng + Clone;
    /// What people call it.
    const NAME: &'static str;

    /// The serial port; called once.
    fn uart(&mut self) -> Self::Uart;
    /// A handle to the generator.
    fn random(&mut self) -> Self::Random;
    /// Microseconds since the start.
    fn now_micros(&mut self) -> u64;
    /// Sleeps until something arrives, a few milliseconds at most.
    fn sleep(&mut self);
}

/// The file that is the flash, in the folder in which the emulator was started.
const FLASH: &CStr = c"flash.bin";

/// Runs a machine for good, with packets of a profile and tables as long as its limits say.
#[macro_export]
macro_rules! run {
    ($machine:expr, $profile:ty, $limits:expr) => {{
        let mut machine = $machine;
        let line = $crate::line(&mut machine);
        let flash = $limits.flash;
        let board =
            $crate::Emulated::<_, $profile, { $limits.flash.page as usize }>::new(machine, &line, flash);
        motemix_mote::run!(board, $profile, $limits)
    }};
}

/// Runs a machine as one of two neighbours for good (`motemix_mote::pair`), with room for so many
/// others and for so many datagrams that arrive. The limits are those of the board.
#[macro_export]
macro_rules! pair {
    ($machine:expr, $profile:ty, $limits:expr, $places:literal, $arrivals:literal) => {{
        let mut machine = $machine;
        let line = $crate::line(&mut machine);
        let flash = $limits.flash;
        let board =
            $crate::Emulated::<_, $profile, { $limits.flash.page as usize }>::new(machine, &line, flash);
        motemix_mote::pair::run::<_, $places, $arrivals>(board)
    }};
}

/// The serial line of a machine; called once.
pub fn line<M: Machine>(machine: &mut M) -> RefCell<Line<M::Uart>> {
    Line::new(machine.uart())
}

/// A machine that is a board: with a serial line, and pages of so many bytes.
pub struct Emulated<'l, M: Machine, P, const PAGE: usize> {
    machine: M,
    line: &'l RefCell<Line<M::Uart>>,
    flash: FlashLimits,
    profile: PhantomData<P>,
}

impl<'l, M: Machine, P, const PAGE: usize> Emulated<'l, M, P, PAGE> {
    /// The board.
    pub const fn new(machine: M, line: &'l RefCell<Line<M::Uart>>, flash: FlashLimits) -> Self {
        Self { machine, line, flash, profile: PhantomData }
    }
}

impl<'l, M: Machine, P: Profile, const PAGE: usize> Board for Emulated<'l, M, P, PAGE> {
    type Profile = P;
    type Flash = HostFlash<PAGE>;
    type Random = M::Random;
    type Radio = RadioOnLine<'l, M::Uart>;
    type Console = ConsoleOnLine<'l, M::Uart>;
    const NAME: &'static str = M::NAME;

    fn flash(&mut self) -> Result<Flash<HostFlash<PAGE>>, &'static str> {
        let flash = HostFlash::open(FLASH, self.flash.len() as usize)
            .map_err(|_| "error: no flash; start the emulator in a folder that can be written\n")?;
        Ok(Flash { flash, layout: self.flash.layout(0) })
    }

    fn random(&mut self) -> M::Random {
        self.machine.random()
    }

    fn radio(&mut self) -> RadioOnLine<'l, M::Uart> {
        RadioOnLine(self.line)
    }

    fn console(&mut self) -> ConsoleOnLine<'l, M::Uart> {
        ConsoleOnLine(self.line)
    }

    fn join(&mut self, address: ExtendedAddress) {
        self.line.borrow_mut().join(address);
    }

    fn forget_frames(&mut self) {
        self.line.borrow_mut().forget_frames();
    }

    fn has_news(&mut self) -> bool {
        self.line.borrow_mut().read()
    }

    fn now_micros(&mut self) -> u64 {
        self.machine.now_micros()
    }

    fn sleep(&mut self) {
        self.machine.sleep();
    }

    /// A simulated thermometer, which rises from 18 to 24 degrees in a minute and falls again.
    fn measure(&mut self) -> Option<Record<'static>> {
        let second = self.machine.now_micros() / 1_000_000 % 120;
        let tenths = 180 + second.min(120 - second).cast_signed();
        Some(Record { name: "t", unit: Some("Cel"), value: Decimal::new(tenths, 1)? })
    }

    /// Ends the emulator, so that somebody notices.
    fn stop(&mut self) -> ! {
        semihosting::process::exit(1)
    }
}
