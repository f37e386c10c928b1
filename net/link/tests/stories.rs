//! Datagrams between stations, over an air with and without faults.

mod world;

use std::time::Duration;

use motemix_link::Instant;
use motemix_link::counters::LinkDrop;
use motemix_link::radio::{OUTCOME_WITHIN, Radio, Transceiver};
use motemix_link::serial::{MAX_FRAME, Outcome};
use motemix_link::settings::LinkSettings;
use motemix_link::stack::{SendError, Stack, StackMemory, link_local};
use world::{Dice, Fate, PACKET, World, address, careful, datagram, in_doubt};

/// The frames that a datagram takes on a quiet air.
fn frames(settings: LinkSettings, len: usize) -> usize {
    let mut world = World::with_memory::<1232, 2, 1>(2, settings);
    assert!(world.send(0, 1, &datagram(1, len)));
    world.seconds(1);
    assert_eq!(world.inbox(1), [datagram(1, len)], "{len}");
    assert_eq!(world.drops(0), []);
    assert_eq!(world.drops(1), []);
    let sent = world.sent();
    assert!(sent.iter().all(|sent| sent.frame[0] & 0x20 != 0), "unicast frames ask to be acknowledged");
    sent.iter().filter(|sent| !sent.is_acknowledgement()).count()
}

#[test]
fn datagrams_of_riots_lengths_take_no_more_frames_than_riots() {
    // What RIOT sends with 102 bytes of 6LoWPAN in a frame.
    for (count, len) in [(1, 93), (2, 184), (3, 280), (4, 376), (5, 472), (6, 568)] {
        for settings in [LinkSettings::new(), careful(), in_doubt()] {
            assert_eq!(frames(settings, len), count, "{len} bytes, {settings:?}");
        }
    }
    // And the most that they hold here.
    for (len, sized, recoverable) in
        [(0, 1, 1), (98, 1, 1), (99, 2, 2), (185, 3, 2), (190, 3, 2), (191, 3, 3), (1232, 13, 13)]
    {
        assert_eq!(frames(LinkSettings::new(), len), sized, "{len}");
        assert_eq!(frames(in_doubt(), len), recoverable, "{len}");
    }
}

#[test]
fn two_applications_on_one_air_have_a_port_each() {
    let of_neighbours = LinkSettings { port: 61_618, ..LinkSettings::new() };
    let mut world = World::new(2, of_neighbours);
    assert!(world.send(0, 1, &datagram(1, 280)) && world.send(1, 0, b"mote!"));
    world.seconds(1);
    assert_eq!(world.inbox(1), [datagram(1, 280)]);
    assert_eq!(world.inbox(0), [b"mote!"]);
    let to_second = world.sent().into_iter().find(|sent| sent.frame[5..13] == address(1).0);
    let frame = to_second.expect("it was on the air").frame;

    // The same frames, where a node listens at the port of nodes.
    let mut nodes = World::new(2, LinkSettings::new());
    nodes.inject(1, frame);
    nodes.seconds(1);
    assert_eq!((nodes.inbox(1).len(), nodes.dropped(1, LinkDrop::OtherPort)), (0, 1));
}

/// The examples of docs/spec/link/README.md.
#[test]
fn the_frames_are_those_of_the_specification() {
    let mut world = World::new(3, careful());
    assert!(world.send(2, 1, b"mote!"));
    world.seconds(1);
    let mut frame = world.sent()[0].frame.clone();
    frame[2] = 0;
    let example =
        "61 dc 00 23 00  01 00 00 00 00 00 00 02  02 00 00 00 00 00 00 02  7e 33 f3 00 1e 99  6d 6f 74 65 21";
    assert_eq!(frame, hex(example));

    world.forget_sent();
    let mut number = 0;
    world.judge(move |_| {
        number += 1;
        if number == 2 { Fate::Forgotten } else { Fate::Heard }
    });
    assert!(world.send(2, 1, &datagram(1, PACKET)));
    world.seconds(1);
    let tag = world.sent()[0].inside()[1];
    let headers = world.sent().into_iter().map(|sent| sent.inside()[..6].to_vec());
    let examples = [
        "e8 5a 00 62 01 1e",
        "e8 5a 04 62 00 62",
        "e8 5a 88 5a 00 c4",
        "ea 5a a0 00 00 00",
        "e8 5a 84 62 00 62",
        "ea 5a ff ff ff ff",
    ];
    let with_tag = |example| {
        let mut bytes = hex(example);
        bytes[1] = tag;
        bytes
    };
    assert_eq!(headers.collect::<Vec<_>>(), examples.map(with_tag));
}

