//! A link that protects its frames: what it costs, and what strangers can still do.

mod world;

use std::time::Duration;

use motemix_crypto::Secret;
use motemix_link::counters::LinkDrop;
use motemix_link::protection::{HandshakeMessage, KeySlot, Keys, KeysWanted, MAX_HANDSHAKE, Role};
use motemix_link::serial::{ExtendedAddress, MAX_FRAME};
use motemix_link::settings::LinkSettings;
use motemix_link::stack::SendError;
use proptest::prelude::*;
use world::{Dice, Fate, PACKET, World, address, careful, datagram, in_doubt};

fn key(number: u8) -> Secret<16> {
    Secret::new([number; 16])
}

/// Stations that protect frames, each with places for so many keys.
fn protected<const PLACES: usize>(count: usize, settings: LinkSettings) -> World {
    let mut world = World::new(count, settings);
    for station in &mut world.stations {
        let slots = Box::leak(Box::new([const { KeySlot::FREE }; PLACES]));
        station.stack.protect(slots);
    }
    world
}

fn keys(world: &mut World, station: usize) -> &mut dyn Keys {
    world.stations[station].stack.keys().expect("the stack protects frames")
}

/// Two neighbours have a key.
fn acquaint(world: &mut World, one: usize, other: usize, number: u8) {
    keys(world, one).set_key(address(other), &key(number), Role::Initiator, false);
    keys(world, other).set_key(address(one), &key(number), Role::Initiator, false);
}

/// Two stations with a key of their own.
fn pair(settings: LinkSettings) -> World {
    let mut world = protected::<4>(2, settings);
    acquaint(&mut world, 0, 1, 7);
    world
}

#[test]
fn a_packet_stays_in_three_frames_and_nothing_of_it_can_be_read() {
    for settings in [LinkSettings::new(), in_doubt()] {
        let mut world = pair(settings);
        let packet = datagram(1, PACKET);
        assert!(world.send(0, 1, &packet));
        world.seconds(1);
        assert_eq!(world.inbox(1), std::slice::from_ref(&packet));
        let sent = world.sent();
        assert_eq!(sent.len(), 3, "frames");
        for (counter, frame) in sent.iter().map(|sent| &sent.frame).enumerate() {
            assert!(frame.len() <= MAX_FRAME);
            // Data, secured, wants an acknowledgement, one PAN; both addresses short.
            assert_eq!(frame[..2], [0x69, 0x98]);
            // Network, destination, source; ENC-MIC-64 by addresses, and the counter.
            let header = [0x23, 0, 1, 0, 0, 0, 6, counter as u8, 0, 0, 0];
            assert_eq!(frame[3..14], header);
            let shows = |piece: &[u8]| frame.windows(piece.len()).any(|window| window == piece);
            assert!(!packet.chunks_exact(8).any(shows), "a part of the packet");
        }
        assert!(world.drops(0).is_empty() && world.drops(1).is_empty());
    }
}

#[test]
fn protection_costs_one_byte_a_packet_on_air() {
    let bytes = |mut world: World| {
        assert!(world.send(0, 1, &datagram(1, PACKET)));
        world.seconds(1);
        world.sent().iter().map(|sent| sent.frame.len()).sum::<usize>()
    };
    let plain = bytes(World::new(2, LinkSettings::new()));
    // Three frames carry a byte less each, and no checksum of two.
    assert_eq!(bytes(pair(LinkSettings::new())), plain + 1);
}

#[test]
fn a_datagram_waits_for_keys_and_leaves_when_they_are_there() {
    let mut world = protected::<4>(2, LinkSettings::new());
    assert!(world.send(0, 1, &datagram(1, PACKET)));
    world.seconds(3);
    assert!(world.sent().is_empty());
    assert_eq!(keys(&mut world, 0).poll_wanted(), Some(KeysWanted::ToSend(address(1))));
    acquaint(&mut world, 0, 1, 7);
    assert_eq!(keys(&mut world, 0).poll_wanted(), None);
    world.seconds(1);
    assert_eq!(world.inbox(1), [datagram(1, PACKET)]);
}

