//! The order in which a caller interleaves the calls never matters for safety.

use std::time::Duration;

use motemix_crypto::{Curve, Portable};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use crate::network::{NetworkOf, layered, usual};
use crate::side_by_side::Lanes;

#[derive(Clone, Debug)]
enum Step {
    Send {
        from: u8,
        to: u8,
        len: u8,
    },
    /// Bring a datagram that was sent before to any node, changed at one byte or not.
    Replay {
        which: u16,
        node: u8,
        change: Option<(u16, u8)>,
    },
    Junk {
        node: u8,
        len: u16,
    },
    Run {
        millis: u16,
    },
    NextEpoch,
    Loss {
        percent: u8,
    },
    Cover {
        node: u8,
        on: bool,
    },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (any::<u8>(), any::<u8>(), 0..110_u8).prop_map(|(from, to, len)| Step::Send { from, to, len }),
        3 => (any::<u16>(), any::<u8>(), any::<Option<(u16, u8)>>())
            .prop_map(|(which, node, change)| Step::Replay { which, node, change }),
        1 => (any::<u8>(), 0..600_u16).prop_map(|(node, len)| Step::Junk { node, len }),
        4 => (0..3000_u16).prop_map(|millis| Step::Run { millis }),
        1 => Just(Step::NextEpoch),
        1 => (0..100_u8).prop_map(|percent| Step::Loss { percent }),
        1 => (any::<u8>(), any::<bool>()).prop_map(|(node, on)| Step::Cover { node, on }),
    ]
}

/// All steps, and what has to hold after them.
fn all_end_well<C: Curve + 'static>(steps: Vec<Step>, seed: u64) -> Result<(), TestCaseError> {
    let mut config = usual();
    config.parameters.loop_mean = Some(Duration::from_secs(4));
    config.parameters.drop_mean = seed.is_multiple_of(2).then_some(Duration::from_secs(3));
    config.parameters.payload_mean = seed.is_multiple_of(3).then_some(Duration::from_millis(300));
    let mut network = NetworkOf::<C>::new(layered(3), config, seed);
    network.in_batches = seed % 5 < 2;
    if seed.is_multiple_of(5) {
        network.arrivals_every = Duration::from_millis(10);
    }
    let nodes = network.nodes.len();
    let mut sent = Vec::new();
    for (number, step) in steps.into_iter().enumerate() {
        match step {
            Step::Send { from, to, len } => {
                let from = usize::from(from) % nodes;
                // Distinct content, so that a message handed over twice is seen.
                let data = [&(number as u64).to_be_bytes()[..], &vec![len; usize::from(len)]].concat();
                let to = crate::network::id(usize::from(to) % (nodes + 1));
                if let Ok(message) = network.nodes[from].send(network.now, to, &data) {
                    sent.push((from, message));
                }
            }
            Step::Replay { which, node, change } => {
                if let Some((_, _, datagram)) =
                    network.datagrams.get(usize::from(which) % (network.datagrams.len() + 1))
                {
                    let mut datagram = datagram.clone();
                    if let Some((at, with)) = change {
                        let at = usize::from(at) % datagram.len();
                        datagram[at] ^= with;
                    }
                    let _ = network.arrive(usize::from(node) % nodes, &datagram);
                }
            }
            Step::Junk { node, len } => {
                prop_assert!(
                    network.arrive(usize::from(node) % nodes, &vec![len as u8; usize::from(len)]).is_err()
                );
            }
            Step::Run { millis } => network.run(Duration::from_millis(u64::from(millis))),
            Step::NextEpoch => network.next_epoch(config),
            Step::Loss { percent } => network.lose(f64::from(percent) / 100.0),
            Step::Cover { node, on } => {
                let now = network.now;
                network.nodes[usize::from(node) % nodes].set_cover(now, on);
            }
        }
    }
    for node in &mut network.nodes {
        node.set_cover(network.now, false);
    }
    // In slices: where cover goes on, time costs thousands of packets.
    let most = network.now + Duration::from_mins(20);
    while network.nodes.iter().any(|node| node.in_flight() > 0) && network.now < most {
        network.run(Duration::from_secs(5));
    }
    // What was still under way arrives too.
    network.run(Duration::from_secs(10));
    let mut ended: Vec<_> = network.ended.iter().map(|ended| (ended.at, ended.message)).collect();
    ended.sort_unstable();
    sent.sort_unstable();
    prop_assert_eq!(ended, sent, "every accepted message ends, once");
    let mut received: Vec<_> = network.received.iter().map(|received| &received.data).collect();
    let all = received.len();
    received.sort_unstable();
    received.dedup();
    prop_assert_eq!(received.len(), all, "no message is handed over twice");
    prop_assert!(network.nodes.iter().all(|node| node.in_flight() == 0));
    if config.parameters.payload_mean.is_none() {
        network.run(Duration::from_mins(5));
        let waiting: Vec<_> = network.nodes.iter().filter_map(motemix_node::Node::poll_timeout).collect();
        prop_assert_eq!(waiting, [], "nothing stays in a queue or a table when nothing goes on");
    }
    Ok(())
}

proptest! {
    // Other cases in every run; a failing one is printed, and shrunk within bounds.
    #![proptest_config(ProptestConfig { cases: 32, max_shrink_iters: 200, failure_persistence: None,
        ..ProptestConfig::default() })]

    #[test]
    fn every_message_ends_once_and_is_handed_over_once_at_most(
        steps in prop::collection::vec(step(), 1..40), seed in 0..u64::from(u32::MAX),
    ) {
        all_end_well::<Portable>(steps, seed)?;
    }

    #[test]
    fn every_message_ends_once_where_headers_are_made_side_by_side_too(
        steps in prop::collection::vec(step(), 1..40), seed in 0..u64::from(u32::MAX),
    ) {
        all_end_well::<Lanes<8>>(steps, seed)?;
    }
}
