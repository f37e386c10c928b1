//! One radio, with patience: frames wait for it in line, and one that found the channel busy tries again.
//!
//! The five clear-channel assessments of one attempt span about 18 ms, the train of a neighbour's fragments
//! holds the air for longer. A frame that gives up then takes its whole datagram with it, so it is put back a
//! few times, some 20 ms apart.

use core::time::Duration;

use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};

use crate::screen::is_possible;
use crate::serial::{MAX_FRAME, Outcome};

/// How often a frame is put back before it is given up.
pub const REQUEUES: u8 = 3;
/// For how long a frame that was put back waits.
pub const REQUEUE_AFTER: Duration = Duration::from_millis(20);
/// For how long the transceiver may say nothing of a frame. It needs a tenth of it at most.
pub const OUTCOME_WITHIN: Duration = Duration::from_secs(2);
/// Frames in line. One place is kept for answers to neighbours.
const PLACES: usize = 3;
/// Frames taken in between two polls: a flood of them must not keep the rest of the node waiting.
const FRAMES_AT_ONCE: u8 = 4;

/// A transceiver: the part that knows a frame only as bytes. It does CSMA/CA, checks the frame check
/// sequence, and acknowledges frames that ask for it.
pub trait Transceiver {
    /// A frame that arrived, without its check sequence, written to the beginning of `out`.
    fn receive(&mut self, out: &mut [u8; MAX_FRAME]) -> Option<usize>;

    /// Begins to send a frame, which has no check sequence yet. Not called again before the frame's outcome
    /// was polled, or [`OUTCOME_WITHIN`] has passed without one.
    fn transmit(&mut self, frame: &[u8]);

    /// What became of the frame, once.
    fn poll_outcome(&mut self) -> Option<Outcome>;
}

/// What a radio has seen.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RadioCounters {
    /// Frames that arrived.
    pub received: u32,
    /// Frames that no node of this network sends.
    pub impossible: u32,
    /// Frames that were sent, and acknowledged if they asked for it.
    pub sent: u32,
    /// Attempts that failed and were made again.
    pub requeued: u32,
    /// Frames given up after the last attempt, or because nothing was heard of them any more.
    pub given_up: u32,
    /// Answers to neighbours for which there was no place.
    pub crowded: u32,
}

#[derive(Clone, Copy)]
struct Frame {
    bytes: [u8; MAX_FRAME],
    len: u8,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// The first frame in line may be sent from this time on.
    Ready(Duration),
    /// Its outcome may be lost on a serial line, so it is not waited for beyond this time.
    UnderWay(Duration),
}

/// A transceiver and the frames that wait for it. Time is the duration since any origin.
pub struct Radio<T> {
    transceiver: T,
    /// The first of them is next, or under way.
    line: [Frame; PLACES],
    waiting: usize,
    state: State,
    requeues: u8,
    /// How many more frames may be taken in before the next poll.
    welcome: u8,
    counters: RadioCounters,
}

impl<T: Transceiver> Radio<T> {
    /// A radio with nothing to send.
    pub const fn new(transceiver: T) -> Self {
        Self {
            transceiver,
            line: [Frame { bytes: [0; MAX_FRAME], len: 0 }; PLACES],
            waiting: 0,
            state: State::Ready(Duration::ZERO),
            requeues: 0,
            welcome: 0,
            counters: RadioCounters {
                received: 0,
                impossible: 0,
                sent: 0,
                requeued: 0,
                given_up: 0,
                crowded: 0,
            },
        }
    }

    /// What happened so far.
    pub const fn counters(&self) -> &RadioCounters {
        &self.counters
    }

    /// The transceiver.
    pub const fn transceiver(&self) -> &T {
        &self.transceiver
    }

    /// The transceiver.
    pub const fn transceiver_mut(&mut self) -> &mut T {
        &mut self.transceiver
    }

    /// Whether no frame waits.
    pub const fn is_idle(&self) -> bool {
        self.waiting == 0
    }

    /// Takes the outcome of the frame under way, sends the next one if it is time, and lets a few frames in.
    pub fn poll(&mut self, now: Duration) {
        self.welcome = FRAMES_AT_ONCE;
        if let State::UnderWay(until) = self.state {
            // One of which nothing is heard may have been sent, so it is not sent again.
            let silence = (until <= now).then_some(Outcome::Refused);
            if let Some(outcome) = self.transceiver.poll_outcome().or(silence) {
                self.ended(now, outcome);
            }
        }
        if let State::Ready(at) = self.state
            && at <= now
            && self.waiting > 0
        {
            let [first, ..] = &self.line;
            self.transceiver.transmit(first.as_bytes());
            self.state = State::UnderWay(now + OUTCOME_WITHIN);
        }
    }

