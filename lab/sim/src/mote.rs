//! A mote as it ships: `motemix-mote` with a flash, a radio, a generator and a clock that are
//! simulated.
//!
//! Its life is that of a board (`motemix_mote::run`), as a future that waits where a board sleeps
//! or computes. While it computes or writes to its flash, its processor is busy for what the
//! stopwatch and the part's data sheet say; only the interrupt that takes frames from the
//! transceiver goes on.

mod attendance;
mod desk;
mod keys;
mod spy;
mod tables;
mod thermometer;
mod verifier;

pub(crate) use desk::{Intake, Tally};
pub(crate) use spy::Spy;
use spy::passed_on;
pub(crate) use thermometer::Interval;
pub(crate) use verifier::{Devices, Verifier};

use crate::attack::Absences;
use crate::authority::Authority;
use crate::board::Traits;
use crate::curve;
use crate::device::{Antenna, Device};
use crate::flash::{Flash, Ledger};
use crate::load::Source;
use crate::observe::News;
use chacha20::ChaCha8Rng;
use desk::{Arrival, Desk};
use embedded_storage::nor_flash::MultiwriteNorFlash;
use keys::Watched;
use motemix_air::Instant;
use motemix_crypto::PublicKey;
use motemix_directory::{Epoch, NetworkDocument, UnixTime};
use motemix_link::counters::{LinkCounters, LinkDrop};
use motemix_link::meeting::{HandshakeCounters, HandshakeDrop, Meeting};
use motemix_link::protection::KeySlot;
use motemix_link::radio::Radio;
use motemix_link::serial::ExtendedAddress;
use motemix_link::settings::LinkSettings;
use motemix_link::stack::Stack;
use motemix_mote::limits::Limits;
use motemix_mote::{Mote as Shipped, Next, OnAir, PlaceInNetwork, Refusal, Running, StartAsked};
use motemix_node::{Counters, DropReason, SendError, Window};
use motemix_object::{Identity, PublicKey as DeviceKey};
use motemix_sphinx::{NodeId, Profile};
use rand_core::{Rng as _, TryCryptoRng, TryRng};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Waker};
use std::time::Duration;
use tables::{Memory, StackMemory};
use thermometer::Thermometer;

/// The longest network document, bytes, that the store of a mote has a place for, however large its
/// flash.
pub(crate) const STORED: usize = 84 * 128;
/// Bytes that a message needs to say who sent it.
pub(crate) const NAMED: usize = 2;

/// What all messages of a node say: who it is, so far as there is room, and nothing else.
fn message(me: u16, len: usize) -> Vec<u8> {
    let mut data = vec![0x6d; len];
    if let Some(sender) = data.first_chunk_mut() {
        *sender = me.to_be_bytes();
    }
    data
}

/// A board's generator. All clones are the same one.
#[derive(Clone)]
pub(crate) struct Dice(Rc<RefCell<ChaCha8Rng>>);

impl Dice {
    pub fn new(rng: ChaCha8Rng) -> Self {
        Self(Rc::new(RefCell::new(rng)))
    }
}

impl TryRng for Dice {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.0.borrow_mut().next_u32())
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.0.borrow_mut().next_u64())
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        self.0.borrow_mut().fill_bytes(out);
        Ok(())
    }
}

impl TryCryptoRng for Dice {}

/// A network document, as its authority gives it to all motes.
pub(crate) struct Signed<'d> {
    pub begin: Duration,
    pub bytes: &'d [u8],
    /// Checked once for all, if it is longer than the store of any board takes.
    pub admitted: Option<NetworkDocument<'d>>,
}

/// A network document, and when a mote is given it.
pub(crate) struct Handed<'d> {
    pub at: Instant,
    pub signed: &'d Signed<'d>,
}

/// What a mote is told before it runs.
pub(crate) struct Orders<'d> {
    pub me: u16,
    pub authority: [u8; 32],
    /// The time at virtual zero.
    pub time: UnixTime,
    pub documents: VecDeque<Handed<'d>>,
    /// When each epoch begins, if nodes have documents from each other.
    pub exchange: Option<&'d Authority>,
    pub source: Source,
    /// Bytes of its messages.
    pub payload: usize,
    /// When its sensor measures, if it does.
    pub interval: Option<Interval>,
    /// Checks what arrives, if that is readings.
    pub verifier: Option<Verifier>,
    pub link: LinkSettings,
    pub window: Window,
    pub absences: Absences,
    /// There, if the mote is corrupt.
    pub spy: Option<Spy>,
}

