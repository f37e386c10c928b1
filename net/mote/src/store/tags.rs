//! What the replay filter admitted, one word a packet.
//!
//! Each page belongs to one epoch, and begins with a header; behind it words are appended.
//!
//! ```text
//!  0          4       8          12    16       20
//!  ├──────────┼───────┼──────────┼─────┼────────┼────────┼─ ···
//!  │ "mt" 1 0 │ epoch │ sequence │ CRC │ digest │ digest │
//!  └──────────┴───────┴──────────┴─────┴────────┴────────┴─ ···
//!                    digest: │ place 12 │ fingerprint 16 │ check 4 │
//! ```
//!
//! Little-endian. A page is erased when it is taken into use, and not before: a page whose erase
//! was cut short has no header, so it is erased again. Pages are taken in turn, so that all wear
//! alike. A page is forgotten by overwriting its header with zeros, and no word is written twice.
//!
//! A digest has 32 bits, sixteen of which name a bucket. Filters of boards have at most 4,096
//! buckets a segment, as a power of two, so that twelve of the sixteen say all; the other four bits
//! are a check, which each flipped bit changes. A word whose check is wrong stands for each digest
//! that it was one flipped bit ago: a few packets too many are refused, and none that was admitted
//! passes again.

use embedded_storage::nor_flash::MultiwriteNorFlash;
use motemix_directory::Epoch;

use super::error::{Region, StoreError};
use super::journal::{CRC, flash_failed};
use super::layout::{Layout, MAX_WORD, word};

const MAGIC: [u8; 4] = *b"mt\x01\x00";
const HEADER_LEN: usize = 16;
const ENTRY_LEN: usize = 4;

/// Where the next word of an epoch goes.
#[derive(Clone, Copy)]
struct Open {
    epoch: Epoch,
    page: u32,
    /// In the page.
    at: u32,
}

/// What is kept in memory of the region.
pub(super) struct Cursor {
    /// Two epochs are open at a time.
    open: [Option<Open>; 2],
    /// The page that was taken into use last, and its number.
    last: Option<(u32, u32)>,
}

impl Cursor {
    pub(super) const fn new() -> Self {
        Self { open: [None; 2], last: None }
    }
}

/// What a page's header says.
#[derive(Clone, Copy)]
struct Header {
    epoch: Epoch,
    sequence: u32,
}

/// Aligned, because some flash controllers copy from memory by words.
#[repr(align(4))]
struct Word([u8; MAX_WORD]);

/// The region, for as long as one call takes.
pub(super) struct Tags<'f, F> {
    flash: &'f mut F,
    layout: &'f Layout,
    cursor: &'f mut Cursor,
}

impl<'f, F: MultiwriteNorFlash> Tags<'f, F> {
    const PAGE: u32 = F::ERASE_SIZE as u32;
    const HEADER: u32 = HEADER_LEN.next_multiple_of(word::<F>()) as u32;
    const ENTRY: u32 = ENTRY_LEN.next_multiple_of(word::<F>()) as u32;

    pub(super) const fn new(flash: &'f mut F, layout: &'f Layout, cursor: &'f mut Cursor) -> Self {
        Self { flash, layout, cursor }
    }

    /// Writes a digest of four bytes down: one word of the flash, or as many as four bytes take.
    pub(super) fn keep(&mut self, epoch: Epoch, digest: u32) -> Result<(), StoreError> {
        let index = self.open(epoch)?;
        let Some(open) = self.cursor.open.get_mut(index).and_then(Option::as_mut) else {
            return Err(StoreError::Full(Region::Tags));
        };
        let at = open.page + open.at;
        // Passed even if the write fails: the word may be half written.
        open.at += Self::ENTRY;
        let code = encode(digest).to_le_bytes();
        let mut entry = Word([0; MAX_WORD]);
        entry.0[..ENTRY_LEN].copy_from_slice(&code);
        self.flash.write(at, &entry.0[..Self::ENTRY as usize]).map_err(flash_failed)?;
        let written = self.read(at, Self::ENTRY)?;
        if written.0[..ENTRY_LEN] == code { Ok(()) } else { Err(StoreError::NotWritten) }
    }

    /// Visits the digests of an epoch in the order in which they were kept.
    pub(super) fn each(&mut self, epoch: Epoch, mut visit: impl FnMut(u32)) -> Result<(), StoreError> {
        let mut after = None;
        while let Some((page, sequence)) = self.next_page_of(epoch, after)? {
            let end = self.end_of(page)?;
            for at in (Self::HEADER..end).step_by(Self::ENTRY as usize) {
                let word = self.read(page + at, Self::ENTRY)?;
                if let Some(code) =
                    word.0.first_chunk().filter(|_| !is_blank(&word.0[..Self::ENTRY as usize]))
                {
                    decode(u32::from_le_bytes(*code), &mut visit);
                }
            }
            after = Some(sequence);
        }
        Ok(())
    }

