//! Power that is cut at every byte of every step of a story.

use std::collections::HashMap;

use motemix_mote::store::{Layout, Region, Store, StoreError};

use crate::flash::{Flash, Tear};
use crate::model::{EPOCHS, Model, Step, make, seed};
use crate::{assert_outside_untouched, flash_for, layout};

/// The life of a mote that forwards, receives, sends and changes its epoch; long enough for every
/// region of small pages to be filled, emptied and used again.
fn life(epochs: u32, tags: u32, messages: u32, document: usize) -> Vec<Step> {
    let mut steps = vec![Step::Address(0xa1), Step::Authorities { threshold: 2, keys: 3 }];
    for epoch in 1..=epochs {
        steps.push(Step::Ratchet(epoch));
        steps.push(Step::NewestEpoch(epoch));
        steps.push(Step::Document { len: document - epoch as usize * 9, version: epoch as u8 });
        for tag in 0..tags {
            // The epoch before is still accepted at the beginning of this one.
            let of = if tag % 5 == 4 && tag < tags / 2 { epoch - 1 } else { epoch };
            steps.push(Step::Tag { epoch: of, tag: u64::from(epoch) << 32 | u64::from(tag) });
            if tag < messages {
                steps.push(Step::Message { id: epoch << 8 | tag, len: (tag as usize * 37) % 128 });
                steps.push(Step::Sequence);
            }
        }
        steps.extend((0..messages).map(|_| Step::RemoveMessage));
        steps.push(Step::ForgetTags(epoch));
    }
    steps.push(Step::Address(0xb2));
    steps.push(Step::Authorities { threshold: 1, keys: 1 });
    steps
}

/// A moment of the story: what is in flash, what must be there, and what comes next.
struct Moment<const WORD: usize, const PAGE: usize> {
    flash: Flash<WORD, PAGE>,
    model: Model,
    step: Step,
    erases: bool,
}

/// Tells the story without a cut.
fn moments<const WORD: usize, const PAGE: usize>(layout: &Layout, steps: &[Step]) -> Vec<Moment<WORD, PAGE>> {
    let mut model = Model::default();
    let mut flash = flash_for(layout);
    Store::open(&mut flash, layout.clone()).unwrap();
    let mut moments = Vec::new();
    for &step in steps {
        let before = flash.copy(1);
        let mut store = Store::open(&mut flash, layout.clone()).unwrap();
        let earlier = model.clone();
        model.make(&mut store, step);
        let erases = flash.erases > before.erases;
        moments.push(Moment { flash: before, model: earlier, step, erases });
    }
    model.check(flash.copy(1), layout);
    assert_outside_untouched(&flash, layout);
    moments
}

impl<const WORD: usize, const PAGE: usize> Moment<WORD, PAGE> {
    /// Makes the step with power for `budget` bytes; the flash as the cut left it, or nothing if
    /// the power was enough.
    fn cut(&self, layout: &Layout, tear: Tear, budget: u32) -> Option<Flash<WORD, PAGE>> {
        let mut flash = self.flash.copy(u64::from(budget) << 8 | 0x55);
        flash.tear = tear;
        let power = flash.budget.clone();
        let mut store = Store::open(&mut flash, layout.clone()).unwrap();
        power.set(Some(budget));
        let result = make(&mut store, self.step);
        let was_cut = power.get() == Some(0);
        assert_eq!(was_cut, result.is_err(), "{:?}: {result:?} with the power cut: {was_cut}", self.step);
        was_cut.then(|| flash.copy(u64::from(budget) << 8 | 0xaa))
    }
}

/// After a cut: nothing is lost, no number comes twice, no seed stays, and all goes on.
fn recovers<const WORD: usize, const PAGE: usize>(
    mut flash: Flash<WORD, PAGE>,
    layout: &Layout,
    mut model: Model,
    step: Step,
    goes_on: bool,
) {
    model.check_interrupted(flash.copy(7), layout, step);
    let mut store = Store::open(&mut flash, layout.clone()).unwrap();
    model.make(&mut store, Step::Sequence);
    assert_one_seed(&flash, layout, &model);
    assert_outside_untouched(&flash, layout);
    if goes_on {
        let mut store = Store::open(&mut flash, layout.clone()).unwrap();
        let epoch = EPOCHS.end - 1;
        model.make(&mut store, Step::Ratchet(epoch));
        let len = store.document_capacity();
        model.make(&mut store, Step::Document { len, version: 99 });
        model.make(&mut store, Step::ForgetTags(epoch));
        // Twice what the region has room for, so that every page is used.
        let most = layout.tags.len() / 20 * 2;
        for tag in 0..most {
            let step = Step::Tag { epoch, tag: tag as u64 };
            match make(&mut store, step) {
                Ok(number) => model.acknowledge(step, number),
                Err(error) => {
                    assert_eq!(error, StoreError::Full(Region::Tags));
                    assert!(tag > most / 4, "full after {tag} tags");
                    break;
                }
            }
        }
        while !model.contents.messages.is_empty() {
            model.make(&mut store, Step::RemoveMessage);
        }
        for id in 0..8 {
            model.make(&mut store, Step::Message { id, len: 100 });
        }
        model.check(flash.copy(9), layout);
    }
}

