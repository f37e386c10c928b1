//! Datagrams over the radio: UDP, IPv6 and 6LoWPAN (RFC 4944, RFC 6282, RFC 8931) between
//! neighbours.
//!
//! Addresses are link-local and made of extended addresses, and the port is one of the sixteen that
//! 6LoWPAN writes in four bits. So a packet of 280 bytes takes three frames: 88 + 96 + 96 bytes
//! beside the headers.

mod addresses;
mod keys;
mod way;

use core::fmt;
use core::net::Ipv6Addr;

use motemix_time::Instant;

use crate::answers::Reply;
use crate::counters::{LinkCounters, LinkDrop};
pub use crate::departure::DepartureSlot;
use crate::departure::Progress;
use crate::lowpan::Dispatch;
use crate::lowpan::frag::{Frag1, FragN, UNIT};
pub use crate::lowpan::iphc::{HANDSHAKE_PORT, PORT};
use crate::lowpan::iphc::{Header, Next, UNCOMPRESSED};
use crate::lowpan::neighbour::is_solicitation;
use crate::lowpan::rfrag::{NULL, Rfrag, RfragAck};
pub use crate::mac::PAN;
use crate::mac::{LinkAddress, MacHeader, SourceAndDestination};
use crate::outgoing::{Attempted, Outgoing};
use crate::protection::{HandshakeMessage, KeyAges, KeySlot, Keys, Protection};
use crate::radio::{Radio, Transceiver};
pub use crate::reassembly::ArrivalSlot;
use crate::reassembly::{DatagramKey, Fragment, Kind, Reassembly, Stored};
use crate::serial::{ExtendedAddress, MAX_FRAME};
use crate::settings::LinkSettings;
use crate::slots::MAX_PAYLOAD;
pub use addresses::{interface_of, link_local, neighbour_at, station_of};
use way::Way;

/// Frames taken in with one poll: a flood of them must not keep the rest of the node waiting.
pub(crate) const FRAMES_AT_ONCE: u8 = 4;

/// Memory of a stack for datagrams of at most `LEN` bytes: `ARRIVALS` that arrive, incomplete ones
/// included, and `DEPARTURES` that leave.
pub struct StackMemory<const LEN: usize, const ARRIVALS: usize, const DEPARTURES: usize = 1> {
    arrivals: [ArrivalSlot; ARRIVALS],
    arriving: [[u8; LEN]; ARRIVALS],
    departures: [DepartureSlot; DEPARTURES],
    departing: [[u8; LEN]; DEPARTURES],
}

impl<const LEN: usize, const ARRIVALS: usize, const DEPARTURES: usize>
    StackMemory<LEN, ARRIVALS, DEPARTURES>
{
    /// Empty memory.
    pub const fn new() -> Self {
        const { assert!(LEN <= MAX_PAYLOAD, "no link of IPv6 has to carry a longer datagram") };
        Self {
            arrivals: [ArrivalSlot::FREE; ARRIVALS],
            arriving: [[0; LEN]; ARRIVALS],
            departures: [DepartureSlot::FREE; DEPARTURES],
            departing: [[0; LEN]; DEPARTURES],
        }
    }

    /// Lends all of it.
    pub fn lend(&mut self) -> StackStorage<'_> {
        StackStorage {
            arrivals: &mut self.arrivals,
            arriving: self.arriving.as_flattened_mut(),
            departures: &mut self.departures,
            departing: self.departing.as_flattened_mut(),
        }
    }
}

impl<const LEN: usize, const ARRIVALS: usize, const DEPARTURES: usize> Default
    for StackMemory<LEN, ARRIVALS, DEPARTURES>
{
    fn default() -> Self {
        Self::new()
    }
}

/// Lent memory of a stack, of any lengths: what a [`StackMemory`] lends, or what comes from a heap.
pub struct StackStorage<'s> {
    /// One slot for each datagram that arrives, incomplete ones included.
    pub arrivals: &'s mut [ArrivalSlot],
    /// Payloads of those, as many bytes for each as the longest datagram has.
    pub arriving: &'s mut [u8],
    /// One slot for each datagram that leaves.
    pub departures: &'s mut [DepartureSlot],
    /// Payloads of those, as many bytes for each as the longest datagram has.
    pub departing: &'s mut [u8],
}

