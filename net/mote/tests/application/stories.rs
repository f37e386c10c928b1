//! What a mote's owner relies on.

use crate::board::Chip;
use crate::world::{LIFETIME, Terms, World, name};

#[test]
fn a_message_goes_through_a_mix_and_is_acknowledged() {
    let mut world = World::running(3, &Terms::default(), 1);
    let number = world.send(0, 1, "the pond  is frozen");
    assert_eq!(number, 0);
    world.seconds(5);
    let said = world.printed(0);
    let millis = said.strip_prefix("acknowledged 0 after ").and_then(|rest| rest.split_once(' '));
    let (millis, rest) = millis.expect("the acknowledgement is printed");
    assert!((1..5000).contains(&millis.parse::<u32>().unwrap()), "{said}");
    assert_eq!(rest, "ms, tries 1\n");
    assert_eq!(world.printed(1), "received a message; `inbox` prints it\n");
    assert_eq!(world.inbox(1), ["0 the pond  is frozen"]);
    assert_eq!(world.inbox(1), [""; 0], "a message is printed once");
    assert_eq!(world.status(2, "forwarded"), 2, "there and back");
    assert_eq!(world.status(0, "acknowledged"), 1);
    assert_eq!(world.status(1, "delivered"), 1);
}

/// The last frame of a packet comes after the mote has looked for one, and before it sleeps.
#[test]
fn no_mote_sleeps_while_a_packet_waits_for_it() {
    let mut world = World::running(3, &Terms::default(), 1);
    world.air.borrow_mut().is_late = true;
    world.send(0, 1, "the pond is frozen");
    world.seconds(5);
    let said = world.printed(0);
    assert!(said.starts_with("acknowledged 0 after ") && said.ends_with("ms, tries 1\n"), "{said}");
}

#[test]
fn everybody_writes_to_everybody() {
    let mut world = World::running(4, &Terms::default(), 2);
    for from in 0..4 {
        for to in (0..4).filter(|to| *to != from) {
            world.send(from, to, &format!("from {from}"));
            world.seconds(20);
        }
    }
    for board in 0..4 {
        assert_eq!(world.status(board, "acknowledged"), 3);
        let mut inbox = world.inbox(board);
        inbox.sort();
        let inbox: Vec<_> = inbox.iter().map(|line| line.split_once(' ').unwrap().1.to_owned()).collect();
        let others = (0..4).filter(|other| *other != board);
        assert_eq!(inbox, others.map(|other| format!("from {other}")).collect::<Vec<_>>());
    }
}

#[test]
fn a_mote_that_comes_back_is_the_one_that_it_was() {
    let mut world = World::running(3, &Terms::default(), 3);
    world.say(0, "stop");
    let before = (world.say(0, "key 7"), world.say(0, "network"));
    assert_eq!(world.say(0, "start"), "ok\n");
    let mut numbers = Vec::new();
    for _ in 0..4 {
        numbers.push(world.send(0, 1, "hello"));
        world.seconds(10);
        numbers.push(world.send(0, 1, "again"));
        world.seconds(10);
        world.restart(0);
    }
    assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
    world.say(0, "stop");
    assert_eq!((world.say(0, "key 7"), world.say(0, "network")), before);
    assert!(before.1.contains(", this node\n") && before.1.ends_with("ok 3 nodes\n"), "{}", before.1);
    assert_eq!(world.inbox(1).len(), 8);
}

#[test]
fn a_packet_that_is_replayed_after_a_restart_goes_no_further() {
    let mut world = World::running(3, &Terms::once(), 4);
    world.send(0, 1, "once");
    world.seconds(10);
    assert_eq!(world.status(0, "acknowledged"), 1);
    let frames = world.air.borrow().sent.clone();
    let replayed = |to: usize| frames.iter().filter(move |sent| sent.to == Some(to) && sent.is_fragment());
    let packets: usize = (0..3).map(|to| replayed(to).filter(|sent| sent.is_first_fragment()).count()).sum();
    assert_eq!(packets, 4, "two hops there, two back");
    for board in 0..3 {
        world.restart(board);
    }
    let before = world.air.borrow().sent.len();
    for board in 0..3 {
        for sent in replayed(board) {
            world.air.borrow_mut().inject(board, sent.frame.clone());
        }
        world.seconds(5);
        let fresh = replayed(board).filter(|sent| sent.is_first_fragment()).count() as u64;
        // A reply to a message that is not under way any more names no header.
        let dropped = world.status(board, "dropped replayed") + world.status(board, "dropped unknown-header");
        assert_eq!(dropped, fresh, "{}", name(board));
    }
    assert_eq!(world.air.borrow().sent.len(), before, "something was sent on");
    assert_eq!(world.inbox(1), ["0 once"]);
}

