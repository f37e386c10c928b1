//! Loops that do not come back, told by the nodes that they passed.

use std::time::Duration;

use motemix_crypto::Curve;
use motemix_directory::{Entry, Epoch, Role};
use motemix_node::{Config, Empty, Instant, Lengths, LoopTally, Memory, NoJournal, Node};
use motemix_sphinx::Mote;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;

use crate::curve::Modelled;
use crate::network::{NetworkOf, id, layered, usual};
use crate::side_by_side::Lanes;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_mins(1);
/// One of two mixes of the second layer, and the other one.
const DROPS: usize = 2;
const BESIDE: usize = 3;
const MIXES: usize = 6;

/// Every node sends a loop each two seconds in the mean.
fn with_loops() -> Config {
    let mut config = usual();
    config.parameters.loop_mean = Some(2 * SECOND);
    config
}

/// What all nodes but one counted of a node, in all.
fn through<C: Curve + 'static>(network: &NetworkOf<C>, node: usize) -> LoopTally {
    let others = network.nodes.iter().filter(|other| other.id() != id(DROPS));
    let tallies = others.filter_map(|other| other.loops_through(id(node)));
    tallies.fold(LoopTally::NONE, |sum, tally| LoopTally {
        returned: sum.returned + tally.returned,
        lost: sum.lost + tally.lost,
        missing: sum.missing.max(tally.missing),
    })
}

fn a_mix_that_drops_stands_out<C: Curve + 'static>(config: Config, seed: u64) {
    let mut network = NetworkOf::<C>::new(layered(4), config, seed);
    network.run(5 * MINUTE);
    let before = [0, 1, 2, 3, 4, 5, 6].map(|node| through(&network, node));
    assert!(before.iter().all(|tally| tally.lost == 0), "nobody drops yet: {before:?}");
    assert!(before[..MIXES].iter().all(|tally| tally.returned > 500), "{before:?}");
    network.air = Box::new(|from, _, _, _| from != DROPS);
    // What had passed it already comes back.
    network.run(10 * SECOND);
    let begun = through(&network, DROPS);
    network.run(5 * MINUTE);
    let end = through(&network, DROPS);
    assert_eq!(end.returned, begun.returned, "no loop through it comes back");
    assert!(end.lost - begun.lost > 500, "{end:?}");
    for (node, before) in before.into_iter().enumerate().filter(|(node, _)| *node != DROPS) {
        let now = through(&network, node);
        let (returned, lost) = (now.returned - before.returned, now.lost - before.lost);
        println!("node {node}: {returned} returned, {lost} lost");
        assert!(lost > 0, "loops on the same paths");
        assert!(lost < 4 * (returned + lost) / 5, "and others: {returned}, {lost} through {node}");
    }
    let beside = through(&network, BESIDE);
    let end = through(&network, DROPS);
    assert!(beside.lost < end.lost, "{beside:?}, {end:?}");
}

#[test]
fn every_loop_through_a_mix_that_drops_is_lost_and_of_the_others_some() {
    a_mix_that_drops_stands_out::<Modelled>(with_loops(), 51);
}

/// Headers keep their paths when many are made at a time.
#[test]
fn it_is_so_where_headers_are_made_side_by_side() {
    a_mix_that_drops_stands_out::<Lanes<4>>(with_loops(), 52);
}

#[test]
fn filler_of_a_payload_stream_tells_as_well() {
    let mut config = usual();
    config.parameters.payload_mean = Some(SECOND);
    a_mix_that_drops_stands_out::<Modelled>(config, 53);
}

/// A loop counts once for each node on its path, so what is counted adds up.
#[test]
fn a_loop_passes_as_many_nodes_as_its_path_has() {
    let mut network = NetworkOf::<Modelled>::new(layered(4), with_loops(), 54);
    network.run(5 * MINUTE);
    // Two mixes there, two mixes back, which may be the same ones, and a node where it turns round.
    let node = &network.nodes[9];
    let loops = u32::try_from(node.counters().loops_returned).expect("few");
    let passed = |nodes: std::ops::Range<usize>| {
        nodes.filter_map(|of| node.loops_through(id(of))).map(|tally| tally.returned).sum::<u32>()
    };
    assert!(loops > 100, "{loops}");
    let (mixes, endpoints) = (passed(0..MIXES), passed(MIXES..9));
    assert!((2 * loops..5 * loops).contains(&mixes), "{mixes} of {loops}");
    assert!((1..loops).contains(&endpoints), "it turns round at endpoints and at mixes: {endpoints}");
    assert!((3 * loops..=5 * loops).contains(&(mixes + endpoints)), "{mixes} and {endpoints} of {loops}");
    assert_eq!(passed(9..10), 0, "its own id is no other's");
}

