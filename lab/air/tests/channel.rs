//! The channel on virtual time: what a radio does, microsecond by microsecond.

mod radio;

use motemix_air::Instant;
use motemix_air::channel::{Access, Channel, Event, JoinError, Link, Loss, Settings};
use motemix_link::serial::Outcome;
use radio::{Radio, address, broadcast, deliveries, frame, outcomes, short_frame};
use std::time::Duration;

fn loss(probability: f64) -> Loss {
    Loss::from_probability(probability).expect("a probability")
}

/// Backoffs of zero: what is left is arithmetic.
fn at_once() -> Settings {
    Settings {
        access: Access { min_exponent: 0, max_exponent: 0, ..Access::default() },
        report_air: true,
        ..Settings::default()
    }
}

#[test]
fn an_acknowledged_frame_takes_exactly_what_the_standard_says() {
    let mut radio = Radio::new(2, at_once(), 1);
    let sent = frame(0, 1, 7, 63);
    radio.transmit(0, 9, &sent);
    let events = radio.all();
    let [
        Event::OnAir { begin, end, collided: false, .. },
        Event::Delivered { to, from, at: delivered, frame },
        Event::OnAir { from: acknowledger, begin: answered, .. },
        Event::Done { handle: 9, at: done, outcome: Outcome::Sent, .. },
    ] = &events[..]
    else {
        panic!("{events:?}")
    };
    assert_eq!((*to, *from, *acknowledger), (radio.stations[1], radio.stations[0], radio.stations[1]));
    assert_eq!(frame.bytes(), sent);
    // Assessment and turnaround; 6 bytes of synchronisation and 63 of frame; turnaround;
    // acknowledgement.
    assert_eq!(begin.as_micros(), 128 + 192);
    assert_eq!(end.as_micros(), 320 + (6 + 63) * 32);
    assert_eq!(delivered, end);
    assert_eq!(answered.as_micros(), end.as_micros() + 192);
    assert_eq!(done.as_micros(), answered.as_micros() + 352);
}

#[test]
fn an_acknowledgement_on_the_air_has_the_frames_number_and_a_true_check_sequence() {
    let mut radio = Radio::new(2, at_once(), 1);
    radio.transmit(0, 0, &frame(0, 1, 0xab, 30));
    let acknowledgement = radio.all().into_iter().rev().find_map(|event| match event {
        Event::OnAir { frame, .. } => Some(frame),
        _ => None,
    });
    let acknowledgement = acknowledgement.expect("one was on the air");
    assert_eq!(acknowledgement.bytes(), [0x02, 0x00, 0xab]);
    // By hand: CRC-16 with x^16 + x^12 + x^5 + 1, from zero, least significant bits first.
    let mut register = 0_u16;
    for bit in acknowledgement.bytes().iter().flat_map(|byte| (0..8).map(move |n| u16::from(byte >> n & 1))) {
        let carry = (register ^ bit) & 1;
        register = (register >> 1) ^ (carry * 0x8408);
    }
    assert_eq!(acknowledgement.check(), register.to_le_bytes());
}

#[test]
fn a_frame_that_nobody_acknowledges_is_sent_four_times() {
    let mut radio = Radio::new(1, at_once(), 1);
    radio.transmit(0, 1, &frame(0, 77, 7, 63));
    let events = radio.all();
    let begins: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::OnAir { begin, .. } => Some(begin.as_micros()),
            _ => None,
        })
        .collect();
    // Each try: assessment, turnaround, frame, macAckWaitDuration.
    let period = 128 + 192 + (6 + 63) * 32 + 864;
    assert_eq!(begins, [0, 1, 2, 3].map(|tries| 320 + tries * period));
    assert_eq!(outcomes(&events), [(radio.stations[0], 1, Outcome::NoAcknowledgement)]);
    assert_eq!((radio.counters(0).transmissions, radio.counters(0).retries), (4, 3));
}

#[test]
fn if_only_acknowledgements_are_lost_the_frame_comes_again_and_again() {
    let mut radio = Radio::quiet(2);
    radio.channel.set_link(radio.stations[1], radio.stations[0], Link::Audible(loss(1.0)));
    radio.transmit(0, 1, &frame(0, 1, 7, 40));
    let events = radio.all();
    assert_eq!(deliveries(&events, radio.stations[1]), 4);
    assert_eq!(outcomes(&events), [(radio.stations[0], 1, Outcome::NoAcknowledgement)]);
    assert_eq!(radio.counters(0).drops.lost, 4);
}

