//! The next epoch's document, from neighbour to neighbour.

mod liars;

use std::time::Duration;

use motemix_directory::Epoch;

use crate::board::Chip;
use crate::refused::{give_on, of_strangers};
use crate::world::{LIFETIME, Terms, World};

const BOARDS: usize = 6;
/// Frames of a datagram that is as long as a packet.
const FRAMES: usize = 3;

fn terms(protected: bool) -> Terms {
    let mut terms = Terms::default();
    terms.parameters.overlap = Duration::from_secs(60);
    terms.parameters.protected_links = protected;
    terms
}

fn after(terms: &Terms) -> Terms {
    Terms { epoch: terms.epoch + 1, valid_after: terms.valid_after + LIFETIME, ..terms.clone() }
}

/// Boards that run, exchange documents, and have nothing else to say.
fn running(terms: &Terms, seed: u64) -> World {
    let mut world = World::with((0..BOARDS).map(|_| Chip::new()).collect(), seed);
    world.boards.iter().for_each(|board| board.exchanges.set(true));
    world.begin(terms);
    world
}

/// Nobody but the first board is given the next document.
fn give_to_the_first(world: &mut World, next: &Terms) {
    let nodes = world.list(next.epoch);
    let said = world.give(0, &next.sign(&nodes));
    assert_eq!(said, format!("ok epoch {} begins at {}\n", next.epoch, next.valid_after));
}

fn have_it(world: &mut World, boards: std::ops::Range<usize>) -> usize {
    boards.filter(|board| world.printed(*board).contains("a neighbour had the document of epoch 8\n")).count()
}

#[test]
fn one_board_is_given_the_next_document_and_all_have_it_in_minutes() {
    for protected in [false, true] {
        let terms = terms(protected);
        let mut world = running(&terms, 120);
        let next = after(&terms);
        give_to_the_first(&mut world, &next);
        world.seconds(600);
        assert_eq!(have_it(&mut world, 1..BOARDS), BOARDS - 1, "protected: {protected}");
        world.seconds(next.valid_after - world.unix_time() + 1);
        for board in 0..BOARDS {
            assert!(world.printed(board).contains("epoch 8 begins\n"), "{board}");
        }
        world.exchange(3, 4, "in the next epoch");
    }
}

#[test]
fn whoever_loses_frames_or_power_meanwhile_has_it_too() {
    let terms = terms(false);
    let mut world = running(&terms, 121);
    let next = after(&terms);
    // The fifth frame of each board is lost, and so one datagram in two.
    world.air.borrow_mut().loses_one_in = Some(5);
    give_to_the_first(&mut world, &next);
    world.seconds(40);
    world.restart(2);
    world.seconds(15);
    world.switch_off(3);
    world.seconds(100);
    world.switch_on(3);
    world.set_clock(3);
    assert_eq!(world.say(3, "start"), "ok\n");
    world.seconds(next.valid_after - world.unix_time() + 1);
    for board in 0..BOARDS {
        assert!(world.printed(board).contains("epoch 8 begins\n"), "{board}");
    }
}

#[test]
fn asking_in_vain_takes_few_frames() {
    let mut world = running(&terms(false), 122);
    let mut sent = [0; 2];
    for part in &mut sent {
        world.air.borrow_mut().sent.clear();
        world.seconds(1500);
        *part = world.air.borrow().sent.len();
    }
    let [first, second] = sent;
    // Loops and cover are off. Intervals of 16, 32, …, 256 s, and then an eighth of what is left.
    assert!((BOARDS * 4 * FRAMES..=BOARDS * 12 * FRAMES).contains(&first), "{first}");
    assert!(second <= BOARDS * 16 * FRAMES, "{second}");
}

