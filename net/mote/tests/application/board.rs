//! A board without hardware: the loop of a real one, as a future that waits where a board sleeps.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt::Write as _;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Waker};

use embassy_futures::yield_now;
use embedded_storage::nor_flash::{ErrorType, MultiwriteNorFlash, NorFlash, NorFlashErrorKind, ReadNorFlash};
use motemix_crypto::BoardCurve;
use motemix_link::meeting::Meeting;
use motemix_link::protection::KeySlot;
use motemix_link::radio::Radio;
use motemix_link::settings::LinkSettings;
use motemix_link::stack::{Stack, StackMemory};
use motemix_mote::limits::Packets;
use motemix_mote::store::{Layout, Store};
use motemix_mote::{
    Console, Decimal, Mote, Next, OnAir, PlaceInNetwork, Readings, Record, Refusal, Route, Running,
    WithReadings,
};
use motemix_node::{Empty, Instant, Lengths, Memory, Storage};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng, TryCryptoRng, TryRng};

use crate::air::{Air, Station};
use crate::flash::Flash;

pub const PAGE: usize = 1024;
pub const PACKET: usize = 280;
/// Nodes that a board has room for.
pub const NODES: usize = 6;
/// A document of so many nodes, and not much more.
pub const SCRATCH: usize = 1024;
/// Devices whose readings it checks.
pub const DEVICES: usize = 3;
pub type Room = Memory<Packets, RoomLengths>;

/// How long its tables are.
pub enum RoomLengths {}

impl Lengths for RoomLengths {
    type Packets<T: Empty> = [T; 6];
    type Replay<T: Empty> = [T; 8192];
    type Window<T: Empty> = [T; 32];
    type Messages<T: Empty> = [T; 3];
    type Returns<T: Empty> = [T; 6];
    type Headers<T: Empty> = [T; 3];
    type Loops<T: Empty> = [T; 6];
    type Nodes<T: Empty> = [T; NODES];
}

pub type FlashOfBoard = Flash<4, PAGE>;

/// A flash that stays when its board is switched off.
#[derive(Clone)]
pub struct Chip(pub Rc<RefCell<FlashOfBoard>>);

impl Chip {
    pub fn new() -> Self {
        Self(Rc::new(RefCell::new(Flash::new(layout().devices.end as usize / PAGE))))
    }

    /// A chip with the same content and a power supply of its own.
    pub fn copy(&self, noise: u64) -> Self {
        Self(Rc::new(RefCell::new(self.0.borrow().copy(noise))))
    }

    /// All that is in it.
    pub fn bytes(&self) -> Vec<u8> {
        self.0.borrow().bytes().to_vec()
    }

    /// What is kept in it.
    pub fn store(&self) -> Store<Self> {
        Store::open(self.copy(0), layout()).expect("it is sound")
    }

    pub fn power(&self) -> Rc<Cell<Option<u32>>> {
        self.0.borrow().budget.clone()
    }
}

impl ErrorType for Chip {
    type Error = NorFlashErrorKind;
}

impl ReadNorFlash for Chip {
    const READ_SIZE: usize = 4;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        self.0.borrow_mut().read(offset, bytes)
    }

    fn capacity(&self) -> usize {
        self.0.borrow().capacity()
    }
}

impl NorFlash for Chip {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = PAGE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), NorFlashErrorKind> {
        self.0.borrow_mut().erase(from, to)
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NorFlashErrorKind> {
        self.0.borrow_mut().write(offset, bytes)
    }
}

impl MultiwriteNorFlash for Chip {}

pub fn layout() -> Layout {
    let pages = |from: u32, to: u32| from * PAGE as u32..to * PAGE as u32;
    Layout {
        settings: pages(0, 7),
        tags: pages(7, 10),
        messages: pages(10, 12),
        readings: pages(12, 14),
        devices: pages(14, 16),
    }
}

/// A seeded generator; all clones are the same one, as on a board.
#[derive(Clone)]
pub struct Dice(Rc<RefCell<ChaCha8Rng>>);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(Rc::new(RefCell::new(ChaCha8Rng::seed_from_u64(seed))))
    }
}

