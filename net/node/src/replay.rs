//! The replay filter: which packets were seen, in a few bits each.
//!
//! A cuckoo filter (Fan, Andersen, Kaminsky, Mitzenmacher, "Cuckoo Filter: Practically Better Than
//! Bloom", `CoNEXT` 2014) of fingerprints, packed bit by bit into lent bytes. It forgets nothing
//! and evicts nothing. It may take a packet that is new for one that was seen, which its sender's
//! next try mends.
//!
//! The bytes are cut into equal segments, each a filter of its own. An epoch takes a segment when
//! its newest is full, and gives all of them back when its key goes. So two epochs share the
//! memory, and an epoch that begins costs one segment. The last free segment is kept for an epoch
//! that has none.
//!
//! # How often a new packet is refused
//!
//! A look-up compares a fingerprint of w bits with the 8 slots of two buckets in each segment of
//! the epoch, of which 15 in 16 are in use at most: a chance of 8 · 15/16 / (2^w − 1) a segment.
//! With 7 segments and 16 bits that is 1 in 1,250, with 17 segments and 24 bits 1 in 131,000, when
//! the epoch is at its end.
//!
//! # Time
//!
//! Which bytes are read depends on the digest, and so may the time. A digest is a pseudorandom
//! function of the tag under a secret key: who sees which places are touched learns which packet is
//! which, as who watches the memory of a node does anyway, and nothing of the key. So the filter
//! does without constant time.

use crate::journal::Digest;

/// Slots of a bucket.
const SLOTS: u32 = 4;
/// Fingerprints moved at most to make room for one; the authors' own filter moves as many.
const MAX_KICKS: u32 = 500;
/// Least memory that is cut finely, in bytes: there a segment is still large. Narrow fingerprints
/// are too short for many segments.
const LARGE: usize = 1 << 20;
const SEGMENTS: usize = 8;
const SEGMENTS_OF_LARGE: usize = 18;
/// Sixteen bits of a digest name one of so many buckets about equally often (within a sixteenth).
const MOST_NARROW_BUCKETS: usize = 1 << 12;

/// Length of a fingerprint in bits: an even number from 12 to 32.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FingerprintBits(u8);

impl FingerprintBits {
    /// Fingerprints up to this length need four bytes of journal a packet, see
    /// [`Digest::to_short`](crate::Digest::to_short), and use 256 KiB of memory at most.
    pub const NARROW: Self = Self(16);
    /// For boards: one packet in 1,000 that is new is refused, at most.
    pub const BOARD: Self = Self::NARROW;
    /// For hosts: one packet in 100,000 that is new is refused, at most.
    pub const HOST: Self = Self(24);

    /// `None` for another number than an even one from 12 to 32.
    pub const fn new(bits: u8) -> Option<Self> {
        if bits >= 12 && bits <= 32 && bits.is_multiple_of(2) { Some(Self(bits)) } else { None }
    }

    /// The number of bits.
    pub const fn get(self) -> u8 {
        self.0
    }

    /// How many packets an epoch can have admitted in `bytes` of memory, at most.
    pub const fn capacity_of(self, bytes: usize) -> usize {
        let layout = Layout::new(bytes, self);
        (layout.segments as usize - 1) * layout.tags() as usize
    }

    /// How many packets an epoch should be planned for in `bytes` of memory: seven eighths of the
    /// capacity. The last eighth evens out bursts. The boundary of epochs is included as long as
    /// the overlap is not longer than an eighth of the epoch.
    pub const fn packets_of(self, bytes: usize) -> usize {
        let capacity = self.capacity_of(bytes);
        capacity - capacity.div_ceil(8)
    }

    /// The least memory that is enough for an epoch of so many packets, in bytes; `None` if
    /// fingerprints of this length do not reach so far.
    pub const fn bytes_for(self, packets: usize) -> Option<usize> {
        let few = self.bytes_in(packets, SEGMENTS);
        let bytes = if few < LARGE || self.is_narrow() {
            few
        } else {
            let many = self.bytes_in(packets, SEGMENTS_OF_LARGE);
            if many < LARGE { LARGE } else { many }
        };
        if self.packets_of(bytes) >= packets { Some(bytes) } else { None }
    }

