//! Frames of strangers: whatever they are, a station goes on, takes in a bounded number of them,
//! and serves its neighbours afterwards.

mod world;

use std::time::Duration;

use motemix_link::counters::LinkDrop;
use motemix_link::serial::MAX_FRAME;
use motemix_link::settings::LinkSettings;
use proptest::prelude::*;
use world::{Fate, PACKET, World, address, careful, datagram, solicitation_of};

/// The frames of packets of either kind, of an acknowledgement, a short datagram, and a question
/// where a station is.
fn real_frames() -> Vec<Vec<u8>> {
    let mut frames = vec![solicitation(0, 1)];
    for settings in [LinkSettings::new(), careful()] {
        let mut world = World::new(2, settings);
        world.send(0, 1, &datagram(1, PACKET));
        world.send(0, 1, &datagram(2, 50));
        world.send(1, 0, &datagram(3, PACKET));
        world.seconds(1);
        frames.extend(world.sent().into_iter().map(|sent| sent.frame));
    }
    frames
}

fn solicitation(from: usize, to: usize) -> Vec<u8> {
    solicitation_of(address(from), to)
}

#[test]
fn a_station_that_is_asked_where_it_is_answers_who_asked() {
    let mut world = World::new(2, LinkSettings::new());
    let question = solicitation(0, 1);
    world.inject(1, question.clone());
    world.seconds(1);
    let sent = world.sent();
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].frame[5..13], address(0).0);
    let [dispatch, addresses, next, kind, code, _, _, flags, ..] = *sent[0].inside() else {
        panic!("it is short")
    };
    assert_eq!([dispatch, addresses, next, kind, code, flags], [0x7b, 0x33, 58, 136, 0, 0x60]);

    // About somebody else, with another hop limit, changed, for somebody else, and from who did not
    // send it.
    let answered = |frame: Vec<u8>| {
        let mut world = World::new(2, LinkSettings::new());
        world.inject(1, frame);
        world.seconds(1);
        !world.sent().is_empty()
    };
    assert!(answered(question.clone()));
    for (at, byte) in [(24 + 23, 3), (21, 0x7a), (28, 1), (5, 2), (13, 7)] {
        let mut frame = question.clone();
        assert_ne!(frame[at], byte);
        frame[at] = byte;
        assert!(!answered(frame), "{byte} at {at}");
    }
}

#[test]
fn answers_wait_in_few_places_and_leave_in_turn_with_packets() {
    let mut world = World::new(20, LinkSettings::new());
    for asking in 1..20 {
        world.inject(0, solicitation(asking, 0));
    }
    world.send(0, 1, &datagram(1, PACKET));
    world.seconds(1);
    let sent = world.sent();
    let answers = sent.iter().filter(|sent| sent.inside()[0] == 0x7b).count() as u32;
    assert_eq!(world.dropped(0, LinkDrop::Unanswered), 19 - answers);
    assert!((4..19).contains(&answers), "{answers}");
    // The packet's first fragment (RFC 4944, 5.3) does not wait for the answers behind the first.
    assert_eq!([sent[0].inside()[0], sent[1].inside()[0] >> 3], [0x7b, 0b11000]);
    assert_eq!(world.inbox(1), [datagram(1, PACKET)]);
}

#[test]
fn an_answer_is_put_back_while_the_channel_is_busy_and_given_up() {
    for (busy, arrives) in [(3, true), (4, false)] {
        let mut world = World::new(2, LinkSettings::new());
        let mut left = busy;
        world.judge(move |_| {
            left -= 1;
            if left >= 0 { Fate::Busy } else { Fate::Heard }
        });
        world.inject(1, solicitation(0, 1));
        world.seconds(2);
        assert_eq!(world.sent().last().expect("an answer").fate == Fate::Heard, arrives);
        assert_eq!(world.dropped(1, LinkDrop::Unanswered), u32::from(!arrives));
    }
}

#[test]
fn fragments_of_two_datagrams_do_not_make_a_third() {
    // The same tag, by chance: one's beginning and the other's rest.
    for settings in [LinkSettings::new(), careful()] {
        let mut frames = Vec::new();
        for number in [1, 2] {
            let mut world = World::new(2, settings);
            world.send(0, 1, &datagram(number, PACKET));
            world.seconds(1);
            frames.push(world.sent());
        }
        let mut world = World::new(2, settings);
        for sent in [&frames[0][0], &frames[1][1], &frames[1][2]] {
            world.inject(1, sent.frame.clone());
        }
        world.seconds(1);
        assert_eq!(world.inbox(1), Vec::<Vec<u8>>::new());
        assert_eq!(world.dropped(1, LinkDrop::BadChecksum), 1);
    }
}

