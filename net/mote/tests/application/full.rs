//! Flash that has no room left.

use std::time::Duration;

use motemix_directory::Epoch;
use motemix_mote::store::{Region, Store, StoreError};
use motemix_node::{Admitted, Digest};
use motemix_sphinx::MessageId;

use crate::board::{Chip, layout};
use crate::world::{EPOCH, Terms, World};

/// Calls until the region is full, and says how often that was possible.
fn fill(
    chip: &Chip,
    region: Region,
    mut keep: impl FnMut(&mut Store<Chip>, u32) -> Result<(), StoreError>,
) -> u32 {
    let mut store = Store::open(chip.clone(), layout()).unwrap();
    let mut kept = 0;
    loop {
        match keep(&mut store, kept) {
            Ok(()) => kept += 1,
            Err(error) => {
                assert_eq!(error, StoreError::Full(region));
                return kept;
            }
        }
    }
}

fn keep_tag(store: &mut Store<Chip>, number: u32) -> Result<(), StoreError> {
    store.keep_tag(Admitted {
        epoch: Epoch(EPOCH),
        digest: Digest::from_short(number.wrapping_mul(0x9e37_79b1) & 0xfff0_ffff),
    })
}

/// Leaves room for so many tags.
fn fill_tags(chip: &Chip, room: u32) {
    let most = fill(&chip.copy(1), Region::Tags, keep_tag);
    assert!(most > 100, "{most}");
    let mut store = Store::open(chip.clone(), layout()).unwrap();
    (room..most).for_each(|number| keep_tag(&mut store, number).unwrap());
}

#[test]
fn messages_for_which_there_is_no_room_are_tried_again_until_the_inbox_is_read() {
    let mut world = World::running(3, &Terms::default(), 40);
    let kept = fill(&world.boards[1].chip, Region::Messages, |store, number| {
        store.keep_message(MessageId(number.to_le_bytes()), b"an old message of some length")
    });
    assert!(kept > 10, "{kept}");
    world.restart(1);
    world.send(0, 1, "wait for room");
    world.send(2, 1, "me too");
    world.seconds(12);
    let said = "warning: messages are turned away: messages: full; remove what is no longer needed; `inbox` makes room\n";
    assert_eq!(world.printed(1), said, "said once, however many are turned away");
    let tries = 2 + world.status(0, "retransmitted") + world.status(2, "retransmitted");
    assert!(tries >= 4);
    assert!(world.status(1, "dropped unanswered") >= tries - 2, "each is counted when it has arrived");
    assert_eq!((world.status(0, "acknowledged"), world.status(0, "discarded")), (0, 0));

    assert_eq!(world.inbox(1), vec!["an old message of some length"; kept as usize]);
    world.seconds(60);
    for sender in [0, 2] {
        assert_eq!((world.status(sender, "acknowledged"), world.status(sender, "discarded")), (1, 0));
    }
    let mut inbox = world.inbox(1);
    inbox.sort();
    assert_eq!(inbox, ["0 me too", "0 wait for room"], "once each");
}

#[test]
fn a_mix_that_cannot_keep_a_tag_stops_and_sends_nothing_on() {
    // Without delays, a packet is due in the moment in which its tag is not kept.
    let mut terms = Terms::default();
    terms.parameters.mean_delay = Duration::ZERO;
    let mut world = World::running(3, &terms, 41);
    fill_tags(&world.boards[2].chip, 4);
    world.restart(2);
    // There and back; the mix knows its neighbours then, and could send at once.
    world.exchange(0, 1, "first");
    world.exchange(0, 1, "second");
    let stops =
        "warning: stops, because a replay tag cannot be kept: replay tags: full; the next epoch makes room\n";
    for restarted in [false, true] {
        let before = world.air.borrow().sent.len();
        world.send(0, 1, "third");
        world.seconds(30);
        assert_eq!(world.printed(2), stops);
        let air = world.air.borrow();
        let sent_on = air.sent[before..].iter().filter(|sent| sent.from == 2 && sent.is_fragment()).count();
        drop(air);
        assert_eq!(sent_on, 0, "a packet left whose tag was not kept");
        assert_eq!(world.say(2, "status"), "the node is stopped\n");
        if !restarted {
            world.restart(0);
            world.restart(2);
        }
    }
    assert_eq!(world.inbox(1), [""; 0]);

    let next = Terms { epoch: EPOCH + 1, ..terms };
    (0..3).for_each(|board| drop(world.say(board, "stop")));
    let nodes = world.list(next.epoch);
    let document = next.sign(&nodes);
    for board in 0..3 {
        world.give(board, &document);
        assert_eq!(world.say(board, "start"), "ok\n");
    }
    world.exchange(0, 1, "through the mix");
}

#[test]
fn a_receiver_that_cannot_keep_a_tag_acknowledges_nothing() {
    let mut world = World::running(3, &Terms::default(), 42);
    fill_tags(&world.boards[1].chip, 0);
    world.restart(1);
    world.send(0, 1, "hello");
    world.seconds(400);
    assert!(world.printed(1).contains("warning: stops"));
    assert_eq!((world.status(0, "acknowledged"), world.status(0, "discarded")), (0, 1));
}

#[test]
fn a_board_whose_replay_filter_fills_says_so_and_its_own_replies_come() {
    let mut terms = Terms::default();
    terms.parameters.mean_delay = Duration::from_millis(10);
    let mut world = World::running(3, &terms, 43);
    world.boards[2].replay.set(512);
    world.switch_off(2);
    let mut store = Store::open(world.boards[2].chip.clone(), layout()).unwrap();
    (0..150).for_each(|number| keep_tag(&mut store, number).unwrap());
    world.switch_on(2);
    world.set_clock(2);
    assert_eq!(world.say(2, "start"), "ok\n");
    let mut said = world.printed(2);
    for round in 0..60 {
        if said.contains("more packets come than the replay filter holds") {
            break;
        }
        assert!(round < 59, "{said}");
        let _ = world.say(0, "send mote-1 again and again");
        world.seconds(3);
        said += &world.printed(2);
    }
    let until = terms.valid_after + crate::world::LIFETIME;
    let what = format!(
        "more packets come than the replay filter holds until {until}: some of others are dropped, replies to own \
         messages come\n"
    );
    world.seconds(30);
    said += &world.printed(2);
    assert_eq!(said.matches(&what).count(), 1, "once: {said}");
    assert!(world.say(2, "status").contains(&what));
    assert!(world.status(2, "dropped admission-rate") > 0);
    let sent = world.say(2, "send mote-0 am I heard");
    assert!(sent.starts_with("sent 0 ") && sent.ends_with(&what), "{sent}");
    world.seconds(10);
    assert!(world.printed(2).contains("acknowledged 0 "), "its own reply comes");

    let next = Terms { epoch: EPOCH + 1, valid_after: until, ..terms };
    let nodes = world.list(next.epoch);
    let document = next.sign(&nodes);
    (0..3).for_each(|board| drop(world.give(board, &document)));
    let left = until - world.unix_time();
    world.seconds(left + 1);
    assert!(!world.say(2, "status").contains("replay filter"), "the next epoch has room");
    world.exchange(0, 1, "through the mix");
}
