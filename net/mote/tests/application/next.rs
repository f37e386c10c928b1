//! The next epoch's network document, while the node runs.

use std::time::Duration;

use crate::board::Chip;
use crate::world::{LIFETIME, Terms, World, name};

/// Epochs with an overlap, one after the other.
fn terms() -> Terms {
    let mut terms = Terms::default();
    terms.parameters.overlap = Duration::from_secs(60);
    terms
}

fn after(terms: &Terms) -> Terms {
    Terms { epoch: terms.epoch + 1, valid_after: terms.valid_after + LIFETIME, ..terms.clone() }
}

/// Gives the next document to all boards.
fn give_next(world: &mut World, next: &Terms) {
    let nodes = world.list(next.epoch);
    let document = next.sign(&nodes);
    for board in 0..world.boards.len() {
        let said = world.give(board, &document);
        assert_eq!(said, format!("ok epoch {} begins at {}\n", next.epoch, next.valid_after));
    }
}

#[test]
fn three_epochs_pass_and_every_message_is_acknowledged() {
    let mut terms = terms();
    let mut world = World::running(3, &terms, 90);
    for epoch in 0..3 {
        world.exchange(0, 1, &format!("before {epoch}"));
        let next = after(&terms);
        give_next(&mut world, &next);
        // A message is under way when the epoch ends.
        let left = next.valid_after - world.unix_time();
        world.seconds(left - 1);
        world.printed(0);
        world.send(0, 1, &format!("at the end of {epoch}"));
        world.seconds(30);
        let said = world.printed(0);
        assert!(said.contains(&format!("epoch {} begins\n", next.epoch)), "{said}");
        assert!(said.contains("acknowledged "), "{said}");
        assert_eq!(world.inbox(1).len(), 1);
        terms = next;
    }
    for board in 0..3 {
        assert_eq!(world.status(board, "discarded"), 0);
        // The key of the first epoch is gone, though nobody stopped the node.
        let said = world.say(board, "key 7");
        assert!(said.starts_with("error: the key of epoch 7 is gone"), "{said}");
    }
}

#[test]
fn a_board_that_was_off_when_the_epoch_began_starts_in_it() {
    let terms = terms();
    let mut world = World::running(3, &terms, 91);
    let next = after(&terms);
    give_next(&mut world, &next);
    world.seconds(10);
    // Before it begins, the current document still counts.
    world.restart(2);
    let left = next.valid_after - world.unix_time();
    world.seconds(left - 1);
    world.switch_off(2);
    world.seconds(120);
    world.switch_on(2);
    world.set_clock(2);
    assert_eq!(world.say(2, "start"), "ok\n");
    world.exchange(0, 1, "through the mix");
}

#[test]
fn a_start_that_is_refused_by_a_mistyped_time_changes_nothing_in_flash() {
    let terms = terms();
    let mut world = World::running(3, &terms, 96);
    let next = after(&terms);
    give_next(&mut world, &next);
    world.say(0, "stop");
    let flash = world.boards[0].chip.bytes();
    // The next epoch's document has expired by then, and the present one's long before.
    let mistyped = next.valid_after + LIFETIME + 1;
    assert_eq!(world.say(0, &format!("time {mistyped}")), "ok\n");
    let said = world.say(0, "start");
    assert!(said.starts_with("error: ") && said.contains("expired"), "{said}");
    assert!(world.boards[0].chip.bytes() == flash, "something changed in flash");
    world.set_clock(0);
    assert_eq!(world.say(0, "start"), "ok\n");
    world.exchange(0, 1, "in the present epoch");
    let left = next.valid_after - world.unix_time();
    world.seconds(left + 1);
    assert!(world.printed(0).contains("epoch 8 begins\n"));
    world.exchange(0, 1, "in the next one");
}

#[test]
fn a_start_in_a_far_epoch_keeps_the_present_document_until_it_succeeds() {
    let terms = terms();
    let mut world = World::running(3, &terms, 97);
    let far = Terms { epoch: 4000, ..after(&terms) };
    let mut nodes = world.list(8);
    nodes[0].key = [9; 32];
    for asked in [2000, 3000, 4000] {
        // What is refused because this node is not in it moves the key in memory.
        let document = Terms { epoch: asked, ..far.clone() }.sign(&nodes);
        while world.give(0, &document).contains("part of the way") {}
        nodes[0].key = world.enlist(0, asked).key;
    }
    let document = far.sign(&nodes);
    assert!(world.give(0, &document).starts_with("ok epoch 4000 begins at "));
    world.switch_off(0);
    world.switch_on(0);
    assert_eq!(world.say(0, &format!("time {}", far.valid_after + 1)), "ok\n");
    assert!(world.say(0, "start").contains("part of the way"));
    world.set_clock(0);
    assert_eq!(world.say(0, "start"), "ok\n");
    world.exchange(0, 1, "in the present epoch");
}

#[test]
fn a_board_restarted_ahead_of_the_epoch_turns_to_it() {
    let terms = terms();
    let mut world = World::running(3, &terms, 92);
    let next = after(&terms);
    give_next(&mut world, &next);
    (0..3).for_each(|board| world.restart(board));
    let left = next.valid_after - world.unix_time();
    world.seconds(left + 1);
    assert!(world.printed(2).contains("epoch 8 begins\n"));
    world.exchange(0, 1, "new");
}

