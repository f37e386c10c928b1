//! Neighbours that have never met make keys, over an air that loses and a stranger who forges.

#[path = "handshakes/left.rs"]
mod left;
#[path = "handshakes/world.rs"]
mod world;

use std::time::Duration;

use chacha20::ChaCha20Rng;
use motemix_crypto::Secret;
use motemix_neighbour::edhoc::{Suite0, WithoutSignatures};
use motemix_neighbour::handshakes::{Failure, HandshakeDrop, Handshakes, Identity, MAX_MESSAGE};
use proptest::prelude::*;
use rand_core::SeedableRng as _;
use world::{Node, World, admitted, peer};

#[test]
fn two_neighbours_make_a_key_in_six_messages_of_one_frame_each() {
    let mut world = World::new(2, 1);
    world.call(0, 1);
    world.run(Duration::from_millis(100));
    let [one, other] = world.keys();
    assert!(one.is_some() && one == other);
    let lens: Vec<_> = world.sent.iter().map(|sent| sent.bytes.len()).collect();
    assert_eq!(lens, [1, 9, 46, 48, 20, 10]);
    assert!(lens.iter().all(|len| *len <= MAX_MESSAGE));
    // What is EDHOC's of it: no kinds, no cookies, no echo.
    assert_eq!(lens[2] - 9 + lens[3] - 3 + lens[4] - 1 + lens[5] - 1, 110);
    assert!(world.nodes.iter().all(|node| node.most == 1), "multiplications in one step");
    assert!(world.nodes.iter().all(|node| node.dropped().is_empty()));
}

#[test]
fn each_handshake_has_another_key_and_so_has_each_pair() {
    let mut world = World::new(3, 1);
    let mut keys = std::collections::BTreeSet::new();
    for (from, to) in [(0, 1), (1, 0), (0, 2), (1, 2), (0, 1)] {
        world.call(from, to);
        world.run(Duration::from_secs(1));
        keys.insert(world.nodes[from].key(world.nodes[to].me).expect("a key"));
    }
    assert_eq!(keys.len(), 5);
}

#[test]
fn whichever_message_is_lost_it_is_sent_again() {
    for lost in 0..6 {
        let mut world = World::new(2, 2);
        let mut count = 0;
        world.fate = Box::new(move |_| {
            count += 1;
            if count == lost + 1 { vec![] } else { vec![3] }
        });
        world.call(0, 1);
        world.run(Duration::from_secs(14));
        let [one, other] = world.keys();
        assert!(one.is_some() && one == other, "{lost} was lost");
        assert!(world.nodes.iter().all(|node| node.events.len() == 1), "{lost}");
    }
}

/// A third of all messages is lost, some come twice, all after another time.
#[test]
fn on_a_bad_air_there_is_a_key_or_a_failure_in_its_time() {
    let mut agreed = 0;
    for seed in 0..60 {
        let mut world = World::new(2, seed);
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        world.fate = Box::new(move |_| {
            let draw = rng.next_u32();
            let after = |shift: u32| u64::from(draw >> shift & 0xff);
            match draw % 100 {
                0..33 => vec![],
                33..43 => vec![after(8), after(16)],
                _ => vec![after(8)],
            }
        });
        world.call(0, 1);
        world.run(Duration::from_secs(15));
        let [one, other] = world.keys();
        assert_eq!(world.nodes[0].events.len(), 1, "seed {seed}: the caller is told once");
        // Whoever is told of a key has that of the other side.
        assert!(one.is_none() || one == other, "seed {seed}");
        agreed += u32::from(one.is_some());
    }
    assert!(agreed >= 50, "{agreed} of 60");
}

#[test]
fn neighbours_that_call_each_other_at_once_make_one_key() {
    let mut world = World::new(2, 3);
    world.call(0, 1);
    world.call(1, 0);
    world.run(Duration::from_secs(2));
    let [one, other] = world.keys();
    assert!(one.is_some() && one == other);
    assert!(world.nodes.iter().all(|node| node.events.len() == 1));
}