/// A board that has been switched on, and stands still.
pub(crate) struct Standing<P, F> {
    mote: Shipped<P, F, Dice>,
    dice: Dice,
    board: Traits,
    limits: Limits,
    ledger: Ledger,
}

impl<P: Profile, const WORD: usize, const PAGE: usize> Standing<P, Flash<WORD, PAGE>> {
    /// Switches a new board on.
    pub fn new(limits: Limits, board: Traits, rng: ChaCha8Rng) -> Result<Self, Refusal> {
        let pages = limits.flash.len() as usize / PAGE;
        let flash = Flash::new(pages, board.flash);
        let (ledger, dice) = (flash.ledger(), Dice::new(rng));
        let mote = Shipped::new(flash, limits.flash.layout(0), dice.clone())?;
        Ok(Self { mote, dice, board, limits, ledger })
    }
}

/// A board that has been switched on, whatever its flash is like.
pub(crate) trait Enlist {
    fn address(&self) -> ExtendedAddress;
    fn public_key(&mut self, epoch: Epoch) -> Result<PublicKey, Refusal>;
    /// What signs its readings.
    fn device(&mut self) -> Result<(Identity, DeviceKey), Refusal>;
    /// Begins its life.
    fn live(self: Box<Self>, orders: Orders<'_>) -> Mote<'_>;
}

impl<P: Profile + 'static, F: MultiwriteNorFlash + 'static> Enlist for Standing<P, F> {
    fn address(&self) -> ExtendedAddress {
        self.mote.address()
    }

    fn public_key(&mut self, epoch: Epoch) -> Result<PublicKey, Refusal> {
        self.mote.public_key(epoch)
    }

    fn device(&mut self) -> Result<(Identity, DeviceKey), Refusal> {
        let key = self.mote.device_key()?.public_key();
        Ok((Identity::of_key(&key), key))
    }

    fn live(self: Box<Self>, orders: Orders<'_>) -> Mote<'_> {
        let antenna = Antenna::new(self.limits.frames);
        let desk = Rc::new(Desk::default());
        let life = Life {
            antenna: antenna.clone(),
            desk: Rc::clone(&desk),
            data: message(orders.me, orders.payload),
            orders,
            dice: self.dice.clone(),
            board: self.board,
            limits: self.limits,
            ledger: self.ledger.clone(),
        };
        Mote { life: Box::pin(life.run(self.mote)), desk, antenna, ledger: self.ledger, limits: self.limits }
    }
}

/// A mote, as the world has it.
pub(crate) struct Mote<'d> {
    life: Pin<Box<dyn Future<Output = ()> + 'd>>,
    desk: Rc<Desk>,
    antenna: Antenna,
    pub ledger: Ledger,
    pub limits: Limits,
}

impl Mote<'_> {
    /// What was counted, once its life is over.
    pub fn tally(&self) -> Tally {
        self.desk.tally.borrow().clone()
    }

    fn wake(&mut self) {
        // What has been computed on this thread meanwhile was others'.
        curve::taken();
        if self.desk.is_alive() && self.life.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
        {
            self.desk.die();
        }
    }
}

impl Device for Mote<'_> {
    fn antenna(&mut self) -> &mut Antenna {
        &mut self.antenna
    }

    fn keep_news(&mut self) {
        self.desk.keep_news();
    }

    fn take_news(&mut self) -> Vec<News> {
        self.desk.take_news()
    }

    fn poll(&mut self, now: Instant) -> Option<Instant> {
        if let Some(busy) = self.desk.busy_at(now) {
            return Some(busy);
        }
        self.desk.now.set(now);
        self.wake();
        self.desk.wake_at()
    }

    fn end(&mut self, now: Instant) {
        self.desk.now.set(now);
        self.desk.ends.set(true);
        self.wake();
        self.desk.tally.borrow_mut().meter.drop("frame: interrupt's queue full", self.antenna.overrun());
    }
}

/// What a board needs to live.
struct Life<'d> {
    antenna: Antenna,
    desk: Rc<Desk>,
    orders: Orders<'d>,
    data: Vec<u8>,
    dice: Dice,
    board: Traits,
    limits: Limits,
    ledger: Ledger,
}

/// Why a node was let go of.
enum Stopped {
    /// The run is over.
    End,
    /// A document is due, and the board cannot check it beside the node.
    ForDocument,
    /// The node said so.
    ByItself,
}

