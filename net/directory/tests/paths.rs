//! Paths through the network: distinct mixes, unbiased, and nobody beside itself.

mod network;

use std::collections::HashMap;

use motemix_directory::{PathError, Role, Topology, TopologyError};
use motemix_sphinx::NodeId;
use network::*;
use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

fn id(number: u16) -> NodeId {
    NodeId::new(number).unwrap()
}

/// Ends that are no mixes of these networks.
const OUTSIDE: [u16; 2] = [40, 41];

/// How often each path of that many mixes was drawn from the first of these ends to the second.
fn tally(layers: &[usize], mixes: usize, ends: [u16; 2], draws: u32) -> HashMap<Vec<u16>, u32> {
    let entries = entries(layers, 2);
    let topology = Topology::new(&entries).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let [from, to] = ends.map(id);
    let mut counts = HashMap::new();
    for _ in 0..draws {
        let mut out = vec![id(0); mixes];
        topology.draw_mixes(&mut rng, &mut out, from, to).unwrap();
        *counts.entry(out.iter().map(|id| id.get()).collect()).or_default() += 1;
    }
    counts
}

/// Pearson's statistic lies within five standard deviations of its mean (n − 1, variance 2(n − 1)).
fn assert_uniform<K>(counts: &HashMap<K, u32>, kinds: u32) {
    assert_eq!(counts.len(), kinds as usize);
    let draws: u32 = counts.values().sum();
    let expected = f64::from(draws) / f64::from(kinds);
    let statistic: f64 = counts.values().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum();
    let freedom = f64::from(kinds - 1);
    assert!((statistic - freedom).abs() < 5.0 * (2.0 * freedom).sqrt(), "{statistic} for {freedom}");
}

#[test]
fn one_mix_of_each_layer() {
    let counts = tally(&[2, 3, 4], 3, OUTSIDE, 24_000);
    assert_uniform(&counts, 2 * 3 * 4);
}

#[test]
fn fewer_mixes_than_layers() {
    // Equal layers, so all paths are equally likely: 3 choices of 2 layers, 4 of mixes.
    assert_uniform(&tally(&[2, 2, 2], 2, OUTSIDE, 12_000), 12);
    // Unequal ones: every choice of layers is equally likely, whatever their sizes.
    let layer = |mix: &u16| usize::from(*mix >= 1) + usize::from(*mix >= 6);
    let mut choices = HashMap::new();
    for (path, count) in tally(&[1, 5, 2], 2, OUTSIDE, 12_000) {
        *choices.entry(path.iter().map(layer).collect::<Vec<_>>()).or_default() += count;
    }
    assert_uniform(&choices, 3);
    assert!(choices.keys().all(|layers| layers.is_sorted()));
}

#[test]
fn more_mixes_than_layers() {
    // Four mixes in three layers of two: one layer gives both, in either order.
    let counts = tally(&[2, 2, 2], 4, OUTSIDE, 24_000);
    assert_uniform(&counts, 3 * 2 * 2 * 2);
    let layers = |path: &[u16]| path.iter().map(|mix| mix / 2).collect::<Vec<_>>();
    assert!(counts.keys().all(|path| layers(path).is_sorted()));
}

#[test]
fn one_layer_is_a_free_route() {
    // Ordered choices of 3 out of 6.
    assert_uniform(&tally(&[6], 3, OUTSIDE, 30_000), 6 * 5 * 4);
}

/// If the sender were never the last mix, each message would rule out the node that it came from.
#[test]
fn the_ends_are_mixes_like_any_other_but_nobody_sends_to_itself() {
    let counts = tally(&[6], 3, [4, 2], 30_000);
    // Less those that begin with 4 or end with 2, of which 4 do both, and 4 that do the contrary.
    assert_uniform(&counts, 6 * 5 * 4 - 2 * 5 * 4 + 4 - 4);
    for end in [4, 2] {
        assert!(counts.keys().any(|path| path[1] == end), "{end} is a mix in the middle");
    }
    assert!(counts.keys().any(|path| path[2] == 4) && counts.keys().any(|path| path[0] == 2));
    assert!(counts.keys().all(|path| path[0] != 4 && path[2] != 2));
    // A loop has one node at both ends.
    assert_uniform(&tally(&[5], 2, [1, 1], 20_000), 4 * 3);
    // A layer's share of the paths does not depend on who is in it.
    let counts = tally(&[3, 3, 3], 2, [0, 40], 30_000);
    let mut choices = HashMap::new();
    for (path, count) in &counts {
        *choices.entry(path.iter().map(|mix| mix / 3).collect::<Vec<_>>()).or_default() += *count;
    }
    assert_uniform(&choices, 3);
}

