//! A board's flash in memory: what the store of a mote writes to, with the time that it takes and
//! the wear that it leaves.
//!
//! It keeps to what the parts promise: an erase fills whole pages with ones, a write clears bits,
//! and a word that was written before is only ever cleared to zero (`motemix-write-once` in the
//! firmware). Reads take no time.

use embedded_storage::nor_flash::{
    ErrorType, MultiwriteNorFlash, NorFlash, NorFlashErrorKind, ReadNorFlash, check_erase, check_read,
    check_write,
};
use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

/// What a part's data sheet says of its flash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Part {
    /// Writing one word.
    pub word: Duration,
    /// Erasing one page.
    pub page: Duration,
    /// Erases that a page survives.
    pub endurance: u32,
}

/// What happened to the flash of one board; shared with it.
#[derive(Clone, Debug)]
pub(crate) struct Ledger(Rc<RefCell<Counts>>);

#[derive(Debug, Default)]
struct Counts {
    /// The processor stood still, since it was asked last.
    stalled: Duration,
    /// By page.
    erases: Vec<u32>,
    /// Bytes of words that were written, by page.
    written: Vec<u64>,
}

impl Ledger {
    fn new(pages: usize) -> Self {
        let counts = Counts { stalled: Duration::ZERO, erases: vec![0; pages], written: vec![0; pages] };
        Self(Rc::new(RefCell::new(counts)))
    }

    /// For how long the processor stood still since the last call.
    pub fn take_stalled(&self) -> Duration {
        std::mem::take(&mut self.0.borrow_mut().stalled)
    }

    /// Forgets what was counted: what follows is what counts.
    pub fn clear(&self) {
        let mut counts = self.0.borrow_mut();
        counts.stalled = Duration::ZERO;
        counts.erases.fill(0);
        counts.written.fill(0);
    }

    /// Erases and bytes written in pages.
    pub fn sum(&self, pages: &Range<usize>) -> (u64, u64) {
        let counts = self.0.borrow();
        let erases = counts.erases.get(pages.clone()).unwrap_or_default();
        let written = counts.written.get(pages.clone()).unwrap_or_default();
        (erases.iter().copied().map(u64::from).sum(), written.iter().sum())
    }
}

/// A flash whose words have `WORD` bytes and whose pages `PAGE`.
pub(crate) struct Flash<const WORD: usize, const PAGE: usize> {
    /// A page that was never written is not there.
    pages: Vec<Option<Box<[u8; PAGE]>>>,
    part: Part,
    ledger: Ledger,
}

impl<const WORD: usize, const PAGE: usize> Flash<WORD, PAGE> {
    /// An erased flash of so many pages.
    pub fn new(pages: usize, part: Part) -> Self {
        Self { pages: vec![None; pages], part, ledger: Ledger::new(pages) }
    }

    /// What happens to it.
    pub fn ledger(&self) -> Ledger {
        self.ledger.clone()
    }
}

impl<const WORD: usize, const PAGE: usize> ErrorType for Flash<WORD, PAGE> {
    type Error = NorFlashErrorKind;
}

impl<const WORD: usize, const PAGE: usize> ReadNorFlash for Flash<WORD, PAGE> {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, out: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        check_read(self, offset, out.len())?;
        let (mut at, mut out) = (offset as usize, out);
        while !out.is_empty() {
            let (page, inside) = (at / PAGE, at % PAGE);
            let count = out.len().min(PAGE - inside);
            let (now, later) = out.split_at_mut(count);
            match &self.pages[page] {
                Some(bytes) => now.copy_from_slice(&bytes[inside..inside + count]),
                None => now.fill(0xff),
            }
            (at, out) = (at + count, later);
        }
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.pages.len() * PAGE
    }
}

impl<const WORD: usize, const PAGE: usize> NorFlash for Flash<WORD, PAGE> {
    const WRITE_SIZE: usize = WORD;
    const ERASE_SIZE: usize = PAGE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), NorFlashErrorKind> {
        check_erase(self, from, to)?;
        let mut counts = self.ledger.0.borrow_mut();
        for page in from as usize / PAGE..to as usize / PAGE {
            self.pages[page] = None;
            counts.erases[page] += 1;
            counts.stalled += self.part.page;
        }
        Ok(())
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NorFlashErrorKind> {
        check_write(self, offset, bytes.len())?;
        let mut counts = self.ledger.0.borrow_mut();
        for (at, word) in (offset as usize..).step_by(WORD).zip(bytes.chunks_exact(WORD)) {
            let (page, inside) = (at / PAGE, at % PAGE);
            let kept = self.pages[page].get_or_insert_with(|| Box::new([0xff; PAGE]));
            let kept = &mut kept[inside..inside + WORD];
            // What changes nothing is not written.
            if kept.iter().zip(word).all(|(kept, new)| kept & new == *kept) {
                continue;
            }
            let blank = kept.iter().all(|kept| *kept == 0xff);
            let zero = kept.iter().zip(word).all(|(kept, new)| kept & new == 0);
            if !blank && !zero {
                return Err(NorFlashErrorKind::Other);
            }
            kept.iter_mut().zip(word).for_each(|(kept, new)| *kept &= new);
            counts.written[page] += WORD as u64;
            counts.stalled += self.part.word;
        }
        Ok(())
    }
}

impl<const WORD: usize, const PAGE: usize> MultiwriteNorFlash for Flash<WORD, PAGE> {}

#[cfg(test)]
mod tests {
    use super::*;

    const PART: Part =
        Part { word: Duration::from_micros(50), page: Duration::from_millis(40), endurance: 10_000 };

    fn read(flash: &mut Flash<4, 512>, at: u32) -> [u8; 4] {
        let mut out = [0; 4];
        flash.read(at, &mut out).expect("in bounds");
        out
    }

    #[test]
    fn what_is_written_is_there_until_it_is_erased_and_takes_its_time() {
        let mut flash = Flash::<4, 512>::new(3, PART);
        let ledger = flash.ledger();
        flash.write(510 - 2, &[1, 2, 3, 4, 5, 6, 7, 8]).expect("blank");
        assert_eq!(read(&mut flash, 510), [3, 4, 5, 6]);
        assert_eq!(ledger.take_stalled(), Duration::from_micros(100));
        assert_eq!(ledger.sum(&(0..1)), (0, 4));
        flash.erase(512, 1024).expect("a page");
        assert_eq!(read(&mut flash, 510), [3, 4, 0xff, 0xff]);
        assert_eq!(ledger.take_stalled(), PART.page);
        assert_eq!((ledger.sum(&(0..3)), ledger.sum(&(0..1))), ((1, 8), (0, 4)));
    }

    #[test]
    fn a_word_is_written_once_or_to_zero() {
        let mut flash = Flash::<4, 512>::new(1, PART);
        flash.write(0, &[0xf0; 4]).expect("blank");
        flash.write(0, &[0xff; 4]).expect("changes nothing");
        assert_eq!(flash.write(0, &[0x70; 4]), Err(NorFlashErrorKind::Other));
        flash.write(0, &[0; 4]).expect("zero");
        assert_eq!(flash.ledger().sum(&(0..1)), (0, 8));
    }
}
