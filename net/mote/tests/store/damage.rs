//! Flash that holds something else than was written: flipped bits, other programs' data, noise.

use motemix_directory::Epoch;
use motemix_mote::store::{Layout, MAX_AUTHORITIES, MAX_MESSAGE_LEN, Region, Store, StoreError};
use proptest::prelude::*;

use crate::flash::Flash;
use crate::model::{Contents, EPOCHS, Model, Step, make, number, read};
use crate::{flash_for, layout};

type Small = Flash<4, 1024>;

/// A store with something of everything, some of it replaced and removed.
fn lived_in(layout: &Layout) -> (Small, Model, Vec<Contents>) {
    let mut flash = flash_for(layout);
    let mut store = Store::open(&mut flash, layout.clone()).unwrap();
    let mut model = Model::default();
    let mut ever = Vec::new();
    for round in 1..4 {
        let mut steps = vec![
            Step::Address(round as u8),
            Step::Authorities { threshold: round as u8, keys: 2 },
            Step::Document { len: 300 + round as usize, version: round as u8 },
            Step::Ratchet(round),
            Step::NewestEpoch(round),
            Step::Sequence,
            Step::RemoveMessage,
            Step::ForgetTags(round - 1),
        ];
        steps.extend((0..6).map(|id| Step::Message { id: round << 8 | id, len: 90 }));
        steps.extend((0..20).map(|tag| Step::Tag { epoch: round, tag: u64::from(round << 8 | tag) }));
        for step in steps {
            model.make(&mut store, step);
            ever.push(model.contents.clone());
        }
    }
    (flash, model, ever)
}

/// Whatever the store answers is an error, nothing, or something that was stored once.
/// All that can be said of tags is how many bits flipped.
fn answers_nothing_invented(
    flash: Small,
    layout: &Layout,
    ever: &[Contents],
    flips: usize,
) -> Result<(), StoreError> {
    let mut store = Store::open(flash, layout.clone())?;
    let was = |found: &dyn Fn(&Contents) -> bool| ever.iter().any(found);
    if let Ok(Some(address)) = store.address() {
        assert!(was(&|then| then.address == Some(address)), "{address:?}");
    }
    let mut keys = [[0; 32]; MAX_AUTHORITIES];
    if let Ok(Some((threshold, keys))) = store.authorities(&mut keys) {
        assert!(was(&|then| then.authorities == Some((threshold, keys.to_vec()))), "{keys:?}");
    }
    let mut document = vec![0; store.document_capacity()];
    if let Ok(Some(document)) = store.document(&mut document) {
        assert!(was(&|then| then.document.as_deref() == Some(document)), "{document:?}");
    }
    for epoch in EPOCHS {
        // An error in the middle is an answer as well.
        let mut invented = 0;
        let _ = store.each_tag(Epoch(epoch), |admitted| {
            let tag = (admitted.epoch.0, number(admitted.digest));
            invented += usize::from(!was(&|then| then.tags.contains(&tag)));
        });
        // A word with a flipped bit stands for all that it may have been.
        assert!(flips > 1 || invented <= 4, "{invented} tags of epoch {epoch}");
    }
    let mut data = [0; MAX_MESSAGE_LEN];
    while let Ok(Some((id, data))) = store.oldest_message(&mut data) {
        assert!(was(&|then| then.messages.contains(&(id, data.to_vec()))), "{id:?} {data:?}");
        if store.remove_oldest_message().is_err() {
            break;
        }
    }
    Ok(())
}

#[test]
fn any_flipped_bit_of_the_journal_costs_neither_the_key_nor_a_number() {
    let layout = layout(1024, 5);
    let (flash, model, _) = lived_in(&layout);
    let mut flipped = 0;
    for at in layout.settings.start as usize..layout.settings.start as usize + 2 * 1024 {
        for bit in 0..8 {
            let mut flash = flash.copy(1);
            flash.bytes_mut()[at] ^= 1 << bit;
            let mut store = Store::open(&mut flash, layout.clone()).unwrap();
            let ratchet = store.ratchet().unwrap().unwrap();
            assert_eq!(Some((ratchet.epoch().0, *ratchet.expose_seed())), model.contents.ratchet);
            assert_eq!(store.newest_epoch().unwrap().map(|epoch| epoch.0), model.contents.newest_epoch);
            let number = store.next_sequence().unwrap();
            assert!(!model.used.contains(&number), "byte {at}, bit {bit}: {number} a second time");
            flipped += 1;
        }
    }
    assert_eq!(flipped, 2 * 1024 * 8);
}

