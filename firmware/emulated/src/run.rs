//! An emulated board, as the run loop sees it: its radio and its console share a serial line, and its flash
//! is a file of the host.

use core::cell::RefCell;
use core::ffi::CStr;

use motemix_link::serial::ExtendedAddress;
use motemix_runner::{Board, Flash, Layout};
use rand_core::CryptoRng;

use crate::flash::{CAPACITY, HostFlash, PAGE};
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

/// Runs the board for good; the numbers are those of [`motemix_runner::run`].
pub fn run<
    M: Machine,
    const SCRATCH: usize,
    const ARRIVALS: usize,
    const PACKETS: usize,
    const TAGS: usize,
    const MESSAGES: usize,
    const NODES: usize,
>(
    mut machine: M,
) -> ! {
    let line = Line::new(machine.uart());
    let board = Emulated { machine, line: &line };
    motemix_runner::run::<_, SCRATCH, ARRIVALS, PACKETS, TAGS, MESSAGES, NODES>(board)
}

struct Emulated<'l, M: Machine> {
    machine: M,
    line: &'l RefCell<Line<M::Uart>>,
}

impl<'l, M: Machine> Board for Emulated<'l, M> {
    type Flash = HostFlash;
    type Random = M::Random;
    type Radio = RadioOnLine<'l, M::Uart>;
    type Console = ConsoleOnLine<'l, M::Uart>;
    const NAME: &'static str = M::NAME;

    fn flash(&mut self) -> Result<Flash<HostFlash>, &'static str> {
        let flash = HostFlash::open(FLASH)
            .map_err(|_| "error: no flash; start the emulator in a folder that can be written\n")?;
        let page = |number: usize| (number * PAGE) as u32;
        let layout =
            Layout { settings: 0..page(16), tags: page(16)..page(24), messages: page(24)..CAPACITY as u32 };
        Ok(Flash { flash, layout })
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

    /// Ends the emulator, so that somebody notices.
    fn stop(&mut self) -> ! {
        semihosting::process::exit(1)
    }
}
