//! Fragments that are lost, and come again.

mod world;

use std::time::Duration;

use motemix_link::counters::LinkDrop;
use motemix_link::settings::LinkSettings;
use world::{Dice, FLIGHT, Fate, PACKET, Sent, World, careful, datagram, in_doubt};

/// A datagram in three fragments, whose frames fare like this.
fn three(settings: LinkSettings, mut judge: impl FnMut(usize, &Sent) -> Fate + 'static) -> World {
    let mut world = World::new(2, settings);
    let mut number = 0;
    world.judge(move |sent| {
        number += 1;
        judge(number - 1, sent)
    });
    assert!(world.send(0, 1, &datagram(1, PACKET)));
    world.seconds(30);
    world
}

#[test]
fn whichever_of_three_fragments_are_lost_only_they_are_sent_again() {
    for lost in 0..8_usize {
        let mut world = three(careful(), move |number, _| {
            if number < 3 && lost >> number & 1 == 1 { Fate::Forgotten } else { Fate::Heard }
        });
        assert_eq!(world.inbox(1), [datagram(1, PACKET)], "{lost:03b}");
        assert_eq!(world.drops(0), []);
        assert_eq!(world.drops(1), []);
        let frames = world.sent();
        let (answers, fragments): (Vec<_>, Vec<_>) =
            frames.iter().partition(|sent| sent.is_acknowledgement());
        // When the last one is lost, nobody hears the question, and it is asked again.
        let repeated = lost.count_ones() as usize;
        assert_eq!(fragments.len(), 3 + repeated, "{lost:03b}");
        let in_between = usize::from(lost & 0b011 > 0);
        assert_eq!(answers.len(), 1 + in_between, "{lost:03b}");
        let expected = (lost & 0b011).count_ones();
        assert_eq!(world.counters(0).recovered, expected, "{lost:03b}");
    }
}

#[test]
fn with_doubts_only_a_radio_that_fails_has_its_receiver_asked() {
    let mut world = three(in_doubt(), |_, _| Fate::Heard);
    assert_eq!(world.inbox(1).len(), 1);
    assert_eq!(world.sent().len(), 3, "nobody is asked");

    // The second one is put back three times, and given up; later it passes.
    let mut world =
        three(in_doubt(), |number, _| if (1..=4).contains(&number) { Fate::Busy } else { Fate::Heard });
    assert_eq!(world.inbox(1), [datagram(1, PACKET)]);
    let frames = world.sent();
    assert_eq!(frames.len(), 1 + 4 + 2 + 1);
    assert!(frames[7].is_acknowledgement());
    assert!(frames[5].pause_after(&frames[4]) >= in_doubt().acknowledged_within / 2, "a longer pause");
    assert_eq!((world.drops(0), world.drops(1)), (vec![], vec![]));
    assert_eq!(world.stations[0].radio.counters().given_up, 1);
}

#[test]
fn with_doubts_a_loss_that_the_radio_does_not_notice_is_final() {
    let mut world = three(in_doubt(), |number, _| if number == 1 { Fate::Forgotten } else { Fate::Heard });
    assert!(world.inbox(1).is_empty());
    assert_eq!(world.sent().len(), 3);
    assert_eq!(world.drops(1), [(LinkDrop::TimedOut, 1)]);
}

#[test]
fn every_pattern_of_failures_of_three_fragments_ends_with_the_datagram() {
    // Each of the first six frames of the sender fares in one of three ways.
    for pattern in 0..3_usize.pow(6) {
        let fate = move |number: usize| match (pattern / 3_usize.pow(number as u32)) % 3 {
            0 => Fate::Heard,
            1 => Fate::Lost,
            _ => Fate::Unheard,
        };
        for settings in [careful(), in_doubt()] {
            let mut number = 0;
            let settings = LinkSettings {
                requeues: 0,
                recovery_tries: 7,
                acknowledged_within: Duration::from_millis(300),
                ..settings
            };
            let mut world = three(settings, move |_, sent| {
                number += usize::from(sent.from == 0);
                if sent.from == 0 && number <= 6 { fate(number - 1) } else { Fate::Heard }
            });
            world.seconds(300);
            assert_eq!(world.inbox(1), [datagram(1, PACKET)], "pattern {pattern}, {settings:?}");
            assert_eq!(world.drops(0), [], "pattern {pattern}");
            // After long waits its receiver may have to begin again.
            let is_expected = |reason| matches!(reason, LinkDrop::Duplicate | LinkDrop::TimedOut);
            let drops = world.drops(1);
            assert!(drops.iter().all(|(reason, _)| is_expected(*reason)), "pattern {pattern}: {drops:?}");
        }
    }
}

