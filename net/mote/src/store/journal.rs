//! The record of what may never be lost, repeated or left behind.
//!
//! Two pages hold one record at a time. It is replaced as a whole: the next one is written into the
//! next slot, read back, and then the one before is overwritten with zeros, which NOR flash can do
//! without an erase. So a power cut leaves the earlier record or the later one, and a seed that was
//! replaced is gone when the call returns.
//!
//! ```text
//!  0          4            8         12              16             20      24     56      60
//!  ├──────────┼────────────┼─────────┼───────────────┼──────────────┼───────┼──────┼───────┼─ ··· ┬──────┐
//!  │ "mj" 1 f │ generation │ erasing │ sequence end  │ newest epoch │ epoch │ seed │ CRC   │      │ done │
//!  └──────────┴────────────┴─────────┴───────────────┴──────────────┴───────┴──────┴───────┴─ ··· ┴──────┘
//! ```
//!
//! Little-endian; `f` has bit 0 where there is a seed and bit 1 where there is a newest epoch.
//! `done` is a word of the flash of its own.
//!
//! `erasing` is the address of a page about to be erased. A page whose erase was cut short holds
//! anything (`embedded_storage` promises no more), perhaps what looks like valid data; so it is
//! written down before, and the erase is repeated by whoever finds the record before `done`.

use crc::{CRC_32_ISCSI, Crc, NoTable};
use embedded_storage::nor_flash::{MultiwriteNorFlash, NorFlashError};
use motemix_crypto::Secret;
use motemix_directory::{Epoch, KeyRatchet};

use super::error::{Region, StoreError};
use super::layout::{Layout, MAX_WORD, word};

pub(super) const CRC: Crc<u32, NoTable> = Crc::<u32, NoTable>::new(&CRC_32_ISCSI);

const MAGIC: [u8; 3] = [b'm', b'j', 1];
const HAS_SEED: u8 = 1;
const HAS_NEWEST: u8 = 2;
const NO_PAGE: u32 = u32::MAX;
const CRC_AT: usize = 60;
const RECORD_LEN: usize = 64;
const MAX_SLOT: usize = RECORD_LEN + MAX_WORD;
/// Two pages take turns.
pub(super) const PAGES: u32 = 2;

/// Aligned, because some flash controllers copy from memory by words.
#[repr(align(4))]
struct Slot(Secret<MAX_SLOT>);

/// What the record says.
#[derive(Debug)]
pub(super) struct Record {
    generation: u32,
    erasing: Option<u32>,
    /// All sequence numbers below this one may have been used.
    pub(super) sequence_end: u32,
    pub(super) newest_epoch: Option<Epoch>,
    pub(super) ratchet: Option<KeyRatchet>,
}

impl Record {
    const EMPTY: Self =
        Self { generation: 0, erasing: None, sequence_end: 0, newest_epoch: None, ratchet: None };

    fn emit(&self, out: &mut [u8; RECORD_LEN]) {
        let flags = if self.ratchet.is_some() { HAS_SEED } else { 0 }
            | if self.newest_epoch.is_some() { HAS_NEWEST } else { 0 };
        let word = |number: u32| number.to_le_bytes();
        out[..3].copy_from_slice(&MAGIC);
        out[3] = flags;
        out[4..8].copy_from_slice(&word(self.generation));
        out[8..12].copy_from_slice(&word(self.erasing.unwrap_or(NO_PAGE)));
        out[12..16].copy_from_slice(&word(self.sequence_end));
        out[16..20].copy_from_slice(&word(self.newest_epoch.map_or(0, |epoch| epoch.0)));
        out[20..24].copy_from_slice(&word(self.ratchet.as_ref().map_or(0, |ratchet| ratchet.epoch().0)));
        match &self.ratchet {
            Some(ratchet) => out[24..56].copy_from_slice(ratchet.expose_seed()),
            None => out[24..56].fill(0),
        }
        out[56..CRC_AT].fill(0);
        let sum = CRC.checksum(&out[..CRC_AT]);
        out[CRC_AT..].copy_from_slice(&word(sum));
    }

    fn parse(bytes: &[u8; RECORD_LEN]) -> Option<Self> {
        let generation = generation(bytes)?;
        let word = |at: usize| bytes[at..].first_chunk().map(|number| u32::from_le_bytes(*number));
        let flags = bytes[3];
        let seed = (flags & HAS_SEED != 0).then(|| bytes[24..].first_chunk()).flatten();
        let ratchet = match seed {
            Some(seed) => Some(KeyRatchet::new(Epoch(word(20)?), Secret::new(*seed))),
            None => None,
        };
        Some(Self {
            generation,
            erasing: Some(word(8)?).filter(|page| *page != NO_PAGE),
            sequence_end: word(12)?,
            newest_epoch: if flags & HAS_NEWEST == 0 { None } else { Some(Epoch(word(16)?)) },
            ratchet,
        })
    }
}