    /// Forgets the digests of all epochs before `epoch`.
    pub(super) fn forget_before(&mut self, epoch: Epoch) -> Result<(), StoreError> {
        for open in &mut self.cursor.open {
            *open = open.filter(|open| open.epoch >= epoch);
        }
        for page in self.pages() {
            if self.header(page)?.is_some_and(|header| header.epoch < epoch) {
                // Its place in the turn is kept in memory, or lost with the power; then the turn
                // begins anew.
                let zeros = Word([0; MAX_WORD]);
                self.flash.write(page, &zeros.0[..Self::HEADER as usize]).map_err(flash_failed)?;
            }
        }
        Ok(())
    }

    /// The place in the cursor of an epoch's page that has room.
    fn open(&mut self, epoch: Epoch) -> Result<usize, StoreError> {
        let is_ours = |open: &Option<Open>| open.is_some_and(|open| open.epoch == epoch);
        let index = if let Some(index) = self.cursor.open.iter().position(is_ours) {
            index
        } else {
            // The earlier of the two gives way; if it comes again, it is looked for again.
            let ages = self.cursor.open.map(|open| open.map(|open| open.epoch));
            let index = usize::from(ages[1] < ages[0]);
            self.cursor.open[index] = self.find_open(epoch)?;
            index
        };
        let has_room = |open: &Open| open.at + Self::ENTRY <= Self::PAGE;
        if !self.cursor.open[index].as_ref().is_some_and(has_room) {
            self.cursor.open[index] = Some(self.take_page(epoch)?);
        }
        Ok(index)
    }

    /// The page of an epoch that was written last.
    fn find_open(&mut self, epoch: Epoch) -> Result<Option<Open>, StoreError> {
        let mut newest = None;
        while let Some(found) = self.next_page_of(epoch, newest.map(|(_, sequence)| sequence))? {
            newest = Some(found);
        }
        let Some((page, _)) = newest else { return Ok(None) };
        Ok(Some(Open { epoch, page, at: self.end_of(page)? }))
    }

    /// Erases the next page in turn that is of no epoch, and makes it one of this.
    fn take_page(&mut self, epoch: Epoch) -> Result<Open, StoreError> {
        let (last, sequence) = self.last()?.unwrap_or((self.layout.tags.end - Self::PAGE, 0));
        let count = (self.layout.tags.end - self.layout.tags.start) / Self::PAGE;
        let mut page = last;
        for _ in 0..count {
            page += Self::PAGE;
            if page >= self.layout.tags.end {
                page = self.layout.tags.start;
            }
            if self.header(page)?.is_some() {
                continue;
            }
            self.flash.erase(page, page + Self::PAGE).map_err(flash_failed)?;
            let sequence = sequence.wrapping_add(1);
            self.cursor.last = Some((page, sequence));
            let mut header = Word([0; MAX_WORD]);
            if let Some(bytes) = header.0.first_chunk_mut() {
                *bytes = (Header { epoch, sequence }).emit();
            }
            self.flash.write(page, &header.0[..Self::HEADER as usize]).map_err(flash_failed)?;
            if self.header(page)?.is_none() {
                return Err(StoreError::NotWritten);
            }
            return Ok(Open { epoch, page, at: Self::HEADER });
        }
        Err(StoreError::Full(Region::Tags))
    }

    /// The page that was taken into use last, of those that have a header.
    fn last(&mut self) -> Result<Option<(u32, u32)>, StoreError> {
        if self.cursor.last.is_none() {
            for page in self.pages() {
                let Some(Header { sequence, .. }) = self.header(page)? else { continue };
                if self.cursor.last.is_none_or(|(_, newest)| newest < sequence) {
                    self.cursor.last = Some((page, sequence));
                }
            }
        }
        Ok(self.cursor.last)
    }

    /// The page of an epoch with the least sequence number above `after`.
    fn next_page_of(&mut self, epoch: Epoch, after: Option<u32>) -> Result<Option<(u32, u32)>, StoreError> {
        let mut next: Option<(u32, u32)> = None;
        for page in self.pages() {
            let Some(header) = self.header(page)?.filter(|header| header.epoch == epoch) else { continue };
            let is_later = after.is_none_or(|after| header.sequence > after);
            if is_later && next.is_none_or(|(_, least)| header.sequence < least) {
                next = Some((page, header.sequence));
            }
        }
        Ok(next)
    }

    /// Where the page is blank from.
    fn end_of(&mut self, page: u32) -> Result<u32, StoreError> {
        let mut end = Self::HEADER + (Self::PAGE - Self::HEADER) / Self::ENTRY * Self::ENTRY;
        while end > Self::HEADER {
            let word = self.read(page + end - Self::ENTRY, Self::ENTRY)?;
            if !is_blank(&word.0[..Self::ENTRY as usize]) {
                break;
            }
            end -= Self::ENTRY;
        }
        Ok(end)
    }

