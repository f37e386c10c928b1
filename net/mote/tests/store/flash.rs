//! NOR flash in memory, whose power can be cut in the middle of a write or of an erase.
//!
//! It keeps to what `embedded_storage` promises and to no more: an erase that was cut leaves
//! anything in its page, a write that was cut leaves any of the bits uncleared that it was to
//! clear.

use std::cell::Cell;
use std::rc::Rc;

use embedded_storage::nor_flash::{ErrorType, MultiwriteNorFlash, NorFlash, NorFlashErrorKind, ReadNorFlash};

/// How many ways there are for an erase to end early, each as far from the next as a written byte.
const ERASE_STEPS: u32 = 8;

/// What a write leaves behind that was cut.
#[derive(Clone, Copy, Debug)]
pub enum Tear {
    /// The bytes before the cut, some bits of the byte at the cut, nothing of those after it.
    Bytes,
    /// Some bits of each byte of the whole write.
    Bits,
}

#[derive(Clone)]
pub struct Flash<const WORD: usize, const PAGE: usize> {
    bytes: Vec<u8>,
    /// How often each word was written since its erase.
    writes: Vec<u8>,
    pub tear: Tear,
    /// Bytes that can still be written before the power goes; shared, because a store has the
    /// flash.
    pub budget: Rc<Cell<Option<u32>>>,
    noise: u64,
    pub erases: usize,
    pub most_writes: u8,
    pub bytes_read: Rc<Cell<usize>>,
    pub bytes_written: usize,
}

impl<const WORD: usize, const PAGE: usize> Flash<WORD, PAGE> {
    pub fn new(pages: usize) -> Self {
        Self {
            bytes: vec![0xff; pages * PAGE],
            writes: vec![0; pages * PAGE / WORD],
            tear: Tear::Bytes,
            budget: Rc::default(),
            noise: 1,
            erases: 0,
            most_writes: 0,
            bytes_read: Rc::default(),
            bytes_written: 0,
        }
    }

    /// A copy with a power supply of its own, and other noise.
    pub fn copy(&self, noise: u64) -> Self {
        Self { budget: Rc::default(), noise: noise | 1, ..self.clone() }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    fn noise(&mut self) -> u8 {
        self.noise =
            self.noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.noise >> 56) as u8
    }

    /// Takes `wanted` from what power there is; where it does not suffice, says how much there was.
    fn draw(&mut self, wanted: u32) -> Result<(), u32> {
        let Some(left) = self.budget.get() else { return Ok(()) };
        self.budget.set(Some(left.saturating_sub(wanted)));
        // The byte that uses the power up is the last whole one.
        if left > wanted { Ok(()) } else { Err(left.min(wanted)) }
    }

    fn is_off(&self) -> bool {
        self.budget.get() == Some(0)
    }

    fn clear(&mut self, at: usize, wanted: u8) {
        self.bytes[at] &= wanted;
    }

    fn half_erase(&mut self, page: usize, step: u32) {
        for at in 0..PAGE {
            let erased = match step {
                1 if at < PAGE / 2 => 0xff,
                2 if at >= PAGE / 2 => 0xff,
                3 => self.noise(),
                4 if at >= WORD => 0xff,
                5 if at < PAGE - WORD => 0xff,
                // Nearly done: one bit in thirty-two is still as it was.
                6 => [0xff, 0xff, 0xff, !(1 << (at % 8))][usize::from(self.noise() % 4)],
                7 => 0xff,
                // Not begun.
                _ => 0,
            };
            self.bytes[page + at] |= erased;
        }
    }
}

impl<const WORD: usize, const PAGE: usize> ErrorType for Flash<WORD, PAGE> {
    type Error = NorFlashErrorKind;
}

impl<const WORD: usize, const PAGE: usize> ReadNorFlash for Flash<WORD, PAGE> {
    const READ_SIZE: usize = WORD;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        if self.is_off() {
            return Err(NorFlashErrorKind::Other);
        }
        let at = offset as usize;
        assert!(at.is_multiple_of(WORD) && bytes.len().is_multiple_of(WORD), "reads are whole words");
        let place = self.bytes.get(at..at + bytes.len()).ok_or(NorFlashErrorKind::OutOfBounds)?;
        bytes.copy_from_slice(place);
        self.bytes_read.set(self.bytes_read.get() + bytes.len());
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.bytes.len()
    }
}

impl<const WORD: usize, const PAGE: usize> NorFlash for Flash<WORD, PAGE> {
    const WRITE_SIZE: usize = WORD;
    const ERASE_SIZE: usize = PAGE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), NorFlashErrorKind> {
        let (from, to) = (from as usize, to as usize);
        assert!(from.is_multiple_of(PAGE) && to.is_multiple_of(PAGE), "erases are whole pages");
        for page in (from..to).step_by(PAGE) {
            if self.is_off() {
                return Err(NorFlashErrorKind::Other);
            }
            if let Err(step) = self.draw(ERASE_STEPS) {
                self.half_erase(page, step - 1);
                return Err(NorFlashErrorKind::Other);
            }
            self.bytes[page..page + PAGE].fill(0xff);
            self.writes[page / WORD..(page + PAGE) / WORD].fill(0);
            self.erases += 1;
        }
        Ok(())
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NorFlashErrorKind> {
        if self.is_off() {
            return Err(NorFlashErrorKind::Other);
        }
        let at = offset as usize;
        assert!(at.is_multiple_of(WORD) && bytes.len().is_multiple_of(WORD), "writes are whole words");
        assert!((bytes.as_ptr() as usize).is_multiple_of(WORD.min(4)), "writes come from aligned memory");
        let drawn = self.draw(bytes.len() as u32);
        for word in at / WORD..(at + bytes.len()) / WORD {
            self.writes[word] += 1;
            self.most_writes = self.most_writes.max(self.writes[word]);
        }
        self.bytes_written += bytes.len();
        for (index, wanted) in bytes.iter().enumerate() {
            let partly = wanted | self.noise();
            match (drawn, self.tear) {
                (Ok(()), _) => self.clear(at + index, *wanted),
                (Err(_), Tear::Bits) => self.clear(at + index, partly),
                (Err(whole), Tear::Bytes) if index + 1 < whole as usize => self.clear(at + index, *wanted),
                (Err(whole), Tear::Bytes) if index + 1 == whole as usize => self.clear(at + index, partly),
                (Err(_), Tear::Bytes) => {}
            }
        }
        drawn.map_err(|_| NorFlashErrorKind::Other)
    }
}

impl<const WORD: usize, const PAGE: usize> MultiwriteNorFlash for Flash<WORD, PAGE> {}
