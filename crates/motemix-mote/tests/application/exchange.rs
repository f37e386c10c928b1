//! The next epoch's document, from neighbour to neighbour.

use std::time::Duration;

use crate::board::Chip;
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
