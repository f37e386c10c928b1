//! Datagrams that come: put together of their fragments, checked, and kept until they are taken.
//!
//! Each place holds one datagram's payload; headers are read when they come, and only a sum is kept of them. A
//! place belongs to its datagram as long as fragments keep coming. A datagram that received no fragment for half its
//! timeout may be evicted for another. A neighbour's incomplete datagrams never take the last
//! place: its next one replaces its oldest.

use core::time::Duration;

use crate::counters::LinkDrop;
use crate::frame::LinkAddress;
use crate::lowpan::header::{COMPRESSED, Head};
use crate::lowpan::recover::FULL;

/// The longest payload: that of the shortest packet that each link of IPv6 carries (RFC 8200, 5).
pub(crate) const MAX_PAYLOAD: usize = 1280 - 48;
/// Datagrams that became whole and are remembered, in case a fragment comes again.
const REMEMBERED: usize = 8;

/// Whose datagram it is, and which.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Key {
    pub(crate) from: LinkAddress,
    pub(crate) tag: u16,
    pub(crate) kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// RFC 4944, whose fragments name the size of the whole; here the payload's.
    Sized(u16),
    /// RFC 8931.
    Recoverable,
}

/// A fragment's part of the payload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<'f> {
    /// Where it begins. Of a recoverable fragment, in a datagram whose headers are the shortest.
    pub(crate) at: usize,
    /// The first and the number of its marks: units of eight bytes, or its sequence number.
    pub(crate) marks: (usize, usize),
    pub(crate) payload: &'f [u8],
    /// The headers, if it is the first.
    pub(crate) beginning: Option<Beginning>,
}

/// What the first fragment says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beginning {
    pub(crate) head: Head,
    /// How long the compressed headers are.
    pub(crate) head_len: usize,
    /// Bytes of the whole payload.
    pub(crate) size: usize,
}

#[derive(Clone, Copy)]
enum State {
    Free,
    Incomplete { key: Key, beginning: Option<Beginning> },
    Whole { from: LinkAddress },
}

/// What became of a fragment or datagram that was accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub(crate) enum Stored {
    /// It is kept now. If every place was taken, one incomplete datagram was forgotten for it.
    New { replaced: bool },
    /// It had arrived before; nothing has changed.
    Duplicate,
}

/// A place for one datagram.
#[derive(Clone, Copy)]
pub struct Place {
    state: State,
    /// Bytes of the payload that have arrived.
    got: u16,
    /// Which fragments have arrived, one bit each.
    marks: [u32; MAX_PAYLOAD.div_ceil(8 * 32)],
    /// When its last fragment arrived.
    touched: Duration,
    /// The datagram with the lowest number arrived first.
    number: u32,
}

impl Place {
    /// A place without a datagram.
    pub const FREE: Self =
        Self { state: State::Free, got: 0, marks: [0; _], touched: Duration::ZERO, number: 0 };

    const fn key(&self) -> Option<&Key> {
        match &self.state {
            State::Incomplete { key, .. } => Some(key),
            State::Free | State::Whole { .. } => None,
        }
    }

    const fn beginning(&self) -> Option<Beginning> {
        match self.state {
            State::Incomplete { beginning, .. } => beginning,
            State::Free | State::Whole { .. } => None,
        }
    }

    fn is_incomplete_of(&self, from: LinkAddress) -> bool {
        self.key().is_some_and(|key| key.from == from)
    }

    /// Sets marks; `false` and nothing set if one of them was, or does not exist.
    fn mark(&mut self, (first, count): (usize, usize)) -> bool {
        let all = first..first + count;
        let are_new = all
            .clone()
            .all(|mark| self.marks.get(mark / 32).is_some_and(|word| word & 1 << (mark % 32) == 0));
        if are_new {
            for mark in all {
                if let Some(word) = self.marks.get_mut(mark / 32) {
                    *word |= 1 << (mark % 32);
                }
            }
        }
        are_new
    }
}

/// All places.
pub(crate) struct Reassembly<'s> {
    places: &'s mut [Place],
    /// The payloads of all places, one after the other.
    bytes: &'s mut [u8],
    within: Duration,
    number: u32,
    remembered: Remembered,
}

impl<'s> Reassembly<'s> {
    pub(crate) const fn new(places: &'s mut [Place], bytes: &'s mut [u8], within: Duration) -> Self {
        Self { places, bytes, within, number: 0, remembered: Remembered::NOTHING }
    }

    /// Keeps a datagram that came in one frame.
    ///
    /// # Errors
    /// Why it was refused: nothing of it is kept, and no other datagram was forgotten for it.
    pub(crate) fn store_whole(
        &mut self,
        now: Duration,
        from: LinkAddress,
        head: Head,
        payload: &[u8],
    ) -> Result<Stored, LinkDrop> {
        if payload.len() > self.room() {
            return Err(LinkDrop::TooLong);
        }
        head.fits(payload)?;
        let (index, replaced) = self.find_place(now, None).ok_or(LinkDrop::ReassemblyFull)?;
        self.occupy(index, now, State::Whole { from });
        self.write(index, 0, payload);
        if let Some(place) = self.places.get_mut(index) {
            place.got = payload.len() as u16;
        }
        Ok(Stored::New { replaced })
    }