#[test]
fn a_datagram_that_gets_no_keys_is_dropped_in_its_time_or_when_they_are_refused() {
    let mut world = protected::<4>(3, LinkSettings::new());
    assert!(world.send(0, 1, &datagram(1, PACKET)));
    assert!(world.send(0, 2, &datagram(2, PACKET)));
    world.seconds(1);
    keys(&mut world, 0).refuse_key(address(2));
    assert_eq!(world.dropped(0, LinkDrop::NoHandshake), 1);
    world.seconds(15);
    assert_eq!(world.dropped(0, LinkDrop::NoHandshake), 2);
    assert!(world.sent().is_empty() && world.counters(0).given_up() == 2);
    // A neighbour is named by its extended address.
    let short = "fe80::ff:fe00:1234".parse().expect("an address");
    assert_eq!(world.stations[0].stack.send(short, &[1]), Err(SendError::NoNeighbour));
}

#[test]
fn messages_of_handshakes_pass_in_one_frame_without_keys() {
    let mut world = protected::<4>(2, LinkSettings::new());
    let message = datagram(3, MAX_HANDSHAKE);
    let sent = HandshakeMessage::new(address(1), &message).expect("short enough");
    assert!(keys(&mut world, 0).send_handshake(sent));
    assert!(!keys(&mut world, 0).can_send_handshake() && !keys(&mut world, 0).send_handshake(sent));
    world.seconds(1);
    let arrived = keys(&mut world, 1).poll_handshake().expect("a message");
    assert_eq!((arrived.peer, arrived.as_bytes()), (address(0), &message[..]));
    assert_eq!((world.sent().len(), world.sent()[0].frame.len()), (1, 21 + 6 + MAX_HANDSHAKE));
    assert!(keys(&mut world, 0).can_send_handshake());
    assert_eq!(HandshakeMessage::new(address(1), &[0; MAX_HANDSHAKE + 1]), None);
    // Nobody takes the second one, so the third finds no place.
    for _ in 0..2 {
        assert!(keys(&mut world, 0).send_handshake(sent));
        world.seconds(1);
    }
    assert_eq!(world.dropped(1, LinkDrop::HandshakeBusy), 1);
    // A station that is off.
    world.judge(|_| Fate::Lost);
    assert!(keys(&mut world, 0).send_handshake(sent));
    world.seconds(1);
    assert_eq!(keys(&mut world, 0).poll_undelivered(), Some(address(1)));
    assert_eq!(world.counters(0).given_up(), 0, "it is no datagram");
}

#[test]
fn frames_that_are_repeated_or_come_too_late_are_refused_and_counted() {
    let mut world = pair(LinkSettings::new());
    for number in 0..3 {
        assert!(world.send(0, 1, &datagram(number, 60)));
        world.seconds(1);
    }
    assert_eq!(world.inbox(1).len(), 3);
    let sent = world.sent();
    for sent in sent.iter().chain(sent.iter().rev()) {
        world.inject(1, sent.frame.clone());
        world.seconds(1);
    }
    assert!(world.inbox(1).is_empty());
    assert_eq!(world.drops(1), [(LinkDrop::RepeatedFrame, 6)]);
    // To another neighbour, or back to its sender, it is as little worth.
    world.inject(0, sent[0].frame.clone());
    world.seconds(1);
    assert_eq!(world.drops(0), [(LinkDrop::Foreign, 1)]);
}

