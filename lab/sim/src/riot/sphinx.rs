//! The thesis' thread: a loop that takes one event, handles it, and looks at its timers.
//!
//! It follows the published sources (github.com/ludwit/sphinx-for-IoT, `sphinx.c`): a message that
//! is due again is created anew on the spot, so several that are due together block the thread for
//! several creations; while it looks, what is shifted to the place of a discarded message waits for
//! the next look; an acknowledgement counts whichever try it is for.

use super::buffer::Buffer;
use super::costs::Costs;
use super::fragment::HEADERS;
use super::packet::{MAX_HOPS, Packet};
use crate::load::Source;
use crate::meter::Meter;
use crate::random::{below, part_of};
use crate::scenario::{Asked, Thesis};
use chacha20::ChaCha8Rng;
use motemix_air::Instant;
use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;
use std::time::Duration;

/// A datagram that the thread wants sent.
pub struct Letter {
    pub to: u16,
    pub packet: Packet,
}

impl Letter {
    /// To the next node of the path; none if the packet is at its end.
    fn of(mut packet: Packet) -> Option<Self> {
        let to = packet.next()?;
        packet.passed += 1;
        Some(Self { to, packet })
    }
}

/// A message that its sender has not heard of.
#[derive(Clone, Copy)]
struct Sent {
    message: u32,
    to: u16,
    tries: u8,
    accepted: Instant,
    /// When its last try was sent.
    at: Instant,
}

enum Event {
    /// The socket's box has something.
    Socket,
    Send,
}

enum Doing {
    Nothing,
    Create { message: Sent, again: bool },
    Process(Packet),
}

/// A look at the timers.
struct Look {
    began: Instant,
    next: usize,
}

/// The thesis' thread, and the shell that asks it.
pub struct Sphinx {
    settings: Thesis,
    costs: Costs,
    me: u16,
    mixes: Rc<[u16]>,
    source: Source,
    rng: ChaCha8Rng,
    inbox: VecDeque<Packet>,
    room: usize,
    events: VecDeque<Event>,
    requests: VecDeque<u16>,
    /// Who asks has asked and not run since.
    asking: bool,
    table: Vec<Sent>,
    doing: Doing,
    look: Option<Look>,
    /// It waits since then for an event.
    waits: Option<Instant>,
    last: u32,
    known: BTreeSet<(u16, u32)>,
}

impl Sphinx {
    pub fn new(
        me: u16,
        settings: &Thesis,
        room: u16,
        costs: Costs,
        mixes: Rc<[u16]>,
        source: Source,
        rng: ChaCha8Rng,
    ) -> Self {
        Self {
            settings: settings.clone(),
            costs,
            me,
            mixes,
            source,
            rng,
            inbox: VecDeque::with_capacity(room.into()),
            room: room.into(),
            events: VecDeque::new(),
            requests: VecDeque::new(),
            asking: false,
            table: Vec::with_capacity(settings.in_flight.into()),
            doing: Doing::Nothing,
            look: None,
            waits: None,
            last: 0,
            known: BTreeSet::new(),
        }
    }

    /// Bytes that a datagram of its takes in the packet buffer.
    fn held(&self, buffer: &Buffer) -> u32 {
        buffer.datagram(self.settings.packet + HEADERS)
    }

    /// A datagram has come; whether the socket's box had room.
    pub fn arrived(&mut self, packet: Packet) -> bool {
        if self.inbox.len() >= self.room {
            return false;
        }
        self.inbox.push_back(packet);
        // One event stands for all that is in the box: it is posted once, and again when something
        // is left.
        if self.inbox.len() == 1 {
            self.events.push_back(Event::Socket);
        }
        true
    }

    /// The load asks.
    pub fn ask(&mut self, now: Instant, meter: &mut Meter) {
        while !self.asking
            && let Some(to) = self.source.take(now)
        {
            self.asking = self.settings.asked == Asked::AfterRest;
            if self.requests.len() >= usize::from(self.settings.requests) {
                meter.refused += 1;
                continue;
            }
            self.requests.push_back(to);
            if self.settings.asked == Asked::AtOnce {
                self.events.push_back(Event::Send);
            }
        }
    }

    /// When the load asks next.
    pub fn asked_at(&self) -> Option<Instant> {
        self.source.next().filter(|_| !self.asking)
    }

    /// When it has something to do although nothing arrives, if it has nothing to do now.
    pub fn looks_at(&self) -> Option<Instant> {
        self.waits.and_then(|since| self.next_look(since))
    }

    /// The first look that finds something due, if nothing happens before.
    fn next_look(&self, since: Instant) -> Option<Instant> {
        let due = self.table.iter().map(|sent| sent.at).min()? + self.settings.timeout.0;
        let step = self.settings.look.as_micros().max(1);
        let steps = (due - since).as_micros().div_ceil(step.into()).max(1);
        Some(since + self.settings.look.0 * u32::try_from(steps).unwrap_or(u32::MAX))
    }

    /// Begins what is next; says how long it computes, or that there is nothing to do.
    pub fn begin(&mut self, now: Instant, buffer: &mut Buffer, meter: &mut Meter) -> Option<Duration> {
        let worst = self.choose(now, buffer, meter)?;
        Some(worst.saturating_sub(part_of(&mut self.rng, self.settings.variation.0)))
    }