    /// Keeps a fragment.
    ///
    /// # Errors
    /// Why it was refused: it is not kept, and no other datagram was forgotten for it. After a wrong checksum the rest
    /// of its own datagram is not kept either.
    pub(crate) fn store(&mut self, now: Duration, key: Key, piece: &Piece<'_>) -> Result<Stored, LinkDrop> {
        if self.remembers(now, &key) {
            return Ok(Stored::Duplicate);
        }
        let known = self.position(&key);
        let old = known.and_then(|index| self.places.get(index)).and_then(Place::beginning);
        let beginning = old.or(piece.beginning);
        let size = match (key.kind, beginning) {
            (Kind::Sized(size), _) => usize::from(size),
            (Kind::Recoverable, Some(beginning)) => beginning.size,
            (Kind::Recoverable, None) => self.room(),
        };
        // Offsets of recoverable fragments count compressed headers as well.
        let longer = match (key.kind, beginning) {
            (Kind::Recoverable, Some(beginning)) => beginning.head_len.saturating_sub(COMPRESSED),
            _ => 0,
        };
        let at = if piece.beginning.is_some() { Some(0) } else { piece.at.checked_sub(longer) };
        let at = at.ok_or(LinkDrop::BadHeader)?;
        if size > self.room() {
            return Err(LinkDrop::TooLong);
        }
        if at + piece.payload.len() > size {
            return Err(if beginning.is_some() { LinkDrop::BadHeader } else { LinkDrop::TooLong });
        }
        if let (None, Some(beginning)) = (known, piece.beginning)
            && piece.payload.len() == size
        {
            // A datagram of one fragment is checked before it takes a place: it must not evict another and then be
            // refused.
            beginning.head.fits(piece.payload)?;
        }
        let (index, replaced) = match known {
            Some(index) => (index, false),
            None => self.find_place(now, Some(key.from)).ok_or(LinkDrop::ReassemblyFull)?,
        };
        if known.is_none() {
            self.occupy(index, now, State::Incomplete { key, beginning: None });
        }
        if old.is_none() && longer > 0 {
            // What came before was written where it belongs behind shorter headers.
            let memory = self.memory(index);
            memory.copy_within(longer.min(memory.len()).., 0);
        }
        let Some(place) = self.places.get_mut(index) else { return Err(LinkDrop::ReassemblyFull) };
        if !place.mark(piece.marks) {
            return Ok(Stored::Duplicate);
        }
        place.got = place.got.saturating_add(piece.payload.len() as u16);
        place.touched = now;
        place.state = State::Incomplete { key, beginning };
        self.write(index, at, piece.payload);
        self.finish(now, index)?;
        Ok(Stored::New { replaced })
    }

    /// Forgets an incomplete datagram that its sender gave up. Whether there was one.
    #[must_use]
    pub(crate) fn abort(&mut self, key: &Key) -> bool {
        let position = self.position(key);
        if let Some(index) = position {
            self.free(index);
        }
        position.is_some()
    }

    /// Which fragments of a recoverable datagram are here; none if it is unknown.
    pub(crate) fn bitmap(&self, now: Duration, key: &Key) -> Option<u32> {
        if self.remembers(now, key) {
            return Some(FULL);
        }
        let place = self.position(key).and_then(|index| self.places.get(index))?;
        place.marks.first().map(|marks| marks.reverse_bits())
    }

    /// Whether the datagram became whole a while ago. Its sender may ask for the last time long after it would
    /// have been given up here.
    fn remembers(&self, now: Duration, key: &Key) -> bool {
        self.remembered.has(now, self.within.saturating_mul(4), key)
    }

    /// Gives up what is incomplete for too long. How many there were.
    pub(crate) fn expire(&mut self, now: Duration) -> u32 {
        let mut expired = 0;
        for place in self.places.iter_mut() {
            let is_late = place.touched.saturating_add(self.within) <= now;
            if is_late && matches!(place.state, State::Incomplete { .. }) {
                place.state = State::Free;
                expired += 1;
            }
        }
        expired
    }

    /// Takes out the datagram that became whole first: its length, and who sent its frames. One that is longer
    /// than `out` is cut.
    pub(crate) fn take(&mut self, out: &mut [u8]) -> Option<(usize, LinkAddress)> {
        let index = self.oldest(|place| matches!(place.state, State::Whole { .. }))?;
        let place = self.places.get(index)?;
        let State::Whole { from } = place.state else { return None };
        let len = usize::from(place.got).min(out.len());
        if let (Some(out), Some(payload)) = (out.get_mut(..len), self.memory(index).get(..len)) {
            out.copy_from_slice(payload);
        }
        self.free(index);
        Some((len, from))
    }

