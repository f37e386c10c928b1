//! Neighbours on a network of IPv6 that protect what passes between them, as sockets would have it.

#[path = "sessions/world.rs"]
mod world;

use std::net::SocketAddrV6;

use motemix_crypto::{BoardCurve, Curve as _};
use motemix_link::counters::LinkDrop;
use motemix_link::meeting::{Meeting, admitted};
use motemix_link::protection::Keys as _;
use motemix_link::sessions::station_at;
use proptest::prelude::*;
use world::{DATAGRAM, PAYLOAD, World, address, secret};

/// Of two that call each other the one with the lower number goes on, so both have to know the
/// numbers that the document in force gives them.
#[test]
fn a_station_that_a_document_has_moved_has_to_be_told_so() {
    for is_told in [false, true] {
        let mut world = World::new(2, 4);
        let before = "[::1]:1".parse().expect("an address");
        assert!(
            station_at(before) < station_at(address(0)) && station_at(address(0)) < station_at(address(1))
        );
        let mut meeting = Meeting::new(station_at(before), &mut world.dice);
        meeting.set_identity(Some((secret(1), admitted(BoardCurve::public_key(&secret(1)).0, 7))));
        if is_told {
            meeting.set_address(station_at(address(1)));
        }
        world.stations[1].meeting = meeting;
        world.send(0, 1, b'a').expect("it waits");
        world.send(1, 0, b'b').expect("it waits");
        world.seconds(3);
        let arrived = [0, 1].map(|number| world.stations[number].inbox.len());
        assert_eq!(arrived, if is_told { [1, 1] } else { [0, 0] });
    }
}

#[test]
fn a_packet_waits_for_its_key_and_nothing_of_it_can_be_read() {
    let mut world = World::new(2, 4);
    world.send(0, 1, b'a').expect("it waits");
    world.seconds(2);
    assert_eq!(world.stations[1].inbox, b"a");
    world.send(1, 0, b'b').expect("there is a key now");
    world.seconds(1);
    assert_eq!(world.stations[0].inbox, b"b");
    let (handshake, packets): (Vec<_>, Vec<_>) = world.heard.iter().partition(|sent| sent[0] == 1);
    // Six messages, each with its length in front.
    let lengths: Vec<_> = handshake.iter().map(|sent| sent.len()).collect();
    assert_eq!(lengths, [1, 9, 46, 48, 20, 10].map(|len| len + 3));
    assert_eq!(packets.iter().map(|sent| sent.len()).collect::<Vec<_>>(), [296, 296]);
    for packet in packets {
        assert!(!packet.windows(4).any(|window| window == b"aaaa" || window == b"bbbb"));
    }
}

#[test]
fn neighbours_that_call_each_other_at_once_come_to_one_key() {
    let mut world = World::new(2, 4);
    world.send(0, 1, b'a').expect("it waits");
    world.send(1, 0, b'b').expect("it waits");
    world.seconds(3);
    for (to, sent) in [(1, b"a"), (0, b"b")] {
        assert_eq!(world.stations[to].inbox, sent);
    }
    world.send(0, 1, b'c').expect("there is a key");
    world.send(1, 0, b'd').expect("there is a key");
    world.seconds(1);
    assert_eq!(world.stations[1].inbox, b"ac");
    assert_eq!(world.stations[0].inbox, b"bd");
}

#[test]
fn what_was_forged_altered_or_repeated_is_refused_and_counted() {
    use LinkDrop::{Forged, NoKey, RepeatedFrame, TooLong, Unprotected};

    let mut world = World::new(3, 4);
    world.send(0, 1, b'a').expect("it waits");
    world.seconds(2);
    let genuine = world.heard.last().expect("the packet").clone();
    world.arrives(0, 1, &genuine);
    for at in [0, 3, 5, 200, 295] {
        let mut altered = genuine.clone();
        altered[at] ^= 0x40;
        world.arrives(0, 1, &altered);
    }
    // In the name of a neighbour that has no key here, and of no kind.
    world.arrives(2, 1, &genuine);
    world.arrives(0, 1, &[7; PAYLOAD]);
    world.arrives(0, 1, &[]);
    let mut long = vec![1, 0, 49];
    long.extend([3; 49]);
    world.arrives(0, 1, &long);
    assert_eq!(
        world.stations[1].drops,
        [
            RepeatedFrame,
            Unprotected,
            Forged,
            Forged,
            Forged,
            Forged,
            NoKey,
            Unprotected,
            Unprotected,
            TooLong
        ]
    );
    // None of it has moved the numbers.
    world.send(0, 1, b'b').expect("there is a key");
    world.seconds(1);
    assert_eq!(world.stations[1].inbox, b"ab");
}

