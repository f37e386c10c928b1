//! What ends when a network document has expired and none follows.

use std::time::Duration;

use motemix_directory::Epoch;

use crate::board::Chip;
use crate::world::{LIFETIME, NOON, Terms, World};

const OVERLAP: u64 = 60;

/// Messages leave on ticks, beside cover.
fn terms() -> Terms {
    let mut terms = Terms::default();
    terms.parameters.overlap = Duration::from_secs(OVERLAP);
    terms.parameters.loop_mean = Some(Duration::from_secs(20));
    terms.parameters.drop_mean = Some(Duration::from_secs(20));
    terms.parameters.payload_mean = Some(Duration::from_secs(5));
    terms
}

fn quiet() -> Terms {
    let mut terms = Terms::default();
    terms.parameters.overlap = Duration::from_secs(OVERLAP);
    terms
}

fn until(world: &mut World, time: u64) {
    let left = time - world.unix_time();
    world.seconds(left);
}

fn frames(world: &World) -> usize {
    world.air.borrow().sent.len()
}

fn seed(chip: &Chip) -> (Epoch, [u8; 32]) {
    let ratchet = chip.store().ratchet().unwrap().expect("it has a key");
    (ratchet.epoch(), *ratchet.expose_seed())
}

fn tags(chip: &Chip, epoch: u32) -> usize {
    let mut count = 0;
    chip.store().each_tag(Epoch(epoch), |_| count += 1).unwrap();
    count
}

#[test]
fn a_payload_stream_ends_with_its_document() {
    let ends = NOON + 300;
    // The flash of these boards does not last for an hour of it.
    let terms = Terms { valid_after: ends - LIFETIME, ..terms() };
    let mut world = World::running(3, &terms, 110);
    until(&mut world, ends);
    assert!(frames(&world) > 1000, "ticks and cover: {}", frames(&world));
    // What is under way for others arrives.
    world.seconds(20);
    let silent = frames(&world);
    world.seconds(600);
    assert_eq!(frames(&world), silent, "no tick, no cover, no message, during the overlap and after it");
    for board in 0..3 {
        let said = world.printed(board);
        assert!(said.contains("warning: the network document has expired; "), "{board}: {said}");
        assert!(world.say(board, "send mote-1 late").starts_with("error: "));
    }
    world.seconds(600);
    assert_eq!(frames(&world), silent);
}

#[test]
fn a_message_under_way_when_the_document_expires_is_forwarded_and_acknowledged() {
    let mut terms = quiet();
    terms.parameters.mean_delay = Duration::from_secs(2);
    let mut world = World::running(3, &terms, 111);
    world.exchange(0, 1, "the way is known");
    until(&mut world, NOON + LIFETIME - 1);
    world.send(0, 1, "at the end");
    world.seconds(1);
    assert!(!world.printed(0).contains("acknowledged"), "it is under way");
    world.seconds(30);
    assert!(world.printed(0).contains("acknowledged"));
    assert_eq!(world.inbox(1).len(), 1);
}

#[test]
fn the_key_goes_an_overlap_after_its_document() {
    let mut world = World::running(3, &quiet(), 112);
    world.exchange(0, 1, "leaves a tag");
    let chip = world.boards[2].chip.clone();
    let (epoch, old) = seed(&chip);
    assert_eq!(epoch, Epoch(7));
    assert!(tags(&chip, 7) > 0);
    until(&mut world, NOON + LIFETIME + OVERLAP - 1);
    assert_eq!(seed(&chip).1, old, "others' clocks may be slower");
    // Nobody types, and nothing arrives.
    world.seconds(3);
    assert_eq!(seed(&chip).0, Epoch(8));
    assert_eq!(tags(&chip, 7), 0);
    assert!(!chip.bytes().windows(32).any(|window| window == old), "the seed is still in flash");
    assert_eq!(chip.store().newest_epoch().unwrap(), Some(Epoch(7)), "none has begun");
    let said = world.say(2, "key 7");
    assert!(said.starts_with("error: the key of epoch 7 is gone"), "{said}");
    let said = world.printed(2) + &world.say(2, "status");
    assert!(said.contains("the node runs\n") && !said.contains("replay filter"), "{said}");
}