#[test]
fn documents_that_do_not_follow_are_refused_and_change_nothing() {
    let terms = terms();
    let mut world = World::running(3, &terms, 93);
    let next = after(&terms);
    let nodes = world.list(next.epoch);
    let mut swapped = nodes.clone();
    swapped.swap(0, 2);
    let forged = Terms { signer: 2, ..next.clone() }.sign(&nodes);
    let other_id = next.sign(&swapped);
    let without = next.sign(&[nodes[1].clone(), nodes[2].clone(), {
        let mut stranger = nodes[0].clone();
        stranger.key = [9; 32];
        stranger
    }]);
    let earlier = Terms { epoch: 6, ..next.clone() }.sign(&nodes);
    for (document, refusal) in [
        (forged, "signatures"),
        (other_id, "another id"),
        (without, "this node's key is not in it"),
        (earlier, "epoch 6"),
    ] {
        let said = world.give(0, &document);
        assert!(said.starts_with("error: ") && said.contains(refusal), "{refusal}: {said}");
    }
    world.exchange(0, 1, "as before");
    give_next(&mut world, &next);
    let left = next.valid_after - world.unix_time();
    world.seconds(left + 1);
    world.exchange(0, 1, "and on");
}

#[test]
fn power_cut_at_any_byte_of_the_turn_loses_neither_key_nor_document() {
    let terms = terms();
    let mut world = World::running(3, &terms, 94);
    let next = after(&terms);
    give_next(&mut world, &next);
    let left = next.valid_after - world.unix_time();
    world.seconds(left - 1);
    let chip = world.boards[0].chip.clone();
    let mut cuts = 0;
    for budget in (1..).step_by(7) {
        let copy = chip.copy(budget);
        let mut world = World::with(vec![copy, Chip::new(), Chip::new()], 95);
        world
            .now
            .set(motemix_node::Instant::from_micros((next.valid_after - crate::world::NOON - 2) * 1_000_000));
        world.set_clock(0);
        assert_eq!(world.say(0, "start"), "ok\n", "{}", name(0));
        world.boards[0].chip.power().set(Some(budget as u32));
        world.seconds(3);
        let was_cut = !world.boards[0].is_on();
        world.boards[0].chip.power().set(None);
        if !was_cut {
            break;
        }
        cuts += 1;
        world.switch_on(0);
        world.set_clock(0);
        assert_eq!(world.say(0, "start"), "ok\n", "after {budget} bytes");
        assert!(world.say(0, "key 7").starts_with("error: the key of epoch 7 is gone"));
    }
    assert!(cuts > 5, "{cuts}");
}

#[test]
fn a_station_that_the_next_document_leaves_out_is_heard_for_one_epoch_more() {
    let mut terms = terms();
    let mut world = World::running(4, &terms, 97);
    // A frame of the last board that says nothing.
    let [from, to] = [3, 0].map(|board| world.air.borrow().address(board).0);
    let frame = [&[0x61, 0xdc, 0, 0x23, 0][..], &to, &from, &[0x41]].concat();
    let strangers = |world: &mut World| {
        world.air.borrow_mut().inject(0, frame.clone());
        world.seconds(1);
        world.status(0, "link dropped stranger")
    };
    assert_eq!(strangers(&mut world), 0);
    for heard in [true, false] {
        let next = after(&terms);
        let nodes: Vec<_> = (0..3).map(|board| world.enlist(board, next.epoch)).collect();
        let document = next.sign(&nodes);
        for board in 0..3 {
            world.give(board, &document);
        }
        let left = next.valid_after - world.unix_time();
        world.seconds(left + 1);
        assert!(world.printed(0).contains(&format!("epoch {} begins", next.epoch)));
        assert_eq!(strangers(&mut world) == 0, heard, "in epoch {}", next.epoch);
        world.exchange(0, 1, "without it");
        terms = next;
    }
}

/// A radio has one address, whatever a document says of it.
#[test]
fn a_board_to_which_the_next_document_gives_another_address_is_not_reached_any_more() {
    let terms = terms();
    let mut world = World::running(3, &terms, 97);
    world.exchange(0, 1, "where it is");
    let next = after(&terms);
    let mut nodes = world.list(next.epoch);
    nodes[1].address = "[fe80::1234:5678:9abc:def0]:61616".parse().expect("an address");
    let document = next.sign(&nodes);
    for board in 0..3 {
        let said = world.give(board, &document);
        assert!(said.starts_with("ok epoch "), "{said}");
    }
    // What tells its owner.
    let network = world.say(1, "network");
    assert!(!network.contains("def0, this node"), "{network}");
    let left = next.valid_after - world.unix_time();
    world.seconds(left + 5);
    world.printed(0);
    world.send(0, 1, "where it is said to be");
    world.seconds(120);
    let said = world.printed(0);
    assert!(said.contains("discarded"), "{said}");
    assert_eq!(world.inbox(1), [""; 0]);
}