#[test]
fn a_neighbour_that_does_not_answer_holds_up_nobody_for_long() {
    let mut world = World::new(4, 4);
    world.send(0, 2, b'x').expect("it waits");
    world.seconds(2);
    world.gone = vec![1];
    world.send(0, 1, b'a').expect("it waits");
    world.send(0, 2, b'b').expect("there is a key");
    // There is one place to wait in. Who finds it taken is called all the same, in its turn.
    assert_eq!(world.send(0, 3, b'c'), Err(LinkDrop::QueueFull));
    world.seconds(30);
    assert_eq!(world.stations[2].inbox, b"xb");
    assert_eq!(world.stations[0].given_up, 1);
    world.send(0, 3, b'd').expect("there is a key");
    world.seconds(1);
    assert_eq!(world.stations[3].inbox, b"d");
}

/// A stranger in the names of two stations that do not answer: each is called, in turn with the
/// neighbour for which a packet waits.
#[test]
fn a_stranger_in_the_names_of_others_does_not_keep_a_neighbour_from_its_key() {
    let mut world = World::new(4, 4);
    world.gone = vec![2, 3];
    let mut forged = [7; DATAGRAM];
    forged[0] = 2;
    world.arrives(2, 0, &forged);
    for _ in 0..100 {
        world.round();
        // While one of them is called, the other is made wanted.
        let called = world.hello_to.expect("somebody is called");
        world.arrives(if called == address(2) { 3 } else { 2 }, 0, &forged);
        // What found the place to wait taken, or waited for too long, is sent again.
        let _ = world.send(0, 1, b'a');
        (0..9).for_each(|_| world.round());
    }
    assert_eq!(world.stations[1].inbox.first(), Some(&b'a'));
}

/// A stranger sends in the names of two neighbours that do not answer, and of one that would.
#[test]
fn forged_datagrams_cause_few_calls_and_throw_no_key_out_that_is_in_use() {
    let mut world = World::new(6, 2);
    world.gone = vec![3, 4];
    let mut forged = [7; DATAGRAM];
    forged[0] = 2;
    for to in [1, 2] {
        world.send(0, to, b'a').expect("it waits");
        world.seconds(2);
    }
    for second in 0..120 {
        for number in [3, 4, 5] {
            world.arrives(number, 0, &forged);
        }
        for to in [1, 2] {
            world.send(0, to, b'b').expect("there is a key");
        }
        world.seconds(1);
        assert_eq!(world.stations[1].inbox.len(), second + 2);
    }
    // All places are taken by keys in use: nobody is called.
    let called = |world: &World| world.stations[0].meeting.counters().called;
    assert_eq!((called(&world), world.stations[0].sessions.poll_replaced()), (2, 0));
    // One has left the network.
    world.stations[0].sessions.retain_keys(&mut |station| station != station_at(address(2)));
    for _ in 0..120 {
        for number in [3, 4] {
            world.arrives(number, 0, &forged);
        }
        world.send(0, 1, b'c').expect("there is a key");
        world.seconds(1);
    }
    assert!((8..=2 + 8 + 4).contains(&called(&world)), "{}", called(&world));
}

/// A key ends after 2²⁰ that were forged, so whoever floods a station for long could end it.
#[test]
fn a_flood_of_forged_datagrams_leaves_no_station_without_a_key() {
    let mut world = World::new(2, 4);
    world.send(0, 1, b'a').expect("it waits");
    world.seconds(2);
    let mut forged = [7; 13];
    forged[0] = 2;
    for _ in 0..1 << 20 {
        world.arrives(0, 1, &forged);
        if world.stations[1].drops.len() == 1 << 12 {
            world.stations[1].drops.clear();
            world.round();
        }
    }
    world.send(0, 1, b'b').expect("there is a key");
    world.seconds(1);
    assert_eq!(world.stations[1].inbox, b"ab");
    assert_eq!(world.stations[1].meeting.counters().called, 1);
}