    const fn bytes_in(self, packets: usize, segments: usize) -> usize {
        // One more, since the eighth that is left out was rounded up.
        let capacity = packets.saturating_add(packets / 7).saturating_add(2);
        let buckets = capacity.div_ceil(segments - 1).saturating_mul(4).div_ceil(15);
        let bytes = buckets.saturating_mul(self.bucket_len()).saturating_mul(segments);
        if bytes < size_of::<u64>() { size_of::<u64>() } else { bytes }
    }

    const fn is_narrow(self) -> bool {
        self.0 <= Self::NARROW.0
    }

    const fn bucket_len(self) -> usize {
        // Four slots of an even number of bits.
        self.0 as usize / 2
    }
}

/// How the memory is cut.
#[derive(Clone, Copy)]
struct Layout {
    bits: u32,
    segments: u8,
    /// Buckets in each segment.
    buckets: u32,
}

impl Layout {
    const fn new(bytes: usize, bits: FingerprintBits) -> Self {
        let is_fine = bytes >= LARGE && !bits.is_narrow();
        let segments = if is_fine { SEGMENTS_OF_LARGE } else { SEGMENTS };
        let mut buckets = bytes / segments / bits.bucket_len();
        if bits.is_narrow() && buckets > MOST_NARROW_BUCKETS {
            buckets = MOST_NARROW_BUCKETS;
        }
        // Tags are counted in 32 bits.
        if buckets > (u32::MAX / 64) as usize {
            buckets = (u32::MAX / 64) as usize;
        }
        Self { bits: bits.0 as u32, segments: segments as u8, buckets: buckets as u32 }
    }

    /// Tags of a segment: 15 in 16 slots. Above, looking for room takes long, and often ends
    /// without.
    const fn tags(&self) -> u32 {
        self.buckets * 15 / 4
    }

    const fn is_narrow(&self) -> bool {
        self.bits <= FingerprintBits::NARROW.0 as u32
    }

    const fn segment_len(&self) -> usize {
        self.buckets as usize * self.bits as usize / 2
    }

    /// Fingerprint and first bucket.
    const fn place(&self, digest: Digest) -> (u32, u32) {
        let bits = digest.to_bits();
        let fingerprint = bits as u32 & (u32::MAX >> (32 - self.bits));
        // Zero is an empty slot.
        (if fingerprint == 0 { 1 } else { fingerprint }, scale((bits >> 32) as u32, self.buckets))
    }

    /// The other bucket where a fingerprint may be: `at` is the other bucket of its other bucket.
    const fn other(&self, fingerprint: u32, at: u32) -> u32 {
        // 2^32 divided by the golden ratio spreads fingerprints over all buckets.
        let sum = scale(fingerprint.wrapping_mul(0x9e37_79b1), self.buckets);
        if sum >= at { sum - at } else { sum + self.buckets - at }
    }
}

/// One of `count` numbers from 0 on, all about equally often, for a number of 32 bits.
const fn scale(number: u32, count: u32) -> u32 {
    ((number as u64 * count as u64) >> 32) as u32
}

/// Whose a segment is: one of two epochs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Owner {
    One,
    Two,
}

#[derive(Clone, Copy)]
struct Segment {
    owner: Option<Owner>,
    tags: u32,
    /// Takes no more.
    closed: bool,
}

const FREE: Segment = Segment { owner: None, tags: 0, closed: false };

/// Nothing more is admitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FilterFull;

/// Fingerprints of two epochs.
pub(crate) struct Fingerprints<'s> {
    bytes: &'s mut [u8],
    layout: Layout,
    segments: [Segment; SEGMENTS_OF_LARGE],
}

