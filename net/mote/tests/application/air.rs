//! The air: whoever has the address of a frame hears it, and sees to its acknowledgement, a moment
//! later.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use motemix_link::radio::Transceiver;
use motemix_link::serial::{ExtendedAddress, MAX_FRAME, Outcome};
use motemix_node::Instant;

/// How long a frame takes, acknowledgement included.
const FLIGHT: Duration = Duration::from_millis(4);

/// A frame that was on the air.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sent {
    pub from: usize,
    /// `None`: for all.
    pub to: Option<usize>,
    pub frame: Vec<u8>,
}

impl Sent {
    /// A packet takes one of these (RFC 4944, 5.3), after the addresses of the two radios.
    pub fn is_first_fragment(&self) -> bool {
        self.inside().is_some_and(|byte| byte >> 3 == 0b11000)
    }

    pub fn is_fragment(&self) -> bool {
        self.inside().is_some_and(|byte| byte >> 3 & 0b11011 == 0b11000)
    }

    /// The first byte after both addresses, if it is for one station.
    fn inside(&self) -> Option<u8> {
        self.to.and_then(|_| self.frame.get(21)).copied()
    }
}

#[derive(Default)]
struct Post {
    address: Option<ExtendedAddress>,
    heard: VecDeque<Vec<u8>>,
    outcome: Option<Outcome>,
    /// Whether it was asked for a frame and had none yet: see [`Air::is_late`].
    was_asked: bool,
}

/// All stations, and what is on its way to them.
#[derive(Default)]
pub struct Air {
    posts: Vec<Post>,
    flying: VecDeque<(Instant, Sent)>,
    pub sent: Vec<Sent>,
    /// Whether each frame comes just after a radio was asked for one, so while its mote is busy.
    pub is_late: bool,
    /// Of so many frames one is not heard, and nobody acknowledges it.
    pub loses_one_in: Option<usize>,
}

impl Air {
    pub fn new(stations: usize) -> Rc<RefCell<Self>> {
        let posts = (0..stations).map(|_| Post::default()).collect();
        Rc::new(RefCell::new(Self { posts, ..Self::default() }))
    }

    pub fn join(&mut self, station: usize, address: ExtendedAddress) {
        self.posts[station] = Post { address: Some(address), ..Post::default() };
    }

    pub fn address(&self, station: usize) -> ExtendedAddress {
        self.posts[station].address.expect("the station is there")
    }

    /// The station is switched off.
    pub fn leave(&mut self, station: usize) {
        self.posts[station] = Post::default();
        self.flying.retain(|(_, sent)| sent.from != station);
    }

    /// While a mote stands still nobody takes its frames.
    pub fn forget(&mut self, station: usize) {
        self.posts[station].heard.clear();
        self.posts[station].outcome = None;
    }

    pub fn has_news(&self, station: usize) -> bool {
        let post = &self.posts[station];
        !post.heard.is_empty() || post.outcome.is_some()
    }

    /// A frame from nowhere.
    pub fn inject(&mut self, station: usize, frame: Vec<u8>) {
        self.posts[station].heard.push_back(frame);
    }

    pub fn next_event(&self) -> Option<Instant> {
        self.flying.front().map(|(due, _)| *due)
    }

    pub fn deliver(&mut self, now: Instant) {
        while self.flying.front().is_some_and(|(due, _)| *due <= now) {
            let Some((_, sent)) = self.flying.pop_front() else { return };
            let mut heard = sent.to.is_none();
            for (station, post) in self.posts.iter_mut().enumerate() {
                let is_meant = station != sent.from && sent.to.is_none_or(|to| to == station);
                if is_meant && post.address.is_some() {
                    post.heard.push_back(sent.frame.clone());
                    heard = true;
                }
            }
            let outcome = if heard { Outcome::Sent } else { Outcome::NoAcknowledgement };
            self.posts[sent.from].outcome = Some(outcome);
        }
    }

    fn transmit(&mut self, now: Instant, from: usize, frame: &[u8]) {
        // Whoever is not there is a station that nobody is.
        let to = match destination(frame) {
            Some(address) => {
                let is_it = |post: &Post| post.address.is_some_and(|it| address.is(it));
                Some(self.posts.iter().position(is_it).unwrap_or(usize::MAX))
            }
            None => None,
        };
        let mut sent = Sent { from, to, frame: frame.to_vec() };
        self.sent.push(sent.clone());
        if self.loses_one_in.is_some_and(|many| self.sent.len().is_multiple_of(many)) {
            sent.to = Some(usize::MAX);
        }
        self.flying.push_back((now + FLIGHT, sent));
    }
}

/// One station.
enum Address {
    Short([u8; 2]),
    Extended(ExtendedAddress),
}

impl Address {
    fn is(&self, station: ExtendedAddress) -> bool {
        match self {
            Self::Short(short) => *short == station.short(),
            Self::Extended(extended) => *extended == station,
        }
    }
}

/// IEEE 802.15.4-2020, 7.2: the destination, if it is one station.
fn destination(frame: &[u8]) -> Option<Address> {
    match frame[1] >> 2 & 0b11 {
        0b11 => {
            Some(Address::Extended(ExtendedAddress(*frame[5..].first_chunk().expect("frames are whole"))))
        }
        0b10 if frame[5..7] != [0xff; 2] => Some(Address::Short([frame[5], frame[6]])),
        _ => None,
    }
}

/// A board's radio.
#[derive(Clone)]
pub struct Station {
    pub index: usize,
    pub air: Rc<RefCell<Air>>,
    pub now: Rc<Cell<Instant>>,
    /// Without power nothing is sent.
    pub power: Rc<Cell<Option<u32>>>,
}

impl Transceiver for Station {
    fn receive(&mut self, out: &mut [u8; MAX_FRAME]) -> Option<usize> {
        let mut air = self.air.borrow_mut();
        let Air { posts, is_late, .. } = &mut *air;
        let post = &mut posts[self.index];
        if *is_late && !post.heard.is_empty() && !std::mem::replace(&mut post.was_asked, true) {
            return None;
        }
        post.was_asked = false;
        let frame = post.heard.pop_front()?;
        out[..frame.len()].copy_from_slice(&frame);
        Some(frame.len())
    }

    fn transmit(&mut self, frame: &[u8]) {
        if self.power.get() != Some(0) {
            self.air.borrow_mut().transmit(self.now.get(), self.index, frame);
        }
    }

    fn poll_outcome(&mut self) -> Option<Outcome> {
        self.air.borrow_mut().posts[self.index].outcome.take()
    }
}
