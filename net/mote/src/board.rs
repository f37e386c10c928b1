//! From the reset to the loop that never ends, for any board. What differs between boards is a
//! [`Board`]; the phases of its life each need other memory:
//!
//! ```text
//! reset ─ open the flash ─ stand ─ `start` ─ node ─ admit the network document ─ link ─ `stop` ─┐
//!                            └───────────────────────────────────────────────────────────────────┘
//! ```

use embedded_storage::nor_flash::MultiwriteNorFlash;
use motemix_link::meeting::Meeting;
use motemix_link::protection::KeySlot;
use motemix_link::radio::{Radio, Transceiver};
use motemix_link::serial::ExtendedAddress;
use motemix_link::settings::LinkSettings;
use motemix_link::stack::{Stack, StackMemory};
use motemix_node::{Instant, Storage};
use motemix_object::Record;
use motemix_sphinx::Profile;
use rand_core::{CryptoRng, Rng as _};

use crate::store::Layout;
use crate::{
    Console, Mote, Next, OnAir, Readings, Refusal, Route, Running, StartAsked, Tables, WithReadings,
};

/// What a board has.
pub trait Board {
    /// The packets of its network, and with them the curve that suits its core.
    type Profile: Profile;
    /// Where it keeps what outlives a restart.
    type Flash: MultiwriteNorFlash;
    /// Its generator.
    type Random: CryptoRng + Clone;
    /// Its radio.
    type Radio: Transceiver;
    /// Its console. All of them are the same one.
    type Console: Console;
    /// What people call it.
    const NAME: &'static str;

    /// The flash, and which of its pages hold what; called once.
    ///
    /// # Errors
    /// A line for the console that says what to do.
    fn flash(&mut self) -> Result<Flash<Self::Flash>, &'static str>;
    /// A handle to the generator.
    fn random(&mut self) -> Self::Random;
    /// The radio; called once.
    fn radio(&mut self) -> Self::Radio;
    /// A handle to the console.
    fn console(&mut self) -> Self::Console;
    /// Tells the radio the address whose frames it acknowledges.
    fn join(&mut self, address: ExtendedAddress);
    /// Drops what the radio received: while no node runs, nobody takes it.
    fn forget_frames(&mut self);
    /// Whether the radio or the console has something to be taken.
    fn has_news(&mut self) -> bool;
    /// Microseconds since the start.
    fn now_micros(&mut self) -> u64;
    /// Sleeps until something arrives, a few milliseconds at most.
    fn sleep(&mut self);
    /// Sleeps until the radio or the console has something to be taken, or until this moment.
    fn wait(&mut self, due: Option<Instant>) {
        while !self.has_news() && due.is_none_or(|due| due > self.now()) {
            self.sleep();
        }
    }
    /// Measures something, for a reading; nothing on a board without a sensor.
    fn measure(&mut self) -> Option<Record<'static>> {
        None
    }
    /// Ends a board that cannot run.
    fn stop(&mut self) -> !;

    /// The time as the node counts it.
    fn now(&mut self) -> Instant {
        Instant::from_micros(self.now_micros())
    }
}

/// A flash and its layout.
pub struct Flash<F> {
    /// The flash.
    pub flash: F,
    /// Which of its pages hold what.
    pub layout: Layout,
}

/// Bytes of a packet of a profile.
pub const fn packet_len<P: Profile>() -> usize {
    P::GEOMETRY.packet_len()
}

/// A board that has started: everything that is there whether the node runs or not.
struct Started<'m, B: Board> {
    board: B,
    radio: Radio<B::Radio>,
    mote: &'m mut Mote<B::Profile, B::Flash, B::Random>,
}

/// Runs a board for good, with packets of a profile and tables as long as its limits say.
#[macro_export]
macro_rules! run {
    ($board:expr, $profile:ty, $limits:expr) => {{
        $crate::lengths!(BoardLengths = $limits);
        $crate::run::<
            _,
            $crate::Room<$profile, BoardLengths>,
            { $crate::packet_len::<$profile>() },
            { $limits.document },
            { if $limits.document_while_running { $limits.document } else { 0 } },
            { $limits.arrivals },
            { $limits.departures },
            { $limits.neighbours },
            { $limits.devices },
        >($board)
    }};
}

