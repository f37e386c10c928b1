//! Datagrams over the radio: UDP, IPv6 and 6LoWPAN (RFC 4944, RFC 6282, RFC 8931) between neighbours.
//!
//! Addresses are link-local and made of extended addresses, and the port is one of the sixteen that
//! 6LoWPAN writes in four bits. So a packet of 280 bytes takes three frames: 88 + 96 + 96 bytes beside the
//! headers.

use core::net::Ipv6Addr;
use core::time::Duration;

use crate::answers::{Answer, Answers, What};
use crate::counters::{LinkCounters, LinkDrop};
pub use crate::frame::PAN;
use crate::frame::{LinkAddress, Way};
use crate::lowpan::Inside;
use crate::lowpan::fragment::{First, Later, UNIT};
pub use crate::lowpan::header::PORT;
use crate::lowpan::header::{COMPRESSED, Header, Next, WRITTEN_OUT};
use crate::lowpan::neighbour::is_solicitation;
use crate::lowpan::recover::{Acknowledgement, NULL, Recoverable};
use crate::outgoing::{Ended, Handle, Leaving, Outgoing};
use crate::pacing::Pace;
use crate::radio::{Fate, Radio, Transceiver};
use crate::reassembly::{Beginning, Key, Kind, MAX_PAYLOAD, Piece, Place, Reassembly};
use crate::serial::{ExtendedAddress, MAX_FRAME, Outcome};
use crate::settings::LinkSettings;

/// Frames taken in with one poll: a flood of them must not keep the rest of the node waiting.
const FRAMES_AT_ONCE: u8 = 4;

/// Memory of a stack for datagrams of at most `LEN` bytes: `COUNT` that come, incomplete ones included, and
/// `OUT` that leave.
pub struct StackMemory<const LEN: usize, const COUNT: usize, const OUT: usize = 1> {
    places: [Place; COUNT],
    arriving: [[u8; LEN]; COUNT],
    departures: [Leaving; OUT],
    leaving: [[u8; LEN]; OUT],
}

impl<const LEN: usize, const COUNT: usize, const OUT: usize> StackMemory<LEN, COUNT, OUT> {
    /// Empty memory.
    pub const fn new() -> Self {
        const { assert!(LEN <= MAX_PAYLOAD, "no link of IPv6 has to carry a longer datagram") };
        Self {
            places: [Place::FREE; COUNT],
            arriving: [[0; LEN]; COUNT],
            departures: [Leaving::FREE; OUT],
            leaving: [[0; LEN]; OUT],
        }
    }
}

impl<const LEN: usize, const COUNT: usize, const OUT: usize> Default for StackMemory<LEN, COUNT, OUT> {
    fn default() -> Self {
        Self::new()
    }
}

/// Whose frame is under way.
enum UnderWay {
    Datagram(Handle),
    Answer(Answer),
}

/// UDP datagrams over one radio. Time is the duration since any origin.
pub struct Stack<'s> {
    address: ExtendedAddress,
    settings: LinkSettings,
    coming: Reassembly<'s>,
    outgoing: Outgoing<'s>,
    answers: Answers,
    under_way: Option<UnderWay>,
    /// Of frames.
    sequence: u8,
    counters: LinkCounters,
}

impl<'s> Stack<'s> {
    /// A stack for the radio with this address, which from now on sends as the settings say. `seed` is a random
    /// number: it only has to differ between nodes and restarts.
    pub fn new<T: Transceiver, const LEN: usize, const COUNT: usize, const OUT: usize>(
        address: ExtendedAddress,
        seed: u64,
        settings: &LinkSettings,
        memory: &'s mut StackMemory<LEN, COUNT, OUT>,
        radio: &mut Radio<T>,
        now: Duration,
    ) -> Self {
        radio.pace = Pace::new(settings, seed, now);
        let [t1, t0, sequence, _] = radio.pace.draw().to_be_bytes();
        // A stack before this one may have left datagrams in it.
        let StackMemory { places, arriving, departures, leaving } = memory;
        places.fill(Place::FREE);
        departures.fill(Leaving::FREE);
        Self {
            address,
            settings: *settings,
            coming: Reassembly::new(places, arriving.as_flattened_mut(), settings.reassembled_within),
            outgoing: Outgoing::new(departures, leaving.as_flattened_mut(), u16::from_be_bytes([t1, t0])),
            answers: Answers::NONE,
            under_way: None,
            sequence,
            counters: LinkCounters::default(),
        }
    }