    /// A datagram of which all has come is whole, unless it was changed.
    fn finish(&mut self, now: Duration, index: usize) -> Result<(), LinkDrop> {
        let Some(place) = self.places.get(index) else { return Ok(()) };
        let State::Incomplete { key, beginning: Some(beginning) } = place.state else { return Ok(()) };
        let got = usize::from(place.got);
        if got < beginning.size {
            return Ok(());
        }
        let payload = self.memory(index).get(..beginning.size).unwrap_or_default();
        let checked =
            if got > beginning.size { Err(LinkDrop::BadHeader) } else { beginning.head.fits(payload) };
        if checked.is_err() {
            self.free(index);
            return checked;
        }
        self.remembered.add(now, &key);
        self.number = self.number.wrapping_add(1);
        if let Some(place) = self.places.get_mut(index) {
            place.state = State::Whole { from: key.from };
            place.number = self.number;
        }
        Ok(())
    }

    /// A place for another datagram, and whether an incomplete one is in it and gives way.
    fn find_place(&self, now: Duration, from: Option<LinkAddress>) -> Option<(usize, bool)> {
        if let Some(from) = from {
            let is_theirs = |place: &Place| place.is_incomplete_of(from);
            let theirs = self.places.iter().filter(|place| is_theirs(place)).count();
            if theirs > 0 && theirs + 1 >= self.places.len() {
                return self.oldest(is_theirs).map(|index| (index, true));
            }
        }
        let free = self.places.iter().position(|place| matches!(place.state, State::Free));
        if let Some(index) = free {
            return Some((index, false));
        }
        let is_stale = |place: &Place| {
            let is_incomplete = matches!(place.state, State::Incomplete { .. });
            is_incomplete && place.touched.saturating_add(self.within / 2) <= now
        };
        self.oldest(is_stale).map(|index| (index, true))
    }

    fn oldest(&self, is_meant: impl Fn(&Place) -> bool) -> Option<usize> {
        let meant = self.places.iter().enumerate().filter(|(_, place)| is_meant(place));
        // Numbers are closer together than half of all that there are.
        let age = |place: &Place| self.number.wrapping_sub(place.number);
        meant.max_by_key(|(_, place)| age(place)).map(|(index, _)| index)
    }

    fn position(&self, key: &Key) -> Option<usize> {
        self.places.iter().position(|place| place.key() == Some(key))
    }

    fn occupy(&mut self, index: usize, now: Duration, state: State) {
        self.number = self.number.wrapping_add(1);
        if let Some(place) = self.places.get_mut(index) {
            *place = Place { state, touched: now, number: self.number, ..Place::FREE };
        }
    }

    fn free(&mut self, index: usize) {
        if let Some(place) = self.places.get_mut(index) {
            place.state = State::Free;
        }
    }

    /// Bytes in each place.
    fn room(&self) -> usize {
        self.bytes.len().checked_div(self.places.len()).unwrap_or(0)
    }

    fn memory(&mut self, index: usize) -> &mut [u8] {
        let room = self.room();
        self.bytes.chunks_exact_mut(room.max(1)).nth(index).unwrap_or_default()
    }

    fn write(&mut self, index: usize, at: usize, payload: &[u8]) {
        let place = self.memory(index).get_mut(at..);
        if let Some(place) = place.and_then(|place| place.get_mut(..payload.len())) {
            place.copy_from_slice(payload);
        }
    }
}

/// Datagrams that became whole a short while ago: a fragment of theirs that comes again opens no place, and is
/// acknowledged. Told apart by 32 bits of hash, which is enough by chance, and whoever forges one can send
/// worse.
struct Remembered {
    /// Hash of the key, and the time in milliseconds.
    fingerprints: [(u32, u32); REMEMBERED],
    /// The oldest of them.
    next: usize,
}

impl Remembered {
    const NOTHING: Self = Self { fingerprints: [(0, 0); REMEMBERED], next: 0 };

    fn add(&mut self, now: Duration, key: &Key) {
        if let Some(oldest) = self.fingerprints.get_mut(self.next) {
            *oldest = (fingerprint(key), millis(now));
        }
        self.next = (self.next + 1) % REMEMBERED;
    }

    fn has(&self, now: Duration, within: Duration, key: &Key) -> bool {
        let fingerprint = fingerprint(key);
        let is_fresh = |at: u32| millis(now).wrapping_sub(at) < millis(within);
        self.fingerprints.iter().any(|&(known, at)| known == fingerprint && is_fresh(at))
    }
}

/// FNV-1a (draft-eastlake-fnv), never zero: that is an empty place.
fn fingerprint(key: &Key) -> u32 {
    let kind = match key.kind {
        Kind::Sized(size) => size.to_be_bytes(),
        Kind::Recoverable => [0xff; 2],
    };
    let bytes = key.from.interface().into_iter().chain(key.tag.to_be_bytes()).chain(kind);
    let hash = bytes.fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    hash | 1
}

/// It comes round after 49 days, in which much is forgotten.
fn millis(time: Duration) -> u32 {
    (time.as_secs() as u32).wrapping_mul(1000).wrapping_add(time.subsec_millis())
}