fn hex(text: &str) -> Vec<u8> {
    text.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).expect("hex")).collect()
}

#[test]
fn datagrams_of_every_length_arrive() {
    for settings in [LinkSettings::new(), careful()] {
        let settings = LinkSettings { pacing: None, ..settings };
        let mut world = World::with_memory::<420, 3, 1>(2, settings);
        for len in 0..=420 {
            assert!(world.send(0, 1, &datagram(len, len)));
            world.run(Duration::from_millis(100));
            assert_eq!(world.inbox(1), [datagram(len, len)], "{len}");
        }
        assert!(!world.send(0, 1, &[0; 421]));
        assert_eq!(world.drops(0), [(LinkDrop::TooLong, 1)]);
    }
}

#[test]
fn a_frame_that_finds_the_channel_busy_is_put_back() {
    let mut world = World::new(2, LinkSettings::new());
    let mut fates = vec![Fate::Busy, Fate::Lost, Fate::Busy].into_iter();
    world.judge(move |_| fates.next().unwrap_or(Fate::Heard));
    world.send(0, 1, &datagram(1, PACKET));
    world.seconds(1);
    assert_eq!(world.inbox(1), [datagram(1, PACKET)]);
    let counters = *world.stations[0].radio.counters();
    assert_eq!((counters.requeued, counters.given_up, counters.sent), (3, 0, 3));
    let sent = world.sent();
    assert!(
        sent[..4].iter().all(|again| again.frame == sent[0].frame),
        "it is the same frame, number and all"
    );
    assert!(sent[4].sequence() != sent[0].sequence());
    for (at, doubled) in [(0, 1), (1, 2), (2, 4)] {
        let waited = sent[at + 1].pause_after(&sent[at]);
        let mean = Duration::from_millis(20) * doubled;
        assert!((mean / 2..mean * 3 / 2).contains(&waited), "{waited:?}");
    }
}

#[test]
fn a_fragment_that_is_given_up_ends_its_datagram() {
    for (fate, reason) in [(Fate::Busy, LinkDrop::ChannelBusy), (Fate::Lost, LinkDrop::Unacknowledged)] {
        let mut world = World::new(2, LinkSettings::new());
        let mut fates = vec![fate; 4].into_iter();
        world.judge(move |_| fates.next().unwrap_or(Fate::Heard));
        world.send(0, 1, &datagram(1, PACKET));
        world.send(0, 1, &datagram(2, PACKET));
        world.seconds(2);
        assert_eq!(world.inbox(1), [datagram(2, PACKET)]);
        assert_eq!(world.drops(0), [(reason, 1)]);
        assert_eq!((world.counters(0).spared, world.counters(0).given_up()), (2, 1));
        assert_eq!(world.sent().len(), 4 + 3, "the rest of it is not sent");
        assert_eq!(world.stations[0].radio.counters().given_up, 1);
    }
}

#[test]
fn without_requeueing_the_first_busy_channel_is_the_end() {
    let mut world = World::new(2, LinkSettings { requeues: 0, ..LinkSettings::new() });
    world.judge(|_| Fate::Busy);
    world.send(0, 1, &datagram(1, PACKET));
    world.seconds(1);
    assert_eq!(world.sent().len(), 1);
}

#[test]
fn a_neighbour_that_is_not_there_does_not_hold_up_the_others() {
    let mut world = World::new(3, in_doubt());
    let gone = address(2).0;
    world.judge(move |sent| if sent.frame[5..13] == gone { Fate::Lost } else { Fate::Heard });
    world.send(0, 2, &datagram(1, PACKET));
    world.send(0, 1, &datagram(2, PACKET));
    world.run(Duration::from_millis(100));
    assert_eq!(world.inbox(1), [datagram(2, PACKET)]);
    world.seconds(10);
    assert_eq!(world.drops(0), [(LinkDrop::Unacknowledged, 1)]);
}

