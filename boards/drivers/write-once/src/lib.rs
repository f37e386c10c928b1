//! NOR flash whose words can be written once, or to zero, made fit for a store that clears bits a
//! second time.
//!
//! `embedded_storage`'s [`MultiwriteNorFlash`] promises that any word can be written again to clear
//! more of its bits. The flash of an STM32F1 cannot do that: a half-word that is not blank takes
//! only zero, and everything else is refused (PM0075, 2.3.3). [`WriteOnce`] is what lies between:
//!
//! | what the word has | what is to be cleared | what happens |
//! |---|---|---|
//! | anything | nothing more | nothing is written |
//! | blank | some bits | written |
//! | some bits cleared | all the others | written as zero |
//! | some bits cleared | some of the others | [`WriteOnceError::SecondWrite`], before anything is written |
//!
//! The last never happens under `motemix_mote::store`: what it writes a second time it writes to
//! zero (tested). On flash that allows a number of writes between two erases it saves those that
//! change nothing.

#![no_std]
#![forbid(unsafe_code)]

use core::fmt;

use embedded_storage::nor_flash::{
    ErrorType, MultiwriteNorFlash, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash, check_erase,
    check_write,
};

/// The longest word of a flash that this works with, in bytes.
const MAX_WORD: usize = 16;

/// A flash `F` whose words can be written once, or to zero.
#[derive(Debug)]
pub struct WriteOnce<F> {
    flash: F,
}

/// Why an operation failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteOnceError<E> {
    /// The flash failed, or was used out of its bounds.
    Flash(E),
    /// Out of bounds, or not aligned to words.
    Use(NorFlashErrorKind),
    /// A word that had been written was to be changed to something other than zero.
    SecondWrite {
        /// Where the word is.
        at: u32,
    },
}

impl<E: fmt::Debug> fmt::Display for WriteOnceError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flash(error) => write!(f, "the flash failed: {error:?}"),
            Self::Use(kind) => write!(f, "the flash was misused: {kind}"),
            Self::SecondWrite { at } => {
                write!(f, "the word at {at:#x} was written before and can only become zero; erase its page")
            }
        }
    }
}

impl<E: NorFlashError> NorFlashError for WriteOnceError<E> {
    fn kind(&self) -> NorFlashErrorKind {
        match self {
            Self::Flash(error) => error.kind(),
            Self::Use(kind) => *kind,
            Self::SecondWrite { .. } => NorFlashErrorKind::Other,
        }
    }
}

impl<F: NorFlash> WriteOnce<F> {
    const WORD_FITS: () = assert!(F::WRITE_SIZE <= MAX_WORD && F::WRITE_SIZE.is_multiple_of(F::READ_SIZE));

    /// Wraps a flash.
    pub const fn new(flash: F) -> Self {
        const { Self::WORD_FITS };
        Self { flash }
    }

    /// The flash.
    pub fn into_inner(self) -> F {
        self.flash
    }

    /// What has to be written so that the word's bits that are not in `wanted` are cleared.
    fn change(&mut self, at: u32, wanted: &[u8]) -> Result<Option<[u8; MAX_WORD]>, WriteOnceError<F::Error>> {
        let mut word = [0; MAX_WORD];
        let (place, _) = word.split_at_mut(wanted.len());
        self.flash.read(at, place).map_err(WriteOnceError::Flash)?;
        if place.iter().zip(wanted).all(|(byte, wanted)| byte & wanted == *byte) {
            return Ok(None);
        }
        let blank = place.iter().all(|byte| *byte == 0xff);
        for (byte, wanted) in place.iter_mut().zip(wanted) {
            *byte &= wanted;
        }
        if blank || place.iter().all(|byte| *byte == 0) {
            Ok(Some(word))
        } else {
            Err(WriteOnceError::SecondWrite { at })
        }
    }
}

impl<F: NorFlash> ErrorType for WriteOnce<F> {
    type Error = WriteOnceError<F::Error>;
}

impl<F: NorFlash> ReadNorFlash for WriteOnce<F> {
    const READ_SIZE: usize = F::READ_SIZE;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Self::Error> {
        self.flash.read(offset, bytes).map_err(WriteOnceError::Flash)
    }

    fn capacity(&self) -> usize {
        self.flash.capacity()
    }
}

impl<F: NorFlash> NorFlash for WriteOnce<F> {
    const WRITE_SIZE: usize = F::WRITE_SIZE;
    const ERASE_SIZE: usize = F::ERASE_SIZE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Self::Error> {
        check_erase(&self.flash, from, to).map_err(WriteOnceError::Use)?;
        self.flash.erase(from, to).map_err(WriteOnceError::Flash)
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Self::Error> {
        check_write(&self.flash, offset, bytes.len()).map_err(WriteOnceError::Use)?;
        let places = || (offset..).step_by(F::WRITE_SIZE).zip(bytes.chunks(F::WRITE_SIZE));
        // First whether all of it can be written: half of a record helps nobody.
        for (at, wanted) in places() {
            self.change(at, wanted)?;
        }
        for (at, wanted) in places() {
            if let Some(word) = self.change(at, wanted)? {
                let word = word.get(..wanted.len()).unwrap_or_default();
                self.flash.write(at, word).map_err(WriteOnceError::Flash)?;
            }
        }
        Ok(())
    }
}

impl<F: NorFlash> MultiwriteNorFlash for WriteOnce<F> {}