/// Each call begins at another time of the other's, and messages are lost or come late: whoever has
/// a key at last has that of the other side.
#[test]
fn calls_that_cross_never_leave_two_keys() {
    let mut both = 0;
    for seed in 0..300 {
        let mut world = World::new(2, seed);
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let (first, later) = (seed as usize % 2, u64::from(rng.next_u32() % 30));
        world.fate = Box::new(move |_| match rng.next_u32() % 10 {
            0 | 1 => vec![],
            2 => vec![u64::from(rng.next_u32() % 4000)],
            _ => vec![3],
        });
        world.call(first, 1 - first);
        world.run(Duration::from_millis(later));
        // Who has a key calls nobody.
        if world.nodes[1 - first].last_key().is_none() {
            world.call(1 - first, first);
        }
        world.run(Duration::from_secs(40));
        let keys = [0, 1].map(|number| world.nodes[number].last_key());
        if let [Some(one), Some(other)] = keys {
            assert_eq!(one, other, "seed {seed}");
            both += 1;
        }
    }
    assert!(both > 150, "{both} of 300");
}

/// message_4 is lost while the neighbour calls, and comes after that call has ended.
#[test]
fn a_late_message_4_does_not_bring_an_older_key_back() {
    for [first, second] in [[0, 1], [1, 0]] {
        let mut world = World::new(2, 6);
        let (mut is_lost, loses) = (false, world.nodes[second].me);
        world.fate = Box::new(move |sent| {
            let lose = sent.from == loses && sent.bytes[0] == 6 && !is_lost;
            is_lost |= lose;
            if lose { vec![] } else { vec![3] }
        });
        world.call(first, second);
        while world.sent.len() < 4 {
            world.run(Duration::from_millis(1));
        }
        // It has answered, and has no key yet.
        world.call(second, first);
        world.run(Duration::from_secs(40));
        let keys = [0, 1].map(|number| world.nodes[number].last_key());
        assert!(keys[0].is_some() && keys[0] == keys[1], "{first} began: {keys:?}");
    }
}

#[test]
fn many_neighbours_call_each_other_and_all_have_keys_at_last() {
    let mut world = World::new(6, 4);
    for _ in 0..40 {
        for from in 0..6 {
            let missing =
                (0..6).find(|to| *to != from && world.nodes[from].key(world.nodes[*to].me).is_none());
            if let Some(to) = missing {
                world.call(from, to);
            }
        }
        world.run(Duration::from_secs(1));
    }
    for one in 0..6 {
        for other in 0..one {
            let [one, other] = [&world.nodes[one], &world.nodes[other]];
            assert!(one.key(other.me).is_some() && one.key(other.me) == other.key(one.me));
        }
    }
}

#[test]
fn a_stranger_gets_no_answer_and_costs_no_multiplication() {
    let mut world = World::new(2, 5);
    world.nodes[1].list.0.remove(&peer(1));
    world.call(0, 1);
    world.run(Duration::from_secs(15));
    assert_eq!(world.nodes[0].failure(), Some(Failure::Silent));
    assert!(world.sent.iter().all(|sent| sent.from == peer(1)));
    assert_eq!((world.nodes[1].most, world.nodes[1].dropped()), (0, vec![(HandshakeDrop::Stranger, 6)]));
    // It is not called either.
    world.call(1, 0);
    world.run(Duration::from_secs(1));
    assert_eq!(world.nodes[1].failure(), Some(Failure::NotAdmitted));
}

