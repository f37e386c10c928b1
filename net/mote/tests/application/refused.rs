//! Network documents that are refused, and what is remembered of those that are not.

use motemix_directory::Epoch;

use crate::world::{LIFETIME, Listed, NOON, Terms, World};

const NOT_IN: &str = "error: this node's key is not in it; give the authority what `key EPOCH` prints\n";
const OTHER_NETWORK: &str = "error: it is of another network than the document before; to change networks, `stop` \
                             and `trust` again\n";

/// Gives a document, as often as its key is only part of the way; the last answer.
pub fn give_on(world: &mut World, board: usize, document: &[u8]) -> String {
    let mut said = world.give(board, document);
    for _ in 0..10 {
        if !said.contains("which is part of the way; give this command again") {
            return said;
        }
        said = world.say(board, "document end");
    }
    panic!("{said}");
}

/// Without the board whose key is asked for.
pub fn of_strangers(nodes: &[Listed]) -> Vec<Listed> {
    let mut nodes = nodes.to_vec();
    for (number, node) in nodes.iter_mut().enumerate() {
        node.key = [number as u8 + 20; 32];
    }
    nodes
}

fn newest(world: &World, board: usize) -> Option<Epoch> {
    world.boards[board].chip.store().newest_epoch().unwrap()
}

fn ratchet(world: &World, board: usize) -> Epoch {
    world.boards[board].chip.store().ratchet().unwrap().expect("it has a key").epoch()
}

#[test]
fn a_document_that_the_node_refuses_makes_no_other_one_older() {
    let terms = Terms::default();
    let mut world = World::with((0..3).map(|_| crate::board::Chip::new()).collect(), 100);
    let nodes = world.list(terms.epoch);
    world.trust(0, 1);
    world.set_clock(0);
    let flash = world.boards[0].chip.bytes();
    let of = |epoch: u32, nodes: &[Listed]| Terms { epoch, ..terms.clone() }.sign(nodes);
    let too_far =
        "error: epoch 4000000000 is too far ahead of epoch 7; check the clock and the network document\n";
    // By a right authority and of this time, but of a far epoch, with another key, or without this
    // node.
    for (document, answer) in [
        (of(4_000_000_000, &nodes), too_far),
        (of(4_000_000_000, &of_strangers(&nodes)), too_far),
        (of(5_000, &nodes), NOT_IN),
        (of(8, &nodes), NOT_IN),
        (of(7, &of_strangers(&nodes)), NOT_IN),
    ] {
        assert_eq!(give_on(&mut world, 0, &document), answer);
        assert!(world.boards[0].chip.bytes() == flash, "something is remembered of it: {answer}");
    }
    assert_eq!(world.give(0, &of(7, &nodes)), "ok epoch 7, 3 nodes\n");
    assert_eq!(world.say(0, "start"), "ok\n");
    world.restart(0);
}

#[test]
fn a_document_that_a_running_node_refuses_makes_no_other_one_older() {
    let terms = Terms::default();
    let mut world = World::running(3, &terms, 101);
    let next = Terms { epoch: 8, valid_after: NOON + LIFETIME, ..terms };
    let nodes = world.list(next.epoch);
    let flash = world.boards[0].chip.bytes();
    let of = |epoch: u32, nodes: &[Listed]| Terms { epoch, ..next.clone() }.sign(nodes);
    for (document, answer) in [
        (of(4_000_000_000, &nodes), "too far ahead of epoch 7"),
        (of(5_000, &nodes), NOT_IN),
        (of(8, &of_strangers(&nodes)), NOT_IN),
        (of(7, &nodes), "older than 8"),
    ] {
        let said = give_on(&mut world, 0, &document);
        assert!(said.starts_with("error: ") && said.contains(answer), "{said}");
        assert!(world.boards[0].chip.bytes() == flash, "something is remembered of it: {said}");
    }
    for board in 0..3 {
        assert!(world.give(board, &next.sign(&nodes)).starts_with("ok epoch 8 begins at "));
    }
    let left = next.valid_after - world.unix_time();
    world.seconds(left + 1);
    world.exchange(0, 1, "in the next epoch");
}