#[test]
fn before_a_loop_has_come_back_nobody_is_blamed() {
    let mut network = NetworkOf::<Modelled>::new(layered(2), with_loops(), 55);
    network.air = Box::new(|_, _, _, _| false);
    network.run(5 * MINUTE);
    assert!(network.nodes[7].counters().loops_lost > 100);
    assert!((0..8).all(|node| through(&network, node) == LoopTally::NONE));
    network.air = Box::new(|_, _, _, _| true);
    network.run(MINUTE);
    network.air = Box::new(|_, _, _, _| false);
    network.run(MINUTE);
    assert!((0..MIXES).all(|node| through(&network, node).lost > 0), "and then they are");
}

#[test]
fn epochs_blame_nobody() {
    let mut network = NetworkOf::<Modelled>::new(layered(4), with_loops(), 56);
    for _ in 0..20 {
        network.run(30 * SECOND);
        network.next_epoch(with_loops());
    }
    for node in 0..MIXES {
        let tally = through(&network, node);
        assert!(tally.lost == 0 && tally.returned > 500, "{tally:?} through {node}");
    }
}

#[test]
fn a_node_that_comes_back_begins_anew() {
    let mut network = NetworkOf::<Modelled>::new(layered(4), with_loops(), 57);
    network.run(5 * MINUTE);
    let gone = id(9);
    assert!(network.nodes[0].loops_through(gone).is_some_and(|tally| tally.returned > 0));
    let stays = network.nodes[0].loops_through(id(8));
    let (next, roles) = (Epoch(network.epoch.0 + 1), layered(4));
    let mut entries = network.entries(next);
    assert_eq!((entries.len(), roles[9]), (10, Role::Endpoint));
    entries[9] = Entry::VACANT;
    let key = network.mix_key(0, next);
    let (now, node) = (network.now, &mut network.nodes[0]);
    node.prepare_epoch(next, key).expect("a later epoch");
    node.begin_epoch(now, next, Instant::NEVER, entries.into_iter(), with_loops()).expect("a network");
    assert_eq!(node.loops_through(gone), Some(LoopTally::NONE));
    assert_eq!(node.loops_through(id(8)), stays, "who stays is not forgotten");
    node.forget_loops_through(id(8));
    assert_eq!(node.loops_through(id(8)), Some(LoopTally::NONE));
}

/// As a board has it.
enum Small {}

impl Lengths for Small {
    type Packets<T: Empty> = [T; 8];
    type Replay<T: Empty> = [T; 1024];
    type Window<T: Empty> = [T; 16];
    type Messages<T: Empty> = [T; 2];
    type Returns<T: Empty> = [T; 2];
    type Headers<T: Empty> = [T; 3];
    type Loops<T: Empty> = [T; 8];
    type Nodes<T: Empty> = [T; 16];
}

#[test]
fn without_memory_there_is_an_alarm_and_no_tally() {
    let network = NetworkOf::<Modelled>::new(layered(4), with_loops(), 58);
    let mut memory = Memory::<Mote<Modelled>, Small>::new();
    let mut node = Node::new(id(9), ChaCha8Rng::seed_from_u64(58), memory.lend());
    let epoch = network.epoch;
    node.prepare_epoch(epoch, network.mix_key(9, epoch)).expect("the first");
    let entries = network.entries(epoch).into_iter();
    node.begin_epoch(network.now, epoch, Instant::NEVER, entries, with_loops()).expect("a network");
    let (mut now, mut packet) = (network.now, [0; 280]);
    while node.counters().loops_lost < 10 {
        now = now + SECOND;
        while node.work(now) {}
        node.handle_timeout(now);
        while let Ok(Some(_)) = node.poll_transmit(now, &mut NoJournal, &mut packet) {}
    }
    assert!((0..10).all(|other| node.loops_through(id(other)).is_none()));
    node.forget_loops_through(id(0));
}