#[test]
fn a_flood_of_first_messages_takes_no_place_and_no_multiplication() {
    let mut world = World::new(3, 6);
    let mut rng = ChaCha20Rng::seed_from_u64(6);
    for _ in 0..2000 {
        let node = &mut world.nodes[1];
        // In the name of a neighbour: a hello, and a guessed cookie with a message_1.
        let _ = node.handshakes.handle(world.now, peer(3), &[1], &node.list);
        let mut forged = vec![3; 46];
        rng.fill_bytes(&mut forged[1..]);
        let refused = node.handshakes.handle(world.now, peer(3), &forged, &node.list);
        assert_eq!(refused, Err(HandshakeDrop::WrongCookie));
        let node = &mut world.nodes[1];
        assert!(!node.handshakes.has_work());
        let answer = node.handshakes.poll_transmit(world.now).expect("a cookie");
        assert_eq!((answer.to, answer.as_bytes().len()), (peer(3), 9));
        world.now = world.now + Duration::from_millis(5);
    }
    assert_eq!(world.nodes[1].handshakes.counters().answered, 0);
    world.call(0, 1);
    world.run(Duration::from_secs(1));
    assert!(world.keys()[0].is_some());
}

#[test]
fn a_flood_of_answers_to_a_call_costs_no_multiplication_and_the_right_one_is_taken() {
    let mut world = World::new(2, 6);
    let mut rng = ChaCha20Rng::seed_from_u64(6);
    world.call(0, 1);
    while !world.under_way.iter().any(|sent| sent.bytes[0] == 4) {
        world.run(Duration::from_millis(1));
    }
    let message_1 = world.sent.iter().find(|sent| sent.bytes[0] == 3).expect("it was called").clone();
    // Before the right one arrives, and none of them has seen message_1.
    for _ in 0..10_000 {
        let mut forged = [4; 48];
        rng.fill_bytes(&mut forged[1..]);
        // One of 65,536 would have guessed right.
        forged[1] = !message_1.bytes[13];
        let Node { handshakes, list, .. } = &mut world.nodes[0];
        assert_eq!(handshakes.handle(world.now, peer(2), &forged, list), Err(HandshakeDrop::WrongEcho));
        assert!(!handshakes.has_work());
    }
    world.run(Duration::from_secs(1));
    let [one, other] = world.keys();
    assert!(one.is_some() && one == other);
}

#[test]
fn who_has_another_key_than_is_known_proves_nothing() {
    for impostor in 0..2 {
        let mut world = World::new(2, 7);
        let identity = Identity::new(Secret::new([9; 32]), admitted([9; 32], 3));
        world.nodes[impostor].handshakes.set_identity(Some(identity));
        world.call(0, 1);
        world.run(Duration::from_secs(20));
        assert_eq!(world.keys()[0], None);
        assert_eq!(world.keys()[1], None);
        // Whoever called cannot tell a silent responder from one that does not take its key.
        let failure = if impostor == 0 { Failure::Unconfirmed } else { Failure::Unproved };
        assert_eq!(world.nodes[0].failure(), Some(failure));
        let honest = &world.nodes[1 - impostor];
        assert!(honest.handshakes.counters().dropped(HandshakeDrop::Unproved) > 0);
    }
}

#[test]
fn a_neighbour_in_another_epoch_is_told_apart_from_a_liar() {
    let mut world = World::new(2, 8);
    let secret = world.nodes[1].secret;
    world.nodes[1].handshakes.set_identity(Some(Identity::new(Secret::new(secret), admitted(secret, 4))));
    world.call(0, 1);
    world.run(Duration::from_secs(1));
    assert_eq!(world.nodes[0].failure(), Some(Failure::OtherKey));
    assert_eq!(world.nodes[0].dropped(), [(HandshakeDrop::OtherKey, 1)]);
}

/// What came of a message that was sent in place of the one with this number, and before it.
fn with_forged(number: usize, forge: impl Fn(&[u8]) -> Vec<u8> + 'static) -> World {
    let mut world = World::new(2, 9);
    world.call(0, 1);
    let mut count = 0;
    while count < 100 && world.sent.len() <= number {
        world.run(Duration::from_millis(1));
        count += 1;
    }
    // The genuine one is under way.
    let sent = world.sent[number].clone();
    let forged = forge(&sent.bytes);
    let node = world.nodes.iter_mut().find(|node| node.me == sent.to).expect("a node");
    let _ = node.handshakes.handle(world.now, sent.from, &forged, &node.list);
    world
}