#[test]
fn a_journal_that_cannot_be_read_is_not_taken_for_a_new_one() {
    let layout = layout(1024, 5);
    let (flash, ..) = lived_in(&layout);
    let mut flash = flash.copy(1);
    let start = layout.settings.start as usize;
    // Two bits in every slot, wherever the record is.
    for slot in 0..2 * 15 {
        let at = start + slot / 15 * 1024 + slot % 15 * 68;
        flash.bytes_mut()[at + 30] ^= 0x24;
    }
    let error = Store::open(&mut flash, layout.clone()).unwrap_err();
    assert_eq!(error, StoreError::Corrupted(Region::Journal));
    assert!(error.to_string().contains("format the store and provision the mote anew"), "{error}");
    Store::format(&mut flash, layout.clone()).unwrap();
    Model::default().check(flash, &layout);
}

#[test]
fn a_journal_whose_first_page_is_blank_is_not_taken_for_a_new_one() {
    let layout = layout(1024, 5);
    let (mut flash, ..) = lived_in(&layout);
    let [first, second] = [0, 1024].map(|page| layout.settings.start as usize + page);
    // The record has to be in the second page, as it is whenever the first is erased.
    let mut epoch = 4;
    while flash.bytes()[second..second + 1024].iter().all(|byte| matches!(byte, 0 | 0xff)) {
        let mut store = Store::open(&mut flash, layout.clone()).unwrap();
        make(&mut store, Step::Ratchet(epoch)).unwrap();
        epoch += 1;
    }
    flash.bytes_mut()[first..first + 1024].fill(0xff);
    for slot in 0..15 {
        flash.bytes_mut()[second + slot * 68 + 30] ^= 0x24;
    }
    let error = Store::open(&mut flash, layout.clone()).unwrap_err();
    assert_eq!(error, StoreError::Corrupted(Region::Journal));
}

#[test]
fn a_damaged_message_does_not_keep_its_page_from_being_used_again() {
    let layout = layout(1024, 4);
    let mut flash: Small = flash_for(&layout);
    let mut store = Store::open(&mut flash, layout.clone()).unwrap();
    // Eight in each of two pages: 12 bytes and 103, rounded up to words.
    for id in 0..16 {
        make(&mut store, Step::Message { id, len: 103 }).unwrap();
    }
    assert_eq!(make(&mut store, Step::Message { id: 16, len: 103 }), Err(StoreError::Full(Region::Messages)));
    flash.bytes_mut()[layout.messages.start as usize + 4 + 2 * 116 + 50] ^= 1;
    let mut store = Store::open(&mut flash, layout.clone()).unwrap();
    for _ in 0..7 {
        make(&mut store, Step::RemoveMessage).unwrap();
    }
    make(&mut store, Step::Message { id: 17, len: 103 }).unwrap();
    let ids: Vec<_> = read(&mut flash, &layout).messages.iter().map(|(id, _)| id.0[3]).collect();
    assert_eq!(ids, [8, 9, 10, 11, 12, 13, 14, 15, 17]);
}

#[test]
fn a_damaged_document_is_an_error_until_the_next_one_is_kept() {
    let layout = layout(1024, 5);
    let (flash, model, _) = lived_in(&layout);
    let mut flash = flash.copy(1);
    let document = model.contents.document.clone().unwrap();
    let piece = &document[128..256];
    let settings = layout.settings.start as usize..layout.settings.end as usize;
    let bytes = &mut flash.bytes_mut()[settings];
    let places: Vec<_> = (0..bytes.len() - 128).filter(|at| bytes[*at..*at + 128] == *piece).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at + 5] ^= 0x10;
    }
    let mut store = Store::open(&mut flash, layout.clone()).unwrap();
    assert_eq!(store.document(&mut [0; 1024]), Err(StoreError::DocumentDamaged));
    make(&mut store, Step::Document { len: 200, version: 50 }).unwrap();
    let document = store.document(&mut [0; 1024]).unwrap().map(<[u8]>::len);
    assert_eq!(document, Some(200));
}

