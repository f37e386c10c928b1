//! Stations on an air that does as it is told, on virtual time.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use motemix_link::Instant;
use motemix_link::counters::{LinkCounters, LinkDrop};
use motemix_link::radio::{Radio, Transceiver};
use motemix_link::serial::{ExtendedAddress, MAX_FRAME, Outcome};
use motemix_link::settings::{LinkSettings, Recovery};
use motemix_link::stack::{Stack, StackMemory, interface_of, link_local};

pub const PACKET: usize = 280;
/// How long a frame takes, acknowledgement included.
pub const FLIGHT: Duration = Duration::from_millis(4);

/// A frame that was on the air, or was to be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sent {
    pub at: Instant,
    pub from: usize,
    pub frame: Vec<u8>,
    pub fate: Fate,
}

impl Sent {
    /// 6LoWPAN and what it carries.
    pub fn inside(&self) -> &[u8] {
        &self.frame[if self.frame[1] & 0b100 == 0 { 15 } else { 21 }..]
    }

    /// The pause between a frame and this one.
    pub fn pause_after(&self, other: &Self) -> Duration {
        self.at - (other.at + FLIGHT)
    }

    pub fn is_acknowledgement(&self) -> bool {
        self.inside()[0] >> 1 == 0b111_0101
    }

    pub fn sequence(&self) -> u8 {
        self.frame[2]
    }
}

/// What becomes of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    Heard,
    /// The radio's acknowledgement came, but the frame was forgotten.
    Forgotten,
    /// Nobody heard it.
    Lost,
    /// It was heard, but its acknowledgement was not.
    Unheard,
    Busy,
}

type Judge = Box<dyn FnMut(&Sent) -> Fate>;

struct Post {
    /// And when.
    heard: VecDeque<(Instant, Vec<u8>)>,
    outcome: Option<(Instant, Outcome)>,
}

pub struct Air {
    posts: Vec<Post>,
    pub sent: Vec<Sent>,
    judge: Judge,
}

#[derive(Clone)]
pub struct Antenna {
    index: usize,
    air: Rc<RefCell<Air>>,
    now: Rc<Cell<Instant>>,
}

impl Transceiver for Antenna {
    fn receive(&mut self, out: &mut [u8; MAX_FRAME]) -> Option<usize> {
        let now = self.now.get();
        let (_, frame) = self.air.borrow_mut().posts[self.index].heard.pop_front_if(|(at, _)| *at <= now)?;
        out[..frame.len()].copy_from_slice(&frame);
        Some(frame.len())
    }

    fn transmit(&mut self, frame: &[u8]) {
        let air = &mut *self.air.borrow_mut();
        let at = self.now.get();
        let mut sent = Sent { at, from: self.index, frame: frame.to_vec(), fate: Fate::Heard };
        sent.fate = (air.judge)(&sent);
        if matches!(sent.fate, Fate::Heard | Fate::Unheard) {
            for (index, post) in air.posts.iter_mut().enumerate() {
                if index != self.index {
                    post.heard.push_back((at + FLIGHT, frame.to_vec()));
                }
            }
        }
        let outcome = match sent.fate {
            Fate::Heard | Fate::Forgotten => Outcome::Sent,
            Fate::Lost | Fate::Unheard => Outcome::NoAcknowledgement,
            Fate::Busy => Outcome::ChannelBusy,
        };
        let post = &mut air.posts[self.index];
        assert_eq!(post.outcome, None, "one frame at a time");
        post.outcome = Some((at + FLIGHT, outcome));
        air.sent.push(sent);
    }

    fn poll_outcome(&mut self) -> Option<Outcome> {
        let post = &mut self.air.borrow_mut().posts[self.index];
        let (at, outcome) = post.outcome?;
        (at <= self.now.get()).then(|| {
            post.outcome = None;
            outcome
        })
    }
}

pub struct Station {
    pub radio: Radio<Antenna>,
    pub stack: Stack<'static>,
    /// Datagrams that arrived, in their order.
    pub inbox: Vec<Vec<u8>>,
}

pub struct World {
    pub air: Rc<RefCell<Air>>,
    pub now: Rc<Cell<Instant>>,
    pub stations: Vec<Station>,
    /// Whether applications take what arrives.
    pub take: bool,
    /// Whether stations know who belongs to their network: all of them, and nobody else.
    pub acquainted: bool,
}

pub fn address(index: usize) -> ExtendedAddress {
    ExtendedAddress([index as u8, 0, 0, 0, 0, 0, 0, 0x02])
}

/// The station's interface identifier.
pub fn interface(index: usize) -> u64 {
    interface_of(link_local(address(index))).expect("it is a radio's")
}

/// Fragments are recovered, and their receiver is always asked.
pub fn careful() -> LinkSettings {
    LinkSettings { recovery: Recovery::Selective, when_in_doubt: false, ..LinkSettings::new() }
}

/// Fragments are recovered, and their receiver is asked if need be.
pub fn in_doubt() -> LinkSettings {
    LinkSettings { when_in_doubt: true, ..careful() }
}

impl World {
    pub fn new(count: usize, settings: LinkSettings) -> Self {
        Self::with_memory::<PACKET, 4, 4>(count, settings)
    }