    fn header(&mut self, page: u32) -> Result<Option<Header>, StoreError> {
        let mut bytes = self.read(page, Self::HEADER)?;
        Ok(bytes.0.first_chunk_mut().and_then(Header::parse))
    }

    fn pages(&self) -> impl Iterator<Item = u32> + use<F> {
        self.layout.tags.clone().step_by(F::ERASE_SIZE)
    }

    fn read(&mut self, at: u32, len: u32) -> Result<Word, StoreError> {
        let mut word = Word([0xff; MAX_WORD]);
        self.flash.read(at, &mut word.0[..len as usize]).map_err(flash_failed)?;
        Ok(word)
    }
}

impl Header {
    fn emit(self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..8].copy_from_slice(&self.epoch.0.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.sequence.to_le_bytes());
        let sum = CRC.checksum(&bytes[..12]);
        bytes[12..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// `None` if there is none. One flipped bit is put right: all digests of the page depend on it.
    fn parse(bytes: &mut [u8; HEADER_LEN]) -> Option<Self> {
        if is_blank(bytes) || bytes.iter().all(|byte| *byte == 0) {
            return None;
        }
        if let Some(header) = Self::parse_whole(bytes) {
            return Some(header);
        }
        for bit in 0..HEADER_LEN * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            if let Some(header) = Self::parse_whole(bytes) {
                return Some(header);
            }
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        None
    }

    fn parse_whole(bytes: &[u8; HEADER_LEN]) -> Option<Self> {
        let word = |at: usize| bytes[at..].first_chunk().map(|number| u32::from_le_bytes(*number));
        let is_sound = bytes[..4] == MAGIC && word(12) == Some(CRC.checksum(&bytes[..12]));
        is_sound.then_some(Self { epoch: Epoch(word(4)?), sequence: word(8)? })
    }
}

fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0xff)
}

/// What each bit of a word adds to its check. Bits of the check itself add one bit; the others take
/// the ten numbers that are neither those nor [`BLANK`].
const fn syndrome_of(bit: u32) -> u32 {
    const OF_DATA: [u32; 10] = [3, 5, 6, 7, 9, 10, 11, 12, 13, 14];
    if bit < 4 { 1 << bit } else { OF_DATA[(bit as usize - 4) % OF_DATA.len()] }
}

/// The syndrome of a word that is all ones. No bit has it, so no digest is one flipped bit away
/// from a blank word.
const BLANK: u32 = 15;

/// Zero for a word that is as it was written.
const fn syndrome(word: u32) -> u32 {
    let mut sum = offset();
    let mut bit = 0;
    while bit < 32 {
        if word >> bit & 1 == 1 {
            sum ^= syndrome_of(bit);
        }
        bit += 1;
    }
    sum
}

/// So that the syndrome of all ones is [`BLANK`].
const fn offset() -> u32 {
    let mut sum = BLANK;
    let mut bit = 0;
    while bit < 32 {
        sum ^= syndrome_of(bit);
        bit += 1;
    }
    sum
}

/// A digest of four bytes as a word.
fn encode(digest: u32) -> u32 {
    let data = (digest >> 20) << 20 | (digest & 0xffff) << 4;
    data | syndrome(data)
}

/// Visits the digest that a word stands for; of one whose check is wrong, all that it may have been
/// one flipped bit ago.
fn decode(word: u32, visit: &mut impl FnMut(u32)) {
    let digest = |word: u32| (word >> 20) << 20 | (word >> 4) & 0xffff;
    let sum = syndrome(word);
    if sum == 0 {
        return visit(digest(word));
    }
    for bit in (0..32).filter(|bit| syndrome_of(*bit) == sum) {
        visit(digest(word ^ 1 << bit));
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    fn decoded(word: u32) -> Vec<u32> {
        let mut digests = Vec::new();
        decode(word, &mut |digest| digests.push(digest));
        digests
    }

    #[test]
    fn any_flipped_bit_leaves_the_digest_among_a_few() {
        for seed in 0..2000_u32 {
            let digest = seed.wrapping_mul(0x9e37_79b9) & 0xfff0_ffff;
            let word = encode(digest);
            assert_eq!(decoded(word), [digest]);
            for bit in 0..32 {
                let flipped = word ^ 1 << bit;
                assert_ne!(flipped, u32::MAX, "taken for a blank word");
                let digests = decoded(flipped);
                assert!(
                    digests.contains(&digest) && digests.len() <= 4,
                    "{digest:08x} {bit}: {digests:08x?}"
                );
            }
        }
    }

    #[test]
    fn no_digest_is_a_blank_word() {
        assert_eq!(syndrome(u32::MAX), BLANK);
        assert_ne!(encode(u32::MAX), u32::MAX);
    }
}
