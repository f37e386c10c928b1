//! What a board's life and the world have in common: the time, when the board wants to be woken,
//! and what it did.

use super::NAMED;
use crate::adversary::fingerprint;
use crate::meter::Meter;
use crate::observe::News;
use motemix_air::Instant;
use motemix_crypto::Secret;
use motemix_directory::Epoch;
use motemix_link::protection::KEY_LEN;
use motemix_link::serial::ExtendedAddress;
use motemix_mote::{Console, News as Heard};
use motemix_node::Event;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

/// What is counted of one board.
#[derive(Clone, Default, Debug)]
pub(crate) struct Tally {
    pub meter: Meter,
    /// What its sensor measured.
    pub measured: u64,
    /// Readings that arrived here, and were checked and believed.
    pub believed: u64,
    /// Senders of the messages that arrived, each once, and the packets that brought them.
    pub arrived: Vec<(u16, Intake)>,
    /// Epochs in which its node ran.
    pub epochs: u32,
    /// When its loops raised the alarm.
    pub alarms: Vec<Instant>,
    /// When it gave messages up.
    pub given_up: Vec<Instant>,
    /// Loops sent, and those lost.
    pub loops: [u64; 2],
    /// What a corrupt mote passed on: fingerprints of what came and of what left in its place.
    pub passed: Vec<(u64, u64)>,
    /// Packets that it dropped, and that it held up.
    pub betrayed: [u64; 2],
}

/// A packet that the node took in.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Intake {
    /// The neighbour's address as a number, as its link says it.
    pub from: u64,
    pub at: Instant,
    pub fingerprint: u64,
}

/// A reading that nobody has checked.
pub(super) struct Arrival {
    pub reading: Vec<u8>,
    /// The packet that brought it.
    pub packet: Intake,
}

#[derive(Default)]
pub(super) struct Desk {
    pub now: Cell<Instant>,
    pub ends: Cell<bool>,
    wake: Cell<Option<Instant>>,
    busy_until: Cell<Instant>,
    dead: Cell<bool>,
    received: Cell<bool>,
    /// A document that came from a neighbour: its epoch and its length.
    document: Cell<Option<(Epoch, usize)>>,
    epoch: Cell<Option<Epoch>>,
    /// The packet that was taken in last.
    taken_in: Cell<Intake>,
    news: RefCell<Option<Vec<News>>>,
    /// What the console has written of its line.
    line: RefCell<String>,
    /// Messages that arrived here once, if they are readings.
    readings: RefCell<Option<Vec<Arrival>>>,
    pub tally: RefCell<Tally>,
}

impl Desk {
    pub fn now(&self) -> Instant {
        self.now.get()
    }

    /// Until when its processor computes, if it does.
    pub fn busy_at(&self, now: Instant) -> Option<Instant> {
        Some(self.busy_until.get()).filter(|until| *until > now && !self.ends.get())
    }

    pub fn wake_at(&self) -> Option<Instant> {
        self.wake.get()
    }

    pub fn is_alive(&self) -> bool {
        !self.dead.get()
    }

    pub fn die(&self) {
        self.dead.set(true);
        self.wake.set(None);
    }