/// A datagram that arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Received {
    /// Bytes of it.
    pub len: usize,
    /// The neighbour whose frames brought it: the interface identifier of its address (RFC 4291,
    /// appendix A), as a number. Nobody vouches for it where frames are not protected.
    pub from: u64,
}

/// Why a datagram was not accepted for sending.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SendError {
    /// As many are leaving as there is memory for; see [`Stack::can_send`].
    Full,
    /// It is longer than the memory for one datagram.
    TooLong,
    /// The address is not link-local, or of no radio.
    NoNeighbour,
}

impl From<SendError> for LinkDrop {
    fn from(error: SendError) -> Self {
        match error {
            SendError::Full => Self::QueueFull,
            SendError::TooLong => Self::TooLong,
            SendError::NoNeighbour => Self::NoNeighbour,
        }
    }
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        LinkDrop::from(*self).fmt(f)
    }
}

impl core::error::Error for SendError {}

/// UDP datagrams over one radio.
///
/// The radio is handed to each call that moves frames, because it outlives the stack; the time is
/// handed to [`poll`](Self::poll) alone.
pub struct Stack<'s> {
    address: ExtendedAddress,
    port: u16,
    reassembly: Reassembly<'s>,
    outgoing: Outgoing<'s>,
    protection: Option<Protection<'s>>,
    /// A message of a handshake that nobody has taken yet.
    handshake: Option<HandshakeMessage>,
    ages: KeyAges,
    counters: LinkCounters,
}

impl<'s> Stack<'s> {
    /// A stack for the radio with this address, which sends as the settings say. `seed` is a random
    /// number: it has to differ between nodes and restarts, and nobody else should know it, or tags
    /// of datagrams can be guessed.
    ///
    /// # Panics
    /// The memory has not as many bytes for each slot, or more than the 1232 of the longest
    /// datagram that each link of IPv6 carries.
    pub fn new(
        address: ExtendedAddress,
        seed: u64,
        settings: &LinkSettings,
        storage: StackStorage<'s>,
    ) -> Self {
        let StackStorage { arrivals, arriving, departures, departing } = storage;
        Self {
            address,
            port: settings.port,
            reassembly: Reassembly::new(arrivals, arriving, settings.reassembled_within),
            outgoing: Outgoing::new(address, seed, settings, departures, departing),
            protection: None,
            handshake: None,
            ages: KeyAges::of(settings),
            counters: LinkCounters::default(),
        }
    }

    /// Protects all frames from now on, with the keys of as many neighbours at a time as there are
    /// slots. Nothing else is taken in but messages of handshakes; see [`keys`](Self::keys).
    pub fn protect(&mut self, slots: &'s mut [KeySlot]) {
        self.protection = Some(Protection::new(self.address, self.ages, slots));
    }

    /// The side that makes keys, if the stack protects frames.
    pub fn keys(&mut self) -> Option<&mut (dyn Keys + 's)> {
        if self.protection.is_some() { Some(self) } else { None }
    }

    /// The same, to be asked.
    pub fn keys_ref(&self) -> Option<&(dyn Keys + 's)> {
        if self.protection.is_some() { Some(self) } else { None }
    }

    /// What happened so far.
    pub const fn counters(&self) -> &LinkCounters {
        &self.counters
    }

    /// Moves frames in and out, a few at a time, when nobody knows who the neighbours are: frames
    /// of every station are taken in.
    pub fn poll<T: Transceiver>(&mut self, now: Instant, radio: &mut Radio<T>) {
        self.poll_among(now, radio, &|_| true);
    }