#[test]
fn a_frame_whose_acknowledgement_was_lost_is_sent_under_a_new_counter_and_counts_once() {
    let mut world = pair(careful());
    let mut lost = 0;
    world.judge(move |_| {
        lost += 1;
        if lost <= 2 { Fate::Unheard } else { Fate::Heard }
    });
    assert!(world.send(0, 1, &datagram(1, PACKET)));
    world.seconds(2);
    assert_eq!(world.inbox(1), [datagram(1, PACKET)]);
    let counters: Vec<_> = world.sent().iter().map(|sent| (sent.from, sent.frame[10])).collect();
    assert_eq!(counters, [(0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (1, 0)]);
}

/// 200 frames a second: a third of the channel. Whatever they are, messages of neighbours arrive.
#[test]
fn forged_frames_take_no_place_and_stop_nobody() {
    type Forge = fn(&[u8], &mut Dice) -> Vec<u8>;
    let kinds: [(&str, Forge, LinkDrop); 5] = [
        // Of a neighbour, with a counter of the future and a MIC that was guessed.
        (
            "guessed",
            |frame, dice| {
                let mut frame = frame.to_vec();
                frame[12] = dice.roll() as u8 | 1;
                let last = frame.len() - 1;
                frame[last] = dice.roll() as u8;
                frame
            },
            LinkDrop::Forged,
        ),
        (
            "of a station that does not exist",
            |frame, dice| {
                let mut frame = frame.to_vec();
                frame[7] = dice.roll() as u8 | 0x80;
                frame
            },
            LinkDrop::NoKey,
        ),
        ("repeated", |frame, _| frame.to_vec(), LinkDrop::RepeatedFrame),
        (
            "a first fragment without protection",
            |_, dice| {
                let mut frame = vec![0x61, 0xdc, dice.roll() as u8, 0x23, 0, 1, 0, 0, 0, 0, 0, 0, 2];
                frame.extend(dice.roll().to_le_bytes());
                frame.extend([0xc1, 0x48, dice.roll() as u8, 0, 0x7e, 0x33, 0xf3, 0, 1, 2]);
                frame.extend([7; 88]);
                frame
            },
            LinkDrop::Unprotected,
        ),
        (
            "a question for an answer without protection",
            |_, dice| {
                let mut frame = vec![0x61, 0xdc, dice.roll() as u8, 0x23, 0, 1, 0, 0, 0, 0, 0, 0, 2];
                frame.extend(dice.roll().to_le_bytes());
                frame.extend([0xe8, dice.roll() as u8, 0x84, 0x08, 0, 98, 1, 2, 3, 4, 5, 6, 7, 8]);
                frame
            },
            LinkDrop::Unprotected,
        ),
    ];
    for (name, forge, reason) in kinds {
        let mut world = pair(LinkSettings::new());
        assert!(world.send(0, 1, &datagram(9, 60)));
        world.seconds(1);
        let genuine = world.sent()[0].frame.clone();
        let (mut dice, mut arrived, mut forged) = (Dice::new(5), 0, 0);
        world.inbox(1);
        for round in 0..20 {
            assert!(world.send(0, 1, &datagram(round, PACKET)));
            for _ in 0..100 {
                world.inject(1, forge(&genuine, &mut dice));
                forged += 1;
                world.run(Duration::from_millis(5));
            }
            arrived += world.inbox(1).len();
        }
        assert_eq!(arrived, 20, "{name}");
        assert_eq!(world.drops(1), [(reason, forged)], "{name}");
        assert!(world.sent().iter().all(|sent| sent.from == 0), "{name}: nobody is answered");
    }
}

/// Whoever forges a frame in another's name makes that one wanted, as often as it likes.
#[test]
fn a_stranger_in_the_name_of_another_does_not_keep_a_datagram_from_its_keys() {
    let mut world = protected::<4>(3, LinkSettings::new());
    keys(&mut world, 2).set_key(address(0), &key(7), Role::Initiator, false);
    assert!(world.send(2, 0, &datagram(1, 60)));
    world.seconds(1);
    let forged = world.sent()[0].frame.clone();
    keys(&mut world, 0).poll_wanted();
    assert!(world.send(0, 1, &datagram(2, PACKET)));
    for _ in 0..10 {
        world.inject(0, forged.clone());
        world.run(Duration::from_millis(100));
        // Each is said in its turn: what was heard is noted, and costs nothing yet.
        let keys = keys(&mut world, 0);
        assert_eq!(keys.poll_wanted(), Some(KeysWanted::Heard(address(2).short())));
        assert_eq!(keys.poll_wanted(), Some(KeysWanted::ToSend(address(1))));
    }
}

#[test]
fn a_neighbour_that_was_restarted_is_noticed() {
    let mut world = protected::<4>(2, LinkSettings::new());
    keys(&mut world, 0).set_key(address(1), &key(7), Role::Initiator, false);
    assert!(world.send(0, 1, &datagram(1, 60)));
    world.seconds(1);
    assert_eq!(world.drops(1), [(LinkDrop::NoKey, 1)]);
    assert_eq!(keys(&mut world, 1).poll_wanted(), Some(KeysWanted::Heard(address(0).short())));
}

#[test]
fn the_neighbour_that_was_silent_longest_gives_its_place_to_another() {
    let mut world = protected::<2>(4, LinkSettings::new());
    for other in 1..=2 {
        acquaint(&mut world, 0, other, other as u8);
    }
    assert!(world.send(0, 1, &datagram(1, 60)));
    world.seconds(1);
    acquaint(&mut world, 0, 3, 3);
    assert_eq!(world.counters(0).keys_replaced, 1);
    for other in [1, 3] {
        assert!(world.send(0, other, &datagram(2, 60)));
        world.seconds(1);
    }
    assert_eq!((world.inbox(1).len(), world.inbox(3).len()), (2, 1));
    // The same neighbour's next key takes nobody's place.
    acquaint(&mut world, 0, 3, 4);
    assert_eq!(world.counters(0).keys_replaced, 1);
    assert!(world.send(0, 2, &datagram(2, 60)));
    assert_eq!(keys(&mut world, 0).poll_wanted(), Some(KeysWanted::ToSend(address(2))));
}

#[test]
fn another_key_is_asked_for_before_counters_end() {
    let settings = LinkSettings { rekey_at: 2, ..LinkSettings::new() };
    let mut world = pair(settings);
    for (number, wanted) in [(0, None), (1, None), (2, Some(KeysWanted::ToSend(address(1))))] {
        assert!(world.send(0, 1, &datagram(number, 60)));
        world.seconds(1);
        assert_eq!(keys(&mut world, 0).poll_wanted(), wanted);
    }
    assert_eq!(world.inbox(1).len(), 3, "the key of before serves meanwhile");
    // There is none: it is asked for again, and not for each frame.
    keys(&mut world, 0).refuse_key(address(1));
    let mut asked = 0;
    for number in 0..512 {
        assert!(world.send(0, 1, &datagram(number, 60)));
        world.run(Duration::from_millis(100));
        asked += u32::from(keys(&mut world, 0).poll_wanted().is_some());
    }
    assert_eq!((world.inbox(1).len(), asked), (512, 2));
    acquaint(&mut world, 0, 1, 8);
    assert!(world.send(0, 1, &datagram(3, 60)));
    world.seconds(1);
    assert_eq!((world.inbox(1).len(), keys(&mut world, 0).poll_wanted()), (1, None));
}

/// A radio acknowledges frames for its short address, so two radios with one would both do so.
#[test]
fn neighbours_of_one_short_address_are_told_apart() {
    let mut world = protected::<4>(3, LinkSettings::new());
    for (station, number) in [(1, 1), (2, 2)] {
        let [low, high, ..] = address(2).0;
        let mut twin = address(station);
        (twin.0[0], twin.0[1], twin.0[2]) = (low, high, station as u8);
        keys(&mut world, 0).set_key(twin, &key(number), Role::Initiator, true);
    }
    let twin = ExtendedAddress([2, 0, 1, 0, 0, 0, 0, 0x02]);
    assert!(
        world.stations[0].stack.send(motemix_link::stack::link_local(twin), &datagram(1, PACKET)).is_ok()
    );
    world.seconds(1);
    let sent = world.sent();
    assert_eq!(sent.len(), 4, "the longer address costs a frame");
    assert!(sent.iter().all(|sent| sent.frame[1] == 0x9c && sent.frame[5..13] == twin.0));
    // Both have the same short address as senders, and are told apart by their keys.
    let mut other = protected::<4>(1, LinkSettings::new());
    for (number, third) in [(1, 1), (2, 2)] {
        keys(&mut other, 0).set_key(
            ExtendedAddress([2, 0, third, 0, 0, 0, 0, 0x02]),
            &key(number),
            Role::Initiator,
            true,
        );
    }
    for number in 1..=2 {
        let me = ExtendedAddress([2, 0, number, 0, 0, 0, 0, 0x02]);
        let mut sender = World::new(1, LinkSettings::new());
        let slots = Box::leak(Box::new([const { KeySlot::FREE }; 1]));
        sender.stations[0].stack = World::stack_of(me, LinkSettings::new());
        sender.stations[0].stack.protect(slots);
        keys(&mut sender, 0).set_key(address(0), &key(number), Role::Initiator, false);
        assert!(sender.send(0, 0, &datagram(number.into(), 60)));
        sender.seconds(1);
        other.inject(0, sender.sent()[0].frame.clone());
        other.seconds(1);
        assert_eq!(other.inbox(0), [datagram(number.into(), 60)]);
    }
}

/// 20 % of frames are lost, as many acknowledgements too, and some are heard twice or late.
#[test]
fn on_a_bad_channel_each_datagram_arrives_once_or_is_reported() {
    for seed in 0..5 {
        let mut world = pair(careful());
        let mut dice = Dice::new(seed);
        world.judge(move |_| match dice.roll() % 100 {
            0..20 => Fate::Lost,
            20..30 => Fate::Unheard,
            _ => Fate::Heard,
        });
        let (mut accepted, mut mischief) = (0, Dice::new(seed + 100));
        let mut arrived = Vec::new();
        for number in 0..60 {
            accepted += u32::from(world.send(0, 1, &datagram(number, PACKET)));
            for _ in 0..10 {
                world.run(Duration::from_millis(40));
                // The air repeats a frame of a while ago: late, twice, or both.
                let sent = world.sent();
                if !sent.is_empty() && mischief.percent(30) {
                    let chosen = &sent[mischief.roll() as usize % sent.len()];
                    world.inject(1 - chosen.from, chosen.frame.clone());
                }
            }
            arrived.extend(world.inbox(1));
        }
        world.seconds(30);
        arrived.extend(world.inbox(1));
        let came = arrived.len();
        arrived.sort();
        arrived.dedup();
        assert_eq!(arrived.len(), came, "seed {seed}: none came twice");
        let reported = world.counters(0).given_up();
        assert!(came as u32 + reported >= accepted, "seed {seed}: {came} + {reported} of {accepted}");
        assert!(came as u32 * 100 >= accepted * 99, "seed {seed}: {came} of {accepted}");
        assert!(world.dropped(1, LinkDrop::RepeatedFrame) > 0);
    }
}

proptest! {
    /// Any change of any byte is noticed, and what is not changed passes.
    #[test]
    fn an_altered_frame_is_not_taken(at in 0usize..111, change in 1u8..=255) {
        let mut world = pair(LinkSettings::new());
        world.judge(|_| Fate::Forgotten);
        assert!(world.send(0, 1, &datagram(1, 60)));
        world.seconds(1);
        let mut frame = world.sent()[0].frame.clone();
        let at = at % frame.len();
        frame[at] ^= change;
        world.inject(1, frame);
        world.seconds(1);
        assert!(world.inbox(1).is_empty());
        world.inject(1, world.sent()[0].frame.clone());
        world.seconds(1);
        assert_eq!(world.inbox(1).len(), 1);
    }
}