#[test]
fn points_of_small_order_are_refused_and_the_right_message_still_comes() {
    for (number, at) in [(2, 12), (3, 5)] {
        for point in [[0; 32], {
            let mut one = [0; 32];
            one[0] = 1;
            one
        }] {
            let mut world = with_forged(number, move |bytes| {
                let mut bytes = bytes.to_vec();
                bytes[at..at + 32].copy_from_slice(&point);
                bytes
            });
            world.run(Duration::from_secs(14));
            let dropped: u32 = world.nodes.iter().flat_map(Node::dropped).map(|(_, count)| count).sum();
            assert!(dropped > 0, "message {number}");
            let [one, other] = world.keys();
            assert!(one.is_some() && one == other, "message {number}: {:?}", world.nodes[1].dropped());
        }
    }
}

#[test]
fn a_forged_cookie_delays_a_call_and_does_not_end_it() {
    let mut world = with_forged(1, |bytes| bytes.iter().map(|byte| byte ^ u8::from(*byte != 2)).collect());
    world.run(Duration::from_secs(14));
    let [one, other] = world.keys();
    assert!(one.is_some() && one == other, "{:?}", world.nodes[1].dropped());
    assert_eq!(world.nodes[0].failure(), None);
}

/// A stranger hears a hello, and floods whoever said it with cookies, before the genuine one and
/// after it, for as long as the call lasts. Every other time they leave the genuine one no place.
#[test]
fn any_number_of_forged_cookies_does_not_end_a_call() {
    for each in [1, 3, 40] {
        let mut world = World::new(2, 9);
        let mut rng = ChaCha20Rng::seed_from_u64(each);
        let mut flood = move |world: &mut World| {
            for _ in 0..each {
                let mut cookie = [2; 9];
                rng.fill_bytes(&mut cookie[1..]);
                let Node { handshakes, list, .. } = &mut world.nodes[0];
                let _ = handshakes.handle(world.now, peer(2), &cookie, list);
            }
        };
        let (begun, mut crowded, mut came) = (world.now, 0, 0);
        world.call(0, 1);
        while world.nodes[0].events.is_empty() && world.now - begun < Duration::from_secs(15) {
            flood(&mut world);
            world.run(Duration::from_micros(900));
            let genuine = world.under_way.iter().filter(|sent| sent.bytes[0] == 2).map(|sent| sent.at).min();
            if let Some(at) = genuine.filter(|at| *at < world.now + Duration::from_millis(1)) {
                came += 1;
                if came % 2 == 1 {
                    // They are there first, and none has left yet.
                    world.now = at;
                    flood(&mut world);
                    crowded += 1;
                }
            }
        }
        let [one, other] = world.keys();
        assert!(one.is_some() && one == other, "{each}: {:?}", world.nodes[0].failure());
        assert!(crowded > 0 && world.nodes[1].handshakes.counters().dropped(HandshakeDrop::WrongCookie) > 1);
        assert!(world.nodes.iter().all(|node| node.most <= 1), "multiplications in one step");
        assert_eq!(world.nodes[1].handshakes.counters().answered, 1);
    }
}

#[test]
fn a_node_without_a_key_of_its_own_makes_no_handshakes() {
    let mut world = World::new(2, 10);
    world.nodes[1].handshakes.set_identity(None);
    world.call(0, 1);
    world.call(1, 0);
    world.run(Duration::from_secs(10));
    assert_eq!(world.nodes[0].failure(), Some(Failure::Silent));
    assert_eq!(world.nodes[1].failure(), Some(Failure::NotAdmitted));
}

