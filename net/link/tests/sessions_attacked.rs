//! What somebody does to neighbours over sockets who is on the path, or sends in others' names.

#[path = "sessions/world.rs"]
mod world;

use motemix_link::counters::LinkDrop;
use world::{DATAGRAM, World};

fn is_message_4(bytes: &[u8]) -> bool {
    matches!(bytes, [1, _, _, 6, ..])
}

/// Two stations, each of which takes the key of another handshake for the newest: the last message
/// of the first one was held back until the second one was over.
fn parted() -> World {
    let mut world = World::new(2, 4);
    world.holds_back = is_message_4;
    world.send(0, 1, b'a').expect("it waits");
    world.seconds(1);
    world.holds_back = |_| false;
    world.restart(1, 4);
    world.send(1, 0, b'b').expect("it waits");
    world.seconds(2);
    assert_eq!(world.stations[0].inbox, b"b", "there is a later key");
    assert_eq!(world.held.len(), 1);
    let held = std::mem::take(&mut world.held);
    world.air.extend(held);
    world.seconds(1);
    for (from, to) in [(0, 1), (1, 0)] {
        world.stations[to].drops.clear();
        world.send(from, to, b'c').expect("there is a key");
        world.round();
        assert_eq!(world.stations[to].drops, [LinkDrop::Forged], "they have different keys");
    }
    world
}

#[test]
fn a_confirmation_that_comes_after_a_later_key_parts_two_for_a_minute_and_not_for_good() {
    // Whichever of them has something to say.
    for (from, to) in [(0, 1), (1, 0)] {
        let mut world = parted();
        let mut seconds = 0;
        while !world.stations[to].inbox.ends_with(b"d") {
            assert!(seconds < 70, "they do not find each other again");
            world.send(from, to, b'd').expect("there is a key");
            world.seconds(1);
            seconds += 1;
        }
        assert!(seconds > 55, "{seconds}");
    }
}

#[test]
fn a_forgery_in_the_name_of_a_silent_neighbour_causes_one_call_a_minute_at_most() {
    let mut world = World::new(2, 4);
    world.send(0, 1, b'a').expect("it waits");
    world.seconds(2);
    world.gone = vec![1];
    let mut forged = [7; DATAGRAM];
    forged[0] = 2;
    let called = |world: &World| world.stations[0].meeting.counters().called;
    for _ in 0..110 {
        world.arrives(1, 0, &forged);
        world.seconds(1);
    }
    assert_eq!(called(&world), 1 + 1);
    world.seconds(120);
    assert_eq!(called(&world), 1 + 1, "what came before causes nothing more");
    // The key that there was stays: nothing has shown that it is another now.
    world.gone.clear();
    world.send(0, 1, b'b').expect("there is a key");
    world.seconds(1);
    assert_eq!(world.stations[1].inbox, b"ab");
}

#[test]
fn what_is_forged_in_the_name_of_a_neighbour_that_speaks_causes_no_call() {
    let mut world = World::new(2, 4);
    world.send(0, 1, b'a').expect("it waits");
    world.seconds(2);
    let mut forged = [7; DATAGRAM];
    forged[0] = 2;
    for _ in 0..6 {
        world.send(0, 1, b'b').expect("there is a key");
        for _ in 0..50 {
            world.arrives(0, 1, &forged);
            world.seconds(1);
        }
    }
    assert_eq!(world.stations[1].meeting.counters().called, 0);
}