/// One sender with a queue that is never empty: 1/(backoff + assessment + turnaround + frame +
/// turnaround + acknowledgement + gap), the mean backoff being 3.5 units. ns-3.37 measured 145.35,
/// 209.8 and 286.6.
#[test]
fn a_single_sender_reaches_the_known_rates() {
    const SENT: u32 = 20_000;
    for (psdu, rate) in [(127, 145.3), (61, 209.7), (21, 286.7)] {
        let mut radio = Radio::quiet(2);
        radio.transmit(0, 0, &short_frame(0, 1, 0, psdu));
        let mut sent = 0;
        let mut last = Instant::default();
        while sent < SENT {
            if let Some(Event::Done { outcome, at, .. }) = radio.next() {
                assert_eq!(outcome, Outcome::Sent);
                (sent, last) = (sent + 1, at);
                radio.transmit(0, 0, &short_frame(0, 1, sent as u8, psdu));
            }
        }
        let measured = f64::from(sent) / Duration::from_micros(last.as_micros()).as_secs_f64();
        assert!((measured / rate - 1.0).abs() < 0.005, "{psdu} bytes: {measured:.2} frames/s, not {rate}");
    }
}

#[test]
fn frames_that_overlap_are_lost_to_all() {
    let mut radio = Radio::new(3, at_once(), 1);
    // Both assess the channel at the same time, and find it free.
    radio.transmit(0, 0, &broadcast(0, 1, 40));
    radio.transmit(1, 0, &broadcast(1, 1, 60));
    let events = radio.all();
    assert_eq!(deliveries(&events, radio.stations[2]), 0);
    assert_eq!(radio.counters(2).drops.collided, 2);
    // The senders themselves heard nothing of each other.
    assert_eq!(radio.counters(0).drops.deaf + radio.counters(1).drops.deaf, 2);
    assert_eq!(radio.counters(0).collisions + radio.counters(1).collisions, 2);
    assert!(events.iter().all(|event| !matches!(event, Event::OnAir { collided: false, .. })));
}

#[test]
fn a_station_that_hears_a_frame_waits_until_the_air_is_free() {
    // The first backoff is zero: the second station assesses the channel while the frame is on the
    // air.
    let access = Access { min_exponent: 0, max_exponent: 5, max_backoffs: 9, ..Access::default() };
    let mut radio = Radio::new(3, Settings { access, ..at_once() }, 1);
    radio.transmit(0, 0, &broadcast(0, 1, 127));
    radio.now = Instant::from_micros(400);
    radio.transmit(1, 0, &broadcast(1, 1, 127));
    let events = radio.all();
    let [Event::OnAir { end, .. }, .., Event::OnAir { begin, .. }, _, _, _] = &events[..] else {
        panic!("{events:?}")
    };
    assert!(begin > end);
    assert_eq!(deliveries(&events, radio.stations[2]), 2);
}

#[test]
fn hidden_stations_collide_where_both_are_heard() {
    let mut radio = Radio::new(3, at_once(), 1);
    let [left, right, middle] = radio.stations[..] else { unreachable!() };
    radio.channel.set_link(left, right, Link::Silent);
    radio.channel.set_link(right, left, Link::Silent);
    radio.transmit(0, 0, &broadcast(0, 1, 127));
    radio.now = Instant::from_micros(400);
    radio.transmit(1, 0, &broadcast(1, 1, 127));
    let events = radio.all();
    let done = [(left, 0, Outcome::Sent), (right, 0, Outcome::Sent)];
    assert_eq!(outcomes(&events), done);
    assert_eq!(deliveries(&events, middle), 0);
    assert_eq!(radio.counters(2).drops.collided, 2);
}

#[test]
fn a_channel_that_is_never_free_is_given_up_after_five_assessments() {
    // Frames end to end, from outside the channel's own senders: nobody holds back for them.
    let mut radio = Radio::quiet(1);
    let outside = radio.channel.join_outside(radio.now).expect("there is room");
    radio.transmit(0, 5, &broadcast(0, 1, 40));
    let mut events = Vec::new();
    while outcomes(&events).is_empty() {
        radio.now = radio.now + Duration::from_micros(100);
        assert!(radio.channel.send_from_outside(radio.now, outside, &broadcast(9, 1, 11)));
        events.extend(std::iter::from_fn(|| radio.channel.poll_event()));
    }
    assert_eq!(outcomes(&events), [(radio.stations[0], 5, Outcome::ChannelBusy)]);
    assert_eq!((radio.counters(0).channel_busy, radio.counters(0).transmissions), (1, 0));
    // Five assessments with exponents 3, 4, 5, 5, 5.
    let longest = 5 * 128 + 320 * (7 + 15 + 31 + 31 + 31) + 100;
    assert!(radio.now.as_micros() <= longest, "{:?}", radio.now);
}

