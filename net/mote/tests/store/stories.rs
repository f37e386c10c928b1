//! What a store does while its power lasts.

use motemix_directory::Epoch;
use motemix_mote::store::{
    DocumentHead, Layout, LayoutProblem, MAX_MESSAGE_LEN, Region, SEQUENCE_BLOCK, Store, StoreError,
};
use motemix_node::Admitted;
use motemix_sphinx::MessageId;

use crate::flash::Flash;
use crate::model::{HEAD, Model, Step, digest, make, number, seed};
use crate::{flash_for, layout};

type Small = Flash<4, 1024>;
type Large = Flash<4, 4096>;

#[test]
fn erased_flash_is_an_empty_store() {
    let layout = layout(1024, 4);
    let mut flash: Small = flash_for(&layout);
    Store::open(&mut flash, layout.clone()).unwrap();
    Model::default().check(flash, &layout);
}

#[test]
fn a_store_that_is_opened_again_writes_nothing() {
    let layout = layout(1024, 4);
    let mut flash: Small = flash_for(&layout);
    let mut store = Store::open(&mut flash, layout.clone()).unwrap();
    let mut model = Model::default();
    model.make(&mut store, Step::Ratchet(1));
    model.make(&mut store, Step::Tag { epoch: 1, tag: 1 });
    let before = flash.bytes().to_vec();
    model.check(&mut flash, &layout);
    assert_eq!(flash.bytes(), before);
}

#[test]
fn sequence_numbers_cost_one_write_a_block() {
    let layout = layout(1024, 4);
    let mut flash: Small = flash_for(&layout);
    let mut numbers = Vec::new();
    for _ in 0..3 {
        let mut store = Store::open(&mut flash, layout.clone()).unwrap();
        numbers.extend((0..SEQUENCE_BLOCK + 8).map(|_| store.next_sequence().unwrap()));
    }
    let in_order = numbers.is_sorted_by(|one, next| one < next);
    assert!(in_order && numbers[0] == 0, "{numbers:?}");
    let record = 64 + 68;
    // The first record, and two blocks for each time that it was opened; each wipes the one before.
    assert_eq!(flash.bytes_written, 64 + 6 * record);
    assert_eq!(
        numbers[SEQUENCE_BLOCK as usize + 8],
        2 * SEQUENCE_BLOCK,
        "what was reserved and not used is left out"
    );
}

#[test]
fn the_newest_epoch_never_goes_back() {
    let layout = layout(1024, 4);
    let mut store = Store::open(flash_for::<4, 1024>(&layout), layout).unwrap();
    for (kept, newest) in [(7, 7), (5, 7), (9, 9), (0, 9)] {
        store.keep_newest_epoch(Epoch(kept)).unwrap();
        assert_eq!(store.newest_epoch().unwrap(), Some(Epoch(newest)));
    }
}

#[test]
fn a_seed_that_was_replaced_is_nowhere_in_the_flash() {
    let layout = layout(1024, 4);
    let mut flash: Small = flash_for(&layout);
    let mut store = Store::open(&mut flash, layout.clone()).unwrap();
    for epoch in 1..60 {
        make(&mut store, Step::Ratchet(epoch)).unwrap();
        // Other changes of the record copy the seed, and leave no copy behind either.
        store.keep_newest_epoch(Epoch(epoch)).unwrap();
    }
    let flash = store.into_flash();
    let copies = |epoch| flash.bytes().windows(32).filter(|window| *window == seed(epoch)).count();
    assert_eq!((1..59).map(copies).sum::<usize>(), 0);
    assert_eq!(copies(59), 1);
}

#[test]
fn tags_of_two_epochs_arrive_mixed_and_are_forgotten_by_epoch() {
    let layout = layout(1024, 4);
    let mut store = Store::open(flash_for::<4, 1024>(&layout), layout).unwrap();
    for tag in 0..60 {
        store.keep_tag(Admitted { epoch: Epoch(4 + tag as u32 % 2), digest: digest(tag) }).unwrap();
    }
    let tags_of = |store: &mut Store<Small>, epoch| {
        let mut tags = Vec::new();
        store.each_tag(Epoch(epoch), |admitted| tags.push(number(admitted.digest))).unwrap();
        tags
    };
    assert_eq!(tags_of(&mut store, 4), (0..60).step_by(2).collect::<Vec<_>>());
    store.forget_tags_before(Epoch(5)).unwrap();
    assert_eq!(tags_of(&mut store, 4), []);
    assert_eq!(tags_of(&mut store, 5), (1..60).step_by(2).collect::<Vec<_>>());
}

