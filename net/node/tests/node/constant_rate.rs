//! What somebody who watches links counts at constant rate: the same, whether a node speaks or not.

#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]

use std::time::Duration;

use crate::curve::Modelled;
use crate::network::{NetworkOf, id, mesh, usual};
use crate::statistics::{mean, welch};
use motemix_directory::Role;
use motemix_node::{Config, DropReason, Window};

/// Hundreds of networks, so on a curve that takes no time.
type Network = NetworkOf<Modelled>;

const SECOND: Duration = Duration::from_secs(1);
/// On average, a node sends a packet so often.
const TICK: Duration = Duration::from_millis(100);
/// Each of the two samples has so many.
const RUNS: u64 = 40;
/// What by chance one comparison in 15,000 exceeds. Sixty are made.
const BY_CHANCE: f64 = 4.2;

/// Four mixes in two layers, then a sender, a receiver, and one who looks on.
fn roles() -> Vec<Role> {
    let mixes = (0..4).map(|mix| Role::Mix { layer: mix / 2 });
    mixes.chain([Role::Endpoint; 3]).collect()
}
const SENDER: usize = 4;
const RECEIVER: usize = 5;

fn constant_rate() -> Config {
    let mut config = usual();
    config.parameters.payload_mean = Some(TICK);
    config
}

/// Packets on each link and at each node in one run, ten seconds of it, with the names of what is
/// counted. A sender that speaks sends a message every 400 ms.
fn count(roles: &[Role], config: Config, (from, to): (usize, usize), speaks: bool, seed: u64) -> Vec<f64> {
    let nodes = roles.len();
    let mut network = Network::new(roles.to_vec(), config, seed);
    let mut begin = network.now;
    for step in 0..32_u8 {
        if speaks {
            // A sender that has no place for one more waits.
            let _ = network.nodes[from].send(network.now, id(to), &[step]);
        }
        network.run(Duration::from_millis(400));
        if step == 6 {
            begin = network.now;
        }
    }
    let mut counts = vec![0.0; nodes * nodes + 2 * nodes + 1];
    for ((sender, receiver, _), at) in network.datagrams.iter().zip(&network.sent_at) {
        let receiver = usize::from(receiver.get());
        if *at >= begin {
            counts[sender * nodes + receiver] += 1.0;
            counts[nodes * nodes + sender] += 1.0;
            counts[nodes * nodes + nodes + receiver] += 1.0;
            counts[nodes * nodes + 2 * nodes] += 1.0;
        }
    }
    counts
}

fn name(nodes: usize, at: usize) -> String {
    match at.checked_sub(nodes * nodes) {
        None => format!("link {} to {}", at / nodes, at % nodes),
        Some(node) if node < nodes => format!("departures of {node}"),
        Some(node) if node < 2 * nodes => format!("arrivals at {}", node - nodes),
        Some(_) => "all packets".into(),
    }
}

/// Everything that is counted, most suspicious first: statistic, name, mean idle, mean busy.
fn compare(roles: &[Role], config: Config, pair: (usize, usize), runs: u64) -> Vec<(f64, String, f64, f64)> {
    let sample = |speaks: bool| -> Vec<Vec<f64>> {
        let seeds = (1..=runs).map(|run| 2 * run + u64::from(speaks));
        seeds.map(|seed| count(roles, config, pair, speaks, seed)).collect()
    };
    let (idle, busy) = (sample(false), sample(true));
    let of = |runs: &[Vec<f64>], at: usize| runs.iter().map(|run| run[at]).collect::<Vec<_>>();
    let mut found: Vec<_> = (0..idle[0].len())
        .map(|at| {
            let (idle, busy) = (of(&idle, at), of(&busy, at));
            (welch(&idle, &busy), name(roles.len(), at), mean(&idle), mean(&busy))
        })
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    let all = |found: &&(f64, String, f64, f64)| found.1 == "all packets";
    for (statistic, name, idle, busy) in found.iter().take(5).chain(found.iter().find(all)) {
        println!("{name}: {idle:.1} packets idle, {busy:.1} busy, {statistic:.1} standard deviations");
    }
    found
}

#[test]
fn links_of_sender_mixes_and_receiver_carry_as_much_when_one_speaks_as_when_nobody_does() {
    let found = compare(&roles(), constant_rate(), (SENDER, RECEIVER), RUNS);
    for (statistic, name, idle, busy) in &found {
        assert!(*statistic < BY_CHANCE, "{name}: {idle} idle, {busy} busy, {statistic} deviations");
    }
    let at_receiver = found.iter().find(|(_, name, ..)| name == "arrivals at 5").expect("counted");
    assert!(at_receiver.2 > 80.0, "the stream runs");
}

/// The comparison would notice: drop cover in place of the stream of loops, as often, and messages
/// beside it.
#[test]
fn where_cover_goes_one_way_the_same_comparison_names_sender_and_receiver() {
    let mut config = usual();
    config.parameters.drop_mean = Some(TICK);
    let found = compare(&roles(), config, (SENDER, RECEIVER), RUNS / 4);
    let leaks: Vec<_> = found.iter().filter(|found| found.0 > BY_CHANCE).map(|found| &found.1).collect();
    for expected in ["arrivals at 4", "departures of 4", "arrivals at 5", "departures of 5"] {
        assert!(leaks.iter().any(|name| *name == expected), "{expected} is not among {leaks:?}");
    }
}