#[test]
fn a_neighbour_that_was_restarted_in_the_middle_is_answered_again() {
    for stop_after in 1..6 {
        let mut world = World::new(2, 11);
        world.call(0, 1);
        while world.sent.len() < stop_after {
            world.run(Duration::from_millis(1));
        }
        world.under_way.clear();
        let mut rng = ChaCha20Rng::seed_from_u64(77);
        let node = &mut world.nodes[0];
        node.handshakes = Handshakes::new(WithoutSignatures(Suite0::new()), node.me, &mut rng);
        let identity = Identity::new(Secret::new(node.secret), admitted(node.secret, 3));
        node.handshakes.set_identity(Some(identity));
        node.events.clear();
        world.call(0, 1);
        world.run(Duration::from_secs(12));
        let [one, other] = world.keys();
        assert!(one.is_some() && one == other, "after {stop_after}");
    }
}

#[test]
fn a_radio_that_does_not_answer_ends_a_call_early() {
    let mut world = World::new(2, 12);
    world.fate = Box::new(|_| vec![]);
    world.call(0, 1);
    world.run(Duration::from_millis(10));
    world.nodes[0].handshakes.undelivered(peer(2));
    assert_eq!(world.nodes[0].events.len(), 0, "one more try");
    world.run(Duration::from_secs(1));
    world.nodes[0].handshakes.undelivered(peer(2));
    world.run(Duration::from_millis(10));
    assert_eq!(world.nodes[0].failure(), Some(Failure::Silent));
}

/// Its acknowledgements are lost, not its messages: it has a key, which its caller does not know of.
#[test]
fn whoever_sent_its_proof_does_not_take_a_radio_that_does_not_answer_for_one_that_heard_nothing() {
    let mut world = World::new(2, 12);
    world.fate = Box::new(|sent| if sent.bytes[0] == 6 { vec![] } else { vec![3] });
    world.call(0, 1);
    world.run(Duration::from_secs(5));
    world.nodes[0].handshakes.undelivered(peer(2));
    world.run(Duration::from_millis(10));
    assert_eq!(world.nodes[0].failure(), Some(Failure::Unconfirmed));
    assert!(world.keys()[1].is_some());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// A forged message before the genuine one: one counted reason, and the handshake ends well.
    #[test]
    fn an_altered_message_stops_nobody(number in 1usize..6, at in 0usize..64, change in 1u8..=255) {
        let mut world = with_forged(number, move |bytes| {
            let mut bytes = bytes.to_vec();
            let at = at % bytes.len();
            bytes[at] ^= change;
            bytes
        });
        world.run(Duration::from_secs(20));
        let [one, other] = world.keys();
        // A cookie or a key of message_1 that was altered makes another handshake fail.
        if world.nodes[0].failure().is_none() {
            prop_assert!(one.is_some());
            prop_assert_eq!(one, other);
        } else {
            world.call(0, 1);
            world.run(Duration::from_secs(14));
            let [one, other] = world.keys();
            prop_assert!(one.is_some());
            prop_assert_eq!(one, other);
        }
    }

    /// Any bytes in any order.
    #[test]
    fn no_bytes_do_harm(messages in proptest::collection::vec(
        (1u8..4, proptest::collection::vec(any::<u8>(), 0..80), 0u8..9), 0..40)
    ) {
        let mut world = World::new(3, 13);
        for (from, mut bytes, kind) in messages {
            if let Some(first) = bytes.first_mut() {
                *first = kind;
            }
            let node = &mut world.nodes[1];
            let _ = node.handshakes.handle(world.now, peer(from), &bytes, &node.list);
            world.run(Duration::from_millis(20));
        }
        world.run(Duration::from_secs(15));
        world.call(0, 1);
        world.run(Duration::from_secs(14));
        let [one, other] = world.keys();
        prop_assert!(one.is_some());
        prop_assert_eq!(one, other);
    }
}