impl<'d> Life<'d> {
    async fn run<P: Profile, F: MultiwriteNorFlash>(mut self, mut mote: Shipped<P, F, Dice>) {
        if let Err(refusal) = self.live(&mut mote).await {
            self.desk.count(format!("mote: {refusal}"));
        }
    }

    async fn live<P: Profile, F: MultiwriteNorFlash>(
        &mut self,
        mote: &mut Shipped<P, F, Dice>,
    ) -> Result<(), Refusal> {
        mote.trust(1, &[self.orders.authority])?;
        mote.set_clock(self.desk.now(), self.orders.time);
        let mut scratch = vec![0; self.limits.document.min(STORED)];
        let mut begun = false;
        loop {
            let now = self.desk.now();
            let signed = self.due_document();
            let admitted = signed.and_then(|signed| signed.admitted.as_ref());
            if let (Some(signed), None) = (signed, admitted) {
                mote.keep_document(now, signed.bytes)?;
            }
            if begun {
                let len = signed.map_or(0, |signed| signed.bytes.len());
                self.compute(2 * self.board.check(len)).await;
            }
            let place = match admitted {
                Some(document) => mote.find_in(document.clone())?,
                None => mote.admit(StartAsked::without_console(), now, &mut scratch)?,
            };
            if !std::mem::replace(&mut begun, true) {
                // What made it a member of the network is no part of the run.
                curve::taken();
                self.ledger.clear();
            }
            match self.serve(mote, &place).await? {
                Stopped::End | Stopped::ByItself => return Ok(()),
                Stopped::ForDocument => {}
            }
        }
    }

    fn document_is_due(&self) -> bool {
        self.orders.documents.front().is_some_and(|handed| handed.at <= self.desk.now())
    }

    fn due_document(&mut self) -> Option<&'d Signed<'d>> {
        if self.document_is_due() {
            self.orders.documents.pop_front().map(|handed| handed.signed)
        } else {
            None
        }
    }

    /// The length of a document that came from a neighbour just now.
    fn exchanged_document(&self) -> Option<usize> {
        let authority = self.orders.exchange?;
        self.desk.take_document(|epoch| authority.begin_of(epoch))
    }

    /// Runs the node until it is to stop.
    async fn serve<P: Profile, F: MultiwriteNorFlash>(
        &mut self,
        mote: &mut Shipped<P, F, Dice>,
        place: &PlaceInNetwork<'_>,
    ) -> Result<Stopped, Refusal> {
        let now = self.desk.now();
        let mut radio = Radio::new(self.antenna.clone());
        let mut stack_memory = StackMemory::new(&self.limits, P::GEOMETRY.packet_len());
        let (me, seed) = (mote.address(), self.dice.next_u64());
        let link = &self.orders.link;
        let mut stack = Stack::new(me, seed, link, stack_memory.lend());
        let mut keys: Vec<_> =
            std::iter::repeat_with(|| KeySlot::FREE).take(self.limits.neighbours).collect();
        let mut meeting = None;
        if place.protects_links() {
            stack.protect(&mut keys);
            meeting = Some(Meeting::<P::Curve>::new(me, &mut self.dice));
        }
        let mut memory = Memory::new(&self.limits);
        let (storage, routes) = memory.lend();
        let window = self.orders.window;
        let mut running = Running::with_window(mote, place, storage, routes, window);
        running.start(now, place)?;
        let while_running = self.limits.document_while_running;
        let mut document = vec![0; if while_running { self.limits.document.min(STORED) } else { 0 }];
        running.lend_document(&mut document);
        self.orders.exchange.inspect(|_| running.exchange_documents(now));
        let (mut packet, mut in_force) = (vec![0; P::GEOMETRY.packet_len()], 0);
        let mut inbox = vec![0; P::GEOMETRY.data_len()];
        let mut thermometer = Thermometer::new(self.orders.interval);
        if self.orders.verifier.is_some() {
            self.desk.expect_readings();
        }
        let stopped = loop {
            let now = self.desk.now();
            if self.desk.ends.get() {
                break Stopped::End;
            }
            if self.is_away(now).await {
                continue;
            }
            if self.document_is_due() && !while_running {
                break Stopped::ForDocument;
            }
            if let Some(signed) = self.due_document() {
                let taken = match &signed.admitted {
                    Some(document) => running.begin_epoch_of(now, document.clone()),
                    None => running.take_document(now, signed.bytes).map(drop),
                };
                if let Err(refusal) = taken {
                    self.desk.count(format!("mote: {refusal}"));
                }
                in_force = signed.bytes.len();
                self.compute(self.board.check(in_force)).await;
                continue;
            }
            while let Some(to) = self.orders.source.take(now) {
                let sent = NodeId::new(to).map(|to| running.send(now, to, &self.data));
                self.desk.given(to, matches!(sent, Some(Err(SendError::Full))));
            }
            let signed = thermometer.poll(now, &mut running, &self.desk, &mut packet);
            let meeting = meeting.as_mut();
            let link = OnAir { stack: &mut stack, radio: &mut radio, meeting };
            let mut link = Watched { link, me, desk: &self.desk, spy: self.orders.spy.as_ref() };
            if let Some(spy) = &self.orders.spy {
                spy.send_held_up(now, &mut link.link);
            }
            let before = passed_on(running.node().counters());
            let next = running.poll(now, &mut thermometer.hears(&self.desk, now), &mut link, &mut packet);
            if let (Next::TookIn, Some(spy)) = (next, &self.orders.spy) {
                let is_message = passed_on(running.node().counters()) == before;
                spy.took_in(self.desk.taken_in().fingerprint, is_message, &packet);
            }
            // Somebody empties the inbox at once.
            if self.desk.take_received() {
                while let Ok(Some(_)) = running.take_message(&mut inbox) {}
            }
            if let Some(len) = self.exchanged_document() {
                in_force = len;
                self.compute(self.board.check(len)).await;
            }
            let mut besides = if next == Next::TookIn { u64::from(self.board.packet) } else { 0 };
            if self.desk.in_epoch(running.node().epoch()) && in_force > 0 {
                // It is read back from flash, and checked again.
                besides += self.board.check(in_force);
            }
            besides += u64::from(self.antenna.take_protected()) * u64::from(self.board.protection);
            besides += if signed { u64::from(self.board.signature) } else { 0 };
            besides += self.check(place.network_name()) * u64::from(self.board.verification);
            let computed = self.compute(besides).await;
            match next {
                // What came while it computed, it has not seen.
                Next::TookIn | Next::Again => {}
                Next::Wait(_) if computed => {}
                Next::Wait(due) => {
                    let wake = self.next(now, [due, thermometer.due()]);
                    self.desk.sleep(wake).await;
                }
                Next::Stop => break Stopped::ByItself,
            }
        };
        let met = meeting.as_ref().map(|meeting| *meeting.counters());
        self.count(running.node().counters(), stack.counters(), met);
        Ok(stopped)
    }