/// The pages for seeds hold only the seed that is kept, and no part of another one of the story.
fn assert_one_seed<const WORD: usize, const PAGE: usize>(
    flash: &Flash<WORD, PAGE>,
    layout: &Layout,
    model: &Model,
) {
    let journal = &flash.bytes()[layout.settings.start as usize..][..2 * PAGE];
    let kept = model.contents.ratchet.map(|(epoch, _)| epoch);
    let others = EPOCHS.filter(|epoch| Some(*epoch) != kept);
    let parts =
        others.flat_map(|epoch| seed(epoch).chunks(4).map(|part| (word(part), epoch)).collect::<Vec<_>>());
    let parts: HashMap<u32, u32> = parts.collect();
    // Most of it is erased: that is passed over, for this is asked after every cut.
    for found in journal.windows(4).map(word).filter(|found| *found != u32::MAX) {
        assert_eq!(
            parts.get(&found),
            None,
            "a part of this epoch's seed is still in flash, kept is {kept:?}"
        );
    }
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes.try_into().expect("four bytes"))
}

/// Cuts the power a second time, at every byte of what opening the store repairs.
fn recovers_from_cuts_in_recovery<const WORD: usize, const PAGE: usize>(
    flash: &Flash<WORD, PAGE>,
    layout: &Layout,
    model: &Model,
    step: Step,
) -> usize {
    let mut cuts = 0;
    loop {
        let mut again = flash.copy(cuts as u64);
        let power = again.budget.clone();
        power.set(Some(1 + cuts as u32));
        let opened = Store::open(&mut again, layout.clone()).is_ok();
        assert_eq!(opened, power.get() != Some(0), "the store opens unless its power is cut");
        recovers(again.copy(cuts as u64), layout, model.clone(), step, false);
        if opened {
            return cuts;
        }
        cuts += 1;
    }
}

/// What was cut, for the tests to say how much they tested.
#[derive(Default, Debug)]
struct Cuts {
    steps: usize,
    steps_that_erase: usize,
    cuts: usize,
    cuts_in_recovery: usize,
}

/// Cuts the steps that `choose` chooses at every byte, and the recovery of every `nth` cut.
fn cut_everywhere<const WORD: usize, const PAGE: usize>(
    layout: &Layout,
    steps: &[Step],
    tear: Tear,
    nth: usize,
    choose: impl Fn(&Moment<WORD, PAGE>) -> bool,
) -> Cuts {
    let mut done = Cuts::default();
    for moment in moments::<WORD, PAGE>(layout, steps).iter().filter(|moment| choose(moment)) {
        done.steps += 1;
        done.steps_that_erase += usize::from(moment.erases);
        let mut budget = 1;
        while let Some(flash) = moment.cut(layout, tear, budget) {
            done.cuts += 1;
            if done.cuts.is_multiple_of(nth) {
                done.cuts_in_recovery +=
                    recovers_from_cuts_in_recovery(&flash, layout, &moment.model, moment.step);
            }
            recovers(flash, layout, moment.model.clone(), moment.step, done.cuts.is_multiple_of(61));
            budget += 1;
        }
    }
    println!("{WORD}-byte words, {PAGE}-byte pages, {tear:?}: {done:?}");
    done
}

#[test]
fn every_step_survives_a_cut_after_any_byte() {
    let done = cut_everywhere::<4, 1024>(&layout(1024, 6), &life(3, 30, 6, 400), Tear::Bytes, 100, |_| true);
    assert!(done.cuts > 6_000 && done.cuts_in_recovery > 500, "{done:?}");
}

#[test]
fn every_step_survives_a_cut_that_leaves_any_bits() {
    let done = cut_everywhere::<4, 1024>(&layout(1024, 6), &life(3, 30, 6, 400), Tear::Bits, 100, |_| true);
    assert!(done.cuts > 6_000 && done.cuts_in_recovery > 500, "{done:?}");
}

/// A longer story, in which only the steps are cut that turn to another page.
fn page_turns_survive<const WORD: usize, const PAGE: usize>(settings: u32, steps: &[Step], turns: usize) {
    for tear in [Tear::Bytes, Tear::Bits] {
        let turning = |moment: &Moment<WORD, PAGE>| moment.erases;
        let done = cut_everywhere(&layout(PAGE, settings), steps, tear, 100, turning);
        assert!(done.steps >= turns, "{done:?}");
    }
}

#[test]
fn page_turns_of_small_pages_survive_cuts() {
    page_turns_survive::<4, 1024>(5, &life(10, 40, 8, 300), 20);
}

#[test]
fn page_turns_of_flash_with_half_words_survive_cuts() {
    page_turns_survive::<2, 1024>(5, &life(8, 40, 8, 300), 12);
}

#[test]
fn page_turns_of_flash_with_double_words_survive_cuts() {
    page_turns_survive::<8, 2048>(5, &life(8, 80, 12, 400), 10);
}

#[test]
fn page_turns_of_large_pages_survive_cuts() {
    page_turns_survive::<4, 4096>(4, &life(6, 150, 14, 700), 6);
}

#[test]
fn a_store_that_is_being_formatted_opens_as_before_or_not_at_all() {
    let layout = layout(1024, 4);
    let last = moments::<4, 1024>(&layout, &life(2, 10, 3, 100)).pop().unwrap();
    let mut cuts = 0;
    loop {
        let mut flash = last.flash.copy(cuts);
        let power = flash.budget.clone();
        power.set(Some(1 + cuts as u32));
        if Store::format(&mut flash, layout.clone()).is_ok() {
            break;
        }
        cuts += 1;
        let mut flash = flash.copy(cuts);
        match Store::open(&mut flash, layout.clone()) {
            Ok(mut store) => {
                let formatted = store.ratchet().unwrap().is_none();
                let model = if formatted { &Model::default() } else { &last.model };
                model.check(flash.copy(cuts), &layout);
            }
            Err(error) => assert_eq!(error, StoreError::Corrupted(Region::Journal)),
        }
        Store::format(&mut flash, layout.clone()).unwrap();
        Model::default().check(flash.copy(cuts), &layout);
        assert_one_seed(&flash, &layout, &Model::default());
    }
    assert!(cuts > 80, "{cuts}");
}
