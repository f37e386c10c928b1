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
use crate::frame::{LinkAddress, SourceAndDestination};
use crate::lowpan::Inside;
use crate::lowpan::fragment::{Frag1, FragN, UNIT};
pub use crate::lowpan::header::PORT;
use crate::lowpan::header::{COMPRESSED, Header, Next, UNCOMPRESSED};
use crate::lowpan::neighbour::is_solicitation;
use crate::lowpan::recover::{Acknowledgement, NULL, Recoverable};
pub use crate::outgoing::Leaving;
use crate::outgoing::{Ended, Handle, Outgoing};
use crate::pacing::Pace;
use crate::radio::{Fate, Radio, Transceiver};
pub use crate::reassembly::Place;
use crate::reassembly::{Beginning, Key, Kind, MAX_PAYLOAD, Piece, Reassembly, Stored};
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

    /// Lends all of it.
    pub fn lend(&mut self) -> StackStorage<'_> {
        StackStorage {
            places: &mut self.places,
            arriving: self.arriving.as_flattened_mut(),
            departures: &mut self.departures,
            leaving: self.leaving.as_flattened_mut(),
        }
    }
}

/// Lent memory of a stack, of any lengths: what a [`StackMemory`] lends, or what comes from a heap.
pub struct StackStorage<'s> {
    /// One for each datagram that arrives, incomplete ones included.
    pub places: &'s mut [Place],
    /// As many bytes for each of them as the longest datagram has.
    pub arriving: &'s mut [u8],
    /// One for each datagram that leaves.
    pub departures: &'s mut [Leaving],
    /// As many bytes for each of them as the longest datagram has.
    pub leaving: &'s mut [u8],
}