impl<'s> Fingerprints<'s> {
    pub(crate) const fn new(bytes: &'s mut [u8], bits: FingerprintBits) -> Self {
        let layout = Layout::new(bytes.len(), bits);
        Self { bytes, layout, segments: [FREE; SEGMENTS_OF_LARGE] }
    }

    /// What the filter uses of a digest.
    pub(crate) const fn digest(&self, bits: u64) -> Digest {
        let digest = Digest::from_bits(bits);
        if self.layout.is_narrow() { digest.shortened() } else { digest }
    }

    pub(crate) fn contains(&self, owner: Owner, digest: Digest) -> bool {
        let (fingerprint, first) = self.layout.place(digest);
        let second = self.layout.other(fingerprint, first);
        self.owned(owner).any(|segment| {
            self.slot_of(segment, first, fingerprint)
                .or_else(|| self.slot_of(segment, second, fingerprint))
                .is_some()
        })
    }

    /// Adds a digest that the filter does not contain.
    pub(crate) fn insert(&mut self, owner: Owner, digest: Digest) -> Result<(), FilterFull> {
        let (fingerprint, first) = self.layout.place(digest);
        // An empty segment has room, so this ends with the second one that is free.
        loop {
            let open = self.owned(owner).find(|at| !self.segments[*at].closed);
            let at = open.or_else(|| self.take(owner)).ok_or(FilterFull)?;
            if self.segments[at].tags < self.layout.tags() && self.put(at, fingerprint, first) {
                self.segments[at].tags += 1;
                return Ok(());
            }
            self.segments[at].closed = true;
        }
    }

    /// Gives back the segments of an epoch whose key is gone.
    pub(crate) fn release(&mut self, owner: Owner) {
        for segment in self.segments.iter_mut().filter(|segment| segment.owner == Some(owner)) {
            *segment = FREE;
        }
    }

    /// Digests of an epoch.
    pub(crate) fn tags(&self, owner: Owner) -> u32 {
        self.owned(owner).map(|at| self.segments[at].tags).sum()
    }

    /// How many an epoch may have in all, when no other one is in its way.
    pub(crate) fn capacity(&self, owner: Owner) -> u32 {
        let closed = |at: &usize| self.segments[*at].closed;
        let (count, tags) = self
            .owned(owner)
            .filter(closed)
            .fold((0, 0), |(count, tags), at| (count + 1, tags + self.segments[at].tags));
        tags + (u32::from(self.layout.segments) - 1).saturating_sub(count) * self.layout.tags()
    }

    /// How many more an epoch can have now.
    pub(crate) fn room(&self, owner: Owner) -> u32 {
        let open = self.owned(owner).find(|at| !self.segments[*at].closed);
        let open = open.map_or(0, |at| self.layout.tags() - self.segments[at].tags);
        open + self.takeable(owner) * self.layout.tags()
    }

    /// In the order in which they were taken, as far as it matters: at most one is not closed.
    fn owned(&self, owner: Owner) -> impl Iterator<Item = usize> {
        let segments = &self.segments[..usize::from(self.layout.segments)];
        segments.iter().enumerate().filter(move |(_, segment)| segment.owner == Some(owner)).map(|(at, _)| at)
    }

    /// How many segments an epoch may take: the last one is for an epoch that has none.
    fn takeable(&self, owner: Owner) -> u32 {
        let segments = &self.segments[..usize::from(self.layout.segments)];
        let free = segments.iter().filter(|segment| segment.owner.is_none()).count() as u32;
        let has_any = segments.iter().any(|segment| segment.owner == Some(owner));
        let other_has_any = segments.iter().any(|segment| segment.owner.is_some_and(|of| of != owner));
        let kept = free.saturating_sub(u32::from(!other_has_any));
        if has_any { kept } else { kept.max(free.min(1)) }
    }