    /// When [`poll`](Self::poll) has something to do, besides when the transceiver has news.
    pub fn poll_timeout(&self) -> Option<Duration> {
        match self.state {
            State::Ready(_) if self.waiting == 0 => None,
            State::Ready(at) | State::UnderWay(at) => Some(at),
        }
    }

    fn ended(&mut self, now: Duration, outcome: Outcome) {
        match outcome {
            Outcome::ChannelBusy | Outcome::NoAcknowledgement if self.requeues < REQUEUES => {
                self.requeues += 1;
                self.counters.requeued += 1;
                self.state = State::Ready(now + REQUEUE_AFTER);
                return;
            }
            Outcome::Sent => self.counters.sent += 1,
            _ => self.counters.given_up += 1,
        }
        self.requeues = 0;
        self.state = State::Ready(now);
        self.line.copy_within(1.., 0);
        self.waiting -= 1;
    }
}

impl Frame {
    fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }
}

/// Asks for an acknowledgement unless the frame is for all (IEEE 802.15.4-2020, 7.2.2.5): a broadcast is never
/// acknowledged.
fn request_acknowledgement(frame: &mut [u8]) {
    const ACKNOWLEDGEMENT_REQUEST: u8 = 1 << 5;
    const ADDRESSING: u8 = 0b1100;
    const EXTENDED: u8 = 0b1100;
    const SHORT: u8 = 0b1000;
    // Frame control, sequence number, PAN, destination.
    let [control, addressing, _, _, _, rest @ ..] = frame else { return };
    let unicast = match *addressing & ADDRESSING {
        EXTENDED => true,
        SHORT => rest.first_chunk() != Some(&[0xff, 0xff]),
        _ => false,
    };
    if unicast {
        *control |= ACKNOWLEDGEMENT_REQUEST;
    }
}

/// A frame on its way into the stack.
pub struct Arrival {
    bytes: [u8; MAX_FRAME],
    len: usize,
}

impl RxToken for Arrival {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(self.bytes.get(..self.len).unwrap_or_default())
    }
}

/// A place in line.
pub struct Place<'r, T> {
    radio: &'r mut Radio<T>,
}

impl<T: Transceiver> TxToken for Place<'_, T> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, write: F) -> R {
        let radio = self.radio;
        let place = radio.line.get_mut(radio.waiting);
        let Some((frame, bytes)) = place.and_then(|frame| {
            let Frame { bytes, len: place_len } = frame;
            Some((place_len, bytes.get_mut(..len)?))
        }) else {
            radio.counters.crowded += 1;
            // The stack insists on writing somewhere.
            let mut nowhere = [0; MAX_FRAME];
            let (nowhere, _) = nowhere.split_at_mut(len.min(MAX_FRAME));
            return write(nowhere);
        };
        let result = write(bytes);
        request_acknowledgement(bytes);
        *frame = len as u8;
        radio.waiting += 1;
        result
    }
}

impl<T: Transceiver> Device for Radio<T> {
    type RxToken<'a>
        = Arrival
    where
        T: 'a;
    type TxToken<'a>
        = Place<'a, T>
    where
        T: 'a;

    fn receive(&mut self, _: smoltcp::time::Instant) -> Option<(Arrival, Place<'_, T>)> {
        let mut bytes = [0; MAX_FRAME];
        while let Some(left) = self.welcome.checked_sub(1) {
            self.welcome = left;
            let len = self.transceiver.receive(&mut bytes)?;
            self.counters.received += 1;
            if bytes.get(..len).is_some_and(is_possible) {
                return Some((Arrival { bytes, len }, Place { radio: self }));
            }
            self.counters.impossible += 1;
        }
        None
    }

    fn transmit(&mut self, _: smoltcp::time::Instant) -> Option<Place<'_, T>> {
        (self.waiting + 1 < PLACES).then_some(Place { radio: self })
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ieee802154;
        capabilities.max_transmission_unit = MAX_FRAME;
        capabilities
    }
}