    /// What happened so far.
    pub const fn counters(&self) -> &LinkCounters {
        &self.counters
    }

    /// Moves frames in and out, a few at a time.
    pub fn poll<T: Transceiver>(&mut self, now: Duration, radio: &mut Radio<T>) {
        if let Some(outcome) = radio.poll_outcome(now) {
            self.ended(now, outcome, radio);
        }
        self.take_in(now, radio);
        for _ in 0..self.coming.expire(now) {
            self.counters.drop(LinkDrop::TimedOut);
        }
        while let Some(ended) = self.outgoing.late(now, &self.settings, &mut radio.pace) {
            self.count(ended);
        }
        if radio.under_way().is_none() {
            self.transmit(now, radio);
        }
    }

    /// When [`poll`](Self::poll) has something to do, besides when the radio has news.
    pub fn poll_timeout<T: Transceiver>(&self, _now: Duration, radio: &Radio<T>) -> Option<Duration> {
        if radio.under_way().is_some() {
            return radio.under_way();
        }
        let (sending, asking) = self.outgoing.due();
        let sending = sending.map(|at| at.max(radio.pace.quiet_until()));
        [sending, asking, self.answers.due()].into_iter().flatten().min()
    }

    /// Whether another datagram may leave.
    pub fn can_send(&self, _now: Duration) -> bool {
        self.outgoing.has_room()
    }

    /// Sends a datagram to a node's link-local address. `false`, and counted, if as many are leaving as there
    /// is memory for, if it is longer than that, or if the address is no neighbour's.
    pub fn send(&mut self, now: Duration, to: Ipv6Addr, datagram: &[u8]) -> bool {
        let me = LinkAddress::Extended(self.address);
        let to = LinkAddress::of(to).ok_or(LinkDrop::NoNeighbour);
        let pushed = to.and_then(|to| self.outgoing.push(now, me, to, datagram, self.settings.recovery));
        match pushed {
            Ok(()) => self.counters.sent += 1,
            Err(reason) => self.counters.drop(reason),
        }
        pushed.is_ok()
    }

    /// A datagram that arrived, written to the beginning of `out`; one that is longer is cut and will not
    /// be a packet.
    pub fn receive(&mut self, out: &mut [u8]) -> Option<usize> {
        let len = self.coming.take(out)?;
        self.counters.received += 1;
        Some(len)
    }

    // Not inlined, nor is what follows: what one of them needs on the stack must not add to what another needs.
    #[inline(never)]
    fn transmit<T: Transceiver>(&mut self, now: Duration, radio: &mut Radio<T>) {
        if let Some(answer) = self.answers.next(now) {
            radio.transmit(now, answer.frame(self.address).as_bytes());
            self.under_way = Some(UnderWay::Answer(answer));
            return;
        }
        if radio.pace.quiet_until() > now {
            return;
        }
        let Some(handle) = self.outgoing.next(now) else { return };
        let frame = self.outgoing.frame(handle, self.address, &mut self.sequence, &self.settings);
        if let Some(frame) = frame {
            radio.transmit(now, frame.as_bytes());
            self.under_way = Some(UnderWay::Datagram(handle));
        }
    }