#[test]
fn a_handshake_that_fails_takes_no_key_away() {
    let mut world = World::new(2, 4);
    world.send(0, 1, b'a').expect("it waits");
    world.seconds(2);
    world.stations[0].sessions.refuse_key(station_at(address(1)));
    world.send(0, 1, b'b').expect("there is a key still");
    world.seconds(1);
    assert_eq!(world.stations[1].inbox, b"ab");
}

#[test]
fn who_was_restarted_makes_another_key_with_a_neighbour_that_does_not_know() {
    let mut world = World::new(2, 4);
    world.send(0, 1, b'a').expect("it waits");
    world.seconds(2);
    world.restart(1, 4);
    world.send(0, 1, b'b').expect("there is a key still");
    world.seconds(2);
    assert_eq!(world.stations[1].drops, [LinkDrop::NoKey]);
    world.send(0, 1, b'c').expect("there is another key");
    world.seconds(1);
    assert_eq!(world.stations[1].inbox, b"c");
}

#[test]
fn the_neighbour_that_was_silent_longest_gives_way_when_all_places_are_taken() {
    let mut world = World::new(4, 2);
    for to in 1..4 {
        world.send(0, to, b'a').expect("it waits");
        world.seconds(2);
    }
    assert_eq!(world.stations[0].sessions.poll_replaced(), 1);
    assert_eq!(world.stations[0].sessions.poll_replaced(), 0);
    // The first of them waits for a key again, which takes the place of the second's.
    world.send(0, 1, b'b').expect("it waits");
    world.seconds(2);
    world.send(0, 3, b'b').expect("there is a key");
    world.seconds(1);
    let read = |world: &World| -> Vec<_> { (1..4).map(|to| world.stations[to].inbox.len()).collect() };
    assert_eq!(read(&world), [2, 1, 2]);
}

#[test]
fn keys_of_those_that_left_the_network_are_forgotten() {
    let mut world = World::new(2, 4);
    world.send(0, 1, b'a').expect("it waits");
    world.seconds(2);
    world.stations[0].sessions.retain_keys(&mut |_| false);
    let late = world.heard.last().expect("the packet").clone();
    world.arrives(1, 0, &late);
    assert_eq!(world.stations[0].drops, [LinkDrop::NoKey]);
}

proptest! {
    /// What the nodes of a document differ in, their numbers differ in.
    #[test]
    fn addresses_of_one_prefix_have_numbers_of_their_own(prefix: u64, one: u64, other: u64, ports: (u16, u16)) {
        let at = |identifier: u64, port| {
            let bits = u128::from(prefix) << 64 | u128::from(identifier);
            station_at(SocketAddrV6::new(bits.into(), port, 0, 0))
        };
        prop_assert_eq!(at(one, ports.0) == at(other, ports.0), one == other);
        prop_assert_eq!(at(one, ports.0) == at(one, ports.1), ports.0 == ports.1);
    }

    #[test]
    fn nothing_that_arrives_is_taken_for_a_payload(
        datagrams in prop::collection::vec((0_u8..4, prop::collection::vec(any::<u8>(), 0..400)), 1..20),
    ) {
        let mut world = World::new(2, 4);
        world.send(0, 1, b'a').expect("it waits");
        world.seconds(2);
        for (kind, mut bytes) in datagrams {
            if let Some(first) = bytes.first_mut() {
                *first = kind;
            }
            world.arrives(0, 1, &bytes);
            world.arrives(1, 0, &bytes);
            world.round();
        }
        prop_assert_eq!(&world.stations[1].inbox, b"a");
        prop_assert!(world.stations[0].inbox.is_empty());
        world.send(0, 1, b'b').expect("there is a key still");
        world.seconds(1);
        prop_assert_eq!(&world.stations[1].inbox, b"ab");
    }
}