    /// Moves frames in and out, a few at a time. Frames of a station whose interface identifier
    /// (see [`Received::from`]) is no neighbour's are dropped as [`LinkDrop::Stranger`] before
    /// anything else is done with them: they take no place, and are not answered.
    pub fn poll_among<T: Transceiver>(
        &mut self,
        now: Instant,
        radio: &mut Radio<T>,
        is_neighbour: &dyn Fn(u64) -> bool,
    ) {
        self.reassembly.advance(now);
        self.outgoing.advance(now);
        self.protection.iter_mut().for_each(|protection| protection.advance(now));
        if let Some(ending) = radio.poll_ending(now)
            && let Some(Attempted { attempt, progress }) = self.outgoing.attempted(ending)
        {
            radio.count(attempt);
            self.count(progress);
        }
        self.take_in(radio, is_neighbour);
        for _ in 0..self.reassembly.expire() {
            self.counters.drop(LinkDrop::TimedOut);
        }
        while let Some(progress) = self.outgoing.time_out() {
            self.count(progress);
        }
        if radio.busy_until().is_none() {
            self.transmit(now, radio);
        }
    }

    /// When [`poll`](Self::poll) has something to do, besides when the radio has news. A datagram
    /// that waits to be taken is no news of the radio: see [`has_datagram`](Self::has_datagram).
    pub fn poll_timeout<T: Transceiver>(&self, radio: &Radio<T>) -> Option<Instant> {
        radio.busy_until().or_else(|| self.outgoing.due())
    }

    /// Whether another datagram may leave.
    pub fn can_send(&self) -> bool {
        self.outgoing.has_room()
    }

    /// Accepts a datagram for a node's link-local address. Its first frame leaves with the next
    /// [`poll`](Self::poll) that finds the radio free.
    ///
    /// # Errors
    /// Why it was not accepted, which is counted as well.
    pub fn send(&mut self, to: Ipv6Addr, datagram: &[u8]) -> Result<(), SendError> {
        let to = LinkAddress::of(to).ok_or(SendError::NoNeighbour);
        let accepted = to.and_then(|to| self.outgoing.push(to, datagram, self.protection.as_ref()));
        accepted.inspect_err(|error| self.counters.drop((*error).into()))?;
        self.counters.sent += 1;
        Ok(())
    }

    /// Whether [`receive`](Self::receive) has a datagram. Whoever sleeps after a
    /// [`poll`](Self::poll) has to ask.
    pub fn has_datagram(&self) -> bool {
        self.reassembly.has_whole()
    }

    /// The datagram that became whole first, written to the beginning of `out`. One that is longer
    /// than `out` is dropped as [`LinkDrop::TooLong`].
    pub fn receive(&mut self, out: &mut [u8]) -> Option<Received> {
        loop {
            match self.reassembly.take(out)? {
                Ok((len, from)) => {
                    self.counters.received += 1;
                    return Some(Received { len, from: from.number() });
                }
                Err(reason) => self.counters.drop(reason),
            }
        }
    }

    /// Counts a datagram that was received, and that its receiver did not read.
    pub fn refuse(&mut self, reason: LinkDrop) {
        self.counters.drop(reason);
    }

    // Not inlined, nor is what follows: what one of them needs on the stack must not add to what
    // another needs.
    #[inline(never)]
    fn transmit<T: Transceiver>(&mut self, now: Instant, radio: &mut Radio<T>) {
        if let Some(frame) = self.outgoing.next_frame(self.protection.as_mut()) {
            radio.transmit(now, frame.as_bytes());
        }
    }

    #[inline(never)]
    fn take_in<T: Transceiver>(&mut self, radio: &mut Radio<T>, is_neighbour: &dyn Fn(u64) -> bool) {
        let mut buffer = [0; MAX_FRAME];
        for _ in 0..FRAMES_AT_ONCE {
            let Some(frame) = radio.receive(&mut buffer) else { return };
            if let Err(reason) = self.frame(frame, is_neighbour) {
                self.counters.drop(reason);
            }
        }
    }

