//! Flash on a board whose emulator has none: a file of the host that behaves like NOR flash. Erased bytes are
//! 0xff, writing only clears bits.

use core::ffi::CStr;

use embedded_storage::nor_flash::{
    ErrorType, MultiwriteNorFlash, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash, check_erase,
    check_write,
};
use semihosting::fs::File;
use semihosting::io::{self, Read as _, Seek as _, SeekFrom, Write as _};

/// Bytes of the flash.
pub(crate) const CAPACITY: usize = 32 * PAGE;
/// Bytes of a page: what is erased at once.
pub(crate) const PAGE: usize = 1024;
const WORD: usize = 4;
/// Bytes that go through memory at once.
const CHUNK: usize = 64;

/// The flash.
#[derive(Debug)]
pub struct HostFlash(File);

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

impl HostFlash {
    /// Opens the file, or makes one that is all erased.
    pub(crate) fn open(path: &CStr) -> Result<Self, FlashError> {
        if let Ok(file) = File::options().read(true).write(true).open(path)
            && file.metadata().is_ok_and(|metadata| metadata.len() == CAPACITY as u64)
        {
            return Ok(Self(file));
        }
        let mut file = File::options().read(true).write(true).create(true).truncate(true).open(path)?;
        for _ in 0..CAPACITY / CHUNK {
            file.write_all(&[0xff; CHUNK])?;
        }
        Ok(Self(file))
    }

    fn seek(&mut self, offset: u32) -> Result<(), FlashError> {
        self.0.seek(SeekFrom::Start(offset.into()))?;
        Ok(())
    }
}

impl ErrorType for HostFlash {
    type Error = FlashError;
}

impl ReadNorFlash for HostFlash {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), FlashError> {
        if offset as usize + bytes.len() > CAPACITY {
            return Err(NorFlashErrorKind::OutOfBounds.into());
        }
        self.seek(offset)?;
        Ok(self.0.read_exact(bytes)?)
    }

    fn capacity(&self) -> usize {
        CAPACITY
    }
}

impl NorFlash for HostFlash {
    const WRITE_SIZE: usize = WORD;
    const ERASE_SIZE: usize = PAGE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), FlashError> {
        check_erase(self, from, to)?;
        self.seek(from)?;
        for _ in 0..(to - from) as usize / CHUNK {
            self.0.write_all(&[0xff; CHUNK])?;
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
            self.0.write_all(before)?;
            offset += bytes.len() as u32;
        }
        Ok(())
    }
}

impl MultiwriteNorFlash for HostFlash {}
