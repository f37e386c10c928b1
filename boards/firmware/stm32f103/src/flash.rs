//! The store: the last 94 pages of 2 KiB. A half-word of this flash is written once, or to zero
//! (PM0075, 2.3.3), and [`WriteOnce`] keeps to that. While a page is erased, up to 40 ms, the core
//! stands still.

use embedded_storage::nor_flash::{
    ErrorType, NorFlash, NorFlashErrorKind, ReadNorFlash, check_erase, check_read, check_write,
};
use motemix_mote::store::Layout;
use motemix_write_once::WriteOnce;
use stm32f1xx_hal::flash::{Error, FlashSize, Parts, SectorSize};

pub(crate) type Store = WriteOnce<Pages>;

const PAGE: u32 = crate::LIMITS.flash.page;
const CAPACITY: u32 = 512 * 1024;
/// Behind what `memory.x` gives to the program.
const START: u32 = CAPACITY - crate::LIMITS.flash.len();

pub(crate) const LAYOUT: Layout = crate::LIMITS.flash.layout(START);

const _: () = assert!(crate::LIMITS.flash.len() == 188 * 1024, "memory.x gives it the rest");

/// The flash, of which only the store is written.
pub(crate) struct Pages(pub(crate) Parts);

/// What the library says of a failure.
fn kind(error: Error) -> NorFlashErrorKind {
    match error {
        Error::AddressLargerThanFlash | Error::LengthTooLong => NorFlashErrorKind::OutOfBounds,
        Error::AddressMisaligned | Error::LengthNotMultiple2 => NorFlashErrorKind::NotAligned,
        _ => NorFlashErrorKind::Other,
    }
}

/// The program is no place for anybody to write.
fn is_store(from: u32) -> Result<(), NorFlashErrorKind> {
    if from < START { Err(NorFlashErrorKind::OutOfBounds) } else { Ok(()) }
}

impl ErrorType for Pages {
    type Error = NorFlashErrorKind;
}

impl ReadNorFlash for Pages {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, out: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        check_read(self, offset, out.len())?;
        let flash = self.0.writer(SectorSize::Sz2K, FlashSize::Sz512K);
        // The library reads from even addresses only.
        let odd = offset % 2;
        let bytes = flash.read(offset - odd, out.len() + odd as usize).map_err(kind)?;
        out.copy_from_slice(bytes.get(odd as usize..).unwrap_or_default());
        Ok(())
    }

    fn capacity(&self) -> usize {
        CAPACITY as usize
    }
}

impl NorFlash for Pages {
    const WRITE_SIZE: usize = 2;
    const ERASE_SIZE: usize = PAGE as usize;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), NorFlashErrorKind> {
        check_erase(self, from, to)?;
        is_store(from)?;
        let mut flash = self.0.writer(SectorSize::Sz2K, FlashSize::Sz512K);
        flash.erase(from, (to - from) as usize).map_err(kind)
    }

    /// The library reads every half-word back.
    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NorFlashErrorKind> {
        check_write(self, offset, bytes.len())?;
        is_store(offset)?;
        let mut flash = self.0.writer(SectorSize::Sz2K, FlashSize::Sz512K);
        flash.write(offset, bytes).map_err(kind)
    }
}
