//! What strangers do to the sessions of nodes: some send in others' names and hear nothing, some are
//! on the path and hold back what they like.

#[path = "sessions/world.rs"]
mod world;

use std::net::SocketAddr;
use std::time::Duration;

use motemix_link::counters::LinkDrop;
use motemix_link::meeting::HandshakeDrop;
use motemix_neighbour::datagram::MAX_SEALED;
use world::{DATAGRAM, TWO, World};

const HELLO: [u8; 4] = [1, 0, 1, 1];
/// What a message of a handshake is, in the fourth byte of its datagram.
const MESSAGE_1: u8 = 3;
const MESSAGE_2: u8 = 4;
const MESSAGE_4: u8 = 6;

fn is(message: u8, bytes: &[u8]) -> bool {
    matches!(bytes, [1, _, _, kind, ..] if *kind == message)
}

/// What a node sends besides packets.
fn leaving(world: &mut World, place: usize) -> Vec<Vec<u8>> {
    let sessions = &mut world.nodes[place].sessions;
    let leaving = sessions.leaving().map(|it| it.bytes.to_vec()).collect();
    sessions.has_left();
    leaving
}

#[test]
fn packets_for_many_that_are_silent_keep_no_other_from_being_called() {
    let addresses: Vec<_> = (1..=18).map(|number| format!("10.0.0.{number}:4000")).collect();
    let mut world = World::new(&addresses.iter().map(String::as_str).collect::<Vec<_>>());
    let (first, last) = (world.nodes[0].address, world.nodes[17].address);
    let pass = |world: &mut World| {
        for _ in 0..200 {
            world.now = world.now + Duration::from_millis(10);
            world.collect();
            world.wire.retain(|(from, to, _)| [from, to].iter().all(|it| [first, last].contains(it)));
            world.deliver(|_| true);
        }
    };
    for silent in 1..17 {
        for byte in 0..64 {
            world.send(0, silent, byte);
        }
    }
    world.send(0, 17, 1);
    assert_eq!(world.dropped(0, LinkDrop::QueueFull), 1, "1,024 wait");
    pass(&mut world);
    world.send(0, 17, 2);
    pass(&mut world);
    assert_eq!(world.received(17), [2]);
}

#[test]
fn one_that_was_held_back_costs_no_further_key() {
    let mut world = World::new(&TWO);
    world.send(0, 1, 1);
    world.settle(|_| true);
    world.send(1, 0, 2);
    let held = world.wire.pop().expect("it has a key");
    for _ in 0..MAX_SEALED / 8 * 7 {
        world.send(0, 1, 3);
        world.wire.clear();
    }
    world.settle(|_| true);
    assert_eq!(world.nodes[0].sessions.counters().keys, 2);
    world.wire.push(held);
    world.pass(5, |_| true);
    assert_eq!((world.received(0), world.nodes[0].sessions.counters().keys), (vec![2], 2));
}

/// Whoever held the last message of the first handshake back, while the second one was made, has
/// both believe in another key.
#[test]
fn a_confirmation_that_comes_after_a_later_key_parts_two_for_a_minute_and_not_for_good() {
    let mut world = World::new(&TWO);
    let mut held = Vec::new();
    world.send(0, 1, 1);
    for _ in 0..100 {
        world.now = world.now + Duration::from_millis(10);
        world.collect();
        held.extend(world.wire.extract_if(.., |(_, _, bytes)| is(MESSAGE_4, bytes)));
        world.deliver(|_| true);
    }
    world.restart(1);
    world.send(1, 0, 2);
    world.pass(2, |_| true);
    assert!(world.received(0).contains(&2), "there is a later key");
    world.wire.append(&mut held);
    world.pass(20, |_| true);
    let mut rounds = 0;
    loop {
        world.received(0);
        world.received(1);
        world.send(0, 1, 3);
        world.send(1, 0, 4);
        world.pass(10, |_| true);
        if (world.received(0), world.received(1)) == (vec![4], vec![3]) {
            break;
        }
        rounds += 1;
        assert!(rounds < 8, "they do not find each other again");
    }
    assert!(rounds > 0, "they were never parted: this shows nothing");
}