#[test]
fn a_forged_datagram_of_one_fragment_evicts_nothing() {
    let mut world = World::with_memory::<PACKET, 2, 2>(2, LinkSettings::new());
    world.send(0, 1, &datagram(1, PACKET));
    world.send(0, 1, &datagram(2, 50));
    world.judge(|_| Fate::Forgotten);
    world.seconds(1);
    let sent: Vec<Vec<u8>> = world.sent().into_iter().map(|sent| sent.frame).collect();
    let [packet @ .., short] = &sent[..] else { panic!("nothing was sent") };

    // The short datagram as the first and only fragment of one (RFC 4944, 5.3): 50 bytes and 48 of
    // headers, tag 7.
    let (header, inside) = short.split_at(21);
    let mut forged = [header, &[0xc0, 98, 0, 7], inside].concat();
    *forged.last_mut().expect("it has bytes") ^= 1;

    world.inject(1, packet[0].clone());
    world.inject(1, forged);
    for frame in &packet[1..] {
        world.inject(1, frame.clone());
    }
    world.seconds(1);
    assert_eq!(world.inbox(1), [datagram(1, PACKET)]);
    assert_eq!(world.drops(1), [(LinkDrop::BadChecksum, 1)]);
}

#[derive(Clone, Debug)]
enum Heard {
    Noise(Vec<u8>),
    /// The radio's header is right.
    Inside(Vec<u8>),
    Changed {
        frame: prop::sample::Index,
        at: prop::sample::Index,
        byte: u8,
        cut: prop::sample::Index,
    },
}

fn heard() -> impl Strategy<Value = Heard> {
    let changed = (
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
        any::<u8>(),
        any::<prop::sample::Index>(),
    );
    // First bytes that mean something.
    let dispatch = prop_oneof![Just(0x41), 0x60_u8..0x80, 0xc0_u8..0xc8, 0xe0_u8..0xec, any::<u8>()];
    let inside = (dispatch, prop::collection::vec(any::<u8>(), 0..=MAX_FRAME - 22));
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..=MAX_FRAME).prop_map(Heard::Noise),
        inside.prop_map(|(first, rest)| Heard::Inside([vec![first], rest].concat())),
        changed.prop_map(|(frame, at, byte, cut)| Heard::Changed { frame, at, byte, cut }),
    ]
}

fn frame(heard: Heard, real: &[Vec<u8>]) -> Vec<u8> {
    match heard {
        Heard::Noise(frame) => frame,
        Heard::Inside(inside) => {
            let header = [&[0x61, 0xdc, 0, 0x23, 0][..], &address(1).0, &address(0).0].concat();
            [header, inside].concat()
        }
        Heard::Changed { frame, at, byte, cut } => {
            let mut frame = frame.get(real).clone();
            let at = at.index(frame.len());
            frame[at] = byte;
            // One in four is cut.
            if byte % 4 == 0 {
                frame.truncate(cut.index(frame.len()) + 1);
            }
            frame
        }
    }
}

proptest! {
    #[test]
    fn impossible_frames_leave_a_stack_that_works(
        heard in prop::collection::vec(heard(), 1..60),
        recovers: bool,
        len in 0..=PACKET,
    ) {
        let real = real_frames();
        let settings = if recovers { careful() } else { LinkSettings::new() };
        let mut world = World::with_memory::<PACKET, 2, 2>(2, settings);
        for (round, heard) in heard.into_iter().enumerate() {
            world.inject(1, frame(heard, &real));
            world.send(1, 0, &datagram(round, len));
            world.run(Duration::from_millis(10));
        }
        // Whatever was incomplete has expired.
        world.seconds(70);
        world.inbox(1);
        prop_assert!(world.send(0, 1, &datagram(8, PACKET)));
        world.seconds(3);
        prop_assert_eq!(world.inbox(1), [datagram(8, PACKET)]);
    }

    /// Memory shorter than headers, and none at all.
    #[test]
    fn the_smallest_memory_takes_it_as_well(heard in prop::collection::vec(heard(), 1..60)) {
        let real = real_frames();
        let mut small = World::with_memory::<3, 1, 1>(2, careful());
        let mut none = World::with_memory::<0, 0, 0>(2, careful());
        for heard in heard {
            let frame = frame(heard, &real);
            small.inject(1, frame.clone());
            none.inject(1, frame);
            prop_assert!(!none.send(1, 0, &[]));
            small.run(Duration::from_millis(10));
            none.run(Duration::from_millis(10));
        }
        small.seconds(20);
        small.inbox(1);
        prop_assert!(small.send(0, 1, &[1, 2, 3]));
        small.seconds(1);
        prop_assert_eq!(small.inbox(1), [vec![1, 2, 3]]);
    }
}
