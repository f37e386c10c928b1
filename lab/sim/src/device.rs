//! What stands at one place of the network, as the world sees it.

use crate::observe::News;
use motemix_air::Instant;
use motemix_link::radio::Transceiver;
use motemix_link::serial::{MAX_FRAME, Outcome};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// What stands at one place of the network.
pub(crate) trait Device {
    /// Where its frames come and go.
    fn antenna(&mut self) -> &mut Antenna;

    /// Does what is due, and says when it is to be called again if the antenna has no news before.
    fn poll(&mut self, now: Instant) -> Option<Instant>;

    /// The run is over.
    fn end(&mut self, _now: Instant) {}

    /// From now on it keeps what it has to say of itself.
    fn keep_news(&mut self) {}

    /// What it has to say since the last time.
    fn take_news(&mut self) -> Vec<News> {
        Vec::new()
    }
}

/// Frames that its interrupt has taken from the transceiver, and the one that it is to send. A
/// board's radio and the world have hold of the same one.
#[derive(Clone)]
pub(crate) struct Antenna(Rc<RefCell<Inside>>);

struct Inside {
    arrived: VecDeque<Frame>,
    room: usize,
    outcome: Option<Outcome>,
    leaving: Option<Frame>,
    listens: bool,
    /// Frames that were acknowledged on the air and found no room here.
    overrun: u64,
    /// Protected frames that were taken or given since somebody asked.
    protected: u32,
}

/// In the first byte of a frame: it is protected.
const SECURED: u8 = 1 << 3;

/// The bytes of a frame, without its check sequence.
#[derive(Clone, Copy)]
pub(crate) struct Frame {
    bytes: [u8; MAX_FRAME],
    len: u8,
}

impl Frame {
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let mut frame = Self { bytes: [0; MAX_FRAME], len: u8::try_from(bytes.len()).ok()? };
        frame.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(frame)
    }

    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }
}

impl Inside {
    fn count(&mut self, frame: &[u8]) {
        self.protected += u32::from(frame.first().is_some_and(|first| first & SECURED != 0));
    }
}

impl Antenna {
    /// With room for so many frames that arrived.
    pub fn new(room: usize) -> Self {
        Self(Rc::new(RefCell::new(Inside {
            arrived: VecDeque::with_capacity(room),
            room,
            outcome: None,
            leaving: None,
            listens: true,
            overrun: 0,
            protected: 0,
        })))
    }

    /// A frame arrived.
    pub fn arrive(&mut self, bytes: &[u8]) {
        let inside = &mut *self.0.borrow_mut();
        match Frame::new(bytes).filter(|_| inside.arrived.len() < inside.room) {
            Some(frame) => inside.arrived.push_back(frame),
            None => inside.overrun += 1,
        }
    }

    /// What became of the frame that left.
    pub fn ended(&mut self, outcome: Outcome) {
        self.0.borrow_mut().outcome = Some(outcome);
    }

    /// Bytes of the oldest frame that arrived and was not taken yet.
    pub fn waiting(&self) -> Option<usize> {
        self.0.borrow().arrived.front().map(|frame| usize::from(frame.len))
    }

    /// From now on it begins to receive frames, or does not.
    pub fn listen(&mut self, listens: bool) {
        self.0.borrow_mut().listens = listens;
    }

    /// Whether it begins to receive frames.
    pub fn listens(&self) -> bool {
        self.0.borrow().listens
    }

    /// Frames that were acknowledged on the air and found no room here.
    pub fn overrun(&self) -> u64 {
        self.0.borrow().overrun
    }

    /// Protected frames that were taken from it or given to it since the last call. Each of them
    /// was computed with.
    pub fn take_protected(&mut self) -> u32 {
        std::mem::take(&mut self.0.borrow_mut().protected)
    }

    /// The frame that is to leave now.
    pub fn take_leaving(&mut self) -> Option<Frame> {
        self.0.borrow_mut().leaving.take()
    }
}

impl Transceiver for Antenna {
    fn receive(&mut self, out: &mut [u8; MAX_FRAME]) -> Option<usize> {
        let inside = &mut *self.0.borrow_mut();
        let frame = inside.arrived.pop_front()?;
        inside.count(frame.bytes());
        *out = frame.bytes;
        Some(usize::from(frame.len))
    }

    fn transmit(&mut self, frame: &[u8]) {
        let inside = &mut *self.0.borrow_mut();
        inside.leaving = Frame::new(frame);
        inside.count(frame);
    }

    fn poll_outcome(&mut self) -> Option<Outcome> {
        self.0.borrow_mut().outcome.take()
    }
}