impl TryRng for Dice {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.0.borrow_mut().try_next_u32()
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.0.borrow_mut().try_next_u64()
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        self.0.borrow_mut().try_fill_bytes(out)
    }
}

impl TryCryptoRng for Dice {}

/// What is typed and what is printed.
#[derive(Default)]
pub struct Terminal {
    pub typed: VecDeque<u8>,
    pub printed: String,
}

#[derive(Clone)]
struct Line(Rc<RefCell<Terminal>>);

impl Console for Line {
    fn read(&mut self) -> Option<u8> {
        self.0.borrow_mut().typed.pop_front()
    }

    fn write(&mut self, text: &str) {
        self.0.borrow_mut().printed.push_str(text);
    }
}

/// What a board that sleeps waits for, besides news.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Sleep {
    Until(Instant),
    News,
}

/// The board and who has hold of it.
pub struct Board {
    pub chip: Chip,
    pub terminal: Rc<RefCell<Terminal>>,
    /// Bytes of its replay filter, from the next start on.
    pub replay: Rc<Cell<usize>>,
    /// Whether it asks neighbours for documents, from the next start on: other stories look at each
    /// frame.
    pub exchanges: Rc<Cell<bool>>,
    program: Rc<RefCell<VecDeque<Piece>>>,
    sleep: Rc<Cell<Sleep>>,
    life: Option<Pin<Box<dyn Future<Output = ()>>>>,
}

/// What the loop of a board needs.
struct Parts {
    chip: Chip,
    line: Line,
    station: Station,
    dice: Dice,
    now: Rc<Cell<Instant>>,
    sleep: Rc<Cell<Sleep>>,
    replay: Rc<Cell<usize>>,
    exchanges: Rc<Cell<bool>>,
    program: Rc<RefCell<VecDeque<Piece>>>,
}

/// What a program gives of a document.
struct Piece {
    at: usize,
    bytes: Vec<u8>,
    is_last: bool,
}

impl Board {
    /// A board that is switched off.
    pub fn new(chip: Chip) -> Self {
        let (replay, sleep) = (Rc::new(Cell::new(8192)), Rc::new(Cell::new(Sleep::News)));
        Self {
            chip,
            terminal: Rc::default(),
            replay,
            exchanges: Rc::default(),
            program: Rc::default(),
            sleep,
            life: None,
        }
    }

    /// The board's program gives a piece of a document, as those in C do. After the last one it has
    /// the document checked, and again each second while the key is on its way.
    pub fn program_gives(&mut self, at: usize, piece: &[u8], is_last: bool) {
        self.program.borrow_mut().push_back(Piece { at, bytes: piece.to_vec(), is_last });
        self.wake();
    }

    pub fn is_on(&self) -> bool {
        self.life.is_some()
    }

    pub fn switch_on(&mut self, index: usize, air: &Rc<RefCell<Air>>, dice: &Dice, now: &Rc<Cell<Instant>>) {
        self.terminal.borrow_mut().typed.clear();
        self.sleep.set(Sleep::Until(now.get()));
        let power = self.chip.power();
        let parts = Parts {
            chip: self.chip.clone(),
            line: Line(self.terminal.clone()),
            station: Station { index, air: air.clone(), now: now.clone(), power },
            dice: dice.clone(),
            now: now.clone(),
            sleep: self.sleep.clone(),
            replay: self.replay.clone(),
            exchanges: self.exchanges.clone(),
            program: self.program.clone(),
        };
        self.life = Some(Box::pin(parts.live()));
    }

    pub fn switch_off(&mut self) {
        self.life = None;
    }

    /// When it wants to be woken.
    pub fn due(&self) -> Option<Instant> {
        match self.sleep.get() {
            Sleep::Until(due) if self.is_on() => Some(due),
            _ => None,
        }
    }

    /// Goes on until the board sleeps again.
    pub fn wake(&mut self) {
        let Some(life) = &mut self.life else { return };
        self.sleep.set(Sleep::News);
        if life.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
            self.life = None;
        }
    }
}

impl Parts {
    async fn sleep(&self, sleep: Sleep) {
        self.sleep.set(sleep);
        yield_now().await;
    }

