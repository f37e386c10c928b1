//! Sessions of two nodes, without sockets and with a time of their own.

#[path = "sessions/world.rs"]
mod world;

use std::collections::HashSet;
use std::net::SocketAddr;
use std::time::Duration;

use chacha20::ChaCha20Rng;
use motemix_host::link::SessionCounters;
use motemix_link::counters::LinkDrop;
use motemix_neighbour::datagram::MAX_SEALED;
use rand_core::{Rng as _, SeedableRng as _};
use world::{DATAGRAM, PACKET, TWO, World, address};

#[test]
fn packets_wait_for_the_first_key_and_leave_in_their_order() {
    let mut world = World::new(&["10.0.0.1:4000", "[2001:db8::2]:4000"]);
    for byte in 0..5 {
        world.send(0, 1, byte);
    }
    assert!(world.wire.is_empty(), "nothing leaves without protection");
    world.settle(|bytes| bytes.len() == DATAGRAM);
    assert_eq!(world.received(1), [0, 1, 2, 3, 4]);
    world.send(1, 0, 9);
    world.settle(|_| true);
    assert_eq!(world.received(0), [9]);
}

#[test]
fn two_that_call_each_other_at_once_have_one_key() {
    let mut world = World::new(&TWO);
    for round in 0..3 {
        world.send(0, 1, round);
        world.send(1, 0, round);
        world.settle(|_| true);
        assert_eq!((world.received(0), world.received(1)), (vec![round], vec![round]));
    }
}

#[test]
fn what_waits_too_long_is_counted_and_so_is_what_finds_no_place() {
    let mut world = World::new(&TWO);
    for byte in 0..100 {
        world.send(0, 1, byte);
    }
    assert_eq!(world.dropped(0, LinkDrop::QueueFull), 36, "64 wait");
    world.pass(30, |_| false);
    assert_eq!(world.dropped(0, LinkDrop::NoHandshake), 64);
    assert_eq!(world.nodes[0].sessions.counters().without_answer, 1);
    // It comes back.
    world.send(0, 1, 7);
    world.pass(3, |_| true);
    assert_eq!(world.received(1), [7]);
    assert_eq!(world.nodes[0].sessions.counters().without_answer, 0);
}

#[test]
fn a_neighbour_of_another_epoch_is_told_from_one_that_is_silent() {
    let mut world = World::new(&TWO);
    world.epoch += 1;
    world.follow(0, &[0, 1]);
    world.send(0, 1, 1);
    world.pass(3, |_| true);
    let told = |world: &World| {
        let counters = world.nodes[0].sessions.counters();
        (counters.without_answer, counters.with_another_key)
    };
    assert_eq!(told(&world), (1, 1));
    world.pass(20, |_| false);
    world.send(0, 1, 2);
    world.pass(20, |_| false);
    assert_eq!(told(&world), (1, 0), "it does not run any more");
    world.follow(1, &[0, 1]);
    world.send(0, 1, 3);
    world.pass(5, |_| true);
    assert_eq!(told(&world), (0, 0));
    assert_eq!(world.received(1), [3]);
}

#[test]
fn a_node_that_was_started_again_is_called_by_what_it_cannot_read() {
    let mut world = World::new(&TWO);
    world.send(0, 1, 1);
    world.settle(|_| true);
    world.restart(1);
    world.send(0, 1, 2);
    world.settle(|_| true);
    assert_eq!(world.dropped(1, LinkDrop::NoKey), 1, "lost, and both know it");
    world.send(0, 1, 3);
    world.settle(|_| true);
    assert_eq!(world.received(1), [1, 3]);
}

#[test]
fn a_key_is_renewed_before_it_ends_and_no_packet_is_lost() {
    let mut world = World::new(&TWO);
    let mut keys = 0;
    for number in 0..MAX_SEALED {
        world.send(0, 1, number as u8);
        if number % 1024 == 0 {
            world.send(1, 0, 1);
            world.settle(|_| true);
        }
        for (from, _, bytes) in std::mem::take(&mut world.wire) {
            world.hand_in(1, from, bytes);
        }
        keys = world.nodes[1].sessions.counters().keys;
        world.nodes[1].received.truncate(1);
    }
    assert_eq!(keys, 2);
    for place in 0..2 {
        let counters = world.nodes[place].sessions.counters();
        let dropped = LinkDrop::ALL.iter().map(|reason| counters.dropped(*reason)).sum::<u64>();
        assert_eq!((dropped, counters.with_key), (0, 1));
    }
}