#[test]
fn a_document_that_is_not_for_this_network_is_refused_and_not_collected_again_at_once() {
    let terms = terms(false);
    let mut world = running(&terms, 123);
    let next = after(&terms);
    // The first board trusts another authority as well, and has its document.
    world.say(0, "stop");
    world.trust(0, 2);
    let nodes = world.list(terms.epoch);
    let present = Terms { signer: 2, ..terms.clone() }.sign(&nodes);
    assert_eq!(world.give(0, &present), format!("ok epoch {}, {BOARDS} nodes\n", terms.epoch));
    assert_eq!(world.say(0, "start"), "ok\n");
    let nodes = world.list(next.epoch);
    let forged = Terms { signer: 2, ..next.clone() }.sign(&nodes);
    assert!(world.give(0, &forged).starts_with("ok epoch 8 begins"));
    (1..BOARDS).for_each(|board| drop(world.printed(board)));
    world.seconds(1500);
    let refused = (1..BOARDS).map(|board| {
        let said = world.printed(board);
        let refused = said.matches("warning: a neighbour's document is refused: ").count();
        assert!(refused <= 2, "{board}: {said}");
        refused
    });
    assert!(refused.sum::<usize>() >= 2);
    // The right one comes from another neighbour.
    let right = next.sign(&nodes);
    assert!(world.give(1, &right).starts_with("ok epoch 8 begins"));
    world.seconds(next.valid_after - world.unix_time() - 1);
    assert_eq!(have_it(&mut world, 2..BOARDS), BOARDS - 2);
}

#[test]
fn one_who_typed_the_beginning_of_a_document_and_left_keeps_none_away() {
    let terms = terms(false);
    let mut world = running(&terms, 135);
    let next = after(&terms);
    assert_eq!(world.say(1, "document begin"), "ok\n");
    give_to_the_first(&mut world, &next);
    world.seconds(2400);
    assert_eq!(have_it(&mut world, 1..2), 1);
}

/// Over a slow line, in pieces. Ten minutes run from the last one.
#[test]
fn a_program_that_takes_its_time_is_not_mixed_up_with_neighbours() {
    let terms = terms(false);
    let mut world = running(&terms, 151);
    let next = after(&terms);
    give_to_the_first(&mut world, &next);
    let document = next.sign(&world.list(next.epoch));
    let piece = document.len().div_ceil(3);
    for (index, bytes) in document.chunks(piece).enumerate() {
        world.boards[1].program_gives(index * piece, bytes, index == 2);
        world.seconds(if index == 2 { 1 } else { 400 });
    }
    let said = world.printed(1);
    assert!(said.contains("a program gave Ok(Epoch(8))\n"), "{said}");
    assert!(!said.contains("a neighbour had"), "{said}");
    assert_eq!(have_it(&mut world, 2..BOARDS), BOARDS - 2);
}

#[test]
fn a_document_of_an_epoch_after_the_next_does_not_keep_the_next_one_away() {
    let terms = terms(false);
    let mut world = running(&terms, 136);
    let next = after(&terms);
    let later = after(&next);
    let nodes = world.list(later.epoch);
    assert!(world.give(BOARDS - 1, &later.sign(&nodes)).starts_with("ok epoch 9"));
    world.seconds(300);
    give_to_the_first(&mut world, &next);
    world.seconds(next.valid_after - world.unix_time() - 10);
    assert_eq!(have_it(&mut world, 1..BOARDS), BOARDS - 1);
    // And then the later one again.
    world.seconds(LIFETIME);
    for board in 0..BOARDS {
        let said = world.printed(board);
        assert!(said.contains("epoch 8 begins\n"), "{board}: {said}");
    }
}

#[test]
fn what_is_given_at_a_console_late_spreads_as_quickly() {
    let have = (150..156).map(|seed| {
        let terms = terms(false);
        let mut world = running(&terms, seed);
        // Intervals are five minutes long by now.
        world.seconds(1000);
        give_to_the_first(&mut world, &after(&terms));
        world.seconds(100);
        have_it(&mut world, 1..BOARDS)
    });
    let have = have.sum::<usize>();
    assert!(have >= 6 * 4, "{have}");
}

#[test]
fn a_neighbour_whose_document_had_expired_is_heard_when_it_has_another() {
    let terms = terms(false);
    let mut world = World::with((0..2).map(|_| Chip::new()).collect(), 138);
    world.boards.iter().for_each(|board| board.exchanges.set(true));
    world.begin(&terms);
    let (next, nodes) = (after(&terms), world.list(8));
    let later = after(&next);
    let after_that = world.list(9);
    // Too late: it misses epoch 8.
    assert!(world.give(0, &next.sign(&nodes)).starts_with("ok epoch 8"));
    world.switch_off(1);
    world.seconds(later.valid_after + 30 - world.unix_time());
    // It comes back with a clock that is slow, so that it runs in an epoch that is nearly over.
    world.switch_on(1);
    assert_eq!(world.say(1, &format!("time {}", next.valid_after - 1)), "ok\n");
    assert_eq!(world.say(1, "start"), "ok\n");
    world.seconds(300);
    let said = world.printed(1);
    assert!(said.contains("a neighbour had the document of epoch 8\n"), "{said}");
    assert!(world.give(0, &later.sign(&after_that)).starts_with("ok epoch 9"));
    world.seconds(1500);
    let said = world.printed(1);
    assert!(said.contains("a neighbour had the document of epoch 9\n"), "{said}");
}