/// A datagram that arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Received {
    /// Bytes of it.
    pub len: usize,
    /// The neighbour whose frames brought it: the interface identifier of its address (RFC 4291, appendix A),
    /// as a number. Nobody vouches for it: frames are not secured.
    pub from: u64,
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
    reassembly: Reassembly<'s>,
    outgoing: Outgoing<'s>,
    answers: Answers,
    under_way: Option<UnderWay>,
    /// Sequence number of the last data frame (IEEE 802.15.4-2020, 7.2.2).
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
        Self::lent(address, seed, settings, memory.lend(), radio, now)
    }

    /// The same in memory of any lengths.
    pub fn lent<T: Transceiver>(
        address: ExtendedAddress,
        seed: u64,
        settings: &LinkSettings,
        storage: StackStorage<'s>,
        radio: &mut Radio<T>,
        now: Duration,
    ) -> Self {
        radio.pace = Pace::new(settings, seed, now);
        let [t1, t0, sequence, _] = radio.pace.draw().to_be_bytes();
        // A stack before this one may have left datagrams in it.
        let StackStorage { places, arriving, departures, leaving } = storage;
        places.fill(Place::FREE);
        departures.fill(Leaving::FREE);
        Self {
            address,
            settings: *settings,
            reassembly: Reassembly::new(places, arriving, settings.reassembled_within),
            outgoing: Outgoing::new(departures, leaving, u16::from_be_bytes([t1, t0])),
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
        for _ in 0..self.reassembly.expire(now) {
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
        self.receive_from(out).map(|received| received.len)
    }

    /// The same, with the neighbour whose frames brought it.
    pub fn receive_from(&mut self, out: &mut [u8]) -> Option<Received> {
        let (len, from) = self.reassembly.take(out)?;
        self.counters.received += 1;
        Some(Received { len, from: u64::from_be_bytes(from.interface()) })
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
        let (addresses, inside) = SourceAndDestination::read(frame).ok_or(LinkDrop::Foreign)?;
        // Multicast addresses of RFC 4944 reach everybody, as does a broadcast.
        let is_for_many = matches!(addresses.destination, LinkAddress::Short([_, high]) if high >= 0x80);
        if addresses.destination != me && !is_for_many {
            return Err(LinkDrop::Foreign);
        }
        match Inside::read(inside).ok_or(LinkDrop::BadHeader)? {
            Inside::Whole(message) => self.whole(now, &addresses, message),
            Inside::Frag1(fragment) => {
                self.frag1(now, &addresses, &fragment).map(|stored| self.count_stored(stored))
            }
            Inside::FragN(fragment) => {
                self.frag_n(now, &addresses, &fragment).map(|stored| self.count_stored(stored))
            }
            Inside::Recoverable(fragment) => self.recoverable(now, &addresses, &fragment),
            Inside::Acknowledgement(acknowledgement) => {
                self.acknowledged(now, addresses.source, acknowledgement);
                Ok(())
            }
        }
    }

    fn whole(
        &mut self,
        now: Duration,
        addresses: &SourceAndDestination,
        message: &[u8],
    ) -> Result<(), LinkDrop> {
        let me = LinkAddress::Extended(self.address);
        let header = Header::read(message, addresses).ok_or(LinkDrop::BadHeader)?;
        let rest = message.get(header.len..).unwrap_or_default();
        if header.next != Next::Icmp {
            let stored = self.reassembly.store_whole(now, addresses.source, header.head(me)?, rest)?;
            self.count_stored(stored);
            return Ok(());
        }
        if !is_solicitation(&header, rest, addresses, me) {
            return Err(LinkDrop::BadHeader);
        }
        self.answer(now, addresses.source, What::Advertisement)
    }

    fn frag1(
        &mut self,
        now: Duration,
        addresses: &SourceAndDestination,
        fragment: &Frag1<'_>,
    ) -> Result<Stored, LinkDrop> {
        let header = Header::read(fragment.rest, addresses).ok_or(LinkDrop::BadHeader)?;
        let head = header.head(LinkAddress::Extended(self.address))?;
        let size = usize::from(fragment.size).checked_sub(UNCOMPRESSED).ok_or(LinkDrop::BadHeader)?;
        let payload = fragment.rest.get(header.len..).unwrap_or_default();
        let key = Key { from: addresses.source, tag: fragment.tag, kind: Kind::Sized(size as u16) };
        let beginning = Beginning { head, head_len: header.len, size };
        let marks = (0, payload.len().div_ceil(UNIT));
        self.reassembly.store(now, key, &Piece { at: 0, marks, payload, beginning: Some(beginning) })
    }

    fn frag_n(
        &mut self,
        now: Duration,
        addresses: &SourceAndDestination,
        fragment: &FragN<'_>,
    ) -> Result<Stored, LinkDrop> {
        let size = usize::from(fragment.size).checked_sub(UNCOMPRESSED).ok_or(LinkDrop::BadHeader)?;
        let at = fragment.offset.checked_sub(UNCOMPRESSED).ok_or(LinkDrop::BadHeader)?;
        if fragment.rest.is_empty() {
            return Err(LinkDrop::BadHeader);
        }
        let key = Key { from: addresses.source, tag: fragment.tag, kind: Kind::Sized(size as u16) };
        let marks = (at / UNIT, fragment.rest.len().div_ceil(UNIT));
        self.reassembly.store(now, key, &Piece { at, marks, payload: fragment.rest, beginning: None })
    }

    fn recoverable(
        &mut self,
        now: Duration,
        addresses: &SourceAndDestination,
        fragment: &Recoverable<'_>,
    ) -> Result<(), LinkDrop> {
        let key = Key { from: addresses.source, tag: fragment.tag.into(), kind: Kind::Recoverable };
        if fragment.is_abort() {
            if self.reassembly.abort(&key) {
                self.counters.drop(LinkDrop::AbortedByPeer);
            }
            return Ok(());
        }
        let stored = self.store_recoverable(now, addresses, key, fragment);
        let bitmap = match stored {
            Ok(_) if fragment.asks => self.reassembly.bitmap(now, &key),
            // There may be room when it is sent again.
            Ok(_) | Err(LinkDrop::ReassemblyFull) => None,
            // It will never be a datagram.
            Err(_) => Some(NULL),
        };
        if let Some(bitmap) = bitmap {
            let what = What::Acknowledgement(Acknowledgement { tag: fragment.tag, bitmap });
            if let Err(reason) = self.answer(now, addresses.source, what) {
                self.counters.drop(reason);
            }
        }
        self.count_stored(stored?);
        Ok(())
    }

    fn store_recoverable(
        &mut self,
        now: Duration,
        addresses: &SourceAndDestination,
        key: Key,
        fragment: &Recoverable<'_>,
    ) -> Result<Stored, LinkDrop> {
        let marks = (usize::from(fragment.sequence), 1);
        let offset = usize::from(fragment.offset);
        if fragment.sequence > 0 {
            let at = offset.checked_sub(COMPRESSED).ok_or(LinkDrop::BadHeader)?;
            let piece = Piece { at, marks, payload: fragment.rest, beginning: None };
            return self.reassembly.store(now, key, &piece);
        }
        let header = Header::read(fragment.rest, addresses).ok_or(LinkDrop::BadHeader)?;
        let head = header.head(LinkAddress::Extended(self.address))?;
        let size = offset.checked_sub(header.len).ok_or(LinkDrop::BadHeader)?;
        let payload = fragment.rest.get(header.len..).unwrap_or_default();
        let beginning = Beginning { head, head_len: header.len, size };
        self.reassembly.store(now, key, &Piece { at: 0, marks, payload, beginning: Some(beginning) })
    }

    fn count_stored(&mut self, stored: Stored) {
        match stored {
            Stored::New { replaced: false } => {}
            Stored::New { replaced: true } => self.counters.drop(LinkDrop::Replaced),
            Stored::Duplicate => self.counters.drop(LinkDrop::Duplicate),
        }
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