    /// Adds what a node and its link have counted.
    fn count(&self, counters: &Counters, link: &LinkCounters, met: Option<HandshakeCounters>) {
        let tally = &mut *self.desk.tally.borrow_mut();
        if let Some(spy) = &self.orders.spy {
            spy.confess(tally);
        }
        tally.loops[0] += counters.loops_sent;
        tally.loops[1] += counters.loops_lost;
        let meter = &mut tally.meter;
        meter.sent += counters.sent;
        meter.acknowledged += counters.acknowledged;
        meter.retransmitted += counters.retransmitted;
        meter.discarded += counters.discarded;
        meter.delivered += counters.delivered;
        meter.duplicates += counters.duplicates;
        meter.forwarded += counters.forwarded;
        for reason in DropReason::ALL {
            meter.drop(format!("packet: {}", reason.name()), counters.dropped(*reason));
        }
        for &reason in LinkDrop::ALL {
            let count = link.dropped(reason);
            meter.drop(format!("link: {}", reason.name()), u64::from(count));
        }
        if let Some(met) = met {
            meter.handshakes.add(&met);
            for &reason in HandshakeDrop::ALL {
                meter.drop(format!("handshake: {}", reason.name()), u64::from(met.dropped(reason)));
            }
        }
    }

    /// Checks the readings that have come. How many.
    fn check(&mut self, network: &str) -> u64 {
        let Some(verifier) = &mut self.orders.verifier else { return 0 };
        let arrivals = self.desk.take_readings();
        for Arrival { reading, packet } in &arrivals {
            self.desk.checked(verifier.check(reading, network), *packet);
        }
        arrivals.len() as u64
    }

    /// The processor computes and writes to its flash; whatever else there is waits. Whether it
    /// took any time.
    async fn compute(&self, besides: u64) -> bool {
        let multiplications = u64::from(curve::taken());
        let cycles = multiplications * u64::from(self.board.multiplication) + besides;
        let time = self.board.time(cycles) + self.ledger.take_stalled();
        if time.is_zero() {
            return false;
        }
        self.desk.compute(time).await;
        true
    }
}
