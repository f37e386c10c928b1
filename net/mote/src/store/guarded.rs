//! A blocking flash as `sequential_storage` wants it: with futures, which are ready when they are
//! made, and with erases that no power cut leaves half done.

use core::future::{Future, ready};

use embassy_futures::block_on;
use embedded_storage::nor_flash::MultiwriteNorFlash;
use embedded_storage_async::nor_flash as with_futures;
use sequential_storage::Error;

use super::error::{Region, StoreError};
use super::journal::{Journal, flash_failed};
use super::layout::{Layout, word};

/// Below as many cleared bits a page's mark counts as absent; as `sequential_storage` reads it.
const LEAST_MARK: u32 = 4;

pub(super) struct Guarded<'f, F> {
    pub(super) flash: &'f mut F,
    pub(super) layout: &'f Layout,
}

impl<F: MultiwriteNorFlash> with_futures::ErrorType for Guarded<'_, F> {
    type Error = StoreError;
}

impl<F: MultiwriteNorFlash> with_futures::ReadNorFlash for Guarded<'_, F> {
    const READ_SIZE: usize = F::READ_SIZE;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> impl Future<Output = Result<(), StoreError>> {
        ready(self.flash.read(offset, bytes).map_err(flash_failed))
    }

    fn capacity(&self) -> usize {
        self.flash.capacity()
    }
}

impl<F: MultiwriteNorFlash> with_futures::NorFlash for Guarded<'_, F> {
    const WRITE_SIZE: usize = F::WRITE_SIZE;
    const ERASE_SIZE: usize = F::ERASE_SIZE;

    fn erase(&mut self, from: u32, to: u32) -> impl Future<Output = Result<(), StoreError>> {
        ready(self.erase_pages(from, to))
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> impl Future<Output = Result<(), StoreError>> {
        ready(self.flash.write(offset, bytes).map_err(flash_failed))
    }
}

impl<F: MultiwriteNorFlash> with_futures::MultiwriteNorFlash for Guarded<'_, F> {}

impl<F: MultiwriteNorFlash> Guarded<'_, F> {
    fn erase_pages(&mut self, from: u32, to: u32) -> Result<(), StoreError> {
        for page in (from..to).step_by(F::ERASE_SIZE) {
            Journal::new(self.flash, self.layout).erase_page(page)?;
        }
        Ok(())
    }

    /// Erases pages that are marked as unused and hold something nevertheless: what another program
    /// left there would be written into.
    pub(super) fn clear_unused(&mut self, from: u32, to: u32) -> Result<(), StoreError> {
        let page_len = F::ERASE_SIZE as u32;
        for page in (from..to).step_by(F::ERASE_SIZE) {
            let last = page + page_len - F::READ_SIZE as u32;
            if !self.is_marked(page)? && !self.is_marked(last)? && !self.is_blank(page, page + page_len)? {
                self.erase_pages(page, page + page_len)?;
            }
        }
        Ok(())
    }

    fn is_marked(&mut self, at: u32) -> Result<bool, StoreError> {
        let mut mark = [0xff; super::layout::MAX_WORD];
        let mark = &mut mark[..F::READ_SIZE];
        self.flash.read(at, mark).map_err(flash_failed)?;
        Ok(mark.iter().map(|byte| byte.count_zeros()).sum::<u32>() >= LEAST_MARK)
    }

    fn is_blank(&mut self, from: u32, to: u32) -> Result<bool, StoreError> {
        let mut place = [0; super::layout::MAX_WORD];
        let place = &mut place[..word::<F>()];
        for at in (from..to).step_by(place.len()) {
            self.flash.read(at, place).map_err(flash_failed)?;
            if place.iter().any(|byte| *byte != 0xff) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Runs what never waits, and says which region it was about.
pub(super) fn run<T>(
    region: Region,
    work: impl Future<Output = Result<T, Error<StoreError>>>,
) -> Result<T, StoreError> {
    block_on(work).map_err(|error| match error {
        Error::Storage { value, .. } => value,
        Error::FullStorage => StoreError::Full(region),
        // A buffer is too small only for a length that nothing here writes.
        _ => StoreError::Corrupted(region),
    })
}