#[test]
fn full_tags_say_so_lose_nothing_and_are_usable_again() {
    let layout = layout(1024, 4);
    let mut flash: Small = flash_for(&layout);
    let mut store = Store::open(&mut flash, layout.clone()).unwrap();
    let mut model = Model::default();
    for round in 1..5 {
        let mut kept = 0;
        loop {
            let step = Step::Tag { epoch: round, tag: kept };
            match make(&mut store, step) {
                Ok(number) => model.acknowledge(step, number),
                Err(error) => break assert_eq!(error, StoreError::Full(Region::Tags)),
            }
            kept += 1;
        }
        // Three pages of 1,024 bytes, each with a header of sixteen.
        assert_eq!(kept, 3 * 252, "round {round}");
        // Full tags keep nobody from receiving, sending and changing the epoch.
        model.make(&mut store, Step::Message { id: round, len: 20 });
        model.make(&mut store, Step::Ratchet(round));
        assert_eq!(make(&mut store, Step::Tag { epoch: 9, tag: 0 }), Err(StoreError::Full(Region::Tags)));
        model.make(&mut store, Step::ForgetTags(round + 1));
    }
    model.check(flash, &layout);
}

#[test]
fn full_messages_say_so_and_leave_in_the_order_in_which_they_came() {
    let layout = layout(1024, 4);
    let mut flash: Small = flash_for(&layout);
    let mut store = Store::open(&mut flash, layout.clone()).unwrap();
    let mut model = Model::default();
    let mut refused = 0;
    for id in 0..80 {
        let step = Step::Message { id, len: 103 };
        match make(&mut store, step) {
            Ok(number) => model.acknowledge(step, number),
            Err(error) => {
                assert_eq!(error, StoreError::Full(Region::Messages));
                refused += 1;
                model.make(&mut store, Step::RemoveMessage);
            }
        }
    }
    assert!((20..70).contains(&refused), "{refused}");
    model.check(flash, &layout);
}

#[test]
fn a_document_follows_one_of_an_earlier_epoch_and_of_its_own_network() {
    let layout = layout(1024, 8);
    let mut store = Store::open(flash_for::<4, 1024>(&layout), layout).unwrap();
    let of = |epoch, network| DocumentHead { epoch: Epoch(epoch), network, ..HEAD };
    for (current, next, follows) in [
        (of(7, 1), of(8, 1), true),
        (of(8, 1), of(8, 1), false),
        (of(9, 1), of(8, 1), false),
        (of(7, 1), of(8, 2), false),
    ] {
        store.keep_document(b"current", current).unwrap();
        store.keep_next_document(b"next", next).unwrap();
        assert_eq!(store.document_head(), Ok(Some(current)));
        assert_eq!(store.next_document_head(), Ok(follows.then_some(next)));
        // Only when its epoch begins.
        store.promote_document(Epoch(10)).unwrap();
        assert_eq!(store.document_head(), Ok(Some(current)));
        store.promote_document(next.epoch).unwrap();
        let (head, bytes) =
            if follows { (next, b"next".as_slice()) } else { (current, b"current".as_slice()) };
        assert_eq!(store.document_head(), Ok(Some(head)));
        assert_eq!(
            store.document(&mut [0; 16]).map(|bytes| bytes.map(<[u8]>::to_vec)),
            Ok(Some(bytes.to_vec()))
        );
        assert_eq!(store.next_document_head(), Ok(None));
    }
}

/// Every layout takes documents of the length that it says, again and again.
fn documents_fit<const WORD: usize, const PAGE: usize>(settings: u32, least: usize) {
    let layout = layout(PAGE, settings);
    let mut flash: Flash<WORD, PAGE> = flash_for(&layout);
    let mut store = Store::open(&mut flash, layout.clone()).unwrap();
    let most = store.document_capacity();
    assert!(most >= least, "{most}");
    let mut model = Model::default();
    for version in 0..60 {
        model.make(&mut store, Step::Address(version));
        model.make(&mut store, Step::Authorities { threshold: version, keys: 4 });
        let len = if version % 3 == 1 { most / 3 } else { most };
        model.make(&mut store, Step::Document { len, version });
    }
    let refused = make(&mut store, Step::Document { len: most + 1, version: 0 });
    assert_eq!(refused, Err(StoreError::TooLong { most }));
    assert!(flash.erases > 0);
    model.check(flash, &layout);
}

