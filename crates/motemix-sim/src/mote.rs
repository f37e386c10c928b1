//! A mote as it ships: node, link and radio, in the order in which the run loop of a board calls them.
//!
//! The loop is that of `motemix-mote`'s `Running::poll`: at most one packet taken in, one sent, and one scalar multiplication of
//! own work. While it computes, its processor is busy for what the stopwatch says; only the interrupt that takes frames from
//! the transceiver goes on.

use crate::adversary::fingerprint;
use crate::board::Traits;
use crate::curve;
use crate::device::{Antenna, Device};
use crate::load::Source;
use crate::meter::Meter;
use crate::observe::News;
use chacha20::ChaCha8Rng;
use motemix_air::Instant;
use motemix_directory::Entry;
use motemix_link::counters::LinkDrop;
use motemix_link::radio::Radio;
use motemix_link::stack::Stack;
use motemix_node::{
    DropReason, Event, HeaderSlot, MessageSlot, Node, PacketSlot, ReturnSlot, SendError, Storage,
};
use motemix_sphinx::{NodeId, Profile};
use std::net::Ipv6Addr;
use std::rc::Rc;
use std::time::Duration;

/// The longest packet of motes.
pub(crate) const PACKET: usize = 376;
/// Datagrams that come, incomplete ones included, as the firmware has it.
pub(crate) const ARRIVALS: usize = 6;
/// Datagrams that leave at a time, as the firmware has it.
pub(crate) const DEPARTURES: usize = 1;
/// Frames that the interrupt can keep.
pub(crate) const FRAMES: usize = 8;

/// The memory of a mote.
pub(crate) struct Memory<P: Profile> {
    packets: Vec<PacketSlot<P>>,
    schedule: Vec<u32>,
    replay: [Vec<u64>; 2],
    window: [Vec<u64>; 2],
    messages: Vec<MessageSlot<P>>,
    returns: Vec<ReturnSlot<P>>,
    headers: Vec<HeaderSlot<P>>,
}

impl<P: Profile> Memory<P> {
    pub fn new(settings: &crate::scenario::Motes) -> Self {
        let messages = usize::from(settings.in_flight);
        let tags = || vec![0; TAGS];
        Self {
            packets: slots(usize::from(settings.packets), PacketSlot::new),
            schedule: vec![0; usize::from(settings.packets)],
            replay: [tags(), tags()],
            window: [vec![0; WINDOW], vec![0; WINDOW]],
            messages: slots(messages, MessageSlot::new),
            returns: slots(messages * usize::from(settings.transmissions), ReturnSlot::new),
            headers: slots(usize::from(settings.headers), HeaderSlot::new),
        }
    }
}

/// Replay tags of the whole run, which is one epoch.
const TAGS: usize = 8192;
/// Messages that a receiver remembers.
const WINDOW: usize = 1024;

fn slots<T>(count: usize, make: impl FnMut() -> T) -> Vec<T> {
    std::iter::repeat_with(make).take(count).collect()
}

/// What all messages of a node say: who it is, so far as there is room, and nothing else.
fn message(me: u16, len: usize) -> Vec<u8> {
    let mut data = vec![0x6d; len];
    if let Some(sender) = data.first_chunk_mut() {
        *sender = me.to_be_bytes();
    }
    data
}

/// Bytes that a message needs to say who sent it.
pub(crate) const NAMED: usize = 2;

fn sender_of(data: &[u8]) -> Option<u16> {
    data.first_chunk::<NAMED>().map(|sender| u16::from_be_bytes(*sender))
}

/// Where the run loop is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// At its beginning.
    TakeIn,
    /// A packet may have been taken in, and its computing is over.
    SendOn { busy: bool },
}

/// A mote.
pub(crate) struct Mote<'s, P: Profile> {
    pub node: Node<'s, P, ChaCha8Rng>,
    pub stack: Stack<'s>,
    pub radio: Radio<Antenna>,
    source: Source,
    addresses: Rc<[Ipv6Addr]>,
    board: Traits,
    phase: Phase,
    busy_until: Instant,
    scratch: Vec<u8>,
    data: Vec<u8>,
    meter: Meter,
    /// Of the packet that was taken in last.
    taken_in: u64,
    arrived: Vec<(u16, u64)>,
    news: Option<Vec<News>>,
}