#[test]
fn an_epoch_is_the_newest_when_it_begins() {
    let terms = Terms::default();
    let mut world = World::with((0..3).map(|_| crate::board::Chip::new()).collect(), 102);
    let nodes = world.list(terms.epoch);
    world.trust(0, 1);
    world.set_clock(0);
    assert_eq!(world.give(0, &terms.sign(&nodes)), "ok epoch 7, 3 nodes\n");
    assert_eq!(newest(&world, 0), None);
    assert_eq!(world.say(0, "start"), "ok\n");
    assert_eq!(newest(&world, 0), Some(Epoch(7)));
    let next = Terms { epoch: 8, valid_after: NOON + LIFETIME, ..terms };
    let nodes = world.list(next.epoch);
    assert!(world.give(0, &next.sign(&nodes)).starts_with("ok epoch 8 begins at "));
    assert_eq!((newest(&world, 0), ratchet(&world, 0)), (Some(Epoch(7)), Epoch(7)));
    let left = next.valid_after - world.unix_time();
    world.seconds(left + 1);
    assert_eq!((newest(&world, 0), ratchet(&world, 0)), (Some(Epoch(8)), Epoch(8)));
}

#[test]
fn a_far_epoch_that_follows_moves_the_key_in_flash_when_it_begins() {
    let mut terms = Terms::default();
    terms.parameters.overlap = std::time::Duration::from_mins(1);
    let mut world = World::running(3, &terms, 103);
    let far = Terms { epoch: 4000, valid_after: NOON + LIFETIME, ..terms };
    let mut nodes = world.list(8);
    for (board, node) in nodes.iter_mut().enumerate() {
        // What brings the board to its key of that epoch, to be asked for it.
        let earlier = far.sign(&of_strangers(&world.list(8)));
        assert_eq!(give_on(&mut world, board, &earlier), NOT_IN);
        *node = world.enlist(board, far.epoch);
    }
    for board in 0..3 {
        let answer = format!("ok epoch 4000 begins at {}\n", far.valid_after);
        assert_eq!(give_on(&mut world, board, &far.sign(&nodes)), answer);
        assert_eq!(ratchet(&world, board), Epoch(7));
    }
    world.exchange(0, 1, "meanwhile");
    // The key in memory is gone, and comes back in the rounds before the epoch begins.
    world.restart(2);
    let left = far.valid_after - world.unix_time();
    world.seconds(left - 1);
    assert_eq!(ratchet(&world, 2), Epoch(7));
    world.seconds(2);
    assert_eq!(ratchet(&world, 2), Epoch(4000));
    assert!(world.printed(2).contains("epoch 4000 begins\n"));
    world.exchange(0, 1, "through the one that was off");
}

#[test]
fn a_document_of_another_network_is_refused_running_and_stopped() {
    let terms = Terms::default();
    let mut world = World::running(3, &terms, 104);
    let next = Terms { epoch: 8, valid_after: NOON + LIFETIME, ..terms.clone() };
    let lake = Terms { network: "lake", ..next.clone() };
    let nodes = world.list(next.epoch);
    let flash = world.boards[0].chip.bytes();
    assert_eq!(world.give(0, &lake.sign(&nodes)), OTHER_NETWORK);
    world.say(0, "stop");
    let now = Terms { network: "lake", epoch: 8, ..terms.clone() };
    assert_eq!(world.give(0, &now.sign(&nodes)), OTHER_NETWORK);
    // It knows its network after a power cut, too.
    world.switch_off(0);
    world.switch_on(0);
    world.set_clock(0);
    assert_eq!(world.give(0, &now.sign(&nodes)), OTHER_NETWORK);
    assert!(world.boards[0].chip.bytes() == flash, "something is remembered of it");
    assert_eq!(world.say(0, "start"), "ok\n");
    world.exchange(0, 1, "in the pond");
    // Whoever says whom it trusts may move it.
    world.say(0, "stop");
    world.trust(0, 1);
    assert_eq!(world.give(0, &now.sign(&nodes)), "ok epoch 8, 3 nodes\n");
    assert!(world.say(0, "network").starts_with("network lake, epoch 8\n"));
    assert_eq!(world.say(0, "start"), "ok\n");
    world.say(0, "stop");
    let back = Terms { epoch: 8, ..terms };
    assert_eq!(world.give(0, &back.sign(&nodes)), OTHER_NETWORK);
}

#[test]
fn a_document_that_was_to_follow_does_not_follow_a_later_one() {
    let terms = Terms::default();
    let mut world = World::running(3, &terms, 105);
    let next = Terms { epoch: 8, valid_after: NOON + 600, ..terms.clone() };
    let nodes = world.list(next.epoch);
    assert!(world.give(0, &next.sign(&nodes)).starts_with("ok epoch 8 begins at "));
    world.say(0, "stop");
    let later = Terms { epoch: 9, ..terms };
    let nodes = world.list_stopped(0, later.epoch);
    assert_eq!(world.give(0, &later.sign(&nodes)), "ok epoch 9, 3 nodes\n");
    world.seconds(700);
    assert_eq!(world.say(0, "start"), "ok\n");
    assert_eq!(ratchet(&world, 0), Epoch(9));
}