#[test]
fn one_neighbours_datagrams_arrive_in_order_whatever_happens_on_the_way() {
    let mut world = World::new(2, careful());
    let mut dice = Dice::new(5);
    world.judge(move |_| if dice.percent(10) { Fate::Forgotten } else { Fate::Heard });
    for round in 0..20 {
        for number in 0..4 {
            assert!(world.send(0, 1, &datagram(round * 4 + number, 90 + number * 50)));
        }
        assert!(!world.send(0, 1, &[0]), "four at a time");
        world.seconds(60);
    }
    let arrived = world.inbox(1);
    // One that takes a single frame is not recovered.
    let whole = (0..80).filter(|number| number % 4 > 0).collect::<Vec<_>>();
    let sent = |number: usize| datagram(number, 90 + number % 4 * 50);
    let numbers: Vec<usize> =
        arrived.iter().map(|it| (0..80).find(|&number| sent(number) == *it).expect("it was sent")).collect();
    assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
    assert!(whole.iter().all(|number| numbers.contains(number)), "{numbers:?}");
    assert_eq!(world.dropped(0, LinkDrop::QueueFull), 20);
}

#[test]
fn the_queue_has_as_many_places_as_were_lent() {
    let mut world = World::with_memory::<PACKET, 2, 1>(3, LinkSettings::new());
    assert!(world.stations[0].stack.can_send());
    assert!(world.send(0, 1, &datagram(1, PACKET)));
    assert!(!world.stations[0].stack.can_send());
    assert!(!world.send(0, 2, &datagram(2, PACKET)));
    assert_eq!(world.drops(0), [(LinkDrop::QueueFull, 1)]);
    world.seconds(1);
    assert!(world.send(0, 2, &datagram(2, PACKET)));
    world.seconds(1);
    assert_eq!((world.inbox(1).len(), world.inbox(2).len()), (1, 1));
}

#[test]
fn a_datagram_that_its_taker_has_no_room_for_is_dropped_and_not_cut() {
    let mut world = World::new(2, LinkSettings::new());
    world.take = false;
    world.send(0, 1, &datagram(1, PACKET));
    world.send(0, 1, &datagram(2, 20));
    world.seconds(1);
    let mut out = [0; 20];
    let received = world.stations[1].stack.receive(&mut out).expect("the shorter one");
    assert_eq!((received.len, &out[..]), (20, &datagram(2, 20)[..]));
    assert_eq!(world.stations[1].stack.receive(&mut out), None);
    assert_eq!(world.drops(1), [(LinkDrop::TooLong, 1)]);
    assert_eq!(world.counters(1).received, 1);
}

#[test]
#[should_panic(expected = "each slot has as many bytes")]
fn memory_that_does_not_divide_into_its_slots_is_a_mistake() {
    let mut memory = StackMemory::<PACKET, 2>::new();
    let mut storage = memory.lend();
    storage.arriving = &mut storage.arriving[1..];
    Stack::new(address(1), 1, &LinkSettings::new(), storage);
}

#[test]
fn an_address_that_is_no_neighbours_is_refused() {
    let mut world = World::new(2, LinkSettings::new());
    let sent = world.stations[0].stack.send("2001:db8::1".parse().expect("an address"), &[1]);
    assert_eq!(sent, Err(SendError::NoNeighbour));
    assert_eq!(world.drops(0), [(LinkDrop::NoNeighbour, 1)]);
    world.seconds(1);
    assert_eq!(world.sent(), []);
}

#[test]
fn three_senders_to_one_receiver_are_put_together_side_by_side() {
    let mut world = World::new(4, LinkSettings::new());
    for sender in 1..4 {
        world.send(sender, 0, &datagram(sender, PACKET));
    }
    world.seconds(1);
    let mut arrived = world.inbox(0);
    arrived.sort();
    let mut sent: Vec<_> = (1..4).map(|sender| datagram(sender, PACKET)).collect();
    sent.sort();
    assert_eq!(arrived, sent);
    let senders: Vec<_> = world.sent().iter().map(|sent| sent.from).collect();
    assert!(senders[..3].windows(2).all(|pair| pair[0] != pair[1]), "they took turns: {senders:?}");
}