/// Runs the board for good, with tables, packets of `PACKET` bytes, and room for a network document
/// of `DOCUMENT` bytes, so many datagrams that arrive and leave, keys of so many neighbours, and so
/// many devices whose readings are checked. `run!` takes them from a board's limits.
pub fn run<
    B: Board,
    T: Tables<Profile = B::Profile>,
    const PACKET: usize,
    const DOCUMENT: usize,
    const NEXT: usize,
    const ARRIVALS: usize,
    const DEPARTURES: usize,
    const NEIGHBOURS: usize,
    const DEVICES: usize,
>(
    mut board: B,
) -> ! {
    let mut console = board.console();
    console.write("\nmotemix on ");
    console.write(B::NAME);
    console.write("; `help` lists the commands\n");
    let mut opened = open(&mut board);
    // By reference, here and below: moved out, it would be on the stack twice.
    let mote = match &mut opened {
        Ok(mote) => mote,
        Err(problem) => {
            console.write(problem);
            board.stop();
        }
    };
    board.join(mote.address());
    let radio = Radio::new(board.radio());
    let mut started = Started { board, radio, mote };
    loop {
        let asked = started.stand::<DOCUMENT, DEVICES>();
        let served =
            started.node::<T, PACKET, DOCUMENT, NEXT, ARRIVALS, DEPARTURES, NEIGHBOURS, DEVICES>(asked);
        if let Err(refusal) = served {
            use core::fmt::Write as _;
            // A console takes everything.
            let _ = writeln!(Text(&mut console), "error: {refusal}");
        }
    }
}

/// The mote of a board.
type MoteOf<B> = Mote<<B as Board>::Profile, <B as Board>::Flash, <B as Board>::Random>;

/// What makes keys with its neighbours.
type MeetingOf<B> = Meeting<CurveOf<B>>;

/// Opens the flash. Not inlined, as those below: what is needed in one place must not stay on the
/// stack for good.
#[inline(never)]
fn open<B: Board>(board: &mut B) -> Result<MoteOf<B>, &'static str> {
    let Flash { flash, layout } = board.flash()?;
    let random = board.random();
    Mote::new(flash, layout, random).map_err(|_| "error: the flash does not work; erase it\n")
}

impl<B: Board> Started<'_, B> {
    /// Until somebody types `start`.
    #[inline(never)]
    fn stand<const DOCUMENT: usize, const DEVICES: usize>(&mut self) -> StartAsked {
        let mut scratch = [0; DOCUMENT];
        let mut console = WithReadings::<_, DEVICES>::standing(self.board.console());
        loop {
            let now = self.board.now();
            if let Some(asked) = self.mote.attend(now, &mut console, &mut scratch) {
                return asked;
            }
            self.board.forget_frames();
            self.board.wait(None);
        }
    }

    /// Makes the node, for as long as it runs. It comes before the link: to make its tables and to
    /// check its network document takes much stack, and nothing may lie beneath that need not.
    #[inline(never)]
    fn node<
        T: Tables<Profile = B::Profile>,
        const PACKET: usize,
        const DOCUMENT: usize,
        const NEXT: usize,
        const ARRIVALS: usize,
        const DEPARTURES: usize,
        const NEIGHBOURS: usize,
        const DEVICES: usize,
    >(
        &mut self,
        asked: StartAsked,
    ) -> Result<(), Refusal> {
        let Self { board, radio, mote } = self;
        let mut document = [0; NEXT];
        let mut tables = T::new();
        let address = mote.address();
        let mut begun = None;
        begin::<B, DOCUMENT>(board, mote, asked, tables.lend(), &mut begun)?;
        let (Some(running), mut readings) = (&mut begun, Readings::new()) else { return Ok(()) };
        running.lend_document(&mut document);
        running.exchange_documents(board.now());
        board.console().write("ok\n");
        let is_protected = running.protects_links();
        let served = (running, &mut readings);
        if is_protected {
            protected::<B, PACKET, ARRIVALS, DEPARTURES, NEIGHBOURS, DEVICES>(board, radio, address, served);
        } else {
            link::<B, PACKET, ARRIVALS, DEPARTURES, DEVICES>(board, radio, address, served);
        }
        Ok(())
    }
}