/// If the sender were the last mix a little more often than others, who counts would find it, however
/// long the delays are: among six nodes, half of the senders after some hundred messages.
#[test]
fn the_first_mix_and_the_last_are_anybody_else_each_as_often() {
    for (nodes, mixes) in [(4, 2), (6, 2), (6, 3), (12, 2)] {
        let paths = tally(&[nodes], mixes, [0, 1], 60_000);
        for (place, not) in [(0, 0), (mixes - 1, 1)] {
            let mut counts = HashMap::new();
            for (path, count) in &paths {
                *counts.entry(path[place]).or_default() += *count;
            }
            assert!(!counts.contains_key(&not));
            assert_uniform(&counts, nodes as u32 - 1);
        }
    }
    // Layers are drawn by themselves, so theirs are as often anyway.
    let paths = tally(&[3, 3], 2, [0, 4], 30_000);
    assert_uniform(&paths, 2 * 2);
    assert_uniform(&tally(&[3, 3], 2, [4, 0], 30_000), 3 * 3);
}

#[test]
fn too_few_mixes_are_refused_always_and_leave_the_path_alone() {
    let entries = entries(&[2, 1, 2], 1);
    let topology = Topology::new(&entries).unwrap();
    for seed in 0..20 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut out = [id(77)];
        // The drawn layer might well be another; the answer must not depend on luck.
        let refused = topology.draw_mixes(&mut rng, &mut out, id(2), id(40));
        assert_eq!(refused, Err(PathError::TooFewMixes { layer: 1, eligible: 0, needed: 1 }));
        assert_eq!(out, [id(77)]);
        let refused = topology.draw_mixes(&mut rng, &mut [id(0); 4], id(40), id(41));
        assert_eq!(refused, Err(PathError::TooFewMixes { layer: 1, eligible: 1, needed: 2 }));
    }
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    assert_eq!(topology.draw_mixes(&mut rng, &mut [], id(40), id(41)), Ok(()));
}

#[test]
fn a_network_without_mixes() {
    let entries = entries(&[], 2);
    let topology = Topology::new(&entries).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    assert_eq!(topology.draw_mixes(&mut rng, &mut [id(0)], id(40), id(41)), Err(PathError::NoMix));
    assert_eq!(topology.draw_node(&mut rng, &[id(0)]), Ok(id(1)));
    assert_eq!(topology.draw_node(&mut rng, &[id(0), id(1)]), Err(PathError::NoNode));
}

#[test]
fn drop_cover_goes_to_everybody_else() {
    let entries = entries(&[3, 2], 4);
    let topology = Topology::new(&entries).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut counts = HashMap::new();
    for _ in 0..8000 {
        *counts.entry(topology.draw_node(&mut rng, &[id(6)]).unwrap().get()).or_default() += 1;
    }
    assert_uniform(&counts, 8);
    assert!(!counts.contains_key(&6));
}

#[test]
fn way_lengths_are_uniform_and_independent() {
    let mut parameters = draft().parameters;
    (parameters.min_hops, parameters.max_hops) = (1, 3);
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let mut counts = HashMap::new();
    for _ in 0..9000 {
        let ways = parameters.draw_way_lengths(&mut rng);
        *counts.entry((ways.there, ways.back)).or_default() += 1;
    }
    assert_uniform(&counts, 9);
    assert!(counts.keys().all(|(there, back)| (1..=3).contains(there) && (1..=3).contains(back)));
}

#[test]
fn entries_that_are_no_topology() {
    let mut gap = entries(&[1, 1, 1], 0);
    gap[1].role = Role::Endpoint;
    assert_eq!(Topology::new(&gap).unwrap_err(), TopologyError::EmptyLayer { layer: 1 });
    gap[1].role = Role::Mix { layer: 255 };
    assert_eq!(Topology::new(&gap).unwrap_err(), TopologyError::TooMany);
    assert_eq!(Topology::new(&entries(&[16_384], 1)).unwrap_err(), TopologyError::TooMany);
}

proptest! {
    #[test]
    fn paths_are_distinct_and_ascending_and_nobody_sends_to_itself(
        layers in prop::collection::vec(1usize..6, 1..6),
        mixes in 0usize..12,
        ends in [0u16..30, 0u16..30],
        seed: u64,
    ) {
        let entries = entries(&layers, 3);
        let topology = Topology::new(&entries).unwrap();
        let [from, to] = ends.map(id);
        let mut out = vec![id(99); mixes];
        let drawn = topology.draw_mixes(&mut ChaCha8Rng::seed_from_u64(seed), &mut out, from, to);
        if drawn.is_ok() {
            let layer = |id: &NodeId| match topology.entry(*id).unwrap().role {
                Role::Mix { layer } => usize::from(layer),
                Role::Endpoint => panic!("an endpoint on a path"),
            };
            let passed: Vec<_> = out.iter().map(layer).collect();
            prop_assert!(passed.is_sorted());
            for number in 0..layers.len() {
                let share = passed.iter().filter(|layer| **layer == number).count();
                prop_assert!(share == mixes / layers.len() || share == mixes.div_ceil(layers.len()));
            }
            prop_assert!(out.first() != Some(&from) && out.last() != Some(&to));
            out.sort();
            out.dedup();
            prop_assert_eq!(out.len(), mixes);
        } else {
            prop_assert!(out.iter().all(|untouched| *untouched == id(99)));
        }
    }
}