#[test]
fn a_renewal_that_a_third_party_spoils_leaves_the_key_that_works() {
    let mut world = World::new(&TWO);
    world.send(0, 1, 1);
    world.settle(|_| true);
    world.restart(1);
    // What it cannot read makes it call, and somebody cuts all handshakes off from then on.
    world.send(0, 1, 2);
    world.pass(20, |bytes| bytes[0] != 1);
    assert_eq!(world.nodes[1].sessions.counters().failed, 1);
    assert_eq!(world.nodes[0].sessions.counters().with_key, 1);
    world.send(0, 1, 3);
    world.pass(5, |_| true);
    world.send(0, 1, 4);
    world.settle(|_| true);
    assert_eq!(world.received(1), [1, 4]);
}

#[test]
fn a_confirmation_that_is_lost_costs_a_moment() {
    let mut world = World::new(&TWO);
    world.send(0, 1, 1);
    // The fourth message of EDHOC is the only one of these lengths; they are in its second byte.
    let mut lost = 0;
    let is_message_4 = |bytes: &[u8]| bytes[0] == 1 && bytes[3] == 6;
    world.settle(|bytes| {
        lost += usize::from(is_message_4(bytes));
        !is_message_4(bytes)
    });
    assert!(lost > 0, "it was sent");
    world.send(1, 0, 5);
    world.settle(|_| true);
    assert!(world.received(0).is_empty(), "it has no key yet");
    world.pass(4, |_| true);
    world.send(1, 0, 6);
    world.settle(|_| true);
    assert_eq!((world.received(1), world.received(0)), (vec![1], vec![6]));
}

#[test]
fn behind_a_translator_a_node_with_an_address_of_its_own_is_known_by_that() {
    let mut world = World::new(&TWO);
    world.send(0, 1, 1);
    world.settle(|_| true);
    world.send(0, 1, 2);
    let (_, _, bytes) = world.wire.pop().expect("it left");
    world.hand_in(1, address("10.0.0.1:61234"), bytes.clone());
    assert_eq!(world.received(1), [1, 2]);
    world.hand_in(1, address("10.0.0.3:4000"), bytes);
    assert_eq!(world.dropped(1, LinkDrop::Stranger), 1);
}

#[test]
fn nodes_behind_one_translator_are_told_apart_by_their_keys() {
    let (outside, others) = ("10.0.0.1", ["10.0.0.1:4000", "10.0.0.1:4001", "10.0.0.2:4000"]);
    let mut world = World::new(&others);
    // Whatever the first two send arrives from another port of their address.
    let translated = |world: &mut World| {
        for (from, _, _) in world.wire.iter_mut().filter(|(from, to, _)| from.ip() != to.ip()) {
            if from.ip() == address(&format!("{outside}:1")).ip() {
                from.set_port(from.port() + 50_000);
            }
        }
    };
    let pass = |world: &mut World, seconds: u64| {
        for _ in 0..100 * seconds {
            world.now = world.now + Duration::from_millis(10);
            world.collect();
            translated(world);
            world.deliver(|_| true);
        }
    };
    for round in 0..3 {
        world.send(0, 2, 10 + round);
        world.send(1, 2, 20 + round);
        world.send(2, 1, 30 + round);
        pass(&mut world, 5);
    }
    let mut received = world.received(2);
    received.sort_unstable();
    assert_eq!(received, [10, 11, 12, 20, 21, 22]);
    assert_eq!(world.received(1), [30, 31, 32]);
    // Once it is known whose port it is, a stranger's datagrams from others cost no more.
    let forged = world.dropped(2, LinkDrop::Forged);
    world.send(0, 2, 13);
    pass(&mut world, 1);
    assert_eq!((world.received(2), world.dropped(2, LinkDrop::Forged)), (vec![13], forged));
}

#[test]
fn a_question_to_several_nodes_is_not_answered_often() {
    let mut world = World::new(&["10.0.0.1:4000", "10.0.0.1:4001", "10.0.0.2:4000"]);
    for _ in 0..100 {
        world.hand_in(2, address("10.0.0.1:61234"), vec![1, 0, 1, 1]);
    }
    assert_eq!(world.nodes[2].sessions.leaving().len(), 2);
    assert!(SessionCounters::DROPS.contains(&LinkDrop::HandshakeBusy), "the operator sees it");
    assert_eq!(world.dropped(2, LinkDrop::HandshakeBusy), 99);
}

#[test]
fn keys_outlive_an_epoch_and_go_when_a_node_is_in_no_document() {
    let mut world = World::new(&["10.0.0.1:4000", "10.0.0.2:4000", "10.0.0.3:4000"]);
    world.send(1, 0, 1);
    world.settle(|_| true);
    let number = |world: &mut World| {
        world.send(1, 0, 2);
        let datagram = world.wire.pop().expect("it has a key");
        (datagram.0, datagram.2)
    };
    world.next_epoch();
    let (from, bytes) = number(&mut world);
    world.hand_in(0, from, bytes);
    assert_eq!(world.received(0), [1, 2]);
    // The first one's next document has the second no more; what is under way still arrives.
    world.epoch += 1;
    world.follow(0, &[0, 2]);
    let (from, bytes) = number(&mut world);
    world.hand_in(0, from, bytes);
    assert_eq!(world.received(0), [2]);
    world.epoch += 1;
    world.follow(0, &[0, 2]);
    let (from, bytes) = number(&mut world);
    world.hand_in(0, from, bytes);
    assert_eq!((world.received(0), world.dropped(0, LinkDrop::Stranger)), (vec![], 1));
    world.send(0, 1, 1);
    assert_eq!(world.dropped(0, LinkDrop::NoNeighbour), 1);
}