    /// Waits for this time, or for the antenna.
    pub async fn sleep(&self, until: Option<Instant>) {
        self.wake.set(until);
        let mut slept = false;
        poll_fn(|_| if std::mem::replace(&mut slept, true) { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    /// Computes for so long.
    pub async fn compute(&self, time: Duration) {
        let until = self.now() + time;
        self.tally.borrow_mut().meter.computed += time;
        self.busy_until.set(until);
        self.sleep(Some(until)).await;
    }

    /// The length of a document that came from a neighbour just now. `begin_of` tells when its
    /// epoch begins.
    pub fn take_document(&self, begin_of: impl FnOnce(Epoch) -> Duration) -> Option<usize> {
        let (epoch, len) = self.document.take()?;
        let ahead = begin_of(epoch).saturating_sub(self.now() - Instant::default());
        self.tally.borrow_mut().meter.documents_ahead.push(ahead);
        Some(len)
    }

    pub fn keep_news(&self) {
        *self.news.borrow_mut() = Some(Vec::new());
    }

    pub fn take_news(&self) -> Vec<News> {
        self.news.borrow_mut().as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn news(&self, news: News) {
        if let Some(kept) = &mut *self.news.borrow_mut() {
            kept.push(news);
        }
    }

    /// The link has a packet of this neighbour for the node.
    pub fn takes_in(&self, from: u64, packet: &[u8]) {
        self.taken_in.set(Intake { from, at: self.now(), fingerprint: fingerprint(packet) });
    }

    /// The packet that was taken in last.
    pub fn taken_in(&self) -> Intake {
        self.taken_in.get()
    }

    /// The application gave the node a message.
    pub fn given(&self, to: u16, refused: bool) {
        self.tally.borrow_mut().meter.refused += u64::from(refused);
        self.news(if refused { News::Refused { to } } else { News::Message { to } });
    }

    /// The board has a key with another one.
    pub fn keyed(&self, stations: [ExtendedAddress; 2], key: &Secret<KEY_LEN>) {
        self.news(News::Key { stations, key: *key.expose() });
    }

    /// Whether messages have come since the last call.
    pub fn take_received(&self) -> bool {
        self.received.take()
    }

    /// The node serves this epoch. Whether it is another one than before.
    pub fn in_epoch(&self, epoch: Option<Epoch>) -> bool {
        let changed = epoch.is_some() && self.epoch.replace(epoch) != epoch;
        self.tally.borrow_mut().epochs += u32::from(changed);
        changed
    }

    /// From now on messages that arrive are taken for readings.
    pub fn expect_readings(&self) {
        self.readings.borrow_mut().get_or_insert_default();
    }

    /// Readings that have arrived since the last call.
    pub fn take_readings(&self) -> Vec<Arrival> {
        self.readings.borrow_mut().as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// A message arrived, for the first time.
    fn arrived(&self, data: &[u8]) {
        let packet = self.taken_in.get();
        if let Some(readings) = &mut *self.readings.borrow_mut() {
            readings.push(Arrival { reading: data.to_vec(), packet });
        } else if let Some(sender) = data.first_chunk::<NAMED>() {
            self.tally.borrow_mut().arrived.push((u16::from_be_bytes(*sender), packet));
        }
    }

    /// Its sensor has measured, or has not.
    pub fn signed(&self, signed: bool) {
        self.tally.borrow_mut().measured += u64::from(signed);
    }

    /// A reading was checked.
    pub fn checked(&self, sender: Result<u16, &'static str>, packet: Intake) {
        let tally = &mut *self.tally.borrow_mut();
        match sender {
            Ok(sender) => {
                tally.believed += 1;
                tally.arrived.push((sender, packet));
            }
            Err(why) => tally.meter.drop(format!("reading: {why}"), 1),
        }
    }

    /// Something ended before its end.
    pub fn count(&self, what: String) {
        self.tally.borrow_mut().meter.drop(what, 1);
    }
}

/// The console of a board at which nobody types: what the node says is counted.
pub(super) struct Ear<'d>(pub &'d Desk);

impl Console for Ear<'_> {
    fn read(&mut self) -> Option<u8> {
        None
    }

    fn write(&mut self, text: &str) {
        let line = &mut *self.0.line.borrow_mut();
        line.push_str(text);
        if line.ends_with('\n') {
            if line.starts_with("error: ") || line.starts_with("warning: ") {
                self.0.count(format!("mote: {}", line.trim_end()));
            }
            line.clear();
        }
    }

    fn notice(&mut self, heard: Heard<'_>) {
        let desk = self.0;
        let news = match heard {
            Heard::Dropped(reason) => News::Dropped { reason: reason.name() },
            Heard::Left { to, accepted } => {
                if !accepted {
                    let reason = "datagram: not accepted by the link";
                    desk.count(reason.into());
                    desk.news(News::Dropped { reason });
                }
                News::Packet { to: to.get() }
            }
            Heard::DocumentCame { epoch, len } => {
                desk.document.set(Some((epoch, len)));
                return;
            }
            Heard::Event(Event::Received { data, repeated, .. }) => {
                desk.received.set(true);
                if !repeated {
                    desk.arrived(data);
                }
                News::Received
            }
            Heard::Event(Event::Delivered { .. }) => {
                desk.received.set(true);
                News::Received
            }
            Heard::Event(Event::Acknowledged { elapsed, tries, .. }) => {
                desk.tally.borrow_mut().meter.round_trips.push(*elapsed);
                News::Acknowledged { after: *elapsed, tries: *tries }
            }
            Heard::Event(Event::Discarded { tries, .. }) => {
                desk.tally.borrow_mut().given_up.push(desk.now());
                News::Discarded { tries: *tries }
            }
            Heard::Event(Event::LoopAlarm { sounds }) => {
                if *sounds {
                    desk.tally.borrow_mut().alarms.push(desk.now());
                }
                return;
            }
            _ => return,
        };
        desk.news(news);
    }
}