#[test]
fn a_neighbour_never_takes_the_last_place() {
    let mut world = World::with_memory::<PACKET, 3, 1>(3, LinkSettings::new());
    // The last fragment of each of its datagrams is lost.
    world.judge(|sent| {
        let is_last = sent.inside()[0] >> 3 == 0b11100 && sent.inside()[4] == (48 + 88 + 96) / 8;
        if sent.from == 1 && is_last { Fate::Forgotten } else { Fate::Heard }
    });
    for number in 0..5 {
        assert!(world.send(1, 0, &datagram(number, PACKET)));
        world.run(Duration::from_millis(200));
    }
    assert_eq!(world.drops(0), [(LinkDrop::Replaced, 3)]);
    assert!(world.send(2, 0, &datagram(7, PACKET)));
    world.run(Duration::from_millis(200));
    assert_eq!(world.inbox(0), [datagram(7, PACKET)]);
    world.seconds(4);
    assert_eq!(world.drops(0), [(LinkDrop::TimedOut, 2), (LinkDrop::Replaced, 3)]);
}

#[test]
fn a_place_is_its_datagrams_while_fragments_come_and_anyones_when_they_stop() {
    let mut world = World::with_memory::<PACKET, 2, 1>(4, LinkSettings::new());
    let is_later = |inside: &[u8]| inside[0] >> 3 == 0b11100;
    world.judge(
        move |sent| if is_later(sent.inside()) && sent.from < 3 { Fate::Forgotten } else { Fate::Heard },
    );
    world.send(1, 0, &datagram(1, PACKET));
    world.send(2, 0, &datagram(2, PACKET));
    world.run(Duration::from_millis(10));
    world.send(3, 0, &datagram(3, PACKET));
    world.run(Duration::from_millis(30));
    assert_eq!(world.drops(0), [(LinkDrop::ReassemblyFull, 3)]);
    world.run(Duration::from_millis(50));
    world.send(3, 0, &datagram(4, PACKET));
    world.run(Duration::from_millis(100));
    assert_eq!(world.inbox(0), [datagram(4, PACKET)]);
    assert_eq!(world.dropped(0, LinkDrop::Replaced), 1);
}

#[test]
fn a_fragment_that_comes_again_neither_delivers_again_nor_takes_a_place() {
    for settings in [LinkSettings::new(), in_doubt()] {
        let mut world = World::with_memory::<PACKET, 1, 1>(2, settings);
        // Each is heard twice: its acknowledgement is lost.
        let mut last = None;
        world.judge(move |sent| {
            let is_again = last == Some(sent.sequence());
            last = Some(sent.sequence());
            if is_again || sent.is_acknowledgement() { Fate::Heard } else { Fate::Unheard }
        });
        for number in 0..5 {
            world.send(0, 1, &datagram(number, PACKET));
            world.seconds(1);
            assert_eq!(world.inbox(1), [datagram(number, PACKET)]);
        }
        assert_eq!(world.drops(1), [(LinkDrop::Duplicate, 15)]);
        assert_eq!(world.drops(0), []);
    }
}

#[test]
fn pauses_give_others_their_turn() {
    let trains = |settings: LinkSettings| {
        let mut world = World::new(2, settings);
        world.send(0, 1, &datagram(1, PACKET));
        world.send(0, 1, &datagram(2, PACKET));
        world.seconds(1);
        world.sent().windows(2).map(|pair| pair[1].pause_after(&pair[0])).collect::<Vec<_>>()
    };
    assert_eq!(trains(LinkSettings { pacing: None, ..LinkSettings::new() }), [Duration::ZERO; 5]);
    let pacing = LinkSettings::new().pacing.expect("the default");
    let pauses = trains(LinkSettings::new());
    for (index, pause) in pauses.iter().enumerate() {
        let mean = if index == 2 { pacing.after_datagram } else { pacing.after_frame };
        assert!((mean / 2..mean * 3 / 2).contains(pause), "{pauses:?}");
    }
}