    fn choose(&mut self, now: Instant, buffer: &mut Buffer, meter: &mut Meter) -> Option<Duration> {
        loop {
            if let Some(time) = self.look_on(meter) {
                return Some(time);
            }
            let event = self.events.pop_front().or_else(|| {
                let asked = self.settings.asked != Asked::AtOnce && !self.requests.is_empty();
                asked.then_some(Event::Send)
            });
            let Some(event) = event else {
                if std::mem::take(&mut self.asking) {
                    self.source.rest(now);
                }
                let since = *self.waits.get_or_insert(now);
                if self.next_look(since).is_some_and(|at| at <= now) {
                    self.look_at(now);
                    continue;
                }
                return None;
            };
            self.waits = None;
            match event {
                Event::Socket => {
                    let Some(packet) = self.inbox.pop_front() else { continue };
                    if !self.inbox.is_empty() {
                        self.events.push_back(Event::Socket);
                    }
                    // The thread has one array of its own for a packet.
                    buffer.give(self.held(buffer));
                    self.doing = Doing::Process(packet);
                    return Some(self.costs.process(Task::of(&packet)));
                }
                Event::Send => {
                    let Some(to) = self.requests.pop_front() else { continue };
                    if self.table.len() >= usize::from(self.settings.in_flight) {
                        meter.refused += 1;
                        self.look_at(now);
                        continue;
                    }
                    self.last += 1;
                    meter.sent += 1;
                    let message = Sent { message: self.last, to, tries: 0, accepted: now, at: now };
                    self.doing = Doing::Create { message, again: false };
                    return Some(self.costs.create);
                }
            }
        }
    }

    fn look_at(&mut self, now: Instant) {
        self.look = Some(Look { began: now, next: 0 });
        self.waits = None;
    }

    /// Goes on looking at the timers, to the first message that is to be created again.
    fn look_on(&mut self, meter: &mut Meter) -> Option<Duration> {
        let look = self.look.as_mut()?;
        while let Some(sent) = self.table.get(look.next) {
            if look.began - sent.at < self.settings.timeout.0 {
                look.next += 1;
            } else if sent.tries >= self.settings.transmissions {
                meter.discarded += 1;
                self.table.remove(look.next);
                look.next += 1;
            } else {
                self.doing = Doing::Create { message: *sent, again: true };
                look.next += 1;
                return Some(self.costs.create);
            }
        }
        self.look = None;
        None
    }

    /// Has computed what it began; says what it wants sent.
    pub fn finish(&mut self, now: Instant, meter: &mut Meter) -> Option<Letter> {
        let letter = match std::mem::replace(&mut self.doing, Doing::Nothing) {
            Doing::Nothing => return None,
            Doing::Create { message, again } => self.created(now, message, again, meter),
            Doing::Process(packet) => self.processed(now, packet, meter),
        };
        if self.look.is_none() {
            self.look_at(now);
        }
        letter
    }

    fn created(&mut self, now: Instant, message: Sent, again: bool, meter: &mut Meter) -> Option<Letter> {
        let packet = self.packet(message.message, message.to);
        let sent = Sent { tries: message.tries + 1, at: now, ..message };
        if again {
            meter.retransmitted += 1;
            // Nothing but this thread changes the table, and it was computing.
            if let Some(entry) = self.table.iter_mut().find(|entry| entry.message == sent.message) {
                *entry = sent;
            }
        } else {
            self.table.push(sent);
        }
        Letter::of(packet)
    }

    fn processed(&mut self, now: Instant, packet: Packet, meter: &mut Meter) -> Option<Letter> {
        match Task::of(&packet) {
            Task::Acknowledge => {
                match self.table.iter().position(|sent| sent.message == packet.message) {
                    Some(index) => {
                        let sent = self.table.remove(index);
                        meter.acknowledged += 1;
                        meter.round_trips.push(now - sent.accepted);
                    }
                    None => meter.drop("thesis: acknowledged before, or discarded", 1),
                }
                return None;
            }
            Task::Reply if self.known.insert((packet.origin, packet.message)) => meter.delivered += 1,
            Task::Reply => meter.duplicates += 1,
            Task::Forward => meter.forwarded += 1,
        }
        Letter::of(packet)
    }

    /// A packet on a fresh path.
    fn packet(&mut self, message: u32, to: u16) -> Packet {
        let [there, back] = self.settings.hops;
        let mut path = [0; MAX_HOPS];
        let (way, rest) = path.split_at_mut(usize::from(there).min(MAX_HOPS));
        self.way(way, to);
        if let Some(way) = rest.get_mut(..usize::from(back)) {
            self.way(way, to);
            if let Some(end) = way.last_mut() {
                *end = self.me;
            }
        }
        if let Some(end) = path.get_mut(usize::from(there).saturating_sub(1)) {
            *end = to;
        }
        Packet { origin: self.me, message, passed: 0, there, hops: there + back, path }
    }

    /// Distinct mixes, neither of them an end; the last place is the end's.
    fn way(&mut self, way: &mut [u16], other: u16) {
        let mixes = way.len().saturating_sub(1);
        for index in 0..mixes {
            loop {
                let drawn = below(&mut self.rng, u32::try_from(self.mixes.len()).unwrap_or(u32::MAX));
                let Some(mix) = self.mixes.get(drawn as usize).copied() else { return };
                if mix != self.me && mix != other && !way[..index].contains(&mix) {
                    way[index] = mix;
                    break;
                }
            }
        }
    }
}

/// What is to be done with a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Task {
    Forward,
    Reply,
    Acknowledge,
}

impl Task {
    fn of(packet: &Packet) -> Self {
        match packet.next() {
            Some(_) if packet.passed == packet.there => Self::Reply,
            Some(_) => Self::Forward,
            None => Self::Acknowledge,
        }
    }
}
