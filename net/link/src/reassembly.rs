//! Datagrams that arrive: put together of their fragments, checked, and kept until they are taken.
//!
//! Each slot holds one datagram's payload; headers are read when they come, and only a checksum is
//! kept of them. A slot belongs to its datagram as long as fragments keep coming. A datagram that
//! received no fragment for [`IDLE`] may be evicted by another's first fragment, and by any other
//! after half its timeout. A neighbour's incomplete datagrams never take the last slot: its next
//! one replaces its oldest.
//!
//! Of two fragments of RFC 4944 for the same part of a datagram the later one counts, and a
//! datagram whose checksum was wrong is checked again with each: what was forged ahead of a
//! datagram does not spoil it. Where RFC 8931 is spoken, the sender is left to ask, and sends all
//! of it again.

use core::time::Duration;

use motemix_time::Instant;

use crate::counters::LinkDrop;
use crate::duplicates::DuplicateFilter;
use crate::lowpan::frag::UNIT;
use crate::lowpan::iphc::UdpCheck;
use crate::lowpan::rfrag::FULL;
use crate::mac::LinkAddress;
use crate::slots::{MAX_PAYLOAD, Slots};

/// How long an incomplete datagram is safe from the first fragments of others: longer than
/// fragments of one train lie apart, unless the channel is full. First fragments come unasked, and
/// whoever has a radio can send one after the other.
const IDLE: Duration = Duration::from_millis(50);

/// Which datagram a fragment is part of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DatagramKey {
    pub(crate) from: LinkAddress,
    pub(crate) datagram_tag: u16,
    pub(crate) kind: Kind,
}

/// How a datagram was fragmented.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// As FRAG1 and FRAGN, each of which says how long the whole is.
    Rfc4944 { payload_len: u16 },
    /// As RFRAG.
    Rfc8931,
}

/// A fragment's part of the payload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fragment<'f> {
    /// Where it begins. An RFRAG's, in a datagram whose headers are the shortest.
    pub(crate) at: usize,
    /// The first and the number of its bits in the bitmap: units of eight bytes, or its sequence
    /// number.
    pub(crate) bits: (usize, usize),
    pub(crate) payload: &'f [u8],
    /// What the headers say, if it is the first.
    pub(crate) headers: Option<Headers>,
}

/// What the first fragment says about all of the datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Headers {
    pub(crate) check: UdpCheck,
    /// Bytes of the compressed headers beyond those of the shortest.
    pub(crate) longer: usize,
    /// Bytes of the whole payload.
    pub(crate) payload_len: usize,
}

#[derive(Clone, Copy)]
enum State {
    Free,
    Incomplete { key: DatagramKey, headers: Option<Headers> },
    Whole { from: LinkAddress },
}

/// What became of a fragment or datagram that was accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub(crate) enum Stored {
    /// It is kept now. If every slot was taken, one incomplete datagram was forgotten for it.
    New { replaced: bool },
    /// It had arrived before; nothing has changed.
    Duplicate,
}

/// A slot for one datagram that arrives.
#[derive(Clone, Copy)]
pub struct ArrivalSlot {
    state: State,
    /// Bytes of the payload that have arrived.
    received: u16,
    /// Which fragments have arrived, one bit each.
    bitmap: [u32; MAX_PAYLOAD.div_ceil(8 * 32)],
    /// Whether all of it came, but not as it was sent.
    failed: bool,
    /// When its last fragment arrived.
    touched: Instant,
    /// The datagram with the lowest number arrived first.
    number: u32,
}

impl ArrivalSlot {
    /// A slot without a datagram.
    pub const FREE: Self = Self {
        state: State::Free,
        received: 0,
        bitmap: [0; _],
        failed: false,
        touched: Instant::from_micros(0),
        number: 0,
    };

    const fn key(&self) -> Option<&DatagramKey> {
        match &self.state {
            State::Incomplete { key, .. } => Some(key),
            State::Free | State::Whole { .. } => None,
        }
    }

    const fn headers(&self) -> Option<Headers> {
        match self.state {
            State::Incomplete { headers, .. } => headers,
            State::Free | State::Whole { .. } => None,
        }
    }

    fn is_incomplete_of(&self, from: LinkAddress) -> bool {
        self.key().is_some_and(|key| key.from == from)
    }