#[test]
fn one_forgery_in_the_name_of_a_silent_neighbour_causes_one_call() {
    let mut world = World::new(&TWO);
    world.send(0, 1, 1);
    world.settle(|_| true);
    world.pass(120, |_| false);
    let from = world.nodes[1].address;
    let forged = [&[2][..], &[0; DATAGRAM - 1]].concat();
    for _ in 0..100 {
        world.hand_in(0, from, forged.clone());
    }
    let mut hellos = 0;
    for _ in 0..10_000 {
        world.now = world.now + Duration::from_millis(10);
        world.collect();
        hellos += world.wire.drain(..).count();
    }
    assert!((1..=6).contains(&hellos), "{hellos}");
    assert_eq!(world.nodes[0].sessions.counters().with_key, 1);
}

#[test]
fn a_question_that_was_answered_leaves_nothing_to_do() {
    let mut world = World::new(&TWO);
    world.pass(1, |_| true);
    let from = world.nodes[0].address;
    world.hand_in(1, from, HELLO.to_vec());
    assert_eq!(leaving(&mut world, 1).len(), 1);
    assert_eq!(world.nodes[1].sessions.poll_timeout(), None, "it looks at no other neighbour for that");
}

/// Whoever can hear a cookie can begin handshakes: three multiplications each.
#[test]
fn however_often_somebody_with_a_cookie_begins_few_are_answered() {
    let mut world = World::new(&TWO);
    world.send(0, 1, 1);
    let mut heard: Option<(SocketAddr, SocketAddr, Vec<u8>)> = None;
    world.settle(|bytes| !is(MESSAGE_1, bytes) && !bytes.is_empty());
    for _ in 0..400 {
        world.now = world.now + Duration::from_millis(10);
        world.collect();
        if let Some(found) = world.wire.iter().find(|(_, _, bytes)| is(MESSAGE_1, bytes)) {
            heard = Some(found.clone());
            break;
        }
        world.deliver(|_| true);
    }
    world.wire.clear();
    let (from, _, message_1) = heard.expect("it was called");
    // Its ephemeral key ends before the name of the connection, which is the last byte.
    let len = 3 + usize::from(u16::from_be_bytes([message_1[1], message_1[2]]));
    let mut answers = 0;
    for number in 0..1000_u16 {
        let mut altered = message_1.clone();
        altered[len - 12] ^= number as u8;
        altered[len - 13] ^= (number >> 8) as u8;
        world.hand_in(1, from, altered);
        answers += leaving(&mut world, 1).iter().filter(|bytes| is(MESSAGE_2, bytes)).count();
    }
    assert!((1..=8).contains(&answers), "{answers}");
    world.pass(20, |_| true);
    world.send(0, 1, 2);
    world.pass(5, |_| true);
    assert!(world.received(1).contains(&2), "it costs its neighbour a moment");
}

/// A node calls one that is silent, and somebody answers in its name at 12,500 a second: each answer
/// that is read costs a multiplication.
#[test]
fn however_often_somebody_answers_in_a_neighbours_name_few_answers_are_read() {
    for knows_message_1 in [false, true] {
        let mut world = World::new(&TWO);
        let (caller, from) = (world.nodes[0].address, world.nodes[1].address);
        world.send(0, 1, 1);
        world.now = world.now + Duration::from_millis(10);
        world.collect();
        world.wire.clear();
        world.hand_in(0, from, [&[1, 0, 9, 2][..], &[7; 8]].concat());
        world.now = world.now + Duration::from_millis(40);
        world.collect();
        let message_1 = world.wire.iter().find(|(at, _, bytes)| *at == caller && is(MESSAGE_1, bytes));
        let (_, _, message_1) = message_1.expect("it was called").clone();
        let mut forged = [&[1, 0, 48, MESSAGE_2][..], &[0x5a; 47]].concat();
        // Behind the head of the datagram, the kind and the cookie, four bytes of message_1 stand
        // before the ephemeral key.
        forged[4..6].copy_from_slice(&message_1[16..18]);
        forged[4] ^= u8::from(!knows_message_1);
        for number in 0..12_500_u16 {
            forged[20..22].copy_from_slice(&number.to_be_bytes());
            world.hand_in(0, from, forged.clone());
            world.now = world.now + Duration::from_micros(80);
        }
        let counters = world.nodes[0].sessions.counters();
        let read: u64 = [HandshakeDrop::Unproved, HandshakeDrop::PublicKey, HandshakeDrop::Malformed]
            .into_iter()
            .map(|reason| counters.refused(reason))
            .sum();
        // Eight in each of the two seconds that it touches.
        assert!(if knows_message_1 { (8..=16).contains(&read) } else { read == 0 }, "{read}");
        // It was no more than a moment: both make their key.
        world.wire.clear();
        world.pass(20, |_| true);
        assert_eq!(world.received(1), [1]);
    }
}