#[test]
fn an_answer_that_is_lost_is_asked_for_again_and_nothing_is_delivered_twice() {
    let mut world = three(careful(), |number, _| if number == 3 { Fate::Forgotten } else { Fate::Heard });
    assert_eq!(world.inbox(1), [datagram(1, PACKET)]);
    let frames = world.sent();
    let senders: Vec<_> = frames.iter().map(|sent| sent.from).collect();
    assert_eq!(senders, [0, 0, 0, 1, 0, 1]);
    assert_eq!(frames[4].inside()[2] & 0x80, 0x80, "it asks");
    assert_eq!(frames[5].inside()[2..], [0xff; 4], "all of it is there");
    let waited = frames[4].pause_after(&frames[2]);
    let mean = careful().acknowledged_within;
    assert!((mean / 2..mean * 3 / 2 + FLIGHT).contains(&waited), "{waited:?}");
    assert_eq!(world.drops(1), [(LinkDrop::Duplicate, 1)]);
}

#[test]
fn a_receiver_that_never_answers_is_given_up() {
    let mut world =
        three(careful(), |_, sent| if sent.is_acknowledgement() { Fate::Forgotten } else { Fate::Heard });
    assert_eq!(world.drops(0), [(LinkDrop::Unconfirmed, 1)]);
    assert_eq!(world.inbox(1), [datagram(1, PACKET)], "though it had all of it");
    let asked = world.sent().iter().filter(|sent| sent.from == 0).count();
    assert_eq!(asked, 3 + usize::from(careful().recovery_tries));
}

#[test]
fn a_neighbour_that_is_gone_costs_a_bounded_number_of_frames() {
    let world = three(in_doubt(), |_, _| Fate::Lost);
    assert_eq!(world.drops(0), [(LinkDrop::Unacknowledged, 1)]);
    assert_eq!(world.counters(0).spared, 2);
    let attempts = usize::from(in_doubt().requeues) + 1;
    assert_eq!(world.sent().len(), attempts * (usize::from(in_doubt().recovery_tries) + 1));
}

#[test]
fn a_receiver_without_room_is_silent_and_gets_it_later() {
    let mut world = World::with_memory::<PACKET, 1, 1>(3, careful());
    world.take = false;
    assert!(world.send(0, 1, &datagram(1, 50)));
    world.run(Duration::from_millis(100));
    assert!(world.send(0, 1, &datagram(2, PACKET)));
    world.run(Duration::from_millis(200));
    assert_eq!(world.dropped(1, LinkDrop::ReassemblyFull), 3);
    world.take = true;
    world.seconds(10);
    assert_eq!(world.inbox(1), [datagram(1, 50), datagram(2, PACKET)]);
    assert_eq!(world.drops(0), []);
}

