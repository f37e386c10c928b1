//! Flash on a board whose emulator has none: a file of the host that behaves like NOR flash. Erased
//! bytes are 0xff, writing only clears bits.

use core::ffi::CStr;

use embedded_storage::nor_flash::{
    ErrorType, MultiwriteNorFlash, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash, check_erase,
    check_write,
};
use semihosting::fs::File;
use semihosting::io::{self, Read as _, Seek as _, SeekFrom, Write as _};

const WORD: usize = 4;
/// Bytes that go through memory at once.
const CHUNK: usize = 64;

/// The flash, of pages of so many bytes.
#[derive(Debug)]
pub struct HostFlash<const PAGE: usize> {
    file: File,
    capacity: usize,
}

/// Why an operation failed.
#[derive(Debug)]
pub enum FlashError {
    /// Out of bounds, or not aligned.
    Use(NorFlashErrorKind),
    /// The host's file.
    File(io::Error),
}

impl NorFlashError for FlashError {
    fn kind(&self) -> NorFlashErrorKind {
        match self {
            Self::Use(kind) => *kind,
            Self::File(_) => NorFlashErrorKind::Other,
        }
    }
}

impl From<NorFlashErrorKind> for FlashError {
    fn from(kind: NorFlashErrorKind) -> Self {
        Self::Use(kind)
    }
}

impl From<io::Error> for FlashError {
    fn from(error: io::Error) -> Self {
        Self::File(error)
    }
}

impl<const PAGE: usize> HostFlash<PAGE> {
    /// Opens the file, or makes one that is all erased.
    pub(crate) fn open(path: &CStr, capacity: usize) -> Result<Self, FlashError> {
        if let Ok(file) = File::options().read(true).write(true).open(path)
            && file.metadata().is_ok_and(|metadata| metadata.len() == capacity as u64)
        {
            return Ok(Self { file, capacity });
        }
        let mut file = File::options().read(true).write(true).create(true).truncate(true).open(path)?;
        for _ in 0..capacity / CHUNK {
            file.write_all(&[0xff; CHUNK])?;
        }
        Ok(Self { file, capacity })
    }

    fn seek(&mut self, offset: u32) -> Result<(), FlashError> {
        self.file.seek(SeekFrom::Start(offset.into()))?;
        Ok(())
    }
}

impl<const PAGE: usize> ErrorType for HostFlash<PAGE> {
    type Error = FlashError;
}

impl<const PAGE: usize> ReadNorFlash for HostFlash<PAGE> {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), FlashError> {
        if offset as usize + bytes.len() > self.capacity {
            return Err(NorFlashErrorKind::OutOfBounds.into());
        }
        self.seek(offset)?;
        Ok(self.file.read_exact(bytes)?)
    }

    fn capacity(&self) -> usize {
        self.capacity
    }
}

impl<const PAGE: usize> NorFlash for HostFlash<PAGE> {
    const WRITE_SIZE: usize = WORD;
    const ERASE_SIZE: usize = PAGE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), FlashError> {
        check_erase(self, from, to)?;
        self.seek(from)?;
        for _ in 0..(to - from) as usize / CHUNK {
            self.file.write_all(&[0xff; CHUNK])?;
        }
        Ok(())
    }

    fn write(&mut self, mut offset: u32, bytes: &[u8]) -> Result<(), FlashError> {
        check_write(self, offset, bytes.len())?;
        for bytes in bytes.chunks(CHUNK) {
            let mut before = [0; CHUNK];
            let (before, _) = before.split_at_mut(bytes.len());
            self.read(offset, before)?;
            for (before, byte) in before.iter_mut().zip(bytes) {
                *before &= byte;
            }
            self.seek(offset)?;
            self.file.write_all(before)?;
            offset += bytes.len() as u32;
        }
        Ok(())
    }
}

impl<const PAGE: usize> MultiwriteNorFlash for HostFlash<PAGE> {}
