//! The store of a mote on flash as boards have it.

#![allow(missing_docs, reason = "tests")]

use embedded_storage::nor_flash::{
    ErrorType, MultiwriteNorFlash, NorFlash, NorFlashErrorKind, ReadNorFlash, check_erase, check_read,
    check_write,
};
use motemix_crypto::Secret;
use motemix_directory::{Epoch, KeyRatchet, UnixTime};
use motemix_mote::store::{DocumentHead, Layout, Store};
use motemix_node::{Admitted, Digest};
use motemix_sphinx::MessageId;
use motemix_write_once::{WriteOnce, WriteOnceError};

/// Flash with words of `WORD` bytes and pages of `PAGE`, of which each word says how often it was
/// written since its page was erased.
struct Chip<const WORD: usize, const PAGE: usize> {
    bytes: Vec<u8>,
    writes: Vec<u32>,
    most_writes: u32,
    /// Whether a word that is not blank takes only zero, as on an STM32F1.
    strict: bool,
    /// Power goes after so many words.
    power: Option<u32>,
}

impl<const WORD: usize, const PAGE: usize> Chip<WORD, PAGE> {
    fn new(pages: usize, strict: bool) -> Self {
        let bytes = vec![0xff; pages * PAGE];
        Self { writes: vec![0; bytes.len() / WORD], bytes, most_writes: 0, strict, power: None }
    }
}

impl<const WORD: usize, const PAGE: usize> ErrorType for Chip<WORD, PAGE> {
    type Error = NorFlashErrorKind;
}

impl<const WORD: usize, const PAGE: usize> ReadNorFlash for Chip<WORD, PAGE> {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, out: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        check_read(self, offset, out.len())?;
        out.copy_from_slice(&self.bytes[offset as usize..][..out.len()]);
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.bytes.len()
    }
}

impl<const WORD: usize, const PAGE: usize> NorFlash for Chip<WORD, PAGE> {
    const WRITE_SIZE: usize = WORD;
    const ERASE_SIZE: usize = PAGE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), NorFlashErrorKind> {
        check_erase(self, from, to)?;
        self.bytes[from as usize..to as usize].fill(0xff);
        self.writes[from as usize / WORD..to as usize / WORD].fill(0);
        Ok(())
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NorFlashErrorKind> {
        check_write(self, offset, bytes.len())?;
        for (index, word) in bytes.chunks(WORD).enumerate() {
            if let Some(power) = &mut self.power {
                *power = power.checked_sub(1).ok_or(NorFlashErrorKind::Other)?;
            }
            let at = offset as usize + index * WORD;
            let place = &mut self.bytes[at..at + WORD];
            let blank = place.iter().all(|byte| *byte == 0xff);
            let zero = word.iter().all(|byte| *byte == 0);
            if self.strict && !blank && !zero {
                return Err(NorFlashErrorKind::Other);
            }
            for (byte, new) in place.iter_mut().zip(word) {
                *byte &= new;
            }
            self.writes[at / WORD] += 1;
            self.most_writes = self.most_writes.max(self.writes[at / WORD]);
        }
        Ok(())
    }
}

impl<const WORD: usize, const PAGE: usize> MultiwriteNorFlash for Chip<WORD, PAGE> {}

type HalfWords = Chip<2, 2048>;
type Words = Chip<4, 4096>;

fn layout(page: u32) -> Layout {
    Layout {
        settings: 0..8 * page,
        tags: 8 * page..10 * page,
        messages: 10 * page..12 * page,
        readings: 12 * page..14 * page,
        devices: 0..0,
    }
}

/// What motes do for a long time: every kind of entry is written, replaced and removed until all
/// pages were erased several times.
fn use_for_long<F: MultiwriteNorFlash>(mut flash: F, layout: &Layout) -> F {
    for round in 0..40_u32 {
        // Each round is a restart.
        let mut store = Store::open(flash, layout.clone()).unwrap();
        store.keep_address([round as u8; 8]).unwrap();
        store.keep_authorities(2, &[[1; 32], [round as u8; 32]]).unwrap();
        let head = DocumentHead { epoch: Epoch(round), valid_after: UnixTime(0), network: 1 };
        store.keep_document(&vec![round as u8; 700 + round as usize], head).unwrap();
        store.keep_newest_epoch(Epoch(round)).unwrap();
        store.keep_ratchet(&KeyRatchet::new(Epoch(round), Secret::new([round as u8; 32]))).unwrap();
        for number in 0..70 {
            store.next_sequence().unwrap();
            store.keep_tag(Admitted { epoch: Epoch(round), digest: Digest::from_bits(number) }).unwrap();
        }
        let mut tags = 0;
        store.each_tag(Epoch(round), |_| tags += 1).unwrap();
        assert_eq!(tags, 70);
        store.forget_tags_before(Epoch(round + 1)).unwrap();
        for number in 0..15 {
            store.keep_message(MessageId([number; 4]), &[number; 90]).unwrap();
        }
        let mut out = [0; 200];
        for number in 0..15 {
            let (id, data) = store.oldest_message(&mut out).unwrap().unwrap();
            assert_eq!((id, data), (MessageId([number; 4]), &[number; 90][..]));
            store.remove_oldest_message().unwrap();
        }
        store.keep_reading(&[round as u8; 103]).unwrap();
        assert_eq!(store.oldest_reading(&mut out).unwrap().unwrap(), [round as u8; 103]);
        store.remove_oldest_reading().unwrap();
        let mut out = [0; 1024];
        let document = store.document(&mut out).unwrap().unwrap();
        assert_eq!(document, vec![round as u8; 700 + round as usize]);
        flash = store.into_flash();
    }
    flash
}