    /// Hears what became of the frame under way.
    fn ended<T: Transceiver>(&mut self, now: Duration, outcome: Outcome, radio: &mut Radio<T>) {
        match self.under_way.take() {
            Some(UnderWay::Datagram(handle)) => {
                let fate = radio.fate(now, outcome, self.outgoing.requeues(handle));
                let ended = self.outgoing.ended(now, handle, fate, &self.settings, &mut radio.pace);
                if !matches!(fate, Fate::PutBack(_)) {
                    radio.pace.pause(now, ended != Ended::GoesOn);
                }
                self.count(ended);
            }
            Some(UnderWay::Answer(answer)) => match radio.fate(now, outcome, answer.requeues) {
                Fate::Sent => {}
                Fate::PutBack(ready) => {
                    let again = Answer { ready, requeues: answer.requeues + 1, ..answer };
                    if !self.answers.put_back(again) {
                        self.counters.drop(LinkDrop::Unanswered);
                    }
                }
                Fate::GivenUp(_) => self.counters.drop(LinkDrop::Unanswered),
            },
            // Of a stack before this one.
            None => {}
        }
    }

    fn count(&mut self, ended: Ended) {
        if let Ended::Dropped { reason, spared } = ended {
            self.counters.drop(reason);
            self.counters.spared += spared;
        }
    }

    #[inline(never)]
    fn take_in<T: Transceiver>(&mut self, now: Duration, radio: &mut Radio<T>) {
        let mut bytes = [0; MAX_FRAME];
        for _ in 0..FRAMES_AT_ONCE {
            let Some(len) = radio.receive(&mut bytes) else { return };
            if let Err(reason) = self.frame(now, bytes.get(..len).unwrap_or_default()) {
                self.counters.drop(reason);
            }
        }
    }

    fn frame(&mut self, now: Duration, frame: &[u8]) -> Result<(), LinkDrop> {
        let me = LinkAddress::Extended(self.address);
        let (way, inside) = Way::read(frame).ok_or(LinkDrop::Foreign)?;
        // Multicast addresses of RFC 4944 reach everybody, as does a broadcast.
        let is_for_many = matches!(way.destination, LinkAddress::Short([_, high]) if high >= 0x80);
        if way.destination != me && !is_for_many {
            return Err(LinkDrop::Foreign);
        }
        match Inside::read(inside).ok_or(LinkDrop::BadHeader)? {
            Inside::Whole(message) => self.whole(now, &way, message),
            Inside::First(first) => self.first(now, &way, &first),
            Inside::Later(later) => self.later(now, &way, &later),
            Inside::Recoverable(fragment) => self.recoverable(now, &way, &fragment),
            Inside::Acknowledgement(acknowledgement) => {
                self.acknowledged(now, way.source, acknowledgement);
                Ok(())
            }
        }
    }

    fn whole(&mut self, now: Duration, way: &Way, message: &[u8]) -> Result<(), LinkDrop> {
        let me = LinkAddress::Extended(self.address);
        let header = Header::read(message, way).ok_or(LinkDrop::BadHeader)?;
        let rest = message.get(header.len..).unwrap_or_default();
        if header.next != Next::Icmp {
            return self.coming.whole(now, header.head(me)?, rest);
        }
        if !is_solicitation(&header, rest, way, me) {
            return Err(LinkDrop::BadHeader);
        }
        self.answer(now, way.source, What::Advertisement)
    }

    fn first(&mut self, now: Duration, way: &Way, first: &First<'_>) -> Result<(), LinkDrop> {
        let header = Header::read(first.rest, way).ok_or(LinkDrop::BadHeader)?;
        let head = header.head(LinkAddress::Extended(self.address))?;
        let size = usize::from(first.size).checked_sub(WRITTEN_OUT).ok_or(LinkDrop::BadHeader)?;
        let payload = first.rest.get(header.len..).unwrap_or_default();
        let key = Key { from: way.source, tag: first.tag, kind: Kind::Sized(size as u16) };
        let beginning = Beginning { head, head_len: header.len, size };
        let marks = (0, payload.len().div_ceil(UNIT));
        self.coming.piece(now, key, &Piece { at: 0, marks, payload, beginning: Some(beginning) })
    }