#[test]
fn stop_and_start_are_not_a_restart() {
    let mut world = World::running(3, &Terms::default(), 5);
    for round in 0..3 {
        // Stopped while a frame is under way, whose outcome nobody takes.
        world.send(0, 1, "now");
        assert_eq!(world.say(0, "stop"), "ok\n");
        world.seconds(5);
        assert_eq!(world.say(0, "start"), "ok\n", "the clock is still set");
        world.exchange(0, 1, &format!("round {round}"));
    }
}

#[test]
fn what_was_typed_ahead_is_done_in_order() {
    let mut world = World::running(3, &Terms::default(), 6);
    let said = world.say(0, "status\nstop\nkey 7\nstart\nstatus");
    let expected = ["the node runs\n", "ok\naddress [fe80::", "\nok\nthe node runs\n"];
    let mut rest = said.as_str();
    for part in expected {
        rest = rest.split_once(part).unwrap_or_else(|| panic!("{part:?} is missing in {said}")).1;
    }
}

#[test]
fn an_expired_document_ends_own_traffic_and_no_others() {
    let mut terms = Terms::default();
    terms.parameters.loop_mean = Some(std::time::Duration::from_mins(5));
    terms.parameters.drop_mean = Some(std::time::Duration::from_mins(5));
    // What others sent is forwarded until then.
    terms.parameters.overlap = std::time::Duration::from_mins(15);
    let mut world = World::running(3, &terms, 7);
    world.seconds(LIFETIME - 100);
    // Two of them have clocks that are slow: their document has not expired.
    for board in [0, 1] {
        world.say(board, "stop");
        let slow = world.unix_time() - 2000;
        assert_eq!(world.say(board, &format!("time {slow}")), "ok\n");
        assert_eq!(world.say(board, "start"), "ok\n");
    }
    world.printed(2);
    world.seconds(200);
    let expired = "the network document has expired; give this node the next one\n";
    assert_eq!(world.printed(2), format!("warning: {expired}"), "said once");
    assert_eq!(world.say(2, "send mote-0 late"), format!("error: {expired}"));
    assert_eq!(world.status(2, "sent"), 0);
    let (forwarded, own) = (world.status(2, "forwarded"), world.status(2, "headers built"));
    world.exchange(0, 1, "through the late one");
    world.seconds(600);
    assert!(world.status(2, "forwarded") > forwarded + 2);
    assert_eq!(world.status(2, "headers built"), own, "own cover has ended");
    let forwarded = world.status(2, "forwarded");
    world.printed(2);
    let left = terms.valid_after + LIFETIME + 15 * 60 - world.unix_time();
    world.seconds(left + 2);
    let over = "warning: epoch 7 has ended, nothing is forwarded; give this node the next one\n";
    assert_eq!(world.printed(2), over, "said once");
    let until_then = world.status(2, "forwarded");
    assert!(until_then > forwarded);
    world.seconds(600);
    assert_eq!(world.status(2, "forwarded"), until_then, "others' traffic has ended");
    assert!(world.status(2, "dropped no-epoch") > 0);
    world.say(2, "stop");
    let said = world.say(2, "start");
    assert!(said.starts_with("error: expired at ") && said.contains("fetch the document"), "{said}");
}

#[test]
fn the_first_thing_after_the_document_expired_is_not_a_message() {
    let mut world = World::running(3, &Terms::default(), 8);
    // Nobody wakes the board before somebody types.
    world.seconds(LIFETIME + 1);
    world.printed(0);
    let said = world.say(0, "send mote-1 late");
    assert!(!said.contains("sent"), "{said}");
}

#[test]
fn the_next_document_begins_the_next_epoch() {
    let terms = Terms::default();
    let mut world = World::running(3, &terms, 9);
    world.exchange(0, 1, "old");
    world.seconds(LIFETIME);
    let next = Terms { epoch: terms.epoch + 1, valid_after: terms.valid_after + LIFETIME, ..terms.clone() };
    for board in 0..3 {
        world.say(board, "stop");
    }
    let nodes = world.list(next.epoch);
    let document = next.sign(&nodes);
    for board in 0..3 {
        assert_eq!(world.give(board, &document), "ok epoch 8, 3 nodes\n");
        assert_eq!(world.say(board, "start"), "ok\n");
        assert!(world.say(board, "status").contains("ok replay tags 0 of "), "tags of the epoch before");
    }
    world.exchange(0, 1, "new");
    world.say(0, "stop");
    let said = world.say(0, "key 7");
    assert!(said.starts_with("error: the key of epoch 7 is gone"), "{said}");
}

#[test]
fn epoch_0_has_a_key_of_its_own() {
    let mut world = World::with(vec![Chip::new(); 1], 10);
    let first = world.enlist(0, 0);
    assert_ne!(world.enlist(0, 5).key, [0; 32]);
    // A network whose first epoch is 0 has used the key.
    let mut world = World::running(3, &Terms { epoch: 0, ..Terms::default() }, 10);
    world.say(0, "stop");
    assert_eq!(world.enlist(0, 0).key, first.key, "the same dice");
    assert_ne!(world.enlist(0, 5).key, first.key, "a packet of epoch 0 would be good in epoch 5");
}
