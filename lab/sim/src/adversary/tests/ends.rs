//! Chains that are added up link by link are the chains that are gone through one by one.

use super::super::evidence::{Evidence, Way, delivered};
use super::super::flow::{Flow, HOPS};
use super::super::pool::{follow, origins};
use super::*;

/// Nodes that all do everything, and hide packets for a second on average.
fn mesh(nodes: u16, every: f64) -> Network {
    let delay = Duration::from_secs(1);
    let parts = Parts { least: Duration::ZERO, busy: Duration::ZERO, delay, stalled: (0.0, Duration::ZERO) };
    let dwell = Rc::new(Dwell::new(parts));
    let begins = [0.5 / every, 0.0, 0.5 / every];
    let node = || Known { sends: true, forwards: true, receives: true, begins, dwell: Rc::clone(&dwell) };
    Network { nodes: (0..nodes).map(|_| node()).collect(), hops: HOPS, vanish: 0.01 }
}

/// Round trips through that mesh: what was on the air, and what was delivered.
fn journeys(nodes: u16, every: f64, packets: usize) -> (Vec<Transfer>, Vec<Delivery>) {
    let mut rng = random::stream(5, 0, Purpose::Load);
    let mut uniform = || ((rng.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
    let (mut transfers, mut deliveries, mut begins) = (Vec::new(), Vec::new(), 10.0);
    for _ in 0..packets {
        begins -= libm::log(uniform()) * every / f64::from(nodes);
        let mut path: Vec<u16> = Vec::new();
        // The sender, two mixes, the receiver, two mixes: nobody sends to itself, or writes to itself.
        while path.len() < 2 * HOPS {
            let drawn = (uniform() * f64::from(nodes)) as u16;
            let writes_to_itself = path.len() == HOPS && drawn == path[0];
            let comes_home_from_itself = path.len() + 1 == 2 * HOPS && drawn == path[0];
            if path.last() != Some(&drawn) && !writes_to_itself && !comes_home_from_itself {
                path.push(drawn);
            }
        }
        path.push(path[0]);
        let mut at = begins;
        for (hop, ends) in path.windows(2).enumerate() {
            let begin = (at * 1e6) as u64;
            transfers.push(transfer(ends[0], ends[1], begin));
            if hop + 1 == HOPS {
                deliveries.push(delivery((ends[0], ends[1]), path[0], begin));
            }
            at += 0.001 - libm::log(uniform());
        }
    }
    transfers.sort_by_key(|transfer| transfer.begin);
    (transfers, deliveries)
}

#[test]
fn chains_added_up_link_by_link_say_what_all_chains_say() {
    const NODES: u16 = 9;
    let (network, (transfers, deliveries)) = (mesh(NODES, 4.0), journeys(NODES, 4.0, 300));
    let (nobody, delivered) = (Confessions::default(), delivered(&transfers, &deliveries, 1));
    let kept = origins(&network, &transfers, &nobody);
    let mut traffic = Traffic::new(&network, &transfers, &kept);
    // All of them, however improbable: they are all added up.
    traffic.negligible = 0.0;
    let by_chains = Evidence::of(&traffic, &delivered);
    let brought = delivered.iter().filter_map(|(transfer, _)| *transfer);
    let mut flow = Flow::new(&network, &transfers, brought);
    let taken = follow(&network, &transfers, &nobody, &mut flow);
    assert!(taken.iter().all(|origin| origin.causes.is_empty()), "they are not there twice");
    let by_ends = Evidence::of_ends(&flow.into_ends(), &delivered);
    assert_eq!(by_chains.heard.len(), by_ends.heard.len());
    assert!(by_ends.heard.len() > 290, "{}", by_ends.heard.len());
    let (mut there, mut back, mut right) = (0.0_f64, 0.0_f64, 0);
    for (chains, ends) in by_chains.heard.iter().zip(&by_ends.heard) {
        assert_eq!((chains.transfer, chains.sender), (ends.transfer, ends.sender));
        let differ = |way| {
            let [a, b] = [chains, ends].map(|heard| heard.senders(way, usize::from(NODES)));
            a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
        };
        there = there.max(differ(Way::There));
        back = back.max(differ(Way::RoundTrip));
        let senders = ends.senders(Way::RoundTrip, usize::from(NODES));
        let first = (0_u16..).zip(&senders).max_by(|a, b| a.1.total_cmp(b.1));
        right += usize::from(first.is_some_and(|(first, _)| first == ends.sender));
    }
    println!("{there:.1e} there, {back:.1e} for round trips, {right} first guesses right");
    // What single precision leaves.
    assert!(there < 1e-4 && back < 1e-4, "{there}, {back}");
    assert!(right * 4 > by_ends.heard.len(), "far more than by chance: {right}");
}