/// The generation of an intact record.
fn generation(bytes: &[u8; RECORD_LEN]) -> Option<u32> {
    let number = bytes[4..].first_chunk().map(|number| u32::from_le_bytes(*number));
    number.filter(|_| bytes[..3] == MAGIC && is_intact(bytes))
}

fn is_intact(bytes: &[u8; RECORD_LEN]) -> bool {
    let (content, sum) = bytes.split_at(CRC_AT);
    CRC.checksum(content).to_le_bytes() == *sum
}

/// Puts one flipped bit right: the seed has no second copy to fall back on. At this length any two
/// records differ in six bits at least (Castagnoli's polynomial), so none is taken for another.
fn correct_one_bit(bytes: &mut [u8; RECORD_LEN]) {
    if is_filled(bytes, 0) || is_filled(bytes, 0xff) {
        return;
    }
    for at in 0..RECORD_LEN * 8 {
        let mask = 1 << (at % 8);
        bytes[at / 8] ^= mask;
        if is_intact(bytes) {
            return;
        }
        bytes[at / 8] ^= mask;
    }
}

/// Where the record is, and what it says.
struct Found {
    at: u32,
    record: Record,
}

/// The two pages, for as long as one call takes: nothing of them is kept in memory.
pub(super) struct Journal<'f, F> {
    flash: &'f mut F,
    layout: &'f Layout,
    start: u32,
    /// What was read last or is being written: one for all, because stacks are small.
    slot: Slot,
}

impl<'f, F: MultiwriteNorFlash> Journal<'f, F> {
    const RECORD_PLACE: u32 = RECORD_LEN.next_multiple_of(word::<F>()) as u32;
    const SLOT: u32 = Self::RECORD_PLACE + word::<F>() as u32;
    const SLOTS: u32 = F::ERASE_SIZE as u32 / Self::SLOT;

    pub(super) fn new(flash: &'f mut F, layout: &'f Layout) -> Self {
        Self { flash, layout, start: layout.settings.start, slot: Slot(Secret::zero()) }
    }

    /// Finds the record and removes what a power cut left: earlier records, torn ones, a page half
    /// erased. Flash that was never used gets its first record.
    pub(super) fn repair(&mut self) -> Result<Record, StoreError> {
        if let Some(at) = self.find(false)? {
            self.wipe_all_but(at)?;
            let found = self.found(at, false)?;
            self.finish_erase(&found)?;
            return Ok(found.record);
        }
        let Some(at) = self.find(true)? else {
            self.begin()?;
            return Ok(Record::EMPTY);
        };
        let mut found = self.found(at, true)?;
        self.finish_erase(&found)?;
        found.record.erasing = None;
        self.replace(found.at, &mut found.record)?;
        Ok(found.record)
    }

    pub(super) fn read(&mut self) -> Result<Record, StoreError> {
        Ok(self.expect()?.record)
    }

    /// Replaces the record. When this returns, the earlier one cannot be read any more.
    pub(super) fn change(&mut self, change: impl FnOnce(&mut Record)) -> Result<(), StoreError> {
        let found = self.expect()?;
        self.finish_erase(&found)?;
        let mut next = found.record;
        next.erasing = None;
        change(&mut next);
        self.replace(found.at, &mut next)
    }

    /// Erases a page of another region, so that no power cut leaves it half erased.
    pub(super) fn erase_page(&mut self, page: u32) -> Result<(), StoreError> {
        let found = self.expect()?;
        // One that failed: two pages cannot be under way.
        self.finish_erase(&found)?;
        let mut next = found.record;
        next.erasing = Some(page);
        self.replace(found.at, &mut next)?;
        drop(next);
        let found = self.expect()?;
        self.finish_erase(&found)
    }

    fn finish_erase(&mut self, found: &Found) -> Result<(), StoreError> {
        // A page outside the layout was written down under another layout, and may be anything now.
        let Some(page) = found.record.erasing.filter(|page| self.layout.has_page::<F>(*page)) else {
            return Ok(());
        };
        let done = found.at + Self::RECORD_PLACE;
        let place = &mut self.slot.0.expose_mut()[..word::<F>()];
        self.flash.read(done, place).map_err(flash_failed)?;
        // Its first bit was cleared after the erase, so any cleared bit says that the erase was
        // complete.
        if place.iter().any(|byte| *byte != 0xff) {
            return Ok(());
        }
        self.flash.erase(page, page + F::ERASE_SIZE as u32).map_err(flash_failed)?;
        place.fill(0);
        self.flash.write(done, place).map_err(flash_failed)
    }

    /// Overwrites all records with zeros, before the store is erased.
    pub(super) fn wipe_all(&mut self) -> Result<(), StoreError> {
        self.wipe_all_but(NO_PAGE)
    }

    fn expect(&mut self) -> Result<Found, StoreError> {
        let at = self.find(false)?.ok_or(StoreError::Corrupted(Region::Journal))?;
        self.found(at, false)
    }