    /// Whether it is incomplete and nothing of it has come for so long.
    fn is_stale(&self, now: Instant, after: Duration) -> bool {
        matches!(self.state, State::Incomplete { .. }) && self.touched + after <= now
    }

    /// Whether its place may be another's.
    fn is_evictable(&self, now: Instant, after: Duration) -> bool {
        self.failed || self.is_stale(now, after)
    }

    fn has_any(&self, (first, count): (usize, usize)) -> bool {
        (first..first + count).any(|bit| self.bitmap[bit / 32] & 1 << (bit % 32) != 0)
    }

    /// Marks a fragment of so many bytes. How many of them are new: units of RFC 4944 may have come
    /// one by one.
    fn mark(&mut self, (first, count): (usize, usize), len: usize) -> usize {
        let mut new = 0;
        for (index, bit) in (first..first + count).enumerate() {
            let (word, bit) = (&mut self.bitmap[bit / 32], 1 << (bit % 32));
            if *word & bit == 0 {
                *word |= bit;
                new += if count == 1 { len } else { UNIT.min(len - index * UNIT) };
            }
        }
        new
    }
}

/// The slot in which a datagram is to be kept.
#[derive(Clone, Copy)]
struct Vacancy {
    index: usize,
    /// Another, incomplete datagram is in it, and gives way.
    replaces: bool,
}

/// All slots, and the time that it is for them.
pub(crate) struct Reassembly<'s> {
    slots: Slots<'s, ArrivalSlot>,
    timeout: Duration,
    now: Instant,
    number: u32,
    duplicates: DuplicateFilter,
}

impl<'s> Reassembly<'s> {
    /// # Panics
    /// As [`Slots::new`].
    pub(crate) fn new(slots: &'s mut [ArrivalSlot], bytes: &'s mut [u8], timeout: Duration) -> Self {
        // A stack before this one may have left datagrams in it.
        slots.fill(ArrivalSlot::FREE);
        // The sender may ask for the last time long after the datagram would have been given up
        // here.
        let duplicates = DuplicateFilter::new(timeout.saturating_mul(4));
        Self { slots: Slots::new(slots, bytes), timeout, now: Instant::default(), number: 0, duplicates }
    }

    /// From now on it is this time.
    pub(crate) const fn advance(&mut self, now: Instant) {
        self.now = now;
    }

    /// Keeps a datagram that came in one frame.
    ///
    /// # Errors
    /// Why it was refused: nothing of it is kept, and no other datagram was forgotten for it.
    pub(crate) fn store_whole(
        &mut self,
        from: LinkAddress,
        check: UdpCheck,
        payload: &[u8],
    ) -> Result<Stored, LinkDrop> {
        if payload.len() > self.slots.buffer_len() {
            return Err(LinkDrop::TooLong);
        }
        check.verify(payload)?;
        let vacancy = self.vacancy(None, self.timeout / 2);
        let Vacancy { index, replaces } = vacancy.ok_or(LinkDrop::ReassemblyFull)?;
        self.occupy(index, State::Whole { from });
        self.slots.buffer_mut(index)[..payload.len()].copy_from_slice(payload);
        self.slots[index].received = payload.len() as u16;
        Ok(Stored::New { replaced: replaces })
    }