    fn frame(&mut self, frame: &[u8], is_neighbour: &dyn Fn(u64) -> bool) -> Result<(), LinkDrop> {
        let header = MacHeader::read(frame).ok_or(LinkDrop::Foreign)?;
        let addresses = header.addresses;
        let is_mine = match addresses.destination {
            LinkAddress::Short(short) => self.protection.is_some() && short == self.address.short(),
            LinkAddress::Extended(address) => address == self.address,
        };
        // Multicast addresses (RFC 4944) reach everybody, as does a broadcast.
        let is_for_many = matches!(addresses.destination, LinkAddress::Short([_, high]) if high >= 0x80);
        let me = match (is_mine, is_for_many) {
            (true, _) => addresses.destination,
            (_, true) => LinkAddress::Extended(self.address),
            _ => return Err(LinkDrop::Foreign),
        };
        let payload = frame.get(header.len..).unwrap_or_default();
        // A protected frame names its sender by a short address, and proves it.
        if header.frame_counter.is_none() && !is_neighbour(addresses.source.number()) {
            return Err(LinkDrop::Stranger);
        }
        match (&mut self.protection, header.frame_counter) {
            (None, None) => {
                let from = addresses.source;
                self.lowpan(&Way { addresses, from, me, port: self.port, is_protected: false }, payload)
            }
            (None, Some(_)) => Err(LinkDrop::Foreign),
            (Some(protection), Some(counter)) => {
                let mut buffer = [0; MAX_FRAME];
                let (peer, payload) = protection.open(&header, counter, frame, &mut buffer)?;
                let from = LinkAddress::Extended(peer);
                self.lowpan(&Way { addresses, from, me, port: self.port, is_protected: true }, payload)
            }
            (Some(_), None) => self.handshake(&addresses, payload),
        }
    }

    /// Takes in what a frame carries.
    fn lowpan(&mut self, way: &Way, payload: &[u8]) -> Result<(), LinkDrop> {
        let stored = match Dispatch::read(payload).ok_or(LinkDrop::BadHeader)? {
            Dispatch::Unfragmented(message) => return self.unfragmented(way, message),
            Dispatch::Frag1(fragment) => self.frag1(way, &fragment)?,
            Dispatch::FragN(fragment) => self.frag_n(way, &fragment)?,
            Dispatch::Rfrag(fragment) if fragment.is_abort() => return self.aborted(way.from, &fragment),
            Dispatch::Rfrag(fragment) => self.rfrag(way, &fragment)?,
            Dispatch::RfragAck(ack) => {
                if let Some(progress) = self.outgoing.acknowledged(way.from, ack) {
                    self.count(progress);
                }
                return Ok(());
            }
        };
        self.count_stored(stored);
        Ok(())
    }

    /// Takes in a frame that is not protected: it may be a message of a handshake, and nothing
    /// else.
    fn handshake(&mut self, addresses: &SourceAndDestination, payload: &[u8]) -> Result<(), LinkDrop> {
        let me = LinkAddress::Extended(self.address);
        let LinkAddress::Extended(peer) = addresses.source else { return Err(LinkDrop::Unprotected) };
        let Some(Dispatch::Unfragmented(message)) = Dispatch::read(payload) else {
            return Err(LinkDrop::Unprotected);
        };
        let header = Header::read(message, addresses).ok_or(LinkDrop::Unprotected)?;
        let check = header.udp_check(me, HANDSHAKE_PORT, false).map_err(|_| LinkDrop::Unprotected)?;
        let message = message.get(header.len..).unwrap_or_default();
        check.verify(message)?;
        if self.handshake.is_some() {
            return Err(LinkDrop::HandshakeBusy);
        }
        self.handshake = Some(HandshakeMessage::new(peer, message).ok_or(LinkDrop::TooLong)?);
        Ok(())
    }

    fn unfragmented(&mut self, way: &Way, message: &[u8]) -> Result<(), LinkDrop> {
        let Way { addresses, from, me, port, is_protected } = way;
        let header = Header::read(message, addresses).ok_or(LinkDrop::BadHeader)?;
        let payload = &message[header.len..];
        if header.next != Next::Icmp {
            let check = header.udp_check(*me, *port, *is_protected)?;
            let stored = self.reassembly.store_whole(*from, check, payload)?;
            self.count_stored(stored);
            return Ok(());
        }
        // Whoever has keys knows where this station is.
        if self.protection.is_some() || !is_solicitation(&header, payload, addresses, *me) {
            return Err(LinkDrop::BadHeader);
        }
        self.outgoing.answer(*from, Reply::Advertisement)
    }

