//! The state machine.

use heapless::Deque;
use motemix_link::serial::{ExtendedAddress, MAX_FRAME, Outcome};

use crate::filter::{Accepted, accept, acknowledgement, awaits};

/// Frames that were received and not taken.
pub const RECEIVED: usize = 8;
/// aUnitBackoffPeriod: 20 symbols of 16 µs.
const UNIT_BACKOFF: u32 = 320;
/// macMinBe and macMaxBe.
const EXPONENTS: (u8, u8) = (3, 5);
/// macMaxCsmaBackoffs.
const BACKOFFS: u8 = 4;
/// macMaxFrameRetries.
const RETRIES: u8 = 3;
/// macAckWaitDuration: 54 symbols.
const ACKNOWLEDGEMENT_WAIT: u32 = 864;
/// The longest frame takes 4.3 ms, an assessment and ramps less than one.
const MOST_SENDING: u32 = 6_000;

/// A radio that moves frames. Each ends with the check sequence, which is never seen here: the
/// radio makes and checks it.
pub trait Phy {
    /// Stops whatever it does, and listens.
    fn listen(&mut self);
    /// Whether a frame is being received now.
    fn is_receiving(&mut self) -> bool;
    /// Assesses the channel once, and sends the frame if it is clear; [`Event::Sent`] or
    /// [`Event::Busy`] comes then.
    fn send_if_clear(&mut self, frame: &[u8]);
    /// Sends a frame 192 µs after the end of the one that was received last; [`Event::Sent`] comes
    /// then. `false` if it is too late for that.
    fn acknowledge(&mut self, frame: &[u8; 3]) -> bool;
    /// [`Event::Alarm`] is to come after so many microseconds, and no earlier one.
    fn alarm(&mut self, after: u32);
    /// No alarm is to come.
    fn cancel_alarm(&mut self);
}

/// What happened to the radio.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event<'f> {
    /// A frame was received whose check sequence was right.
    Received(&'f [u8]),
    /// A frame was received whose check sequence was wrong.
    Garbled,
    /// The frame was sent.
    Sent,
    /// The channel was not clear, and the frame was not sent.
    Busy,
    /// It is time.
    Alarm,
}

/// What a station has seen.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// Frames for this station.
    pub received: u32,
    /// Frames whose check sequence was wrong.
    pub garbled: u32,
    /// Frames for which there was no room, so that they were not acknowledged.
    pub crowded: u32,
    /// Acknowledgements that would have come too late, and were not sent.
    pub late: u32,
    /// Times that the radio said nothing about a frame that it was to send.
    pub stalled: u32,
}

#[derive(Clone)]
struct Frame {
    bytes: [u8; MAX_FRAME],
    len: u8,
}

impl Frame {
    fn new(content: &[u8]) -> Option<Self> {
        let mut bytes = [0; MAX_FRAME];
        bytes.get_mut(..content.len())?.copy_from_slice(content);
        Some(Self { bytes, len: content.len() as u8 })
    }

    fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len.into()).unwrap_or_default()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Backoff,
    Sending,
    /// The acknowledgement with this sequence number.
    Awaiting(u8),
}

/// The frame that this station is to send.
struct Own {
    frame: Frame,
    stage: Stage,
    exponent: u8,
    backoffs: u8,
    retries: u8,
}

/// What a station does besides listening.
pub struct Mac<P> {
    phy: P,
    pan: u16,
    address: Option<ExtendedAddress>,
    random: u32,
    own: Option<Own>,
    acknowledging: bool,
    outcome: Option<Outcome>,
    received: Deque<Frame, RECEIVED>,
    counters: Counters,
}

impl<P: Phy> Mac<P> {
    /// A station that is silent and deaf until it [joins](Self::join). `seed` decides about its
    /// back-offs, and should differ between boards.
    pub const fn new(phy: P, pan: u16, seed: u32) -> Self {
        Self {
            phy,
            pan,
            address: None,
            // A generator of shifts stays at zero for ever.
            random: seed | 1,
            own: None,
            acknowledging: false,
            outcome: None,
            received: Deque::new(),
            counters: Counters { received: 0, garbled: 0, crowded: 0, late: 0, stalled: 0 },
        }
    }

    /// Listens for frames to this address and to all.
    pub fn join(&mut self, address: ExtendedAddress) {
        self.address = Some(address);
        self.phy.listen();
    }

    /// The radio, for its interrupt handler.
    pub const fn phy_mut(&mut self) -> &mut P {
        &mut self.phy
    }

    /// What happened so far.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Whether a frame or an outcome waits to be taken.
    pub fn has_news(&self) -> bool {
        !self.received.is_empty() || self.outcome.is_some()
    }

    /// A frame that arrived, without its check sequence, written to the beginning of `out`.
    pub fn receive(&mut self, out: &mut [u8; MAX_FRAME]) -> Option<usize> {
        let frame = self.received.pop_front()?;
        *out = frame.bytes;
        Some(frame.len.into())
    }