    /// Keeps a fragment.
    ///
    /// # Errors
    /// Why it was refused: it is not kept, and no other datagram was forgotten for it. A wrong
    /// checksum of the whole is the exception: of RFC 4944's the datagram is kept, to be checked
    /// again, and of RFC 8931's all is forgotten.
    pub(crate) fn store(&mut self, key: DatagramKey, fragment: &Fragment<'_>) -> Result<Stored, LinkDrop> {
        if self.duplicates.contains(self.now, &key) {
            return Ok(Stored::Duplicate);
        }
        let known = self.position(&key);
        let known_headers = known.and_then(|index| self.slots[index].headers());
        let headers = match key.kind {
            Kind::Rfc4944 { .. } => fragment.headers.or(known_headers),
            Kind::Rfc8931 => known_headers.or(fragment.headers),
        };
        // Offsets of RFRAG count compressed headers, which may be longer than the shortest.
        let longer = match (key.kind, headers) {
            (Kind::Rfc8931, Some(headers)) => headers.longer,
            _ => 0,
        };
        let at = self.offset(&key, fragment, headers, longer)?;
        if let (None, Some(headers)) = (known, fragment.headers)
            && fragment.payload.len() == headers.payload_len
        {
            // A datagram of one fragment is checked before it takes a slot: it must not evict
            // another and then be refused.
            headers.check.verify(fragment.payload)?;
        }
        let Vacancy { index, replaces } = if let Some(index) = known {
            Vacancy { index, replaces: false }
        } else {
            let after =
                if fragment.headers.is_some() { IDLE.min(self.timeout / 2) } else { self.timeout / 2 };
            let vacancy = self.vacancy(Some(key.from), after).ok_or(LinkDrop::ReassemblyFull)?;
            self.occupy(vacancy.index, State::Incomplete { key, headers: None });
            vacancy
        };
        if known_headers.is_none() && longer > 0 {
            // What came before was written where it belongs behind shorter headers.
            let buffer = self.slots.buffer_mut(index);
            buffer.copy_within(longer.min(buffer.len()).., 0);
        }
        let part = at..at + fragment.payload.len();
        let is_same =
            || headers == known_headers && self.slots.buffer(index)[part.clone()] == *fragment.payload;
        if self.slots[index].has_any(fragment.bits) && (key.kind == Kind::Rfc8931 || is_same()) {
            return Ok(Stored::Duplicate);
        }
        let slot = &mut self.slots[index];
        let new = slot.mark(fragment.bits, fragment.payload.len());
        slot.received = slot.received.saturating_add(new as u16);
        slot.touched = self.now;
        slot.state = State::Incomplete { key, headers };
        self.slots.buffer_mut(index)[part].copy_from_slice(fragment.payload);
        if let Some(headers) = headers {
            self.finish(index, &key, &headers)?;
        }
        Ok(Stored::New { replaced: replaces })
    }

    /// Where a fragment's payload begins in the datagram's, with room for all of it behind.
    fn offset(
        &self,
        key: &DatagramKey,
        fragment: &Fragment<'_>,
        headers: Option<Headers>,
        longer: usize,
    ) -> Result<usize, LinkDrop> {
        let room = self.slots.buffer_len();
        let payload_len = match (key.kind, headers) {
            (Kind::Rfc4944 { payload_len }, _) => usize::from(payload_len),
            (Kind::Rfc8931, Some(headers)) => headers.payload_len,
            (Kind::Rfc8931, None) => room,
        };
        let at = if fragment.headers.is_some() { Some(0) } else { fragment.at.checked_sub(longer) };
        let at = at.ok_or(LinkDrop::BadHeader)?;
        if payload_len > room {
            return Err(LinkDrop::TooLong);
        }
        let len = fragment.payload.len();
        if key.kind != Kind::Rfc8931 && !len.is_multiple_of(UNIT) && at + len != payload_len {
            return Err(LinkDrop::BadHeader);
        }
        if at + fragment.payload.len() > payload_len {
            return Err(if headers.is_some() { LinkDrop::BadHeader } else { LinkDrop::TooLong });
        }
        Ok(at)
    }

    /// Forgets an incomplete datagram that its sender aborted. Whether there was one.
    #[must_use]
    pub(crate) fn abort(&mut self, key: &DatagramKey) -> bool {
        let position = self.position(key);
        if let Some(index) = position {
            self.free(index);
        }
        position.is_some()
    }

    /// The RFRAG-ACK bitmap of a datagram; none if it is unknown.
    pub(crate) fn bitmap(&self, key: &DatagramKey) -> Option<u32> {
        if self.duplicates.contains(self.now, key) {
            return Some(FULL);
        }
        let [sequences, ..] = self.slots[self.position(key)?].bitmap;
        Some(sequences.reverse_bits())
    }

    /// Gives up what is incomplete for too long. How many datagrams that were.
    pub(crate) fn expire(&mut self) -> u32 {
        let mut expired = 0;
        for slot in self.slots.iter_mut().filter(|slot| slot.is_stale(self.now, self.timeout)) {
            slot.state = State::Free;
            // That it was changed on the way was counted then.
            expired += u32::from(!core::mem::take(&mut slot.failed));
        }
        expired
    }