#[test]
fn a_channel_that_stays_busy_is_left_alone_for_longer() {
    let mut world = World::new(2, LinkSettings::new());
    let mut heard = 0;
    world.judge(move |_| {
        heard += 1;
        if heard <= 40 { Fate::Busy } else { Fate::Heard }
    });
    for number in 0..10 {
        while !world.send(0, 1, &datagram(number, PACKET)) {
            world.run(Duration::from_millis(100));
        }
    }
    world.seconds(5);
    let sent = world.sent();
    assert_eq!(sent.len(), 40, "ten datagrams are given up");
    let pause = |first: usize| sent[first * 4].pause_after(&sent[first * 4 - 1]);
    assert!(pause(9) > pause(1) * 3, "it learns that the channel is busy");
    world.forget_sent();
    for number in 0..60 {
        world.send(0, 1, &datagram(number, PACKET));
        world.run(Duration::from_millis(500));
    }
    let sent = world.sent();
    let [.., first, _, last] = &sent[..] else { panic!("it sends nothing") };
    let train = last.pause_after(first);
    assert!(train < Duration::from_millis(20), "and that it is free again: {train:?}");
}

/// A transceiver that always has another frame, and whose outcomes are lost.
struct Flood {
    frame: Vec<u8>,
    taken: usize,
    transmitted: usize,
}

impl Transceiver for Flood {
    fn receive(&mut self, out: &mut [u8; MAX_FRAME]) -> Option<usize> {
        self.taken += 1;
        assert!(self.taken < 1000, "the flood is taken in without an end");
        out[..self.frame.len()].copy_from_slice(&self.frame);
        Some(self.frame.len())
    }

    fn transmit(&mut self, _: &[u8]) {
        self.transmitted += 1;
    }

    fn poll_outcome(&mut self) -> Option<Outcome> {
        None
    }
}

#[test]
fn a_flood_is_taken_in_a_little_at_a_time() {
    let mut world = World::new(2, careful());
    world.send(0, 1, &datagram(1, PACKET));
    world.send(0, 1, &datagram(1, 20));
    world.seconds(1);
    let frames = world.sent().into_iter().map(|sent| sent.frame);
    for frame in frames.chain([vec![0; 20]]) {
        let mut radio = Radio::new(Flood { frame, taken: 0, transmitted: 0 });
        let mut memory = StackMemory::<PACKET, 2>::new();
        let settings = LinkSettings::new();
        let mut stack = Stack::new(address(1), 1, &settings, memory.lend());
        for round in 1..20 {
            stack.poll(Instant::from_micros(round * 1000), &mut radio);
            let taken = std::mem::take(&mut radio.transceiver_mut().taken);
            assert!((1..=4).contains(&taken), "{taken} frames at once");
        }
    }
}

#[test]
fn a_frame_of_which_nothing_is_heard_does_not_block_the_next() {
    let mut radio = Radio::new(Flood { frame: vec![], taken: 0, transmitted: 0 });
    let mut memory = StackMemory::<PACKET, 2>::new();
    let mut now = Instant::from_micros(1_000_000);
    let mut stack = Stack::new(address(1), 1, &LinkSettings::new(), memory.lend());
    for sent in 1..5 {
        assert_eq!(stack.send(link_local(address(2)), &[0; 8]), Ok(()));
        stack.poll(now, &mut radio);
        assert_eq!(radio.transceiver().transmitted, sent);
        assert_eq!(stack.poll_timeout(&radio), Some(now + OUTCOME_WITHIN));
        stack.poll(now + OUTCOME_WITHIN / 2, &mut radio);
        assert_eq!(radio.counters().given_up, sent as u32 - 1, "it may still be under way");
        now = now + Duration::from_secs(5);
        stack.poll(now, &mut radio);
        assert_eq!(radio.counters().given_up, sent as u32);
        assert_eq!(stack.counters().dropped(LinkDrop::NoOutcome), sent as u32);
        now = now + Duration::from_secs(1);
        radio.transceiver_mut().taken = 0;
    }
}

#[test]
fn what_a_stack_before_it_left_is_forgotten() {
    let mut radio = Radio::new(Flood { frame: vec![0; 9], taken: 0, transmitted: 0 });
    let mut memory = StackMemory::<PACKET, 2>::new();
    let settings = LinkSettings::new();
    let mut now = Instant::from_micros(1_000_000);
    for life in 1..4 {
        let mut stack = Stack::new(address(1), life, &settings, memory.lend());
        assert_eq!(stack.send(link_local(address(2)), &[0; PACKET]), Ok(()), "its slot is free");
        now = now + OUTCOME_WITHIN / 4;
        stack.poll(now, &mut radio);
    }
    assert_eq!(radio.transceiver().transmitted, 1, "but its frame is still under way");
}
