//! A packet that was turned round leaves, whatever became of its message.

use std::time::Duration;

use crate::network::{Network, id, layered, usual};
use crate::statistics::kolmogorov_smirnov;
use crate::tables::{SMALL, Tables};
use motemix_node::{Config, DropReason, Paths, Storage, Timeout};
use motemix_sphinx::{Mote, NodeId};

const SECOND: Duration = Duration::from_secs(1);
const SENDER: usize = 6;
const RECEIVER: usize = 7;
/// What by chance one comparison in 1,000 exceeds.
const BY_CHANCE: f64 = 1.95;
/// A byte of the payload.
const IN_PAYLOAD: usize = 200;

/// One try for each message, so that what arrives is a probe.
fn one_try() -> Config {
    let mut config = usual();
    config.parameters.transmissions = 1;
    config
}

/// Sends `probes` messages, each with a flipped bit or not; the first mix flips it. Returns, for
/// each probe, how long the receiver kept it, in seconds. None is kept for ever.
fn kept(config: Config, answers_after: Duration, flipped: bool, probes: usize, seed: u64) -> Vec<f64> {
    let mut network = Network::new(layered(2), config, seed);
    network.answers_after = answers_after;
    // Learned from ordinary messages, as any receiver's node does.
    network.send(SENDER, RECEIVER, b"before");
    network.run(20 * SECOND);
    network.air = Box::new(|from, _, _, _| from != SENDER);
    let mut kept = Vec::new();
    for probe in 0..probes as u32 {
        let before = network.datagrams.len();
        network.send(SENDER, RECEIVER, &probe.to_be_bytes());
        network.run(Duration::ZERO);
        let (_, mix, mut packet) = network.datagrams[before].clone();
        packet[IN_PAYLOAD] ^= u8::from(flipped);
        network.arrive(usize::from(mix.get()), &packet).expect("its header is sound");
        network.run(5 * SECOND);
        let since = network.datagrams[before..].iter().zip(&network.sent_at[before..]);
        let arrived = since.clone().find(|((_, to, _), _)| *to == id(RECEIVER)).expect("it is forwarded").1;
        let mut left = since.filter(|((from, ..), _)| *from == RECEIVER).map(|(_, at)| *at);
        let left = (left.next(), left.next());
        let (Some(left), None) = left else { panic!("probe {probe}: one packet leaves, not {left:?}") };
        kept.push((left - *arrived).as_secs_f64());
    }
    let acknowledged = network.ended.iter().filter(|ended| ended.reply.is_some()).count();
    assert_eq!(acknowledged, 1 + if flipped { 0 } else { probes });
    assert_eq!(network.nodes[SENDER].counters().returned_empty, if flipped { probes as u64 } else { 0 });
    assert_eq!(network.nodes[RECEIVER].counters().turned_empty, if flipped { probes as u64 } else { 0 });
    kept
}

#[test]
fn a_flipped_bit_shows_neither_in_whether_a_packet_leaves_nor_in_when() {
    // An application that answers at once, one that takes more than half of a hop's delay, and no
    // delays at all.
    let mut without_delay = one_try();
    without_delay.parameters.mean_delay = Duration::ZERO;
    let slow = Duration::from_millis(30);
    for (config, answers_after) in [(one_try(), Duration::ZERO), (one_try(), slow), (without_delay, slow)] {
        let [sound, flipped] =
            [false, true].map(|flipped| kept(config, answers_after, flipped, 100, 1 + u64::from(flipped)));
        let distance = kolmogorov_smirnov(&sound, &flipped);
        println!("answers after {answers_after:?}: distance {distance:.2}");
        assert!(distance < BY_CHANCE, "{distance}: {sound:?} {flipped:?}");
    }
}

/// The receiver's departures after a message that arrives at a receiver which `prepare` made ready.
fn departures(prepare: impl Fn(&mut Network)) -> (Network, usize) {
    let mut network = Network::new(layered(2), one_try(), 3);
    prepare(&mut network);
    network.send(SENDER, RECEIVER, b"reading");
    network.run(30 * SECOND);
    let departures = network.datagrams.iter().filter(|(from, ..)| *from == RECEIVER).count();
    (network, departures)
}

