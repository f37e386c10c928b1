//! A flash that is memory of the caller: for a simulator, which has many motes.

use embedded_storage::nor_flash::{
    ErrorType, MultiwriteNorFlash, NorFlash, NorFlashErrorKind, ReadNorFlash, check_erase, check_read,
    check_write,
};

/// Bytes that behave like NOR flash with pages of `PAGE` bytes and words of four: erased bytes are
/// 0xff, and writing only clears bits.
pub struct MemoryFlash<M, const PAGE: usize>(M);

impl<M: AsRef<[u8]> + AsMut<[u8]>, const PAGE: usize> MemoryFlash<M, PAGE> {
    /// Erases all of it.
    pub fn erased(mut memory: M) -> Self {
        memory.as_mut().fill(0xff);
        Self(memory)
    }
}

impl<M, const PAGE: usize> ErrorType for MemoryFlash<M, PAGE> {
    type Error = NorFlashErrorKind;
}

impl<M: AsRef<[u8]>, const PAGE: usize> ReadNorFlash for MemoryFlash<M, PAGE> {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        check_read(self, offset, bytes.len())?;
        let here = self.0.as_ref().get(offset as usize..).and_then(|rest| rest.get(..bytes.len()));
        bytes.copy_from_slice(here.ok_or(NorFlashErrorKind::OutOfBounds)?);
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.0.as_ref().len()
    }
}

impl<M: AsRef<[u8]> + AsMut<[u8]>, const PAGE: usize> NorFlash for MemoryFlash<M, PAGE> {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = PAGE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), NorFlashErrorKind> {
        check_erase(self, from, to)?;
        let here = self.0.as_mut().get_mut(from as usize..to as usize);
        here.ok_or(NorFlashErrorKind::OutOfBounds)?.fill(0xff);
        Ok(())
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NorFlashErrorKind> {
        check_write(self, offset, bytes.len())?;
        let here = self.0.as_mut().get_mut(offset as usize..).and_then(|rest| rest.get_mut(..bytes.len()));
        for (here, byte) in here.ok_or(NorFlashErrorKind::OutOfBounds)?.iter_mut().zip(bytes) {
            *here &= byte;
        }
        Ok(())
    }
}

impl<M: AsRef<[u8]> + AsMut<[u8]>, const PAGE: usize> MultiwriteNorFlash for MemoryFlash<M, PAGE> {}