#[test]
fn documents_of_the_greatest_length_always_fit() {
    documents_fit::<4, 1024>(4, 128);
    documents_fit::<4, 1024>(5, 384);
    documents_fit::<4, 1024>(6, 640);
    documents_fit::<4, 1024>(8, 1_024);
    documents_fit::<8, 2048>(5, 640);
    documents_fit::<4, 4096>(4, 1_024);
    documents_fit::<4, 4096>(8, 5_632);
    documents_fit::<1, 4096>(4, 1_024);
    documents_fit::<32, 4096>(4, 640);
}

#[test]
fn what_does_not_fit_is_refused_with_the_length_that_does() {
    let layout = layout(4096, 4);
    let mut store = Store::open(flash_for::<4, 4096>(&layout), layout).unwrap();
    make(&mut store, Step::Document { len: 700, version: 1 }).unwrap();
    make(&mut store, Step::Message { id: 1, len: 103 }).unwrap();

    assert_eq!(store.document(&mut [0; 699]), Err(StoreError::BufferTooShort { needed: 700 }));
    assert_eq!(store.oldest_message(&mut [0; 102]), Err(StoreError::BufferTooShort { needed: 103 }));
    let long = [0; MAX_MESSAGE_LEN + 1];
    let refused = store.keep_message(MessageId([0; 4]), &long);
    assert_eq!(refused, Err(StoreError::TooLong { most: MAX_MESSAGE_LEN }));
    assert_eq!(store.keep_authorities(1, &[[0; 32]; 5]), Err(StoreError::TooLong { most: 4 }));
    assert_eq!(store.document_capacity(), 1_024);
}

#[test]
fn a_layout_that_does_not_suit_the_flash_is_refused() {
    let good = layout(4096, 4);
    let refused = |change: fn(&mut Layout)| {
        let mut bad = good.clone();
        change(&mut bad);
        Store::open(flash_for::<4, 4096>(&good), bad).unwrap_err()
    };
    for (change, problem) in [
        ((|bad| bad.tags.start += 1) as fn(&mut Layout), LayoutProblem::Alignment),
        (|bad| bad.messages.end += 16 * 4096, LayoutProblem::Alignment),
        (|bad| bad.settings.end -= 4096, LayoutProblem::TooSmall),
        (|bad| bad.messages = 0..0, LayoutProblem::TooSmall),
        (|bad| bad.tags.start -= 4096, LayoutProblem::Overlap),
        (|bad| bad.messages = bad.tags.clone(), LayoutProblem::Overlap),
    ] {
        assert_eq!(refused(change), StoreError::Layout(problem));
    }
    let small = layout(256, 4);
    let error = Store::open(flash_for::<4, 256>(&small), small).unwrap_err();
    assert_eq!(error, StoreError::Layout(LayoutProblem::Flash));
}

#[test]
fn no_word_is_written_more_than_twice_between_erases() {
    // What Nordic's nRF52840 allows for a word, at most.
    let layout = layout(4096, 4);
    let mut flash: Large = flash_for(&layout);
    let mut store = Store::open(&mut flash, layout).unwrap();
    for epoch in 0..8 {
        make(&mut store, Step::Ratchet(epoch)).unwrap();
        make(&mut store, Step::Document { len: 1_000, version: epoch as u8 }).unwrap();
        for id in 0..100 {
            make(&mut store, Step::Tag { epoch, tag: u64::from(id) }).unwrap();
            make(&mut store, Step::Message { id, len: 100 }).unwrap();
            make(&mut store, Step::Sequence).unwrap();
            make(&mut store, Step::RemoveMessage).unwrap();
        }
        make(&mut store, Step::ForgetTags(epoch + 1)).unwrap();
    }
    assert!(flash.erases > 20, "{}", flash.erases);
    assert_eq!(flash.most_writes, 2);
}

#[test]
fn a_store_says_nothing_about_its_keys() {
    let layout = layout(1024, 4);
    let mut store = Store::open(flash_for::<4, 1024>(&layout), layout).unwrap();
    make(&mut store, Step::Ratchet(3)).unwrap();
    assert_eq!(format!("{store:?} {:?}", store.ratchet()), "Store(..) Ok(Some(KeyRatchet(..)))");
}