    fn take(&mut self, owner: Owner) -> Option<usize> {
        if self.takeable(owner) == 0 || self.layout.buckets == 0 {
            return None;
        }
        let segments = &mut self.segments[..usize::from(self.layout.segments)];
        let at = segments.iter().position(|segment| segment.owner.is_none())?;
        segments[at] = Segment { owner: Some(owner), ..FREE };
        let len = self.layout.segment_len();
        self.bytes[at * len..][..len].fill(0);
        Some(at)
    }

    /// Puts a fingerprint into a segment, moving others if it has to. `false` if none of so many
    /// moves finds room; then all are as before.
    fn put(&mut self, segment: usize, fingerprint: u32, first: u32) -> bool {
        let second = self.layout.other(fingerprint, first);
        if self.fill_empty(segment, first, fingerprint) || self.fill_empty(segment, second, fingerprint) {
            return true;
        }
        let (mut held, mut at) = (fingerprint, second);
        for kick in 0..MAX_KICKS {
            held = self.exchange(segment, at, slot_to_kick(fingerprint, kick), held);
            at = self.layout.other(held, at);
            if self.fill_empty(segment, at, held) {
                return true;
            }
        }
        // The same way back: which slot was taken follows from the number of the kick.
        for kick in (0..MAX_KICKS).rev() {
            at = self.layout.other(held, at);
            held = self.exchange(segment, at, slot_to_kick(fingerprint, kick), held);
        }
        debug_assert_eq!((held, at), (fingerprint, second));
        false
    }

    fn fill_empty(&mut self, segment: usize, bucket: u32, fingerprint: u32) -> bool {
        let slot = self.slot_of(segment, bucket, 0);
        slot.map(|slot| self.exchange(segment, bucket, slot, fingerprint)).is_some()
    }

    fn slot_of(&self, segment: usize, bucket: u32, fingerprint: u32) -> Option<u32> {
        let is_it = |word: u64| word & self.mask() == u64::from(fingerprint);
        // Two at a time lie in one word, also at the end of the memory.
        (0..SLOTS).step_by(2).find_map(|slot| {
            let (at, shift) = self.word_of(segment, bucket, slot);
            let two = self.word(at) >> shift;
            if is_it(two) { Some(slot) } else { is_it(two >> self.layout.bits).then_some(slot + 1) }
        })
    }

    /// Writes a fingerprint and returns the one that was there.
    fn exchange(&mut self, segment: usize, bucket: u32, slot: u32, fingerprint: u32) -> u32 {
        let (at, shift) = self.word_of(segment, bucket, slot);
        let (word, mask) = (self.word(at), self.mask());
        let changed = word & !(mask << shift) | u64::from(fingerprint) << shift;
        if let Some(bytes) = self.bytes[at..].first_chunk_mut() {
            *bytes = changed.to_le_bytes();
        }
        (word >> shift & mask) as u32
    }

    const fn mask(&self) -> u64 {
        (1 << self.layout.bits) - 1
    }

    /// Eight bytes that a slot lies in, and how far from their low end. They may reach into the
    /// next bucket; at the end of the memory they begin earlier.
    const fn word_of(&self, segment: usize, bucket: u32, slot: u32) -> (usize, u32) {
        let bits = slot * self.layout.bits;
        let byte = segment * self.layout.segment_len()
            + bucket as usize * (self.layout.bits as usize / 2)
            + (bits / 8) as usize;
        let last = self.bytes.len() - size_of::<u64>();
        let early = byte.saturating_sub(last);
        (byte - early, bits % 8 + 8 * early as u32)
    }

    fn word(&self, at: usize) -> u64 {
        self.bytes[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }
}

/// Without a pattern, so that kicks do not go in a circle.
const fn slot_to_kick(fingerprint: u32, kick: u32) -> u32 {
    (fingerprint ^ kick.wrapping_mul(0x9e37_79b1)).wrapping_mul(0x85eb_ca6b) >> 30
}

// The benchmark and the fuzz targets take this file by its path: rustfmt follows it from there too.
#[cfg(test)]
#[path = "replay/tests.rs"]
mod tests;
