//! Headers made side by side, on a curve with lanes.

use std::cell::Cell;
use std::time::Duration;

use motemix_crypto::{AsReceived, Curve, Pair, PublicKey, Secret, SharedSecret};
use motemix_directory::Epoch;
use motemix_node::{Counters, Instant, NoJournal};

use crate::curve::Modelled;
use crate::network::{Mix, NetworkOf, id, layered, mesh, usual};
use crate::tables::{LARGE, SMALL, Tables};

const SECOND: Duration = Duration::from_secs(1);
const PACKET_LEN: usize = 280;

thread_local! {
    /// Batches of the curve with points, and multiplications in them.
    static BATCHES: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

/// The modelled curve with so many lanes.
pub enum Lanes<const N: usize> {}

impl<const N: usize> Curve for Lanes<N> {
    type Point = AsReceived<Self>;

    fn public_key(secret: &Secret<32>) -> PublicKey {
        Modelled::public_key(secret)
    }

    fn diffie_hellman(secret: &Secret<32>, point: &PublicKey) -> Option<SharedSecret> {
        Modelled::diffie_hellman(secret, point)
    }

    fn lanes() -> usize {
        N
    }

    fn diffie_hellman_batch(pairs: &[Pair<'_>], shared: &mut [Option<SharedSecret>]) {
        let (batches, multiplications) = BATCHES.get();
        BATCHES.set((batches + 1, multiplications + pairs.len()));
        for (pair, shared) in pairs.iter().zip(shared) {
            *shared = Modelled::diffie_hellman(pair.secret, &pair.point);
        }
    }
}

/// A node of a network of nine endpoints, in its first epoch, with all covers on.
fn covered<C: Curve>(places: usize, seed: u64) -> (NetworkOf<C>, Mix<C>) {
    let mut config = usual();
    config.parameters.loop_mean = Some(20 * SECOND);
    config.parameters.drop_mean = Some(20 * SECOND);
    config.parameters.payload_mean = Some(20 * SECOND);
    let network = NetworkOf::<C>::new(layered(9), config, seed);
    let tables = Tables { messages: 16, returns: 16, headers: places, ..SMALL };
    let mut node = NetworkOf::<C>::node(6, seed, tables.lend());
    let epoch = Epoch(7);
    node.prepare_epoch(epoch, network.mix_key(6, epoch)).expect("the first");
    node.begin_epoch(network.now, epoch, Instant::NEVER, network.entries(epoch).into_iter(), config)
        .expect("a network");
    (network, node)
}

fn come_to_an_end<const N: usize>() {
    for places in 0..=40 {
        let (network, mut node) = covered::<Lanes<N>>(places, 31);
        for receiver in 7..15 {
            node.send(network.now, id(receiver), b"reading").expect("room for a message");
        }
        let (mut steps, mut more) = (0, true);
        while more {
            let worked = node.work_counted(network.now);
            assert!(worked.multiplications <= N.min(16), "{worked:?}");
            more = worked.more;
            steps += 1;
            assert!(steps < 1000, "a pool of {places} places is never done with {N} lanes");
        }
        let built = node.counters().headers_built;
        assert!(built <= places as u64, "nothing is built to be thrown away: {built} of {places}");
        assert!(built >= places.min(4) as u64, "{built} of {places}");
    }
}

#[test]
fn building_side_by_side_comes_to_an_end_however_small_the_pool_and_whoever_waits_for_one() {
    come_to_an_end::<2>();
    come_to_an_end::<4>();
    come_to_an_end::<8>();
    come_to_an_end::<64>();
}

/// What a network does in two minutes in which the first endpoint has much to say.
fn busy<C: Curve + 'static>() -> Vec<Counters> {
    let mut config = usual();
    config.parameters.loop_mean = Some(2 * SECOND);
    config.parameters.drop_mean = Some(2 * SECOND);
    let mut network = NetworkOf::<C>::new(layered(4), config, 32);
    for round in 0..30 {
        for receiver in 7..10 {
            network.send(6, receiver, format!("reading {round}").as_bytes());
        }
        network.run(4 * SECOND);
    }
    network.run(20 * SECOND);
    assert_eq!(network.ended.iter().filter(|ended| ended.reply.is_some()).count(), 90);
    assert_eq!(network.received.len(), 90);
    network.nodes.iter().map(|node| *node.counters()).collect()
}

#[test]
fn messages_and_cover_of_nodes_that_make_headers_side_by_side_all_arrive() {
    let (alone, four, eight) = (busy::<Modelled>(), busy::<Lanes<4>>(), busy::<Lanes<8>>());
    let sum = |all: &[Counters], of: fn(&Counters) -> u64| all.iter().map(of).sum::<u64>();
    for side_by_side in [four, eight] {
        assert_eq!(sum(&side_by_side, |counters| counters.cover_missed), 0);
        let returned = [&alone, &side_by_side].map(|all| sum(all, |counters| counters.loops_returned));
        assert!(returned[0].abs_diff(returned[1]) < returned[0] / 4, "as many loops: {returned:?}");
    }
}

#[test]
fn messages_to_more_receivers_than_the_pool_has_places_all_arrive_beside_cover() {
    let mut config = usual();
    config.parameters.loop_mean = Some(2 * SECOND);
    config.parameters.payload_mean = Some(SECOND);
    let mut network = NetworkOf::<Lanes<8>>::new(layered(9), config, 37);
    for receiver in 7..15 {
        network.send(6, receiver, b"reading");
    }
    network.run(60 * SECOND);
    assert_eq!(network.ended.iter().filter(|ended| ended.reply.is_some()).count(), 8);
    assert!(network.nodes[6].counters().loops_returned > 10, "loops go on meanwhile");
}

#[test]
fn a_node_with_much_cover_fills_most_lanes() {
    let mut config = usual();
    config.parameters.loop_mean = Some(SECOND / 20);
    config.parameters.payload_mean = Some(SECOND / 50);
    let network = NetworkOf::<Lanes<8>>::new(mesh(7), config, 33);
    let tables = Tables { packets: 512, headers: 24, ..LARGE };
    let mut node = NetworkOf::<Lanes<8>>::node(3, 33, tables.lend());
    let epoch = Epoch(7);
    node.prepare_epoch(epoch, network.mix_key(3, epoch)).expect("the first");
    node.begin_epoch(network.now, epoch, Instant::NEVER, network.entries(epoch).into_iter(), config)
        .expect("a network");
    BATCHES.set((0, 0));
    let mut now = network.now;
    let mut packet = [0; PACKET_LEN];
    for _ in 0..3000 {
        while node.work(now) {}
        node.handle_timeout(now);
        while let Ok(Some(_)) = node.poll_transmit(now, &mut NoJournal, &mut packet) {}
        now = node.poll_timeout().expect("cover goes on").max(now);
    }
    let (batches, multiplications) = BATCHES.get();
    assert!(node.counters().loops_sent > 2000, "{:?}", node.counters());
    assert_eq!(node.counters().cover_missed, 0);
    println!("{multiplications} multiplications in {batches} batches of eight lanes");
    assert!(multiplications > 6 * batches, "{multiplications} in {batches}");
}

#[test]
fn a_single_header_that_is_missing_begins_no_work_until_few_are_left() {
    let (network, mut node) = covered::<Lanes<8>>(24, 34);
    while node.work(network.now) {}
    let built = node.counters().headers_built;
    // One loop leaves.
    let mut now = network.now;
    while node.counters().loops_sent + node.counters().drops_sent == 0 {
        now = node.poll_timeout().expect("cover is on");
        node.handle_timeout(now);
    }
    assert_eq!(node.counters().cover_missed, 0);
    assert!(!node.work(now));
    assert_eq!(node.counters().headers_built, built);
    // A message to somebody new cannot wait.
    node.send(now, id(9), b"reading").expect("room for a message");
    while node.work(now) {}
    assert!(node.counters().headers_built > built);
}

#[test]
fn headers_in_the_making_are_forgotten_with_their_epoch() {
    let mut config = usual();
    config.parameters.loop_mean = Some(SECOND);
    let mut network = NetworkOf::<Lanes<8>>::new(layered(2), config, 35);
    let now = network.now;
    assert!(network.nodes[6].work(now), "headers are begun");
    assert!(network.nodes[6].work(now));
    network.next_epoch(config);
    // Keys of the epoch before are no longer taken after the overlap.
    network.now = network.now + config.parameters.overlap + SECOND;
    let now = network.now;
    for node in &mut network.nodes {
        node.handle_timeout(now);
    }
    network.run(20 * SECOND);
    let counters = network.nodes[6].counters();
    assert!(counters.loops_sent > 10, "{counters:?}");
    assert!(counters.loops_sent - counters.loops_returned <= 4, "{counters:?}");
}

#[test]
fn a_broken_key_in_the_network_stops_the_headers_through_its_node_and_no_others() {
    let config = usual();
    let network = NetworkOf::<Lanes<8>>::new(mesh(9), config, 36);
    let mut node = NetworkOf::<Lanes<8>>::node(3, 36, LARGE.lend());
    let epoch = Epoch(7);
    node.prepare_epoch(epoch, network.mix_key(3, epoch)).expect("the first");
    let mut entries = network.entries(epoch);
    // The logarithm of the neutral element.
    entries[8].mix_key = PublicKey([0; 32]);
    node.begin_epoch(network.now, epoch, Instant::NEVER, entries.into_iter(), config).expect("a network");
    node.send(network.now, id(1), b"reading").expect("room for a message");
    let mut multiplications = 0;
    for _ in 0..200 {
        multiplications += node.work_counted(network.now).multiplications as u64;
    }
    let built = node.counters().headers_built;
    assert!((3..=6).contains(&built), "{built}");
    assert!(multiplications > 7 * built, "some were begun in vain: {multiplications}");
}
