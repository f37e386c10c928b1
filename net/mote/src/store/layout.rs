//! Which pages of the flash hold what.

use core::ops::Range;

use embedded_storage::nor_flash::NorFlash;

use super::error::{LayoutProblem, StoreError};
use super::journal;

/// The longest word of a flash that the store works with, in bytes.
pub(super) const MAX_WORD: usize = 32;
/// Two words that mark a page, eight bytes before each item, and the longest item have to fit.
const LEAST_PAGE: u32 = 512;

/// What is read and written at once, in bytes.
pub(super) const fn word<F: NorFlash>() -> usize {
    if F::WRITE_SIZE > F::READ_SIZE { F::WRITE_SIZE } else { F::READ_SIZE }
}

/// Addresses in the flash, as whole pages (`NorFlash::ERASE_SIZE`).
///
/// Firmware that comes later must find the same ranges, or format the store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Four pages or more. Two are the journal's; those after them decide how long a network
    /// document may be, see [`Store::document_capacity`](super::Store::document_capacity).
    pub settings: Range<u32>,
    /// Two pages or more, each of one epoch; a packet that was admitted takes a word of four bytes.
    /// A page is free again when its epoch is forgotten.
    pub tags: Range<u32>,
    /// Two pages or more, all but one of them sure to be usable; a message takes 12 bytes more than
    /// its data, rounded up to words.
    pub messages: Range<u32>,
    /// Own readings that have not been acknowledged: two pages or more, or none where there are no
    /// readings.
    pub readings: Range<u32>,
    /// Devices whose readings this mote checks: two pages or more, or none where it checks none.
    pub devices: Range<u32>,
}

impl Layout {
    /// The first two pages of the settings.
    pub(super) fn journal<F: NorFlash>(&self) -> Range<u32> {
        self.settings.start..self.settings.start + journal::PAGES * F::ERASE_SIZE as u32
    }

    /// The pages of the settings after the journal's.
    pub(super) fn map<F: NorFlash>(&self) -> Range<u32> {
        self.journal::<F>().end..self.settings.end
    }

    /// Whether a page is one of those that are erased while the store is open.
    pub(super) fn has_page<F: NorFlash>(&self, page: u32) -> bool {
        page.is_multiple_of(F::ERASE_SIZE as u32)
            && [&self.map::<F>(), &self.tags, &self.messages, &self.readings, &self.devices]
                .iter()
                .any(|range| range.contains(&page))
    }

    pub(super) fn check<F: NorFlash>(&self, flash: &F) -> Result<(), StoreError> {
        let page_len = F::ERASE_SIZE as u32;
        let word = word::<F>();
        let words_fit = word > 0 && MAX_WORD.is_multiple_of(word);
        let words_nest = words_fit && word.is_multiple_of(F::READ_SIZE) && word.is_multiple_of(F::WRITE_SIZE);
        if !words_nest || page_len < LEAST_PAGE || !F::ERASE_SIZE.is_multiple_of(word) {
            return Err(StoreError::Layout(LayoutProblem::Flash));
        }
        let or_none = |range: &Range<u32>| if range.is_empty() { 0 } else { 2 };
        let ranges = [
            (&self.settings, 4),
            (&self.tags, 2),
            (&self.messages, 2),
            (&self.readings, or_none(&self.readings)),
            (&self.devices, or_none(&self.devices)),
        ];
        for (index, (range, pages)) in ranges.into_iter().enumerate() {
            let aligned = range.start.is_multiple_of(page_len) && range.end.is_multiple_of(page_len);
            if !aligned || range.end as usize > flash.capacity() {
                return Err(StoreError::Layout(LayoutProblem::Alignment));
            }
            if range.end.saturating_sub(range.start) / page_len < pages {
                return Err(StoreError::Layout(LayoutProblem::TooSmall));
            }
            let others = &ranges[index + 1..];
            if others.iter().any(|(other, _)| range.start < other.end && other.start < range.end) {
                return Err(StoreError::Layout(LayoutProblem::Overlap));
            }
        }
        Ok(())
    }
}