#[test]
fn what_a_stranger_asks_in_a_neighbours_name_does_not_shorten_a_nodes_own_calls() {
    let mut world = World::new(&TWO);
    let from = world.nodes[1].address;
    world.hand_in(0, from, HELLO.to_vec());
    let _ = leaving(&mut world, 0);
    world.send(0, 1, 1);
    let mut seen = 0;
    world.settle(|bytes| {
        assert_eq!(bytes.len(), DATAGRAM);
        seen += 1;
        true
    });
    assert!(seen >= 7, "six messages and a packet");
}

#[test]
fn a_node_that_moves_while_no_document_is_in_force_has_no_key_any_more() {
    let mut world = World::new(&TWO);
    world.send(0, 1, 1);
    world.settle(|_| true);
    world.nodes[0].sessions.forget_key();
    world.nodes[0].address = "10.0.0.9:4000".parse().expect("an address");
    world.next_epoch();
    assert_eq!(world.nodes[0].sessions.counters().with_key, 0, "a key belongs to an address");
    world.send(0, 1, 2);
    world.settle(|_| true);
    assert_eq!(world.received(1), [1, 2]);
}

#[test]
fn a_node_that_gets_the_address_of_another_one_does_not_get_its_key() {
    let mut world = World::new(&["10.0.0.1:4000", "10.0.0.2:4000", "10.0.0.3:4000"]);
    world.send(1, 0, 1);
    world.settle(|_| true);
    world.epoch += 1;
    let from = world.nodes[1].address;
    world.nodes[2].address = from;
    world.follow(0, &[0, 2]);
    // The one that was there goes on as if nothing had happened.
    world.send(1, 0, 2);
    let (from, _, bytes) = world.wire.pop().expect("it has its key still");
    world.hand_in(0, from, bytes);
    assert_eq!((world.received(0), world.dropped(0, LinkDrop::NoKey)), (vec![1], 1));
}

#[test]
fn what_strangers_forge_at_a_neighbour_s_address_uses_up_few_tries_of_keys() {
    let mut world = World::new(&TWO);
    world.send(0, 1, 1);
    world.settle(|_| true);
    assert_eq!(world.received(1), [1]);
    let [stranger, moved] = [9, 5].map(|port| SocketAddr::new(world.nodes[0].address.ip(), port));
    let mut forged = [0x5a; DATAGRAM];
    forged[..5].copy_from_slice(&[2, 0, 0, 1, 0]);
    for _ in 0..10_000 {
        world.hand_in(1, stranger, forged.to_vec());
    }
    let tried = world.dropped(1, LinkDrop::Forged);
    assert_eq!(tried + world.nodes[1].sessions.counters().untried, 10_000);
    assert!((1..=256).contains(&tried), "{tried} keys were tried");

    world.send(0, 1, 2);
    let (from, _, bytes) = world.wire.pop().expect("it has a key");
    world.hand_in(1, from, bytes);
    assert_eq!(world.received(1), [2], "its own port needs no try");

    // Its port changes, and the flood goes on: one of its packets comes when a key may be tried.
    let mut needed = 0;
    while world.received(1).is_empty() {
        needed += 1;
        assert!(needed < 1000, "it is not found again");
        world.now = world.now + Duration::from_micros(700);
        if needed % 10 > 0 {
            world.hand_in(1, stranger, forged.to_vec());
        }
        world.send(0, 1, 3);
        let (_, _, bytes) = world.wire.pop().expect("it has a key");
        world.hand_in(1, moved, bytes);
    }
    world.hand_in(1, stranger, forged.to_vec());
    world.send(0, 1, 4);
    let (_, _, bytes) = world.wire.pop().expect("it has a key");
    world.hand_in(1, moved, bytes);
    assert_eq!(world.received(1), [4], "its new port is known now");
}