    fn later(&mut self, now: Duration, way: &Way, later: &Later<'_>) -> Result<(), LinkDrop> {
        let size = usize::from(later.size).checked_sub(WRITTEN_OUT).ok_or(LinkDrop::BadHeader)?;
        let at = later.offset.checked_sub(WRITTEN_OUT).ok_or(LinkDrop::BadHeader)?;
        if later.rest.is_empty() {
            return Err(LinkDrop::BadHeader);
        }
        let key = Key { from: way.source, tag: later.tag, kind: Kind::Sized(size as u16) };
        let marks = (at / UNIT, later.rest.len().div_ceil(UNIT));
        self.coming.piece(now, key, &Piece { at, marks, payload: later.rest, beginning: None })
    }

    fn recoverable(&mut self, now: Duration, way: &Way, fragment: &Recoverable<'_>) -> Result<(), LinkDrop> {
        let key = Key { from: way.source, tag: fragment.tag.into(), kind: Kind::Recoverable };
        if fragment.is_abort() {
            return self.coming.abort(&key);
        }
        let kept = self.keep(now, way, key, fragment);
        let bitmap = match kept {
            Ok(()) | Err(LinkDrop::Duplicate | LinkDrop::Replaced) if fragment.asks => {
                self.coming.bitmap(now, &key)
            }
            // There may be room when it is sent again.
            Ok(()) | Err(LinkDrop::Duplicate | LinkDrop::Replaced | LinkDrop::ReassemblyFull) => None,
            // It never will be a datagram.
            Err(_) => Some(NULL),
        };
        if let Some(bitmap) = bitmap {
            let what = What::Acknowledgement(Acknowledgement { tag: fragment.tag, bitmap });
            self.answer(now, way.source, what)?;
        }
        kept
    }

    fn keep(
        &mut self,
        now: Duration,
        way: &Way,
        key: Key,
        fragment: &Recoverable<'_>,
    ) -> Result<(), LinkDrop> {
        let marks = (usize::from(fragment.sequence), 1);
        let offset = usize::from(fragment.offset);
        if fragment.sequence > 0 {
            let at = offset.checked_sub(COMPRESSED).ok_or(LinkDrop::BadHeader)?;
            let piece = Piece { at, marks, payload: fragment.rest, beginning: None };
            return self.coming.piece(now, key, &piece);
        }
        let header = Header::read(fragment.rest, way).ok_or(LinkDrop::BadHeader)?;
        let head = header.head(LinkAddress::Extended(self.address))?;
        let size = offset.checked_sub(header.len).ok_or(LinkDrop::BadHeader)?;
        let payload = fragment.rest.get(header.len..).unwrap_or_default();
        let beginning = Beginning { head, head_len: header.len, size };
        self.coming.piece(now, key, &Piece { at: 0, marks, payload, beginning: Some(beginning) })
    }

    fn acknowledged(&mut self, now: Duration, from: LinkAddress, acknowledgement: Acknowledgement) {
        let (ended, again) = self.outgoing.acknowledged(now, from, acknowledgement, &self.settings);
        self.counters.recovered += again;
        self.count(ended);
    }

    fn answer(&mut self, now: Duration, to: LinkAddress, what: What) -> Result<(), LinkDrop> {
        self.sequence = self.sequence.wrapping_add(1);
        let answer = Answer { to, what, sequence: self.sequence, requeues: 0, ready: now };
        if self.answers.push(answer) { Ok(()) } else { Err(LinkDrop::Unanswered) }
    }
}

/// The link-local address of a radio (RFC 4291, appendix A).
pub fn link_local(address: ExtendedAddress) -> Ipv6Addr {
    LinkAddress::Extended(address).link_local()
}
