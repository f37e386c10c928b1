//! Motes of a network whose links are protected.

use std::collections::BTreeSet;

use crate::world::{LIFETIME, Terms, World};

fn protected() -> Terms {
    let mut terms = Terms::default();
    terms.parameters.protected_links = true;
    terms
}

/// All frames that were sent: how many were protected, and how many were not.
fn frames(world: &World) -> (usize, usize) {
    let air = world.air.borrow();
    let secured = air.sent.iter().filter(|sent| sent.frame[0] & 0b1000 != 0).count();
    (secured, air.sent.len() - secured)
}

#[test]
fn the_first_message_waits_for_handshakes_and_what_follows_is_protected() {
    let mut world = World::running(3, &protected(), 1);
    world.send(0, 1, "the pond is frozen");
    world.seconds(6);
    assert!(world.printed(0).starts_with("acknowledged 0 "), "{}", world.printed(0));
    assert_eq!(world.inbox(1), ["0 the pond is frozen"]);
    // Three neighbours with each other, at most six messages of a handshake each.
    let (secured, plain) = frames(&world);
    assert_eq!(secured, 4 * 3, "four hops of a packet in three frames");
    assert!(plain <= 3 * 6, "{plain}");
    world.air.borrow_mut().sent.clear();
    for _ in 0..5 {
        world.exchange(0, 1, "and again");
    }
    let (secured, plain) = frames(&world);
    assert!(secured >= 5 * 4 * 3 && plain == 0, "{secured} {plain}");
}

#[test]
fn everybody_writes_to_everybody_under_keys_of_their_own() {
    let mut world = World::running(5, &protected(), 2);
    for from in 0..5 {
        for to in (0..5).filter(|to| *to != from) {
            world.send(from, to, "hello");
            world.seconds(20);
        }
    }
    for board in 0..5 {
        assert_eq!(world.status(board, "acknowledged"), 4);
    }
    // No frame counter of a station came twice under one key, nor a frame.
    let air = world.air.borrow();
    let secured = || air.sent.iter().filter(|sent| sent.frame[0] & 0b1000 != 0);
    let nonces: BTreeSet<_> =
        secured().map(|sent| (sent.from, sent.to, sent.frame[10..14].to_vec())).collect();
    assert_eq!(nonces.len(), secured().count());
}

/// Keys are in memory alone, so a restart has no counter to repeat.
#[test]
fn a_mote_that_lost_its_power_makes_new_keys_whoever_speaks_first() {
    let mut world = World::running(3, &protected(), 3);
    world.exchange(0, 1, "one");
    for (speaker, round) in [(0, 0), (1, 1), (0, 2), (1, 3)] {
        world.restart(1);
        world.air.borrow_mut().sent.clear();
        world.send(speaker, 1 - speaker, "again");
        world.seconds(30);
        let said = world.printed(speaker);
        assert!(said.contains("acknowledged"), "round {round}: {said}");
        assert!(frames(&world).1 > 0, "another handshake");
    }
}

#[test]
fn keys_outlive_the_epoch_and_new_ones_are_made_with_its_keys() {
    let mut world = World::running(3, &protected(), 4);
    world.exchange(0, 1, "one");
    let next = Terms { epoch: 8, valid_after: Terms::default().valid_after + LIFETIME, ..protected() };
    let listed = world.list(8);
    let document = next.sign(&listed);
    for board in 0..3 {
        world.give(board, &document);
    }
    world.seconds(LIFETIME + 5);
    world.air.borrow_mut().sent.clear();
    world.exchange(0, 1, "two");
    let (secured, plain) = frames(&world);
    assert!(secured > 0 && plain <= 12, "{secured} {plain}: neighbours know each other still");
    world.restart(1);
    world.exchange(0, 1, "three");
}

#[test]
fn a_running_mote_refuses_a_document_that_changes_the_protection_of_links() {
    for (before, after) in [(protected(), Terms::default()), (Terms::default(), protected())] {
        let mut world = World::running(2, &before, 5);
        let listed = world.list(8);
        let next = Terms { epoch: 8, valid_after: before.valid_after + LIFETIME, ..after };
        let document = next.sign(&listed);
        let said = world.give(0, &document);
        assert!(said.contains("error: it protects links and the document before did not"), "{said}");
    }
}

/// Somebody at every station's neighbour: forged, repeated and unprotected frames, 200 a second.
#[test]
fn a_stranger_stops_no_message() {
    let mut world = World::running(3, &protected(), 6);
    world.exchange(0, 1, "one");
    let heard: Vec<_> = world.air.borrow().sent.iter().map(|sent| sent.frame.clone()).collect();
    let mut draw = 0x2545_f491_4f6c_dd1d_u64;
    for round in 0..10 {
        world.send(0, 1, "hello");
        for step in 0..400 {
            draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let mut frame = heard[(draw >> 33) as usize % heard.len()].clone();
            if step % 2 == 0 {
                let at = 9 + (draw >> 20) as usize % (frame.len() - 9);
                frame[at] ^= (draw >> 50) as u8 | 1;
            }
            world.air.borrow_mut().inject(1, frame);
            world.run(std::time::Duration::from_millis(5));
        }
        world.seconds(3);
        assert_eq!(world.status(0, "acknowledged"), round + 2, "round {round}");
    }
}

#[test]
fn a_neighbour_that_is_off_holds_up_no_other() {
    let mut world = World::running(5, &protected(), 7);
    world.switch_off(4);
    world.send(0, 4, "into the dark");
    world.seconds(1);
    // Tries whose path leads through it fail, and those behind them leave nevertheless.
    world.send(0, 1, "hello");
    world.seconds(60);
    let said = world.printed(0);
    assert!(said.contains("acknowledged 1 "), "{said} {}", world.say(0, "status"));
}