    /// Takes out the datagram that became whole first, written to the beginning of `out`: its
    /// length, and who sent its frames.
    ///
    /// # Errors
    /// [`LinkDrop::TooLong`]: it is longer than `out`, and is gone.
    pub(crate) fn take(&mut self, out: &mut [u8]) -> Option<Result<(usize, LinkAddress), LinkDrop>> {
        let index = self.oldest(|slot| matches!(slot.state, State::Whole { .. }))?;
        let ArrivalSlot { state: State::Whole { from }, received, .. } = self.slots[index] else {
            return None;
        };
        self.free(index);
        let payload = &self.slots.buffer(index)[..usize::from(received)];
        let Some(out) = out.get_mut(..payload.len()) else { return Some(Err(LinkDrop::TooLong)) };
        out.copy_from_slice(payload);
        Some(Ok((payload.len(), from)))
    }

    /// Whether a datagram is whole, and was not taken yet.
    pub(crate) fn has_whole(&self) -> bool {
        self.slots.iter().any(|slot| matches!(slot.state, State::Whole { .. }))
    }

    /// A datagram of which all has come is whole, unless it was changed.
    fn finish(&mut self, index: usize, key: &DatagramKey, headers: &Headers) -> Result<(), LinkDrop> {
        let received = usize::from(self.slots[index].received);
        if received < headers.payload_len {
            return Ok(());
        }
        let payload = &self.slots.buffer(index)[..headers.payload_len];
        let checked = if received > headers.payload_len {
            Err(LinkDrop::BadHeader)
        } else {
            headers.check.verify(payload)
        };
        if checked == Err(LinkDrop::BadChecksum) && key.kind != Kind::Rfc8931 {
            // It is counted once.
            let had_failed = core::mem::replace(&mut self.slots[index].failed, true);
            return if had_failed { Ok(()) } else { checked };
        }
        if checked.is_err() {
            self.free(index);
            return checked;
        }
        self.duplicates.insert(self.now, key);
        self.number = self.number.wrapping_add(1);
        let slot = &mut self.slots[index];
        slot.state = State::Whole { from: key.from };
        slot.failed = false;
        slot.number = self.number;
        Ok(())
    }

    /// A slot for another datagram: of this neighbour, if it comes in fragments. Another one gives
    /// way to it that received nothing for so long.
    fn vacancy(&self, from: Option<LinkAddress>, after: Duration) -> Option<Vacancy> {
        let replacing = |index: usize| Vacancy { index, replaces: !self.slots[index].failed };
        if let Some(from) = from {
            let is_theirs = |slot: &ArrivalSlot| slot.is_incomplete_of(from);
            let theirs = self.slots.iter().filter(|slot| is_theirs(slot)).count();
            if theirs > 0 && theirs + 1 >= self.slots.len() {
                let failed = self.slots.position(|slot| is_theirs(slot) && slot.failed);
                return failed.or_else(|| self.oldest(is_theirs)).map(replacing);
            }
        }
        let free = self.slots.position(|slot| matches!(slot.state, State::Free));
        free.map(|index| Vacancy { index, replaces: false }).or_else(|| {
            let slots = self.slots.iter().enumerate();
            let evictable = slots.filter(|(_, slot)| slot.is_evictable(self.now, after));
            let least = evictable.min_by_key(|(_, slot)| (!slot.failed, slot.touched));
            least.map(|(index, _)| replacing(index))
        })
    }

    fn oldest(&self, is_meant: impl Fn(&ArrivalSlot) -> bool) -> Option<usize> {
        let meant = self.slots.iter().enumerate().filter(|(_, slot)| is_meant(slot));
        // Numbers are closer together than half of all that there are.
        let age = |slot: &ArrivalSlot| self.number.wrapping_sub(slot.number);
        meant.max_by_key(|(_, slot)| age(slot)).map(|(index, _)| index)
    }

    fn position(&self, key: &DatagramKey) -> Option<usize> {
        self.slots.position(|slot| slot.key() == Some(key))
    }

    fn occupy(&mut self, index: usize, state: State) {
        self.number = self.number.wrapping_add(1);
        self.slots[index] =
            ArrivalSlot { state, touched: self.now, number: self.number, ..ArrivalSlot::FREE };
    }

    fn free(&mut self, index: usize) {
        self.slots[index].state = State::Free;
        self.slots[index].failed = false;
    }
}
