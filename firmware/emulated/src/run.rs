//! From the reset to the loop that never ends.

use core::ffi::CStr;

use motemix_link::radio::Radio;
use motemix_link::stack::StackMemory;
use motemix_mote::store::Layout;
use motemix_mote::{Application, Console as _, Packets, Parts, Route};
use motemix_node::{Instant, Memory};
use rand_core::CryptoRng;

use crate::flash::{CAPACITY, HostFlash, PAGE};
use crate::line::{ConsoleOnLine, Line, RadioOnLine, Uart};

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
}

/// The file that is the flash, in the folder in which the emulator was started.
const FLASH: &CStr = c"flash.bin";
/// Bytes of a MOTE packet.
const PACKET: usize = 280;

/// The memory of an application: as many packets, replay tags, messages and nodes as the board has room for.
pub struct BoardMemory<'m, const PACKETS: usize, const TAGS: usize, const MESSAGES: usize, const NODES: usize, const SCRATCH: usize> {
    node: Memory<Packets, PACKETS, TAGS, 16, MESSAGES, MESSAGES, MESSAGES, NODES>,
    routes: [Route; NODES],
    stack: StackMemory<'m, PACKET, 2>,
    scratch: [u8; SCRATCH],
}

impl<const PACKETS: usize, const TAGS: usize, const MESSAGES: usize, const NODES: usize, const SCRATCH: usize>
    BoardMemory<'_, PACKETS, TAGS, MESSAGES, NODES, SCRATCH>
{
    /// Empty memory.
    pub fn new() -> Self {
        Self {
            node: Memory::new(),
            routes: [Route::NONE; NODES],
            stack: StackMemory::new(),
            scratch: [0; SCRATCH],
        }
    }
}

/// Runs the board for good.
pub fn run<'m, B: Board, const PACKETS: usize, const TAGS: usize, const MESSAGES: usize, const NODES: usize, const SCRATCH: usize>(
    mut board: B,
    memory: &'m mut BoardMemory<'m, PACKETS, TAGS, MESSAGES, NODES, SCRATCH>,
) -> ! {
    let line = Line::new(board.uart());
    let mut console = ConsoleOnLine(&line);
    console.write("\nmotemix on ");
    console.write(B::NAME);
    console.write("; `help` lists the commands\n");
    let Ok(flash) = HostFlash::open(FLASH) else {
        console.write("error: no flash; start the emulator in a folder that can be written\n");
        stop();
    };
    let mut radio = Radio::new(RadioOnLine(&line));
    let page = |number: usize| (number * PAGE) as u32;
    let layout = Layout { settings: 0..page(16), tags: page(16)..page(24), messages: page(24)..CAPACITY as u32 };
    let parts = Parts {
        storage: memory.node.lend(),
        routes: &mut memory.routes,
        stack: &mut memory.stack,
        scratch: &mut memory.scratch,
        flash,
        layout,
        random: board.random(),
    };
    let now = Instant::from_micros(board.now_micros());
    let mut application = match Application::new(now, parts, &mut radio) {
        Ok(application) => application,
        Err(_) => {
            console.write("error: the flash does not work; erase its file\n");
            stop();
        }
    };
    line.borrow_mut().join(application.address());
    loop {
        let now = Instant::from_micros(board.now_micros());
        let due = application.poll(now, &mut console, &mut radio);
        while !line.borrow_mut().read() && due.is_none_or(|due| due.as_micros() > board.now_micros()) {
            board.sleep();
        }
    }
}

/// A board that cannot run ends its emulator, so that somebody notices.
pub fn stop() -> ! {
    semihosting::process::exit(1)
}