    /// Begins to send a frame without check sequence. One at a time.
    pub fn transmit(&mut self, frame: &[u8]) {
        let busy = self.own.is_some() || self.outcome.is_some() || self.address.is_none();
        let frame = Frame::new(frame).filter(|frame| frame.len > 0 && !busy);
        let Some(frame) = frame else {
            self.outcome = Some(Outcome::Refused);
            return;
        };
        self.own = Some(Own { frame, stage: Stage::Backoff, exponent: EXPONENTS.0, backoffs: 0, retries: 0 });
        self.back_off();
    }

    /// What became of the frame, once.
    pub const fn poll_outcome(&mut self) -> Option<Outcome> {
        self.outcome.take()
    }

    /// Takes an event in. Call it as soon as the event happened: an acknowledgement has to begin
    /// 192 µs after the end of a frame.
    pub fn handle(&mut self, event: Event<'_>) {
        match event {
            Event::Received(frame) => self.received(frame),
            Event::Garbled => {
                self.counters.garbled += 1;
                self.phy.listen();
            }
            Event::Sent if self.acknowledging => {
                self.acknowledging = false;
                self.phy.listen();
            }
            Event::Sent => self.sent(),
            Event::Busy => {
                self.phy.listen();
                if self.stage() == Some(Stage::Sending) {
                    self.busy();
                }
            }
            Event::Alarm => self.alarm(),
        }
    }

    fn stage(&self) -> Option<Stage> {
        self.own.as_ref().map(|own| own.stage)
    }

    fn received(&mut self, frame: &[u8]) {
        let accepted = self.address.and_then(|address| accept(frame, self.pan, address));
        match accepted {
            Some(Accepted::Acknowledgement(sequence)) if self.stage() == Some(Stage::Awaiting(sequence)) => {
                self.phy.cancel_alarm();
                self.end(Outcome::Sent);
            }
            Some(Accepted::Data { acknowledge }) => {
                // Whatever is acknowledged has its place.
                let kept = Frame::new(frame).is_some_and(|frame| self.received.push_back(frame).is_ok());
                if !kept {
                    self.counters.crowded += 1;
                } else if let Some(sequence) = acknowledge {
                    self.counters.received += 1;
                    if self.phy.acknowledge(&acknowledgement(sequence)) {
                        self.acknowledging = true;
                        return;
                    }
                    self.counters.late += 1;
                } else {
                    self.counters.received += 1;
                }
            }
            Some(Accepted::Acknowledgement(_)) | None => {}
        }
        self.phy.listen();
    }

    fn sent(&mut self) {
        self.phy.listen();
        let Some(own) = self.own.as_mut().filter(|own| own.stage == Stage::Sending) else { return };
        if let Some(sequence) = awaits(own.frame.as_bytes()) {
            own.stage = Stage::Awaiting(sequence);
            self.phy.alarm(ACKNOWLEDGEMENT_WAIT);
        } else {
            self.phy.cancel_alarm();
            self.end(Outcome::Sent);
        }
    }

    fn alarm(&mut self) {
        match self.stage() {
            // The channel is busy with a frame that this station hears or acknowledges.
            Some(Stage::Backoff) if self.acknowledging || self.phy.is_receiving() => self.busy(),
            Some(Stage::Backoff) => {
                let Some(own) = &mut self.own else { return };
                own.stage = Stage::Sending;
                self.phy.alarm(MOST_SENDING);
                self.phy.send_if_clear(own.frame.as_bytes());
            }
            Some(Stage::Sending) => {
                self.counters.stalled += 1;
                self.phy.listen();
                self.busy();
            }
            Some(Stage::Awaiting(_)) => self.unacknowledged(),
            None => {}
        }
    }

    fn busy(&mut self) {
        let Some(own) = &mut self.own else { return };
        own.stage = Stage::Backoff;
        own.backoffs += 1;
        own.exponent = EXPONENTS.1.min(own.exponent + 1);
        if own.backoffs <= BACKOFFS {
            return self.back_off();
        }
        if self.acknowledging {
            // So long no acknowledgement takes: the radio forgot to say that it was sent.
            self.counters.stalled += 1;
            self.acknowledging = false;
            self.phy.listen();
        }
        self.phy.cancel_alarm();
        self.end(Outcome::ChannelBusy);
    }

    fn unacknowledged(&mut self) {
        let Some(own) = &mut self.own else { return };
        if own.retries == RETRIES {
            return self.end(Outcome::NoAcknowledgement);
        }
        own.stage = Stage::Backoff;
        own.retries += 1;
        own.backoffs = 0;
        own.exponent = EXPONENTS.0;
        self.back_off();
    }

    fn back_off(&mut self) {
        let Some(own) = &self.own else { return };
        // Marsaglia's; nobody gains by guessing it.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 17;
        self.random ^= self.random << 5;
        let units = (self.random >> 16) & ((1 << own.exponent) - 1);
        self.phy.alarm(units * UNIT_BACKOFF);
    }

    fn end(&mut self, outcome: Outcome) {
        self.own = None;
        self.outcome = Some(outcome);
    }
}