    async fn live(mut self) {
        let mut mote = match Mote::new(self.chip.clone(), layout(), self.dice.clone()) {
            Ok(mote) => mote,
            Err(error) => return self.line.write(&format!("error: {error}\n")),
        };
        self.station.air.borrow_mut().join(self.station.index, mote.address());
        let mut radio = Radio::new(self.station.clone());
        let mut scratch = [0; SCRATCH];
        loop {
            let asked = loop {
                self.station.air.borrow_mut().forget(self.station.index);
                let mut console = WithReadings::<_, DEVICES>::standing(self.line.clone());
                if let Some(asked) = mote.attend(self.now.get(), &mut console, &mut scratch) {
                    break asked;
                }
                self.sleep(Sleep::News).await;
            };
            let mut admitted = mote.admit(asked, self.now.get(), &mut scratch);
            let served = match &mut admitted {
                Ok(place) => self.run(&mut mote, &mut radio, place).await,
                Err(refusal) => Err(*refusal),
            };
            if let Err(refusal) = served {
                let _ = writeln!(self.line.0.borrow_mut().printed, "error: {refusal}");
            }
        }
    }

    async fn run(
        &mut self,
        mote: &mut Mote<Packets, Chip, Dice>,
        radio: &mut Radio<Station>,
        place: &PlaceInNetwork<'_>,
    ) -> Result<(), Refusal> {
        let now = self.now.get();
        let mut memory = Box::new(StackMemory::<PACKET, 4>::new());
        let address = mote.address();
        let mut stack = Stack::new(address, self.dice.next_u64(), &LinkSettings::new(), memory.lend());
        let mut keys = [const { KeySlot::FREE }; NODES];
        let mut meeting = None;
        if place.protects_links() {
            stack.protect(&mut keys);
            meeting = Some(Meeting::<BoardCurve>::new(address, &mut self.dice));
        }
        let mut room = Box::new(Room::new());
        let mut routes = [Route::NONE; NODES];
        let mut replay = vec![0; self.replay.get()];
        let storage = Storage { replay: &mut replay, ..room.lend() };
        let mut running = Running::new(mote, place, storage, &mut routes);
        running.start(now, place)?;
        let mut document = [0; SCRATCH];
        running.lend_document(&mut document);
        if self.exchanges.get() {
            running.exchange_documents(now);
        }
        let mut packet = [0; PACKET];
        let mut link = OnAir { stack: &mut stack, radio, meeting: meeting.as_mut() };
        let mut readings = Readings::new();
        self.line.write("ok\n");
        let mut checked: Option<(usize, Instant)> = None;
        loop {
            let now = self.now.get();
            while let Some(Piece { at, bytes, is_last }) = self.program.borrow_mut().pop_front() {
                let end = at + bytes.len();
                running.document_memory()[at..end].copy_from_slice(&bytes);
                checked = is_last.then_some((end, now));
            }
            if let Some((len, due)) = checked.filter(|(_, due)| *due <= now) {
                checked = match running.take_lent_document(now, len) {
                    Err(Refusal::KeyMoved { .. }) => Some((len, due + core::time::Duration::from_secs(1))),
                    taken => {
                        self.line.write(&format!("a program gave {taken:?}\n"));
                        None
                    }
                };
            }
            readings.poll(
                now,
                &mut running,
                || Some(measured(now).into()),
                &mut self.line.clone(),
                &mut packet,
            );
            let mut console = readings.hears::<_, DEVICES>(self.line.clone(), now);
            let next = running.poll(now, &mut console, &mut link, &mut packet);
            match next {
                Next::Stop => return Ok(()),
                Next::TookIn | Next::Again => self.sleep(Sleep::Until(self.now.get())).await,
                Next::Wait(due) => match [due, readings.due()].into_iter().flatten().min() {
                    Some(due) => self.sleep(Sleep::Until(due)).await,
                    None => self.sleep(Sleep::News).await,
                },
            }
        }
    }
}

/// What the sensor of these boards says: the second.
fn measured(now: Instant) -> Record<'static> {
    let second = i64::try_from(now.as_micros() / 1_000_000).expect("a short story");
    Record { name: "s", unit: Some("s"), value: Decimal::integer(second) }
}
