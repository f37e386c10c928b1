//! What a stranger with a radio does to a station while neighbours send to it, and it to them. The
//! stranger is heard at once and never contends, so what is lost is lost in the station.

mod world;

use std::time::Duration;

use motemix_link::counters::LinkDrop;
use motemix_link::serial::ExtendedAddress;
use motemix_link::settings::LinkSettings;
use world::{Dice, Fate, PACKET, World, address, careful, datagram, solicitation_of};

/// Datagrams that neighbours exchange in each story.
const DATAGRAMS: usize = 40;
/// The station in the middle has as many places for what arrives.
const PLACES: usize = 4;

/// Whether somebody has the address at which a frame is directed.
fn is_somebody(frame: &[u8], stations: usize) -> bool {
    (0..stations).any(|index| frame[5..13] == address(index).0)
}

/// A world in which frames for nobody are not acknowledged.
fn world(settings: LinkSettings, acquainted: bool) -> World {
    let mut world = World::with_memory::<PACKET, PLACES, 4>(3, settings);
    world.judge(|sent| if is_somebody(&sent.frame, 3) { Fate::Heard } else { Fate::Lost });
    world.acquainted = acquainted;
    world
}

/// Neighbours send datagrams to the station 0, and it sends to them, one each half a second, while
/// a stranger says something to it so often. How many arrive.
fn exchanged(world: &mut World, a_second: u64, mut says: impl FnMut(u64) -> Vec<u8>) -> usize {
    let mut dice = Dice::new(9);
    let (mut said, mut arrived) = (0, 0);
    // A head start, so that the places are full when the first datagram comes.
    for number in 0..DATAGRAMS + 2 {
        if let Some(number) = number.checked_sub(2) {
            let (from, to) = [(1, 0), (2, 0), (0, 1), (0, 2)][number % 4];
            assert!(world.send(from, to, &datagram(number, PACKET)), "there is room again");
        }
        for _ in 0..a_second.div_ceil(2) {
            world.inject(0, says(said));
            said += 1;
            // On average as often as that, and never in step.
            world.run(Duration::from_micros((512 + dice.roll() % 1024) * 1_000_000 / 1024 / a_second));
        }
        arrived += (0..3).map(|station| world.inbox(station).len()).sum::<usize>();
    }
    world.seconds(5);
    arrived + (0..3).map(|station| world.inbox(station).len()).sum::<usize>()
}

/// A frame's header, from a station that does not exist.
fn header(dice: &mut Dice) -> Vec<u8> {
    let mut from = dice.roll().to_le_bytes();
    from[7] = from[7] & 0xfc | 0x02;
    [&[0x61, 0xdc, 0, 0x23, 0][..], &address(0).0, &from].concat()
}

/// A question where the station 0 is, from a station that does not exist.
fn where_are_you(dice: &mut Dice) -> Vec<u8> {
    let header = header(dice);
    solicitation_of(ExtendedAddress(*header.last_chunk().expect("it is its end")), 0)
}

/// The first fragment (RFC 4944, 5.3) of a datagram of 280 bytes, without its checksum.
fn first_fragment(dice: &mut Dice) -> Vec<u8> {
    let [tag @ .., a, b] = *dice.roll().to_be_bytes().last_chunk::<4>().expect("it is long enough");
    let size = (48 + PACKET as u16).to_be_bytes();
    let fragment = [&[0xc0 | size[0], size[1]], &tag[..], &[0x7e, 0x33, 0xf3, 0, a, b], &[7; 88]].concat();
    [header(dice), fragment].concat()
}

/// A fragment that asks what has come (RFC 8931, 5.1): the second of three.
fn question(dice: &mut Dice) -> Vec<u8> {
    let fragment = [&[0xe8, dice.roll() as u8, 0x84, 98, 0, 98][..], &[7; 98]].concat();
    [header(dice), fragment].concat()
}

#[test]
fn first_fragments_of_strangers_take_no_place_where_neighbours_are_known() {
    for a_second in [5, 20, 100] {
        let mut dice = Dice::new(a_second);
        let mut world = world(LinkSettings::new(), true);
        let arrived = exchanged(&mut world, a_second, |_| first_fragment(&mut dice));
        println!("known, {a_second} a second: {arrived} of {DATAGRAMS}");
        assert_eq!(arrived, DATAGRAMS, "at {a_second} a second");
        let said = a_second.div_ceil(2) as u32 * (DATAGRAMS as u32 + 2);
        assert_eq!(world.drops(0), [(LinkDrop::Stranger, said)]);
    }
}

#[test]
fn where_nobody_is_known_first_fragments_hold_a_place_for_a_moment_only() {
    for (a_second, least) in [(5, 40), (20, 40), (100, 24)] {
        let mut dice = Dice::new(a_second);
        let mut world = world(LinkSettings::new(), false);
        let arrived = exchanged(&mut world, a_second, |_| first_fragment(&mut dice));
        println!("unknown, {a_second} a second: {arrived} of {DATAGRAMS}");
        assert!(arrived >= least, "at {a_second} a second: {arrived}");
    }
}

#[test]
fn questions_of_strangers_are_not_answered_where_neighbours_are_known() {
    for ask in [question, where_are_you] {
        let mut dice = Dice::new(2);
        let mut world = world(LinkSettings::new(), true);
        let arrived = exchanged(&mut world, 30, |_| ask(&mut dice));
        println!("known, 30 questions a second: {arrived} of {DATAGRAMS}");
        assert_eq!(arrived, DATAGRAMS);
        assert_eq!(world.sent().len(), 3 * DATAGRAMS, "fragments of datagrams, and nothing else");
    }
}