fn replace_receiver(network: &mut Network, storage: Storage<'static, Mote, Paths<'static>>) {
    let mut node = Network::node(RECEIVER, 9, storage);
    node.prepare_epoch(network.epoch, network.mix_key(RECEIVER, network.epoch)).expect("the first");
    let entries = network.entries(network.epoch);
    node.begin_epoch(network.now, network.epoch, network.ends, entries.into_iter(), one_try())
        .expect("sound");
    network.nodes[RECEIVER] = node;
}

#[test]
fn a_refusal_leaves_as_a_reply_does() {
    let (network, departures) = departures(|network| network.application = Box::new(|_| None));
    assert_eq!(departures, 1);
    assert_eq!(network.nodes[RECEIVER].counters().dropped(DropReason::Unanswered), 1);
    assert_eq!(network.nodes[SENDER].counters().returned_empty, 1);
    assert!(network.ended[0].reply.is_none(), "and acknowledges nothing");
}

#[test]
fn a_window_without_room_does_not_show() {
    let (network, departures) = departures(|network| {
        replace_receiver(network, Tables { window: 1, ..SMALL }.lend());
    });
    assert_eq!(departures, 1);
    assert_eq!(network.nodes[RECEIVER].counters().dropped(DropReason::WindowFull), 1);
    assert_eq!(network.received, []);
}

#[test]
fn an_application_that_answers_too_late_does_not_keep_the_packet() {
    let (network, departures) = departures(|network| network.answers_after = 15 * SECOND);
    assert_eq!((departures, network.late), (1, 1), "after ten seconds it leaves without an answer");
    assert_eq!(network.nodes[RECEIVER].counters().dropped(DropReason::Unanswered), 1);
}

#[test]
fn a_second_try_whose_first_is_with_the_application_leaves_too() {
    let mut network = Network::new(layered(2), usual(), 4);
    network.answers_after = 2 * SECOND;
    network.send(SENDER, RECEIVER, b"reading");
    network.run(30 * SECOND);
    let arrived = network.datagrams.iter().filter(|(_, to, _)| *to == id(RECEIVER)).count();
    let left = network.datagrams.iter().filter(|(from, ..)| *from == RECEIVER).count();
    assert!(arrived > 1, "the sender did not wait for so long");
    assert_eq!(arrived, left);
    assert_eq!(network.received.len(), 1, "and the message was handed over once");
    assert!(network.ended[0].reply.is_some(), "the answer to the first try serves");
}

#[test]
fn the_sender_tries_again_when_its_time_is_over_and_not_when_an_empty_packet_comes_back() {
    let mut config = usual();
    config.parameters.transmissions = 2;
    config.timeout = Timeout::Path { hop_allowance: SECOND };
    let mut network = Network::new(layered(2), config, 5);
    network.application = Box::new(|_| None);
    network.send(SENDER, RECEIVER, b"reading");
    network.run(60 * SECOND);
    let to_sender = |to: &NodeId| *to == id(SENDER);
    let times = || network.datagrams.iter().zip(&network.sent_at);
    let back = times().find(|((_, to, _), _)| to_sender(to)).expect("it comes back").1;
    let tries: Vec<_> = times().filter(|((from, ..), _)| *from == SENDER).map(|(_, at)| *at).collect();
    assert_eq!(tries.len(), 2);
    assert!(tries[1] - *back > 3 * SECOND, "six seconds and the delays after the first");
}

/// On ticks, an epoch that has none lets go of what waits for them.
#[test]
fn a_stream_that_ends_keeps_nothing() {
    let mut config = usual();
    config.parameters.payload_mean = Some(SECOND);
    let mut network = Network::new(layered(3), config, 6);
    for reading in 0..8_u8 {
        network.send(SENDER, RECEIVER, &[reading]);
    }
    network.run(20 * SECOND);
    network.next_epoch(usual());
    // Until receivers have forgotten what they remember.
    network.run(600 * SECOND);
    let waiting: Vec<_> = network.nodes.iter().filter_map(motemix_node::Node::poll_timeout).collect();
    assert_eq!(waiting, [], "nothing stays in a queue");
    assert_eq!(network.ended.iter().filter(|ended| ended.reply.is_some()).count(), 8);
}