impl<'s, P: Profile> Mote<'s, P> {
    pub fn new(
        node: Node<'s, P, ChaCha8Rng>,
        (stack, radio): (Stack<'s>, Radio<Antenna>),
        source: Source,
        addresses: Rc<[Ipv6Addr]>,
        board: Traits,
        payload: usize,
    ) -> Self {
        let me = node.id().get();
        Self {
            node,
            stack,
            radio,
            source,
            addresses,
            board,
            phase: Phase::TakeIn,
            busy_until: Instant::default(),
            scratch: vec![0; PACKET],
            data: message(me, payload),
            meter: Meter::default(),
            taken_in: 0,
            arrived: Vec::new(),
            news: None,
        }
    }

    /// What was counted, here and by the shipping code.
    pub fn meter(&self) -> Meter {
        let mut meter = self.meter.clone();
        let counters = self.node.counters();
        meter.sent = counters.sent;
        meter.acknowledged = counters.acknowledged;
        meter.retransmitted = counters.retransmitted;
        meter.discarded = counters.discarded;
        meter.delivered = counters.delivered;
        meter.duplicates = counters.duplicates;
        meter.forwarded = counters.forwarded;
        for reason in DropReason::ALL {
            meter.drop(format!("packet: {}", reason.name()), counters.dropped(*reason));
        }
        meter.drop("frame: interrupt's queue full", self.radio.transceiver().overrun);
        for &reason in LinkDrop::ALL {
            let count = self.stack.counters().dropped(reason);
            meter.drop(format!("link: {}", reason.name()), u64::from(count));
        }
        meter
    }

    /// Senders of the messages that arrived, each once, and the fingerprints of the packets that brought them.
    pub fn arrived(&self) -> &[(u16, u64)] {
        &self.arrived
    }

    /// The processor computes; whatever else there is waits.
    fn compute(&mut self, now: Instant, besides: u32) -> bool {
        let multiplications = u64::from(curve::taken());
        let cycles = multiplications * u64::from(self.board.multiplication) + u64::from(besides);
        let time = self.board.time(cycles);
        self.meter.computed += time;
        self.busy_until = now + time;
        cycles > 0
    }

    fn take_in(&mut self, now: Instant) -> bool {
        let link = link_time(now);
        while let Some(to) = self.source.take(now) {
            let sent = NodeId::new(to).map(|to| self.node.send(node_time(now), to, &self.data));
            let refused = matches!(sent, Some(Err(SendError::Full)));
            self.meter.refused += u64::from(refused);
            self.news(if refused { News::Refused { to } } else { News::Message { to } });
        }
        self.stack.poll(link, &mut self.radio);
        let Some(len) = self.stack.receive(&mut self.scratch) else { return false };
        self.taken_in = fingerprint(self.scratch.get(..len).unwrap_or_default());
        curve::taken();
        // Refusals are counted by the node.
        let taken =
            self.node.handle_datagram(node_time(now), self.scratch.get_mut(..len).unwrap_or_default());
        if let Err(reason) = taken {
            self.news(News::Dropped { reason: reason.name() });
        }
        self.compute(now, self.board.packet)
    }

    fn send_on(&mut self, now: Instant) {
        let at = node_time(now);
        if self.node.poll_timeout().is_some_and(|due| due <= at) {
            self.node.handle_timeout(at);
        }
        while let Some(event) = self.node.poll_event() {
            let news = match event {
                Event::Received { token, data, repeated, .. } => {
                    if let Some(sender) = sender_of(data).filter(|_| !repeated) {
                        self.arrived.push((sender, self.taken_in));
                    }
                    let _ = self.node.reply(at, token, &[]);
                    News::Received
                }
                Event::Acknowledged { elapsed, tries, .. } => {
                    self.meter.round_trips.push(elapsed);
                    News::Acknowledged { after: elapsed, tries }
                }
                Event::Delivered { .. } => News::Received,
                Event::Discarded { tries, .. } => News::Discarded { tries },
            };
            self.news(news);
        }
        let link = link_time(now);
        if self.stack.can_send(link)
            && let Some(transmit) = self.node.poll_transmit(at, &mut self.scratch)
            && let Some(to) = self.addresses.get(usize::from(transmit.to.get()))
        {
            let sent = self.stack.send(link, *to, self.scratch.get(..transmit.len).unwrap_or_default());
            self.news(News::Packet { to: transmit.to.get() });
            if !sent {
                let reason = "datagram: not accepted by the link";
                self.meter.drop(reason, 1);
                self.news(News::Dropped { reason });
            }
        }
        self.stack.poll(link, &mut self.radio);
    }

    fn news(&mut self, news: News) {
        if let Some(kept) = &mut self.news {
            kept.push(news);
        }
    }

    fn idle_until(&mut self, now: Instant) -> Option<Instant> {
        let link = self.stack.poll_timeout(link_time(now), &self.radio);
        let link = link.map(|at| Instant::from_micros(u64::try_from(at.as_micros()).unwrap_or(u64::MAX)));
        let can_send = self.stack.can_send(link_time(now));
        let node = self.node.poll_timeout().filter(|due| can_send || *due > node_time(now));
        let node = node.map(|due| Instant::from_micros(due.as_micros()));
        [link, node, self.source.next()].into_iter().flatten().min()
    }
}

impl<P: Profile> Device for Mote<'_, P> {
    fn antenna(&mut self) -> &mut Antenna {
        self.radio.transceiver_mut()
    }

    fn keep_news(&mut self) {
        self.news = Some(Vec::new());
    }

    fn take_news(&mut self) -> Vec<News> {
        self.news.as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn poll(&mut self, now: Instant) -> Option<Instant> {
        if self.busy_until > now {
            return Some(self.busy_until);
        }
        loop {
            match self.phase {
                Phase::TakeIn => {
                    let busy = self.take_in(now);
                    self.phase = Phase::SendOn { busy };
                    if self.busy_until > now {
                        return Some(self.busy_until);
                    }
                }
                Phase::SendOn { busy } => {
                    self.send_on(now);
                    self.phase = Phase::TakeIn;
                    curve::taken();
                    let more = self.node.work(node_time(now));
                    self.compute(now, 0);
                    if self.busy_until > now {
                        return Some(self.busy_until);
                    }
                    if !busy && !more {
                        return self.idle_until(now);
                    }
                }
            }
        }
    }
}

fn node_time(now: Instant) -> motemix_node::Instant {
    motemix_node::Instant::from_micros(now.as_micros())
}

fn link_time(now: Instant) -> Duration {
    Duration::from_micros(now.as_micros())
}

/// Lends a node its memory; the nodes of the network are lent apart.
pub(crate) fn storage<P: Profile>(memory: &mut Memory<P>) -> Storage<'_, P> {
    let [replay, replay_of_neighbour] = &mut memory.replay;
    let [window, older_window] = &mut memory.window;
    Storage {
        packets: &mut memory.packets,
        schedule: &mut memory.schedule,
        replay: [replay, replay_of_neighbour],
        window: [window, older_window],
        messages: &mut memory.messages,
        returns: &mut memory.returns,
        headers: &mut memory.headers,
        loops: &mut [],
        nodes: &mut [] as &mut [Entry],
    }
}