#[test]
fn an_answer_has_the_form_of_what_it_answers() {
    let mut world = World::new(&TWO);
    for (hello, answer) in
        [(vec![1, 0, 1, 1], 12), ([vec![1, 0, 1, 1], vec![0; DATAGRAM - 4]].concat(), DATAGRAM)]
    {
        let from = world.nodes[0].address;
        world.hand_in(1, from, hello);
        let leaving: Vec<_> = world.nodes[1].sessions.leaving().map(|it| it.bytes.len()).collect();
        assert_eq!(leaving, [answer]);
        world.nodes[1].sessions.has_left();
    }
}

#[test]
fn without_a_key_of_its_own_a_node_makes_none_and_goes_on_with_those_it_has() {
    let mut world = World::new(&["10.0.0.1:4000", "10.0.0.2:4000", "10.0.0.3:4000"]);
    world.send(0, 1, 1);
    world.settle(|_| true);
    world.nodes[0].sessions.forget_key();
    world.send(0, 1, 2);
    world.send(0, 2, 3);
    world.pass(20, |_| true);
    assert_eq!((world.received(1), world.received(2)), (vec![1, 2], vec![]));
    assert_eq!(world.dropped(0, LinkDrop::NoHandshake), 1);
}

/// Numbered packets between three nodes, over a wire on which a stranger does what it likes.
#[test]
fn whatever_a_stranger_does_each_packet_that_arrives_was_sent_and_arrives_once() {
    for seed in 0..60 {
        println!("seed {seed}");
        let mut dice = ChaCha20Rng::seed_from_u64(seed);
        let mut world = World::new(&["10.0.0.1:4000", "10.0.0.1:4001", "[2001:db8::2]:4000"]);
        let (mut sent, mut arrived) = (0_u32, HashSet::new());
        let mut old: Vec<(SocketAddr, SocketAddr, Vec<u8>)> = Vec::new();
        for _ in 0..400 {
            let mut below = |end: usize| (dice.next_u32() as usize) % end;
            let (from, to) = (below(3), below(3));
            match below(12) {
                0..4 if from != to => {
                    let mut packet = [0; PACKET];
                    packet[..4].copy_from_slice(&sent.to_be_bytes());
                    sent += 1;
                    world.send_packet(from, to, &packet);
                }
                4 => world.wire.reverse(),
                5 if !world.wire.is_empty() => {
                    let at = below(world.wire.len());
                    world.wire.swap_remove(at);
                }
                6 if !old.is_empty() => world.wire.push(old[below(old.len())].clone()),
                7 if !old.is_empty() => {
                    let (from, to, mut bytes) = old[below(old.len())].clone();
                    let at = below(bytes.len());
                    bytes[at] ^= 1 << below(8);
                    bytes.truncate(bytes.len() - below(3) / 2);
                    world.wire.push((from, to, bytes));
                }
                8 => {
                    let bytes = (0..below(2 * DATAGRAM)).map(|_| below(256) as u8).collect();
                    let (from, to) = (world.nodes[from].address, world.nodes[to].address);
                    world.wire.push((SocketAddr::new(from.ip(), below(65_536) as u16), to, bytes));
                }
                9 if below(20) == 0 => world.restart(from),
                10 if below(20) == 0 => world.next_epoch(),
                _ => {
                    world.now = world.now + Duration::from_millis(below(400) as u64);
                    world.collect();
                    old.extend(world.wire.iter().filter(|(_, _, bytes)| !bytes.is_empty()).cloned());
                    world.deliver(|_| true);
                }
            }
            for node in &mut world.nodes {
                for packet in node.received.drain(..) {
                    let number = packet.first_chunk().map(|number| u32::from_be_bytes(*number));
                    let number = number.expect("a whole packet");
                    assert!(number < sent && packet[4..].iter().all(|byte| *byte == 0), "it was sent");
                    assert!(arrived.insert(number), "{number} arrived twice");
                }
            }
        }
        // Left alone, all find each other again.
        world.wire.clear();
        world.pass(40, |_| true);
        for (from, to) in [(0, 1), (1, 2), (2, 0)] {
            world.send(from, to, 0xee);
            world.pass(5, |_| true);
            // One that was started again hears what it cannot read, and calls.
            world.send(from, to, 0xee);
            world.pass(5, |_| true);
            assert!(world.received(to).contains(&0xee), "from {from} to {to}");
        }
    }
}
