//! From the reset to the loop that never ends.

use core::cell::RefCell;
use core::ffi::CStr;
use core::fmt::Write as _;
use core::time::Duration;

use motemix_link::radio::Radio;
use motemix_link::stack::{Stack, StackMemory};
use motemix_mote::store::Layout;
use motemix_mote::{Console as _, Mote, Next, PlaceInNetwork, Refusal, Running, StartAsked};
use motemix_node::Instant;
use rand_core::{CryptoRng, Rng as _};

use crate::flash::{CAPACITY, HostFlash, PAGE};
use crate::line::{ConsoleOnLine, Line, RadioOnLine, Uart};
use crate::memory::Tables;

/// What a board has.
pub trait Board {
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

    /// The same as the node counts it.
    fn now(&mut self) -> Instant {
        Instant::from_micros(self.now_micros())
    }
}

/// The file that is the flash, in the folder in which the emulator was started.
const FLASH: &CStr = c"flash.bin";
/// Bytes of a MOTE packet.
const PACKET: usize = 280;

/// A board that has started: everything that is there whether the node runs or not.
struct Started<'l, B: Board> {
    board: B,
    line: &'l RefCell<Line<B::Uart>>,
    radio: Radio<RadioOnLine<'l, B::Uart>>,
    mote: &'l mut Mote<HostFlash, B::Random>,
}

/// Runs the board for good, with room for a network document of `SCRATCH` bytes, `ARRIVALS` datagrams that
/// came, and [`Tables`] of these lengths.
pub fn run<
    B: Board,
    const SCRATCH: usize,
    const ARRIVALS: usize,
    const PACKETS: usize,
    const TAGS: usize,
    const MESSAGES: usize,
    const NODES: usize,
>(
    mut board: B,
) -> ! {
    let line = Line::new(board.uart());
    let mut console = ConsoleOnLine(&line);
    console.write("\nmotemix on ");
    console.write(B::NAME);
    console.write("; `help` lists the commands\n");
    let mut opened = open(&mut board);
    // By reference, here and below: moved out, it would be on the stack twice.
    let mote = match &mut opened {
        Ok(mote) => mote,
        Err(problem) => {
            console.write(problem);
            stop();
        }
    };
    line.borrow_mut().join(mote.address());
    let mut started = Started { board, line: &line, radio: Radio::new(RadioOnLine(&line)), mote };
    let mut scratch = [0; SCRATCH];
    loop {
        let asked = started.stand(&mut scratch);
        let now = started.board.now();
        let mut admitted = started.mote.admit(asked, now, &mut scratch);
        let served = match &mut admitted {
            Ok(place) => started.link::<ARRIVALS, PACKETS, TAGS, MESSAGES, NODES>(place),
            Err(refusal) => Err(*refusal),
        };
        if let Err(refusal) = served {
            // The line takes everything.
            let _ = writeln!(Text(&line), "error: {refusal}");
        }
    }
}

/// Opens the flash. Not inlined, as those below: what is needed in one place must not stay on the stack for
/// good.
#[inline(never)]
fn open<B: Board>(board: &mut B) -> Result<Mote<HostFlash, B::Random>, &'static str> {
    let flash = HostFlash::open(FLASH)
        .map_err(|_| "error: no flash; start the emulator in a folder that can be written\n")?;
    let page = |number: usize| (number * PAGE) as u32;
    let layout =
        Layout { settings: 0..page(16), tags: page(16)..page(24), messages: page(24)..CAPACITY as u32 };
    let random = board.random();
    Mote::new(flash, layout, random).map_err(|_| "error: the flash does not work; erase its file\n")
}

impl<B: Board> Started<'_, B> {
    /// Until somebody types `start`.
    #[inline(never)]
    fn stand(&mut self, scratch: &mut [u8]) -> StartAsked {
        loop {
            let now = self.board.now();
            let mut console = ConsoleOnLine(self.line);
            if let Some(asked) = self.mote.attend(now, &mut console, scratch) {
                return asked;
            }
            self.line.borrow_mut().forget_frames();
            while !self.line.borrow_mut().read() {
                self.board.sleep();
            }
        }
    }

    /// Makes the link, for as long as the node runs.
    #[inline(never)]
    fn link<
        const ARRIVALS: usize,
        const PACKETS: usize,
        const TAGS: usize,
        const MESSAGES: usize,
        const NODES: usize,
    >(
        &mut self,
        place: &PlaceInNetwork<'_>,
    ) -> Result<(), Refusal> {
        let seed = self.board.random().next_u64();
        let now = Duration::from_micros(self.board.now_micros());
        let mut memory = StackMemory::<PACKET, ARRIVALS>::new();
        let mut stack = Stack::new(self.mote.address(), seed, &mut memory, &mut self.radio, now);
        self.node::<PACKETS, TAGS, MESSAGES, NODES>(place, &mut stack)
    }

    /// Makes the node, and runs it until somebody types `stop`.
    #[inline(never)]
    fn node<const PACKETS: usize, const TAGS: usize, const MESSAGES: usize, const NODES: usize>(
        &mut self,
        place: &PlaceInNetwork<'_>,
        stack: &mut Stack<'_>,
    ) -> Result<(), Refusal> {
        let Self { board, line, radio, mote } = self;
        let mut tables = Tables::<PACKETS, TAGS, MESSAGES, NODES>::new();
        let (storage, routes) = tables.lend();
        let mut running = Running::new(mote, board.now(), place, storage, routes);
        let running = match &mut running {
            Ok(running) => running,
            Err(refusal) => return Err(*refusal),
        };
        let mut packet = [0; PACKET];
        let mut console = ConsoleOnLine(line);
        console.write("ok\n");
        loop {
            let Next::Wait(due) = running.poll(board.now(), &mut console, stack, radio, &mut packet) else {
                return Ok(());
            };
            while !line.borrow_mut().read() && due.is_none_or(|due| due > board.now()) {
                board.sleep();
            }
        }
    }
}

/// The console, for `write!`.
struct Text<'l, U>(&'l RefCell<Line<U>>);

impl<U: Uart> core::fmt::Write for Text<'_, U> {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        ConsoleOnLine(self.0).write(text);
        Ok(())
    }
}

/// A board that cannot run ends its emulator, so that somebody notices.
fn stop() -> ! {
    semihosting::process::exit(1)
}