    fn replace(&mut self, old: u32, next: &mut Record) -> Result<(), StoreError> {
        next.generation = next.generation.wrapping_add(1);
        let at = self.free_slot_after(old)?;
        self.write(at, next)?;
        self.wipe(old)
    }

    fn write(&mut self, at: u32, record: &Record) -> Result<(), StoreError> {
        let place = &mut self.slot.0.expose_mut()[..Self::RECORD_PLACE as usize];
        place.fill(0);
        if let Some(bytes) = place.first_chunk_mut() {
            record.emit(bytes);
        }
        self.flash.write(at, place).map_err(flash_failed)?;
        let sum = CRC.checksum(place);
        self.flash.read(at, place).map_err(flash_failed)?;
        if CRC.checksum(place) == sum { Ok(()) } else { Err(StoreError::NotWritten) }
    }

    fn wipe(&mut self, at: u32) -> Result<(), StoreError> {
        let place = &mut self.slot.0.expose_mut()[..Self::SLOT as usize];
        place.fill(0);
        self.flash.write(at, place).map_err(flash_failed)
    }

    fn wipe_all_but(&mut self, kept: u32) -> Result<(), StoreError> {
        for at in self.slots() {
            let content = self.load(at)?;
            let (blank, zero) = (is_filled(content, 0xff), is_filled(content, 0));
            if at != kept && !blank && !zero {
                self.wipe(at)?;
            }
        }
        Ok(())
    }

    /// The slot after `old`, or the first of the other page, which is erased for it.
    fn free_slot_after(&mut self, old: u32) -> Result<u32, StoreError> {
        let page_len = F::ERASE_SIZE as u32;
        let page = old - (old - self.start) % page_len;
        let mut at = old + Self::SLOT;
        while at + Self::SLOT <= page + page_len {
            if is_filled(self.load(at)?, 0xff) {
                return Ok(at);
            }
            at += Self::SLOT;
        }
        let other = if page == self.start { page + page_len } else { self.start };
        self.flash.erase(other, other + page_len).map_err(flash_failed)?;
        Ok(other)
    }

    /// Writes the first record of all, if nothing else can have been here.
    fn begin(&mut self) -> Result<(), StoreError> {
        for at in self.slots().skip(1) {
            if !is_filled(self.load(at)?, 0xff) {
                return Err(StoreError::Corrupted(Region::Journal));
            }
        }
        // A power cut in here leaves some bits of the first record: the others can still be
        // cleared.
        let mut first = [0; RECORD_LEN];
        Record::EMPTY.emit(&mut first);
        let content = self.load(self.start)?;
        if content.iter().zip(first).any(|(byte, wanted)| byte & wanted != wanted) {
            return Err(StoreError::Corrupted(Region::Journal));
        }
        self.write(self.start, &Record::EMPTY)
    }

    /// Where the record of the latest generation is; `repaired` says whether one flipped bit is put
    /// right.
    fn find(&mut self, repaired: bool) -> Result<Option<u32>, StoreError> {
        let mut newest = None;
        for at in self.slots() {
            let Some(generation) = generation(self.load_record(at, repaired)?) else { continue };
            if newest.is_none_or(|(_, newest)| newest < generation) {
                newest = Some((at, generation));
            }
        }
        Ok(newest.map(|(at, _)| at))
    }

    /// The record at a place where [`find`](Self::find) found one.
    fn found(&mut self, at: u32, repaired: bool) -> Result<Found, StoreError> {
        let record = Record::parse(self.load_record(at, repaired)?);
        Ok(Found { at, record: record.ok_or(StoreError::Corrupted(Region::Journal))? })
    }

    fn load_record(&mut self, at: u32, repaired: bool) -> Result<&[u8; RECORD_LEN], StoreError> {
        self.load(at)?;
        let bytes = self.slot.0.expose_mut().first_chunk_mut();
        let bytes = bytes.ok_or(StoreError::Corrupted(Region::Journal))?;
        if repaired && !is_intact(bytes) {
            correct_one_bit(bytes);
        }
        Ok(bytes)
    }

    fn slots(&self) -> impl Iterator<Item = u32> + use<F> {
        let start = self.start;
        (0..PAGES).flat_map(move |page| {
            let page = start + page * F::ERASE_SIZE as u32;
            (0..Self::SLOTS).map(move |slot| page + slot * Self::SLOT)
        })
    }

    fn load(&mut self, at: u32) -> Result<&[u8], StoreError> {
        let place = &mut self.slot.0.expose_mut()[..Self::SLOT as usize];
        self.flash.read(at, place).map_err(flash_failed)?;
        Ok(place)
    }
}

fn is_filled(bytes: &[u8], with: u8) -> bool {
    bytes.iter().all(|byte| *byte == with)
}

#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` calls")]
pub(super) fn flash_failed<E: NorFlashError>(error: E) -> StoreError {
    StoreError::Flash(error.kind())
}