#[test]
fn each_link_loses_its_share() {
    const SENT: u32 = 20_000;
    let mut radio = Radio::new(3, Settings { loss: loss(0.1), ..Settings::default() }, 1);
    radio.channel.set_link(radio.stations[0], radio.stations[2], Link::Audible(loss(0.3)));
    for _ in 0..SENT {
        radio.transmit(0, 0, &broadcast(0, 1, 20));
        radio.all();
    }
    for (receiver, share) in [(1, 0.1), (2, 0.3)] {
        let counters = radio.counters(receiver);
        assert_eq!(counters.received + counters.drops.lost, u64::from(SENT));
        let measured = f64::from(u32::try_from(counters.drops.lost).expect("few")) / f64::from(SENT);
        // More than four standard deviations.
        assert!((measured - share).abs() < 0.014, "{measured} of {share}");
    }
}

#[test]
fn the_radio_looks_at_addresses() {
    let mut radio = Radio::quiet(2);
    let hears = |radio: &mut Radio, sent: &[u8]| {
        radio.transmit(0, 0, sent);
        let events = radio.all();
        deliveries(&events, radio.stations[1])
    };
    let other_pan = |mut sent: Vec<u8>| {
        sent[3..5].copy_from_slice(&0x0bad_u16.to_le_bytes());
        sent
    };
    radio.channel.set_pan(radio.stations[1], Some(radio::PAN));
    assert_eq!(hears(&mut radio, &frame(0, 1, 1, 40)), 1);
    assert_eq!(hears(&mut radio, &frame(0, 8, 1, 40)), 0);
    assert_eq!(hears(&mut radio, &short_frame(0, 1, 1, 40)), 1);
    assert_eq!(hears(&mut radio, &short_frame(0, 8, 1, 40)), 0);
    assert_eq!(hears(&mut radio, &broadcast(0, 1, 40)), 1);
    assert_eq!(hears(&mut radio, &other_pan(frame(0, 1, 1, 40))), 0);
    assert_eq!(hears(&mut radio, &other_pan(broadcast(0, 1, 40))), 0);
    radio.channel.set_pan(radio.stations[1], None);
    radio.channel.set_short_address(radio.stations[1], Some(8));
    assert_eq!(hears(&mut radio, &short_frame(0, 1, 1, 40)), 0);
    assert_eq!(hears(&mut radio, &short_frame(0, 8, 1, 40)), 1);
    assert_eq!(hears(&mut radio, &other_pan(broadcast(0, 1, 40))), 1);
}

#[test]
fn what_is_no_frame_is_refused_and_counted() {
    let mut radio = Radio::quiet(2);
    let good = frame(0, 1, 1, 40);
    let with_control = |low: u8, high: u8| [&[low, high], &good[2..]].concat();
    let no_frames = [
        Vec::new(),
        vec![0x41],
        // A destination that does not fit in, a source that does not.
        good[..12].to_vec(),
        good[..20].to_vec(),
        // Longer than the longest.
        [&good[..], &[0; 88]].concat(),
        // Reserved types, versions and address modes.
        with_control(0x64, 0xdc),
        with_control(0x67, 0xdc),
        with_control(0x61, 0xec),
        with_control(0x61, 0xfc),
        with_control(0x61, 0xd4),
        with_control(0x61, 0x5c),
        // No address at all, and a PAN left out that is given nowhere else.
        with_control(0x21, 0x10),
        with_control(0x61, 0x1c),
        // Acknowledgements are the radio's.
        vec![0x02, 0x00, 0x01],
    ];
    for bytes in &no_frames {
        radio.transmit(0, 3, bytes);
        let events = radio.all();
        assert_eq!(events.len(), 1, "{bytes:02x?}");
        assert_eq!(outcomes(&events), [(radio.stations[0], 3, Outcome::Refused)], "{bytes:02x?}");
    }
    let counters = radio.counters(0);
    assert_eq!((counters.malformed, counters.frames), (no_frames.len() as u64, 0));
    radio.transmit(0, 4, &good);
    assert_eq!(outcomes(&radio.all()), [(radio.stations[0], 4, Outcome::Sent)]);
}

#[test]
fn one_frame_is_under_way_at_a_time() {
    let mut radio = Radio::quiet(2);
    radio.transmit(0, 1, &frame(0, 1, 1, 40));
    radio.transmit(0, 2, &frame(0, 1, 2, 40));
    let sender = radio.stations[0];
    assert_eq!(outcomes(&radio.all()), [(sender, 2, Outcome::Refused), (sender, 1, Outcome::Sent)]);
    assert_eq!(radio.counters(0).under_way, 1);
}

