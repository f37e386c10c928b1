//! What stops when a network document has run out, and what says that an epoch is in use.

use std::time::Duration;

use motemix_directory::Epoch;
use motemix_node::{Config, DropReason, Instant, Node};

use crate::network::{Network, layered, usual};

const SECOND: Duration = Duration::from_secs(1);

/// Messages leave on ticks, beside loop and drop cover.
fn constant_rate() -> Config {
    let mut config = usual();
    config.parameters.loop_mean = Some(SECOND);
    config.parameters.drop_mean = Some(SECOND);
    config.parameters.payload_mean = Some(SECOND / 2);
    config
}

#[test]
fn a_node_that_falls_silent_sends_nothing_of_its_own_until_the_next_epoch() {
    let mut network = Network::new(layered(2), constant_rate(), 31);
    network.run(30 * SECOND);
    network.nodes.iter_mut().for_each(Node::fall_silent);
    network.run(10 * SECOND);
    let sent = network.datagrams.len();
    assert!(sent > 1000, "{sent}");

    network.send(6, 7, b"waits");
    network.run(600 * SECOND);
    assert_eq!(network.datagrams.len(), sent, "neither cover, nor ticks, nor messages");

    network.next_epoch(constant_rate());
    network.run(30 * SECOND);
    assert_eq!(network.received.len(), 1);
    assert!(network.datagrams.len() > sent + 1000, "all of it goes on");
}

#[test]
fn what_is_under_way_when_a_node_falls_silent_is_still_forwarded() {
    let mut network = Network::new(layered(2), usual(), 32);
    network.send(6, 7, b"reading");
    // It has left.
    while network.datagrams.is_empty() {
        network.run(SECOND / 100);
    }
    network.nodes.iter_mut().for_each(Node::fall_silent);
    network.run(20 * SECOND);
    assert_eq!(network.ended.iter().filter(|ended| ended.reply.is_some()).count(), 1);
}

#[test]
fn a_key_whose_epoch_has_ended_opens_nothing_and_an_earlier_epoch_can_come_back() {
    let mut network = Network::new(layered(2), usual(), 33);
    network.send(6, 7, b"reading");
    network.run(20 * SECOND);
    let (_, to, recorded) = network.datagrams[0].clone();
    let mix = usize::from(to.get());
    assert_eq!(network.arrive(mix, &recorded), Err(DropReason::Replayed));

    network.nodes[mix].end_epoch();
    assert_eq!(network.nodes[mix].epoch(), None);
    assert_eq!(network.arrive(mix, &recorded), Err(DropReason::NoEpoch));

    // A clock was ahead, so an earlier epoch begins: what was admitted in it is put back as after a
    // restart.
    let earlier = Epoch(7);
    let (key, entries) = (network.mix_key(mix, earlier), network.entries(earlier));
    network.nodes[mix].prepare_epoch(earlier, key).expect("none has begun");
    for admitted in network.journals[mix].kept.clone() {
        network.nodes[mix].restore_admitted(admitted).expect("there is room");
    }
    network.nodes[mix]
        .begin_epoch(network.now, earlier, Instant::NEVER, entries.into_iter(), usual())
        .expect("a sound network");
    assert_eq!(network.arrive(mix, &recorded), Err(DropReason::Replayed));
}

#[test]
fn only_what_comes_back_under_the_keys_of_an_epoch_says_that_it_is_in_use() {
    let mut config = usual();
    config.parameters.loop_mean = Some(SECOND / 20);
    let mut network = Network::new(layered(2), config, 34);
    network.run(10 * SECOND);
    assert!(network.nodes[0].answers() > 10);

    // Loops of the epoch before are under way, and come back during its overlap.
    let returned = network.nodes[0].counters().loops_returned;
    network.next_epoch(usual());
    network.run(4 * SECOND);
    assert!(network.nodes[0].counters().loops_returned > returned);
    assert_eq!(network.nodes[0].answers(), 0);

    network.send(0, 7, b"reading");
    network.run(4 * SECOND);
    assert_eq!(network.nodes[0].answers(), 1, "an acknowledgement does");
}