#[test]
fn where_nobody_is_known_an_answer_in_vain_leaves_once_and_keeps_no_datagram_waiting() {
    for a_second in [30, 200, 400] {
        let mut dice = Dice::new(3);
        let mut world = world(LinkSettings::new(), false);
        let arrived = exchanged(&mut world, a_second, |_| where_are_you(&mut dice));
        let asked = a_second.div_ceil(2) as usize * (DATAGRAMS + 2);
        let answers = world.sent().iter().filter(|sent| !is_somebody(&sent.frame, 3)).count();
        println!("unknown, {a_second} questions a second: {arrived} of {DATAGRAMS}, {answers} of {asked}");
        assert_eq!(arrived, DATAGRAMS, "at {a_second} a second");
        assert!(answers <= asked, "{answers} answers to {asked} questions");
        assert_eq!(world.counters(0).given_up(), 0);
    }
}

/// The tags of the datagrams that a station sends to another.
fn tags_of(from: usize, to: usize, count: usize) -> Vec<[u8; 2]> {
    let mut world = world(LinkSettings::new(), true);
    for number in 0..count {
        world.send(from, to, &datagram(number, PACKET));
        world.seconds(1);
    }
    let sent = world.sent();
    let first = sent.iter().filter(|sent| sent.inside()[0] >> 3 == 0b11000);
    first.map(|sent| [sent.inside()[2], sent.inside()[3]]).collect()
}

/// A later fragment (RFC 4944, 5.3) in the name of the station 1, to the station 0: the second or
/// third of three.
fn later_fragment(tag: [u8; 2], which: usize) -> Vec<u8> {
    let (begin, len) = [(88, 96), (184, 96)][which];
    let size = (48 + PACKET as u16).to_be_bytes();
    let head = [0xe0 | size[0], size[1], tag[0], tag[1], (48 + begin) / 8];
    [&[0x61, 0xdc, 0, 0x23, 0][..], &address(0).0, &address(1).0, &head, &vec![0xee; len]].concat()
}

/// Forty datagrams of the station 1, while fragments in its name come ahead of each. How many
/// arrive.
fn forged(mut ahead: impl FnMut(usize) -> Vec<Vec<u8>>) -> (usize, World) {
    let mut world = world(LinkSettings::new(), true);
    for number in 0..DATAGRAMS {
        for frame in ahead(number) {
            world.inject(0, frame);
        }
        world.send(1, 0, &datagram(number, PACKET));
        world.seconds(4);
    }
    (world.inbox(0).len(), world)
}

#[test]
fn who_counts_on_from_a_tag_that_it_heard_spoils_nothing() {
    let [heard, ..] = tags_of(1, 0, 1)[..] else { panic!("a datagram has left") };
    let (arrived, world) = forged(|number| {
        let next = |by: usize| u16::from_be_bytes(heard).wrapping_add((number + by) as u16).to_be_bytes();
        (0..2).map(|by| later_fragment(next(by), 1)).collect()
    });
    println!("forged with tags that count up: {arrived} of {DATAGRAMS}");
    // The one tag that was heard is right, and does not help either.
    assert_eq!(arrived, DATAGRAMS);
    assert_eq!(world.dropped(0, LinkDrop::ReassemblyFull), 0);
}

#[test]
fn what_is_forged_ahead_of_a_datagram_does_not_spoil_it_even_with_its_tag() {
    let tags = tags_of(1, 0, DATAGRAMS);
    for which in [&[0][..], &[1], &[0, 1], &[1, 0]] {
        let (arrived, world) =
            forged(|number| which.iter().map(|&it| later_fragment(tags[number], it)).collect());
        println!("forged with the tags, {which:?}: {arrived} of {DATAGRAMS}");
        assert_eq!(arrived, DATAGRAMS);
        // With the last one forged all of it seems to be there, until the right one comes.
        let failed = if which.contains(&1) { DATAGRAMS as u32 } else { 0 };
        assert_eq!(world.dropped(0, LinkDrop::BadChecksum), failed);
        assert_eq!(world.dropped(0, LinkDrop::TimedOut), 0);
    }
}

#[test]
fn where_fragments_are_recovered_a_forged_one_costs_a_round_and_no_datagram() {
    let mut world = world(careful(), true);
    for number in 0..DATAGRAMS {
        world.send(1, 0, &datagram(number, PACKET));
        // The first fragment is on its way, and its tag was heard.
        world.run(Duration::from_millis(5));
        let sent = world.sent();
        let tag = sent.last().expect("it has left").inside()[1];
        let fragment = [&[0xe8, tag, 0x04, 98, 0, 98][..], &[0xee; 98]].concat();
        world.inject(0, [&[0x61, 0xdc, 0, 0x23, 0][..], &address(0).0, &address(1).0, &fragment].concat());
        world.seconds(10);
    }
    let arrived = world.inbox(0).len();
    println!("forged among fragments that are recovered: {arrived} of {DATAGRAMS}");
    assert_eq!(arrived, DATAGRAMS);
    assert_eq!(world.dropped(0, LinkDrop::BadChecksum), DATAGRAMS as u32);
}