#[test]
fn an_address_belongs_to_the_first_who_joined_until_it_leaves() {
    let mut radio = Radio::quiet(2);
    assert_eq!(radio.channel.join(radio.now, address(1)), Err(JoinError::AddressInUse));
    radio.transmit(1, 1, &frame(1, 0, 1, 40));
    radio.channel.leave(radio.now, radio.stations[1]);
    assert_eq!(outcomes(&radio.all()), [(radio.stations[1], 1, Outcome::Refused)]);
    let again = radio.channel.join(radio.now, address(1)).expect("it is free");
    assert_ne!(again, radio.stations[1]);
    radio.transmit(1, 2, &frame(1, 0, 1, 40));
    assert_eq!(outcomes(&radio.all()), [(radio.stations[1], 2, Outcome::Refused)]);
}

#[test]
fn a_full_channel_says_so() {
    let mut channel = Channel::new(Settings { stations: 2, ..Settings::default() }, 1);
    let now = Instant::default();
    let first = channel.join(now, address(1)).expect("there is room");
    channel.join_outside(now).expect("there is room");
    assert_eq!(channel.join(now, address(3)), Err(JoinError::Full));
    channel.leave(now, first);
    channel.join(now, address(3)).expect("there is room again");
}

#[test]
fn one_from_outside_hears_all_and_is_acknowledged() {
    let mut radio = Radio::quiet(2);
    let outside = radio.channel.join_outside(radio.now).expect("there is room");
    radio.transmit(0, 0, &frame(0, 1, 1, 40));
    // The frame and its acknowledgement.
    assert_eq!(deliveries(&radio.all(), outside), 2);
    radio.now = radio.now + Duration::from_secs(1);
    assert!(radio.channel.send_from_outside(radio.now, outside, &frame(9, 1, 2, 40)));
    let events = radio.all();
    assert_eq!(deliveries(&events, radio.stations[1]), 1);
    assert_eq!(deliveries(&events, radio.stations[0]), 0);
    let Some(Event::Delivered { at, frame, .. }) =
        events.iter().find(|event| matches!(event, Event::Delivered { to, .. } if *to == outside))
    else {
        panic!("{events:?}")
    };
    assert_eq!(frame.bytes(), [0x02, 0x00, 2]);
    assert_eq!(at.as_micros(), radio.now.as_micros());
}

#[test]
fn one_from_outside_can_acknowledge() {
    let mut radio = Radio::new(1, at_once(), 1);
    let outside = radio.channel.join_outside(radio.now).expect("there is room");
    radio.transmit(0, 6, &frame(0, 9, 5, 40));
    loop {
        match radio.next().expect("the frame gets there") {
            Event::Delivered { to, at, .. } => {
                assert_eq!(to, outside);
                // An acknowledgement's airtime before that, the frame was not yet over.
                radio.now = at + Duration::from_micros(250);
                break;
            }
            Event::Done { outcome, .. } => panic!("{outcome:?}"),
            Event::OnAir { .. } => {}
        }
    }
    assert!(radio.channel.send_from_outside(radio.now, outside, &[0x02, 0x00, 5]));
    assert_eq!(outcomes(&radio.all()), [(radio.stations[0], 6, Outcome::Sent)]);
    assert_eq!(radio.counters(0).retries, 0);
}

/// As the AT86RF231 in the state in which it does CSMA/CA and retries itself.
#[test]
fn a_radio_that_does_not_listen_receives_acknowledgements_alone() {
    let mut radio = Radio::new(2, at_once(), 1);
    radio.channel.set_listening(radio.now, radio.stations[0], false);
    radio.transmit(0, 1, &frame(0, 1, 7, 40));
    assert_eq!(outcomes(&radio.all()), [(radio.stations[0], 1, Outcome::Sent)]);
    radio.transmit(1, 2, &frame(1, 0, 8, 40));
    let events = radio.all();
    assert_eq!(deliveries(&events, radio.stations[0]), 0);
    assert_eq!(outcomes(&events), [(radio.stations[1], 2, Outcome::NoAcknowledgement)]);
    assert_eq!((radio.counters(0).drops.deaf, radio.counters(0).acknowledgements), (4, 0));
    radio.channel.set_listening(radio.now, radio.stations[0], true);
    radio.transmit(1, 3, &frame(1, 0, 9, 40));
    assert_eq!(deliveries(&radio.all(), radio.stations[0]), 1);
}

#[test]
fn a_frame_arrives_that_began_before_a_radio_stopped_listening_and_none_that_began_before_it_listened_again()
{
    let middle = |listens: bool| {
        let mut radio = Radio::new(2, at_once(), 1);
        radio.channel.set_listening(radio.now, radio.stations[0], !listens);
        radio.transmit(1, 0, &broadcast(1, 1, 100));
        // On the air from 320 µs on, for 3,392 µs.
        radio.now = radio.now + Duration::from_millis(2);
        radio.channel.set_listening(radio.now, radio.stations[0], listens);
        deliveries(&radio.all(), radio.stations[0])
    };
    assert_eq!([middle(false), middle(true)], [1, 0]);
}