#[test]
fn packets_of_an_epoch_that_has_ended_are_not_taken() {
    let mut world = World::running(3, &quiet(), 113);
    world.exchange(0, 1, "once");
    let heard: Vec<_> = world.air.borrow().sent.iter().filter(|sent| sent.is_fragment()).cloned().collect();
    until(&mut world, NOON + LIFETIME + OVERLAP + 2);
    let before = frames(&world);
    for sent in heard {
        world.air.borrow_mut().inject(sent.to.unwrap(), sent.frame);
    }
    world.seconds(30);
    assert_eq!(frames(&world), before);
    let dropped: u64 = (0..3).map(|board| world.status(board, "dropped no-epoch")).sum();
    assert_eq!(dropped, 4, "two hops there, two back");
}

#[test]
fn a_document_that_comes_after_the_end_begins() {
    for (given, begins) in [(OVERLAP + 300, OVERLAP + 300), (0, OVERLAP + 30), (10, 20)] {
        let terms = quiet();
        let mut world = World::running(3, &terms, 114);
        let ends = NOON + LIFETIME;
        let next = Terms { epoch: 8, valid_after: ends + begins, ..terms };
        until(&mut world, ends + given - 5);
        let nodes = world.list(next.epoch);
        let document = next.sign(&nodes);
        (0..3).for_each(|board| drop(world.give(board, &document)));
        until(&mut world, next.valid_after + 2);
        for board in 0..3 {
            assert!(world.printed(board).contains("epoch 8 begins\n"), "{given}, {begins}");
        }
        world.exchange(0, 1, "in time again");
        // It ends as well.
        until(&mut world, next.valid_after + LIFETIME + OVERLAP + 2);
        assert_eq!(seed(&world.boards[0].chip).0, Epoch(9));
    }
}

#[test]
fn a_document_of_the_epoch_that_has_ended_does_not_bring_it_back() {
    let terms = quiet();
    let mut world = World::running(3, &terms, 115);
    until(&mut world, NOON + LIFETIME - 100);
    let nodes = world.list(terms.epoch);
    let longer = Terms { valid_after: NOON + 100, ..terms }.sign(&nodes);
    until(&mut world, NOON + LIFETIME + OVERLAP + 2);
    let said = world.give(0, &longer);
    assert!(said.starts_with("error: epoch 7 is older than 8"), "{said}");
    world.say(0, "stop");
    let said = world.give(0, &longer);
    assert!(said.starts_with("error: "), "{said}");
}

#[test]
fn power_cut_at_any_byte_of_the_end_leaves_the_key_or_the_next_one() {
    let mut world = World::running(3, &quiet(), 116);
    world.exchange(0, 1, "leaves a tag");
    let over = NOON + LIFETIME + OVERLAP + 1;
    until(&mut world, NOON + LIFETIME - 1);
    let chip = world.boards[2].chip.clone();
    let (mut cuts, mut gone) = (0, 0);
    for budget in 1.. {
        let copy = chip.copy(budget);
        let mut world = World::with(vec![Chip::new(), Chip::new(), copy.clone()], 117);
        let time = motemix_node::Instant::from_micros((NOON + LIFETIME - 2 - NOON) * 1_000_000);
        world.now.set(time);
        world.set_clock(2);
        assert_eq!(world.say(2, "start"), "ok\n");
        until(&mut world, over - 1);
        copy.power().set(Some(budget as u32));
        world.seconds(3);
        let was_cut = !world.boards[2].is_on();
        copy.power().set(None);
        world.switch_off(2);
        world.switch_on(2);
        let (epoch, _) = seed(&copy);
        assert!(epoch == Epoch(7) || epoch == Epoch(8), "{epoch}");
        assert!(epoch == Epoch(8) || tags(&copy, 7) > 0, "tags go after their key");
        gone += usize::from(epoch == Epoch(8));
        // The next document begins, whatever was cut short.
        world.set_clock(2);
        world.say(2, "start");
        let next = Terms { epoch: 8, valid_after: NOON + LIFETIME, ..quiet() };
        let nodes = world.list_stopped(2, next.epoch);
        assert_eq!(world.give(2, &next.sign(&nodes)), "ok epoch 8, 3 nodes\n", "after {budget} bytes");
        assert_eq!(world.say(2, "start"), "ok\n");
        assert!(world.say(2, "key 7").starts_with("error: the key of epoch 7 is gone"));
        assert_eq!(tags(&copy, 7), 0);
        if !was_cut {
            break;
        }
        cuts += 1;
    }
    assert!(cuts > 100 && gone > 10, "{cuts} cuts, {gone} after the key went");
}