/// One in which a node was forgotten, and then one in which it was not.
#[test]
fn whoever_had_a_document_without_this_node_is_heard_when_it_has_a_better_one() {
    let terms = terms(false);
    let mut world = World::with((0..2).map(|_| Chip::new()).collect(), 140);
    world.boards.iter().for_each(|board| board.exchanges.set(true));
    world.begin(&terms);
    let (next, nodes) = (after(&terms), world.list(8));
    let mut wrong = nodes.clone();
    wrong[1].key = [9; 32];
    assert!(world.give(0, &next.sign(&wrong)).starts_with("ok epoch 8"));
    world.seconds(300);
    assert!(world.printed(1).contains("this node's key is not in it"));
    give_again(&mut world, &next.sign(&nodes));
    world.seconds(2000);
    assert!(world.printed(1).contains("a neighbour had the document of epoch 8\n"));
}

fn give_again(world: &mut World, document: &[u8]) {
    assert!(world.give(0, document).starts_with("ok epoch 8"));
}

#[test]
fn the_document_of_a_far_epoch_comes_from_neighbours_while_the_key_moves() {
    let terms = terms(false);
    let mut world = running(&terms, 141);
    let far = Terms { epoch: 4000, ..after(&terms) };
    let mut nodes = world.list(8);
    for (board, node) in nodes.iter_mut().enumerate() {
        let earlier = far.sign(&of_strangers(&world.list(8)));
        assert!(give_on(&mut world, board, &earlier).contains("key is not in it"));
        *node = world.enlist(board, far.epoch);
    }
    assert!(give_on(&mut world, 0, &far.sign(&nodes)).starts_with("ok epoch 4000"));
    // Their keys in memory are gone.
    (1..BOARDS).for_each(|board| world.restart(board));
    world.seconds(far.valid_after - world.unix_time() + 1);
    for board in 1..BOARDS {
        let said = world.printed(board);
        assert!(said.contains("a neighbour had the document of epoch 4000\n"), "{board}: {said}");
        assert!(said.contains("epoch 4000 begins\n"), "{board}: {said}");
    }
}

/// Its replay filter has less room than before, so that the epoch cannot begin.
#[test]
fn a_document_whose_epoch_cannot_begin_is_not_written_again_and_again() {
    let terms = terms(false);
    let mut world = running(&terms, 147);
    let next = after(&terms);
    give_to_the_first(&mut world, &next);
    world.seconds(600);
    world.switch_off(1);
    world.boards[1].replay.set(512);
    let mut store =
        motemix_mote::store::Store::open(world.boards[1].chip.clone(), crate::board::layout()).unwrap();
    for number in 0..700_u32 {
        let digest = motemix_node::Digest::from_short(number.wrapping_mul(0x9e37_79b1) & 0xfff0_ffff);
        let _ = store.keep_tag(motemix_node::Admitted { epoch: Epoch(8), digest });
    }
    drop(store);
    world.switch_on(1);
    world.set_clock(1);
    assert_eq!(world.say(1, "start"), "ok\n");
    world.seconds(next.valid_after - world.unix_time() + 5);
    world.seconds(2000);
    let said = world.printed(1);
    assert!(said.contains("warning: the replay filter has no room"), "{said}");
    assert!(!said.contains("had the document of epoch 8"), "{said}");
    // That of the epoch after it comes, and its epoch begins.
    let later = after(&next);
    let nodes = world.list(later.epoch);
    assert!(world.give(0, &later.sign(&nodes)).starts_with("ok epoch 9"));
    world.seconds(later.valid_after - world.unix_time() + 5);
    let said = world.printed(1);
    assert!(said.contains("a neighbour had the document of epoch 9\n"), "{said}");
    assert!(said.contains("epoch 9 begins\n"), "{said}");
}