    pub fn with_memory<const LEN: usize, const COUNT: usize, const OUT: usize>(
        count: usize,
        settings: LinkSettings,
    ) -> Self {
        let now = Rc::new(Cell::new(Instant::from_micros(1_000_000)));
        let posts = (0..count).map(|_| Post { heard: VecDeque::new(), outcome: None }).collect();
        let air = Air { posts, sent: Vec::new(), judge: Box::new(|_| Fate::Heard) };
        let air = Rc::new(RefCell::new(air));
        let stations = (0..count).map(|index| {
            let radio = Radio::new(Antenna { index, air: air.clone(), now: now.clone() });
            let memory = Box::leak(Box::new(StackMemory::<LEN, COUNT, OUT>::new()));
            let stack = Stack::new(address(index), index as u64, &settings, memory.lend());
            Station { radio, stack, inbox: Vec::new() }
        });
        Self { stations: stations.collect(), air, now, take: true, acquainted: false }
    }

    /// A stack with this address.
    pub fn stack_of(address: ExtendedAddress, settings: LinkSettings) -> Stack<'static> {
        let memory = Box::leak(Box::new(StackMemory::<PACKET, 4, 4>::new()));
        Stack::new(address, 1, &settings, memory.lend())
    }

    /// Decides about frames from now on.
    pub fn judge(&self, judge: impl FnMut(&Sent) -> Fate + 'static) {
        self.air.borrow_mut().judge = Box::new(judge);
    }

    pub fn send(&mut self, from: usize, to: usize, datagram: &[u8]) -> bool {
        self.stations[from].stack.send(link_local(address(to)), datagram).is_ok()
    }

    /// Has a station hear a frame now, before those that are still on their way.
    pub fn inject(&self, station: usize, frame: Vec<u8>) {
        let now = self.now.get();
        let heard = &mut self.air.borrow_mut().posts[station].heard;
        let index = heard.partition_point(|(at, _)| *at <= now);
        heard.insert(index, (now, frame));
    }

    /// Runs for a while.
    pub fn run(&mut self, time: Duration) {
        let until = self.now.get() + time;
        loop {
            let next = self.settle();
            let Some(next) = next.filter(|next| *next <= until) else { break };
            assert!(next > self.now.get(), "nothing more is due now");
            self.now.set(next);
        }
        self.now.set(until);
        self.settle();
    }

    pub fn seconds(&mut self, seconds: u64) {
        self.run(Duration::from_secs(seconds));
    }

    /// Does what is due now. When something is due next.
    fn settle(&mut self) -> Option<Instant> {
        let now = self.now.get();
        let all: Vec<_> = (0..self.stations.len()).map(interface).collect();
        for _ in 0..10_000 {
            for station in &mut self.stations {
                if self.acquainted {
                    station.stack.poll_among(now, &mut station.radio, &|from| all.contains(&from));
                } else {
                    station.stack.poll(now, &mut station.radio);
                }
                let mut arrived = [0; 2000];
                while let Some(received) = self.take.then(|| station.stack.receive(&mut arrived)).flatten() {
                    station.inbox.push(arrived[..received.len].to_vec());
                }
            }
            let air = self.air.borrow();
            let outcomes = air.posts.iter().filter_map(|post| post.outcome).map(|(at, _)| at);
            let stacks = self.stations.iter().filter_map(|it| it.stack.poll_timeout(&it.radio));
            let heard = air.posts.iter().flat_map(|post| post.heard.iter().map(|(at, _)| *at));
            let next = outcomes.chain(stacks).chain(heard).min();
            if next.is_none_or(|next| next > now) {
                return next;
            }
        }
        panic!("the stations do not come to rest");
    }

    pub fn counters(&self, station: usize) -> LinkCounters {
        *self.stations[station].stack.counters()
    }

    pub fn dropped(&self, station: usize, reason: LinkDrop) -> u32 {
        self.counters(station).dropped(reason)
    }

    /// Reasons for which a station dropped something.
    pub fn drops(&self, station: usize) -> Vec<(LinkDrop, u32)> {
        let counters = self.counters(station);
        let counts = LinkDrop::ALL.iter().map(|&reason| (reason, counters.dropped(reason)));
        counts.filter(|(_, count)| *count > 0).collect()
    }

    pub fn sent(&self) -> Vec<Sent> {
        self.air.borrow().sent.clone()
    }

    pub fn forget_sent(&self) {
        self.air.borrow_mut().sent.clear();
    }

    pub fn inbox(&mut self, station: usize) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.stations[station].inbox)
    }
}

/// A datagram that is unlike others, and no part of it like another part.
pub fn datagram(number: usize, len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 7 + at / 251 + number * 31) as u8).collect()
}

/// A neighbour solicitation, as Contiki-NG sends it to one that it knew before (RFC 4861, 4.3; RFC
/// 6282).
pub fn solicitation_of(from: ExtendedAddress, to: usize) -> Vec<u8> {
    let [from, to] = [from, address(to)].map(|address| (address.0, link_local(address).octets()));
    let mut eui_64 = from.0;
    eui_64.reverse();
    let mut message = [&[135, 0, 0, 0, 0, 0, 0, 0], &to.1[..], &[1, 2], &eui_64, &[0; 6]].concat();
    let all = [&from.1[..], &to.1, &[0, 0, 0, message.len() as u8, 0, 0, 0, 58], &message].concat();
    let mut sum: u32 = all.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    message[2..4].copy_from_slice(&(!sum as u16).to_be_bytes());
    [&[0x61, 0xdc, 9, 0x23, 0][..], &to.0, &from.0, &[0x7b, 0x33, 58], &message].concat()
}

/// Small random numbers with a seed.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// SplitMix64.
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// `true` so often of a hundred times.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.roll() % 100 < percent
    }
}