/// Where all nodes are mixes, the ends of a way are mixes like any other: the link between the two
/// carries as much as any, too.
#[test]
fn in_a_mesh_no_link_tells_anything() {
    let found = compare(&mesh(7), constant_rate(), (SENDER, RECEIVER), RUNS / 2);
    for (statistic, name, idle, busy) in &found {
        assert!(*statistic < BY_CHANCE, "{name}: {idle} idle, {busy} busy, {statistic} deviations");
    }
}

#[test]
fn loops_come_back_and_are_counted() {
    let mut network = Network::new(roles(), constant_rate(), 3);
    network.run(20 * SECOND);
    let ticks = 200.0 * network.nodes.len() as f64;
    let headers: u64 = network.nodes.iter().map(|node| node.counters().headers_built).sum();
    let (sent, built) = (network.datagrams.len() as f64 / ticks, headers as f64 / ticks);
    println!("each tick costs {sent:.2} transmissions and {built:.2} headers");
    for node in &network.nodes {
        let counters = node.counters();
        assert!((50..160).contains(&counters.loops_sent), "half of 200 ticks: {counters:?}");
        assert!(counters.loops_sent - counters.loops_returned < 25, "{counters:?}");
        assert_eq!(counters.dropped(DropReason::UnknownHeader), 0);
        assert_eq!(counters.cover_missed, 0);
    }
}

/// Ticks say how many packets leave, and a message leaves in place of a loop. So a window that held
/// it back would spare the channel nothing.
#[test]
fn ticks_alone_limit_how_many_messages_are_under_way() {
    const MESSAGES: u64 = 9;
    let mut config = constant_rate().with_window(Window::SHARED_CHANNEL);
    // Nothing comes back, and nothing is tried again.
    config.parameters.hop_allowance = 100 * SECOND;
    let mut network = Network::new(mesh(7), config, 6);
    network.lose(1.1);
    for message in 0..MESSAGES {
        network.send(SENDER, RECEIVER, &[message as u8]);
    }
    // As many ticks as messages, and as many again: a header may not be ready for a tick.
    network.run(2 * MESSAGES as u32 * TICK);
    let counters = *network.nodes[SENDER].counters();
    assert_eq!(counters.transmitted - counters.loops_sent, MESSAGES, "{counters:?}");
    assert!(counters.transmitted < 4 * MESSAGES, "and no faster than ticks: {counters:?}");
    assert_eq!(counters.retransmitted, 0);
}

/// Were own messages first, two nodes with much to say would not answer each other.
#[test]
fn nodes_that_all_have_much_to_say_answer_each_other() {
    let mut config = constant_rate();
    // Receivers forget sooner.
    config.parameters.transmissions = 3;
    let mut network = Network::new(mesh(7), config, 4);
    for step in 0..300_u32 {
        for from in 0..7 {
            let to = (from + 1 + step as usize % 6) % 7;
            // As many as there is room for.
            let _ = network.nodes[from].send(network.now, id(to), &step.to_be_bytes());
        }
        network.run(SECOND / 10);
    }
    for node in &network.nodes {
        let counters = node.counters();
        println!("{} messages acknowledged in 30 s, {counters:?}", counters.acknowledged);
        assert!(counters.acknowledged > 100, "half of 300 ticks are for own messages: {counters:?}");
        assert!(counters.retransmitted < counters.acknowledged / 10, "and hardly any is tried twice");
    }
}

/// Were turned packets always first, strangers could silence a node.
#[test]
fn who_gets_more_messages_than_it_has_ticks_still_sends_its_own_and_no_faster() {
    let mut network = Network::new(roles(), constant_rate(), 5);
    for step in 0..300_u32 {
        for from in [0, 1, 2, 3, 4, 6] {
            let _ = network.nodes[from].send(network.now, id(RECEIVER), &step.to_be_bytes());
        }
        if step % 5 == 0 {
            let _ = network.nodes[RECEIVER].send(network.now, id(6), &step.to_be_bytes());
        }
        network.run(SECOND / 10);
    }
    let seconds = 30.0;
    let counters = *network.nodes[RECEIVER].counters();
    let arrived = network.datagrams.iter().filter(|(_, to, _)| *to == id(RECEIVER)).count();
    let left = network.datagrams.iter().filter(|(from, ..)| *from == RECEIVER).count();
    println!(
        "{:.1} packets a second arrive, {:.1} leave, {:.1} are surplus; {} of {} own messages acknowledged",
        arrived as f64 / seconds,
        left as f64 / seconds,
        counters.dropped(DropReason::NoTick) as f64 / seconds,
        counters.acknowledged,
        counters.sent,
    );
    assert!(left < 360, "ten ticks a second, and no more: {left}");
    assert!(counters.dropped(DropReason::NoTick) > 0, "the surplus is counted");
    assert!(counters.acknowledged > 20, "one tick in four is its own: {counters:?}");
}