#[test]
fn a_mote_keeps_everything_on_half_words_that_are_written_once_or_to_zero() {
    let flash = WriteOnce::new(HalfWords::new(14, true));
    let chip = use_for_long(flash, &layout(2048)).into_inner();
    assert_eq!(chip.most_writes, 2);
}

#[test]
fn without_the_adapter_such_flash_refuses_the_store() {
    let mut store = Store::open(HalfWords::new(14, true), layout(2048)).unwrap();
    let mut failed = false;
    for number in 0..100 {
        let kept = store.keep_message(MessageId([number; 4]), b"read soon");
        failed |= kept.is_err() || store.remove_oldest_message().is_err();
    }
    assert!(failed, "then the adapter is not needed");
}

#[test]
fn on_words_of_four_the_store_writes_each_at_most_twice_between_erases() {
    let chip = use_for_long(WriteOnce::new(Words::new(14, true)), &layout(4096)).into_inner();
    assert_eq!(chip.most_writes, 2, "an nRF52840 allows two");
}

#[test]
fn after_every_power_cut_the_flash_still_takes_what_repairs_it() {
    cut_power_everywhere::<2, 2048>();
    cut_power_everywhere::<4, 4096>();
}

fn cut_power_everywhere<const WORD: usize, const PAGE: usize>() {
    let mut cuts = 0;
    for after in 0.. {
        let mut chip = Chip::<WORD, PAGE>::new(14, true);
        chip.power = Some(after);
        let mut flash = WriteOnce::new(chip);
        // The flash outlives the store that fails on it.
        let whole = work_until_cut(&mut flash, &layout(PAGE as u32));
        let mut chip = flash.into_inner();
        chip.power = None;
        let mut store = Store::open(WriteOnce::new(chip), layout(PAGE as u32)).unwrap_or_else(|error| {
            panic!("cut after {after} words of {WORD}: {error}");
        });
        store.keep_ratchet(&KeyRatchet::new(Epoch(9), Secret::new([9; 32]))).unwrap();
        store.forget_tags_before(Epoch(9)).unwrap();
        store.keep_tag(Admitted { epoch: Epoch(9), digest: Digest::from_bits(9) }).unwrap();
        store.keep_message(MessageId([9; 4]), b"after").unwrap();
        let chip = store.into_flash().into_inner();
        assert!(chip.most_writes <= 2, "cut after {after} words of {WORD}");
        if whole {
            break;
        }
        cuts += 1;
    }
    assert!(cuts > 200, "{cuts} cuts at words of {WORD}");
}

/// `true` if power did not go.
fn work_until_cut<F: MultiwriteNorFlash>(flash: &mut F, layout: &Layout) -> bool {
    let mut work = || -> Result<(), motemix_mote::store::StoreError> {
        let mut store = Store::open(&mut *flash, layout.clone())?;
        for round in 0..8_u8 {
            store.keep_ratchet(&KeyRatchet::new(Epoch(round.into()), Secret::new([round; 32])))?;
            store.forget_tags_before(Epoch(round.into()))?;
            store
                .keep_tag(Admitted { epoch: Epoch(round.into()), digest: Digest::from_bits(round.into()) })?;
            store.keep_message(MessageId([round; 4]), &[round; 20])?;
            store.remove_oldest_message()?;
        }
        Ok(())
    };
    work().is_ok()
}

#[test]
fn a_change_that_the_flash_cannot_make_is_refused_before_anything_is_written() {
    let mut flash = WriteOnce::new(HalfWords::new(1, true));
    flash.write(2, &[0x0f, 0xff]).unwrap();
    let refused = flash.write(0, &[0, 0, 0x01, 0xff]);
    assert_eq!(refused, Err(WriteOnceError::SecondWrite { at: 2 }));
    let mut bytes = [0; 4];
    flash.read(0, &mut bytes).unwrap();
    assert_eq!(bytes, [0xff, 0xff, 0x0f, 0xff]);
    flash.write(0, &[0x12, 0x34, 0, 0]).unwrap();
    flash.read(0, &mut bytes).unwrap();
    assert_eq!(bytes, [0x12, 0x34, 0, 0]);
    // None of their bits is in what was there: all of them are cleared.
    flash.write(0, &[0x40, 0x03]).unwrap();
    flash.read(0, &mut bytes).unwrap();
    assert_eq!(bytes, [0, 0, 0, 0]);
    assert_eq!(flash.write(1, &[0, 0]), Err(WriteOnceError::Use(NorFlashErrorKind::NotAligned)));
    assert_eq!(flash.write(2048, &[0, 0]), Err(WriteOnceError::Use(NorFlashErrorKind::OutOfBounds)));
}