#[test]
fn what_another_program_left_in_unused_pages_is_not_written_into() {
    let layout = layout(1024, 5);
    let mut flash: Small = flash_for(&layout);
    // Everywhere but in the journal and in the marks of the pages, which look unused.
    for page in (layout.settings.start as usize + 2048..layout.messages.end as usize).step_by(1024) {
        flash.bytes_mut()[page + 4..page + 1020].fill(0x3c);
    }
    let mut store = Store::open(&mut flash, layout.clone()).unwrap();
    let mut model = Model::default();
    model.make(&mut store, Step::Address(3));
    model.make(&mut store, Step::Tag { epoch: 1, tag: 2 });
    model.make(&mut store, Step::Message { id: 3, len: 50 });
    model.check(flash, &layout);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn flipped_bits_invent_nothing(flips in prop::collection::vec((0_usize..13 * 1024, 0_u32..8), 1..12)) {
        let layout = layout(1024, 5);
        let (flash, _, ever) = lived_in(&layout);
        let mut flash = flash.copy(1);
        let count = flips.len();
        for (at, bit) in flips {
            let bytes = flash.bytes_mut();
            let at = at % bytes.len();
            bytes[at] ^= 1_u8 << bit;
        }
        if let Err(error) = answers_nothing_invented(flash, &layout, &ever, count) {
            prop_assert!(matches!(error, StoreError::Corrupted(_)), "{error}");
        }
    }

    #[test]
    fn overwritten_ranges_invent_nothing(
        ranges in prop::collection::vec((0_usize..12 * 1024, prop::collection::vec(any::<u8>(), 1..200)), 1..6),
    ) {
        let layout = layout(1024, 5);
        let (flash, _, ever) = lived_in(&layout);
        let mut flash = flash.copy(1);
        for (at, noise) in ranges {
            let bytes = flash.bytes_mut();
            let at = at % (bytes.len() - noise.len());
            bytes[at..at + noise.len()].copy_from_slice(&noise);
        }
        if let Err(error) = answers_nothing_invented(flash, &layout, &ever, usize::MAX) {
            prop_assert!(matches!(error, StoreError::Corrupted(_)), "{error}");
        }
    }

    #[test]
    fn noise_opens_or_asks_to_be_formatted(seed in any::<u64>(), sparse in any::<bool>()) {
        let layout = layout(1024, 4);
        let mut flash: Small = flash_for(&layout);
        let mut state = seed | 1;
        for at in layout.settings.start as usize..layout.messages.end as usize {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let [.., noise, other] = state.to_be_bytes().map(|byte| byte.rotate_left(3));
            let [noise, other] = [noise ^ (state >> 60) as u8, other ^ (state >> 33) as u8];
            // Half of it looks erased.
            flash.bytes_mut()[at] = if sparse && other < 128 { 0xff } else { noise };
        }
        match Store::open(&mut flash, layout.clone()) {
            Ok(_) => {}
            Err(error) => prop_assert!(matches!(error, StoreError::Corrupted(_)), "{error}"),
        }
        let mut store = Store::format(&mut flash, layout.clone()).unwrap();
        let mut model = Model::default();
        model.make(&mut store, Step::Ratchet(1));
        model.make(&mut store, Step::Message { id: 1, len: 9 });
        prop_assert_eq!(read(flash, &layout), model.contents);
    }

    /// The journal is sound, all else is noise.
    #[test]
    fn noise_beside_a_sound_journal_never_panics(
        pages in prop::collection::vec(prop::collection::vec(any::<u8>(), 1024), 8),
        marks in prop::collection::vec((any::<bool>(), any::<bool>()), 8),
    ) {
        let layout = layout(1024, 5);
        let (flash, ..) = lived_in(&layout);
        let mut flash = flash.copy(1);
        let start = layout.settings.start as usize + 2 * 1024;
        for (index, (page, (first, last))) in pages.into_iter().zip(marks).enumerate() {
            let place = &mut flash.bytes_mut()[start + index * 1024..][..1024];
            place.copy_from_slice(&page);
            place[..4].fill(if first { 0 } else { 0xff });
            place[1020..].fill(if last { 0 } else { 0xff });
        }
        match Store::open(&mut flash, layout) {
            Ok(mut store) => {
                prop_assert!(store.ratchet().unwrap().is_some());
                for step in [Step::Address(1), Step::Document { len: 9, version: 1 }, Step::Tag { epoch: 1, tag: 1 },
                    Step::ForgetTags(2), Step::Message { id: 1, len: 9 }, Step::RemoveMessage]
                {
                    let result = make(&mut store, step);
                    let clear = matches!(result, Ok(_) | Err(StoreError::Full(_) | StoreError::Corrupted(_)));
                    prop_assert!(clear, "{:?}", result);
                }
            }
            Err(error) => prop_assert!(matches!(error, StoreError::Corrupted(_)), "{error}"),
        }
    }
}

#[test]
fn no_flipped_bit_forgets_a_packet_that_was_admitted() {
    let layout = layout(1024, 5);
    let (flash, model, _) = lived_in(&layout);
    let mut refused = 0;
    for at in layout.tags.start as usize..layout.tags.end as usize {
        for bit in 0..8 {
            let mut flash = flash.copy(1);
            flash.bytes_mut()[at] ^= 1 << bit;
            let tags = read(&mut flash, &layout).tags;
            for tag in &model.contents.tags {
                assert!(tags.contains(tag), "byte {at}, bit {bit}: {tag:?} would pass a second time");
            }
            refused = refused.max(tags.len() - model.contents.tags.len());
        }
    }
    assert!((1..=4).contains(&refused), "{refused} packets more are refused");
}