#[test]
fn a_datagram_that_its_receiver_has_no_memory_for_is_not_sent_to_the_end() {
    let mut small = World::with_memory::<200, 2, 1>(2, careful());
    // Its sender's memory is longer than its receiver's.
    let mut large = World::with_memory::<PACKET, 2, 1>(2, careful());
    assert!(large.send(0, 1, &datagram(1, PACKET)));
    large.seconds(1);
    let first = large.sent().swap_remove(0);
    small.inject(1, first.frame);
    small.seconds(1);
    assert_eq!(small.drops(1), [(LinkDrop::TooLong, 1)]);
    let answers = small.sent();
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0].inside()[2..], [0; 4], "it is not wanted");

    let mut world = World::new(2, careful());
    assert!(world.send(0, 1, &datagram(1, PACKET)));
    world.run(Duration::from_millis(5));
    let mut refusal = answers[0].frame.clone();
    refusal[22] = world.sent()[0].inside()[1];
    world.inject(0, refusal);
    world.seconds(1);
    assert_eq!(world.drops(0), [(LinkDrop::Unwanted, 1)]);
    assert!(world.sent().len() < 3);
}

#[test]
fn a_sender_that_gives_up_frees_its_place() {
    let mut world = World::with_memory::<PACKET, 1, 1>(3, careful());
    world.judge(
        |sent| if sent.from == 0 && sent.inside()[2] & 0x7c > 0 { Fate::Forgotten } else { Fate::Heard },
    );
    assert!(world.send(0, 1, &datagram(1, PACKET)));
    world.run(Duration::from_millis(100));
    let mut abort = world.sent()[0].frame.clone();
    abort.truncate(23);
    abort.extend([0; 4]);
    world.inject(1, abort);
    world.run(Duration::from_millis(10));
    assert!(world.send(2, 1, &datagram(2, PACKET)));
    world.run(Duration::from_millis(100));
    assert_eq!(world.drops(1), [(LinkDrop::AbortedByPeer, 1)]);
    assert_eq!(world.inbox(1), [datagram(2, PACKET)]);
}

#[test]
fn neighbours_with_the_same_tags_are_not_confused() {
    let mut world = World::with_memory::<PACKET, 8, 1>(6, careful());
    let mut dice = Dice::new(9);
    world.judge(move |_| if dice.percent(15) { Fate::Forgotten } else { Fate::Heard });
    let mut expected = Vec::new();
    for round in 0..40 {
        for sender in 1..6 {
            let datagram = datagram(round * 5 + sender, PACKET);
            assert!(world.send(sender, 0, &datagram));
            expected.push(datagram);
        }
        world.seconds(30);
    }
    let mut arrived = world.inbox(0);
    let given_up: u32 = (1..6).map(|sender| world.counters(sender).given_up()).sum();
    assert!(given_up < 5, "{given_up} of 200");
    assert!(arrived.len() as u32 + given_up >= 200);
    arrived.sort();
    let before = arrived.len();
    arrived.dedup();
    assert_eq!(arrived.len(), before, "each once");
    assert!(arrived.iter().all(|datagram| expected.contains(datagram)), "as it was sent");
}

/// How many of a hundred packets arrive, and how many frames it takes, if the radio's own retries
/// end with this many failures among a hundred frames.
fn on_a_bad_air(settings: LinkSettings, percent: u64) -> (usize, usize) {
    let mut world = World::new(2, settings);
    let mut dice = Dice::new(percent);
    world.judge(move |_| match dice.roll() % 3 {
        _ if !dice.percent(percent) => Fate::Heard,
        0 => Fate::Busy,
        1 => Fate::Lost,
        _ => Fate::Unheard,
    });
    for number in 0..100 {
        assert!(world.send(0, 1, &datagram(number, PACKET)));
        world.seconds(10);
    }
    (world.inbox(1).len(), world.sent().len())
}

#[test]
fn recovery_keeps_what_requeueing_alone_loses() {
    let alone = LinkSettings::new();
    let neither = LinkSettings { requeues: 0, ..alone };
    for percent in [30, 50] {
        let [(none, _), (requeued, _), (recovered, with_doubts), (_, always)] =
            [neither, alone, in_doubt(), careful()].map(|settings| on_a_bad_air(settings, percent));
        assert!(none < requeued && requeued < 100, "{percent} %: {none}, {requeued}");
        assert_eq!(recovered, 100, "{percent} %");
        assert!(with_doubts < always, "{percent} %: {with_doubts} frames, {always} if it always asks");
    }
}