/// Checks the network document, and begins with what it says. The document's memory ends with this:
/// what the link takes afterwards lies where it was.
#[inline(never)]
fn begin<'m, B: Board, const DOCUMENT: usize>(
    board: &mut B,
    mote: &'m mut MoteOf<B>,
    asked: StartAsked,
    (storage, routes): (Storage<'m, B::Profile>, &'m mut [Route]),
    begun: &mut Option<RunningOf<'m, B>>,
) -> Result<(), Refusal> {
    let mut scratch = [0; DOCUMENT];
    let place = mote.admit(asked, board.now(), &mut scratch)?;
    let running = begun.insert(Running::new(mote, &place, storage, routes));
    running.start(board.now(), &place)
}

/// Makes a link that does not protect frames, and runs the node until somebody types `stop`.
#[inline(never)]
fn link<
    B: Board,
    const PACKET: usize,
    const ARRIVALS: usize,
    const DEPARTURES: usize,
    const DEVICES: usize,
>(
    board: &mut B,
    radio: &mut Radio<B::Radio>,
    address: ExtendedAddress,
    served: (&mut RunningOf<'_, B>, &mut Readings),
) {
    let mut memory = StackMemory::<PACKET, ARRIVALS, DEPARTURES>::new();
    let seed = board.random().next_u64();
    let mut stack = Stack::new(address, seed, &LinkSettings::new(), memory.lend());
    let meeting = None::<&mut MeetingOf<B>>;
    serve::<B, PACKET, DEVICES>(board, served, OnAir { stack: &mut stack, radio, meeting });
}

/// The same with a link that protects them.
#[inline(never)]
fn protected<
    B: Board,
    const PACKET: usize,
    const ARRIVALS: usize,
    const DEPARTURES: usize,
    const NEIGHBOURS: usize,
    const DEVICES: usize,
>(
    board: &mut B,
    radio: &mut Radio<B::Radio>,
    address: ExtendedAddress,
    served: (&mut RunningOf<'_, B>, &mut Readings),
) {
    let mut memory = StackMemory::<PACKET, ARRIVALS, DEPARTURES>::new();
    let mut keys = [const { KeySlot::FREE }; NEIGHBOURS];
    let mut meeting = MeetingOf::<B>::new(address, &mut board.random());
    let seed = board.random().next_u64();
    let mut stack = Stack::new(address, seed, &LinkSettings::new(), memory.lend());
    stack.protect(&mut keys);
    let meeting = Some(&mut meeting);
    serve::<B, PACKET, DEVICES>(board, served, OnAir { stack: &mut stack, radio, meeting });
}

/// Runs the node until somebody types `stop`.
#[inline(never)]
fn serve<B: Board, const PACKET: usize, const DEVICES: usize>(
    board: &mut B,
    (running, readings): (&mut RunningOf<'_, B>, &mut Readings),
    mut link: OnAir<'_, '_, B::Radio, CurveOf<B>>,
) {
    let mut packet = [0; PACKET];
    loop {
        let now = tend(board, running, readings, &mut packet);
        let mut heard = readings.hears::<_, DEVICES>(board.console(), now);
        match running.poll(board.now(), &mut heard, &mut link, &mut packet) {
            Next::TookIn | Next::Again => {}
            Next::Wait(due) => board.wait([due, readings.due()].into_iter().flatten().min()),
            Next::Stop => return,
        }
    }
}

/// Does what is due for the board's own readings.
#[inline(never)]
fn tend<B: Board>(
    board: &mut B,
    running: &mut RunningOf<'_, B>,
    readings: &mut Readings,
    packet: &mut [u8],
) -> Instant {
    let (now, mut console) = (board.now(), board.console());
    readings.poll(now, running, || board.measure().map(Into::into), &mut console, packet);
    now
}

/// The curve of its packets.
type CurveOf<B> = <<B as Board>::Profile as Profile>::Curve;

/// Its mote, while it runs.
type RunningOf<'m, B> = Running<'m, <B as Board>::Profile, <B as Board>::Flash, <B as Board>::Random>;

/// The console, for `write!`.
struct Text<'c, C>(&'c mut C);

impl<C: Console> core::fmt::Write for Text<'_, C> {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        self.0.write(text);
        Ok(())
    }
}