    fn frag1(&mut self, way: &Way, fragment: &Frag1<'_>) -> Result<Stored, LinkDrop> {
        let (headers, payload) =
            way.headers(fragment.rest, |_| usize::from(fragment.datagram_size).checked_sub(UNCOMPRESSED))?;
        let key = DatagramKey {
            from: way.from,
            datagram_tag: fragment.datagram_tag,
            kind: Kind::Rfc4944 { payload_len: headers.payload_len as u16 },
        };
        let bits = (0, payload.len().div_ceil(UNIT));
        self.reassembly.store(key, &Fragment { at: 0, bits, payload, headers: Some(headers) })
    }

    fn frag_n(&mut self, way: &Way, fragment: &FragN<'_>) -> Result<Stored, LinkDrop> {
        let payload_len =
            fragment.datagram_size.checked_sub(UNCOMPRESSED as u16).ok_or(LinkDrop::BadHeader)?;
        let at = fragment.datagram_offset.checked_sub(UNCOMPRESSED).ok_or(LinkDrop::BadHeader)?;
        if fragment.rest.is_empty() {
            return Err(LinkDrop::BadHeader);
        }
        let key = DatagramKey {
            from: way.from,
            datagram_tag: fragment.datagram_tag,
            kind: Kind::Rfc4944 { payload_len },
        };
        let bits = (at / UNIT, fragment.rest.len().div_ceil(UNIT));
        self.reassembly.store(key, &Fragment { at, bits, payload: fragment.rest, headers: None })
    }

    fn aborted(&mut self, from: LinkAddress, fragment: &Rfrag<'_>) -> Result<(), LinkDrop> {
        let was_incomplete = self.reassembly.abort(&rfrag_key(from, fragment));
        if was_incomplete { Err(LinkDrop::AbortedByPeer) } else { Ok(()) }
    }

    fn rfrag(&mut self, way: &Way, fragment: &Rfrag<'_>) -> Result<Stored, LinkDrop> {
        let key = rfrag_key(way.from, fragment);
        let stored = self.store_rfrag(way, key, fragment);
        let bitmap = match stored {
            Ok(_) if fragment.ack_request => self.reassembly.bitmap(&key),
            // There may be room when it is sent again. A wrong checksum may be due to one forged
            // fragment: who hears nothing asks, and sends all of it again.
            Ok(_) | Err(LinkDrop::ReassemblyFull | LinkDrop::BadChecksum) => None,
            // It will never be a datagram.
            Err(_) => Some(NULL),
        };
        if let Some(bitmap) = bitmap {
            let ack = RfragAck { datagram_tag: fragment.datagram_tag, bitmap };
            if let Err(reason) = self.outgoing.answer(way.from, Reply::RfragAck(ack)) {
                self.counters.drop(reason);
            }
        }
        stored
    }

    fn store_rfrag(&mut self, way: &Way, key: DatagramKey, fragment: &Rfrag<'_>) -> Result<Stored, LinkDrop> {
        let bits = (usize::from(fragment.sequence), 1);
        let offset = usize::from(fragment.fragment_offset);
        if fragment.sequence > 0 {
            let at = offset.checked_sub(way.shortest()).ok_or(LinkDrop::BadHeader)?;
            let fragment = Fragment { at, bits, payload: fragment.rest, headers: None };
            return self.reassembly.store(key, &fragment);
        }
        let (headers, payload) = way.headers(fragment.rest, |header| offset.checked_sub(header.len))?;
        self.reassembly.store(key, &Fragment { at: 0, bits, payload, headers: Some(headers) })
    }

    fn count_stored(&mut self, stored: Stored) {
        match stored {
            Stored::New { replaced: false } => {}
            Stored::New { replaced: true } => self.counters.drop(LinkDrop::Replaced),
            Stored::Duplicate => self.counters.drop(LinkDrop::Duplicate),
        }
    }

    fn count(&mut self, progress: Progress) {
        match progress {
            Progress::Continues | Progress::Completed => {}
            Progress::Resends { fragments } => self.counters.recovered += fragments,
            Progress::Dropped { reason, unsent } => {
                self.counters.drop(reason);
                self.counters.spared += unsent;
            }
        }
    }
}

/// Which datagram an RFRAG is part of.
fn rfrag_key(from: LinkAddress, fragment: &Rfrag<'_>) -> DatagramKey {
    DatagramKey { from, datagram_tag: fragment.datagram_tag.into(), kind: Kind::Rfc8931 }
}
