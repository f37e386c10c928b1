//! The instrument, checked where the answer is known without it.

mod ends;
mod learning;

use super::Confessions;
use super::dwell::{Dwell, Parts};
use super::knowledge::{Known, Network};
use super::measure::entropy;
use super::pool::origins;
use super::sniffer::Transfer;
use super::trace::Traffic;
use super::{Delivery, TakenIn, conclude, links};
use crate::random::{self, Purpose};
use crate::scenario::{Adversary, Scenario};
use motemix_air::Instant;
use rand_core::Rng as _;
use std::rc::Rc;
use std::time::Duration;

const MILLI: u64 = 1000;

/// `senders` nodes that only send, then one that only forwards, then one that only receives: two
/// hops each way.
fn funnel(senders: u16, every: Duration, least: Duration, delay: Duration) -> Network {
    let dwell =
        Rc::new(Dwell::new(Parts { least, busy: Duration::ZERO, delay, stalled: (0.0, Duration::ZERO) }));
    let node = |sends: bool, forwards, receives| Known {
        sends,
        forwards,
        receives,
        begins: [if sends { 1.0 / every.as_secs_f64() } else { 0.0 }, 0.0, 0.0],
        dwell: Rc::clone(&dwell),
    };
    let mut nodes = vec![node(true, false, false); usize::from(senders)];
    nodes.extend([node(false, true, false), node(false, false, true)]);
    Network { nodes, hops: 2, vanish: 0.001 }
}

fn transfer(from: u16, to: u16, begin: u64) -> Transfer {
    let at = Instant::from_micros(begin);
    Transfer { from, to, begin: at, end: Some(at + Duration::from_millis(1)), fingerprint: Some(begin) }
}

/// A message that a transfer of [`transfer`] with this begin brought.
fn delivery((from, receiver): (u16, u16), sender: u16, begin: u64) -> Delivery {
    let at = Instant::from_micros(begin) + Duration::from_millis(1);
    Delivery { receiver, sender, packet: TakenIn { from, at, fingerprint: begin } }
}

/// Each sender's packet reaches the mix at its time, and leaves at its time.
fn through_the_mix(network: &Network, stays: &[(u16, u64, u64)]) -> Vec<Transfer> {
    let mix = network.nodes.len() as u16 - 2;
    let there = stays.iter().map(|(sender, arrives, _)| transfer(*sender, mix, arrives - MILLI));
    let on = stays.iter().map(|(_, _, leaves)| transfer(mix, mix + 1, *leaves));
    let mut transfers: Vec<Transfer> = there.chain(on).collect();
    transfers.sort_by_key(|transfer| transfer.begin);
    transfers
}

/// Distributions over senders of what the mix sent on, in the order of its leaving.
fn distributions(network: &Network, transfers: &[Transfer]) -> Vec<Vec<f64>> {
    let origins = origins(network, transfers, &Confessions::default());
    let traffic = Traffic::new(network, transfers, &origins);
    let receiver = network.nodes.len() as u16 - 1;
    let arrivals = (0..).zip(transfers).filter(|(_, transfer)| transfer.to == receiver);
    let senders = |(number, _)| {
        let mut senders = vec![0.0; network.nodes.len()];
        for start in traffic.starts(number) {
            senders[usize::from(start.sender)] += f64::from(start.weight);
        }
        senders
    };
    arrivals.map(senders).collect()
}

#[test]
fn one_after_the_other_without_delay_is_no_anonymity() {
    let least = Duration::from_millis(100);
    let network = funnel(3, Duration::from_secs(10), least, Duration::ZERO);
    let second = 1_000_000;
    let stays: Vec<_> = (1..=30).map(|at| (at as u16 % 3, at * second, at * second + 100_000)).collect();
    for (at, senders) in distributions(&network, &through_the_mix(&network, &stays)).iter().enumerate() {
        assert!(entropy(senders).abs() < 1e-12, "{senders:?}");
        assert!((senders[(at + 1) % 3] - 1.0).abs() < 1e-9, "{at}: {senders:?}");
    }
}

#[test]
fn two_at_the_same_moment_are_one_bit_for_both() {
    let network = funnel(4, Duration::from_secs(10), Duration::ZERO, Duration::from_secs(1));
    let stays = [(1, 5_000_000, 5_700_000), (2, 5_000_000, 6_900_000)];
    for senders in distributions(&network, &through_the_mix(&network, &stays)) {
        assert!((entropy(&senders) - 1.0).abs() < 1e-3, "{senders:?}");
        assert!((senders[1] - senders[2]).abs() < 1e-6, "{senders:?}");
    }
}

/// Arrivals and departures of an M/M/∞ queue whose customers all have names of their own.
fn queue(customers: u64, apart: f64, stay: f64) -> Vec<(u16, u64, u64)> {
    let mut rng = random::stream(7, 0, Purpose::Load);
    let mut exponential = |mean: f64| {
        let uniform = ((rng.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        (-libm::log(uniform) * mean * 1e6) as u64
    };
    let mut arrives = 10_000_000;
    let customer = |name| {
        arrives += exponential(apart) + 1;
        (name as u16, arrives, arrives + exponential(stay) + 1)
    };
    (0..customers).map(customer).collect()
}

/// Mean entropy of who leaves, by the recursion for a pool: of those inside, each is as probable.
fn pool_entropy(stays: &[(u16, u64, u64)]) -> f64 {
    let arrivals = stays.iter().map(|(name, arrives, _)| (*arrives, Some(*name)));
    let mut events: Vec<_> = arrivals.chain(stays.iter().map(|(_, _, leaves)| (*leaves, None))).collect();
    events.sort_by_key(|(at, _)| *at);
    let (mut held, mut inside, mut sum) = (vec![0.0; stays.len()], 0.0, 0.0);
    for (_, arrived) in events {
        if let Some(name) = arrived {
            held[usize::from(name)] = 1.0;
            inside += 1.0;
        } else {
            let leaves: Vec<f64> = held.iter().map(|held| held / inside).collect();
            sum -= leaves.iter().filter(|p| **p > 0.0).map(|p| p * p.log2()).sum::<f64>();
            held.iter_mut().zip(leaves).for_each(|(held, leaves)| *held -= leaves);
            inside -= 1.0;
        }
    }
    sum / stays.len() as f64
}

#[test]
fn one_mix_is_the_pool_of_the_literature() {
    for (apart, stay) in [(1.0, 0.5), (1.0, 2.0), (1.0, 8.0)] {
        let stays = queue(600, apart, stay);
        let every = Duration::from_secs_f64(apart * stays.len() as f64);
        let network = funnel(stays.len() as u16, every, Duration::ZERO, Duration::from_secs_f64(stay));
        let all = distributions(&network, &through_the_mix(&network, &stays));
        let found = all.iter().map(|senders| entropy(senders)).sum::<f64>() / all.len() as f64;
        let expected = pool_entropy(&stays);
        assert!((found / expected - 1.0).abs() < 0.04, "{stay} s: {found} bits, by the recursion {expected}");
    }
}

/// A scenario for what the observer needs of it.
fn fixed_receivers() -> Scenario {
    let text = "version = 1\nname = \"\"\nprotocol = \"motes\"\nnodes = {}\nload.receivers = \"fixed\"";
    toml::from_str(text).expect("a scenario")
}

#[test]
fn the_truth_scores_and_does_not_help() {
    let stays = queue(400, 1.0, 2.0);
    let network = funnel(400, Duration::from_secs(400), Duration::ZERO, Duration::from_secs(2));
    let transfers = through_the_mix(&network, &stays);
    let truth: Vec<_> =
        stays.iter().map(|(sender, _, leaves)| delivery((400, 401), *sender, *leaves)).collect();
    // The same transfers, said to be others' messages.
    let lies: Vec<_> = truth
        .iter()
        .map(|delivery| Delivery { sender: (delivery.sender + 200) % 400, ..*delivery })
        .collect();
    let scenario = fixed_receivers();
    let nobody = Confessions::default();
    let judge = |deliveries| {
        conclude(&Adversary::default(), &scenario, &network, (&transfers, &nobody), deliveries, None)
    };
    let (truly, falsely) = (judge(&truth[..]), judge(&lies[..]));
    assert_eq!(truly.there.entropy_bits.to_bits(), falsely.there.entropy_bits.to_bits());
    assert!(truly.there.first_guess > 0.25, "{truly:?}");
    assert!(falsely.there.first_guess < 0.02, "{falsely:?}");
    assert!((truly.there.true_sender / truly.there.true_sender_expected - 1.0).abs() < 0.1, "{truly:?}");
}

#[test]
fn messages_are_found_by_link_and_time_where_contents_are_hidden() {
    let stays = queue(400, 1.0, 2.0);
    let network = funnel(400, Duration::from_secs(400), Duration::ZERO, Duration::from_secs(2));
    let mut transfers = through_the_mix(&network, &stays);
    let deliveries: Vec<_> =
        stays.iter().map(|(sender, _, leaves)| delivery((400, 401), *sender, *leaves)).collect();
    let judge = |transfers: &[Transfer], deliveries: &[Delivery]| {
        conclude(
            &Adversary::default(),
            &fixed_receivers(),
            &network,
            (transfers, &Confessions::default()),
            deliveries,
            None,
        )
    };
    let open = judge(&transfers, &deliveries);
    for transfer in &mut transfers {
        transfer.fingerprint = None;
    }
    assert_eq!(judge(&transfers, &deliveries), open);
    // A receiver that was told so before anything was complete was told by another way.
    let mut early = deliveries;
    for delivery in &mut early {
        delivery.packet.at = Instant::default();
    }
    assert_eq!((judge(&transfers, &early).traced, open.traced), (0, 400));
}

#[test]
fn a_sample_is_as_large_as_it_says() {
    let stays = queue(400, 1.0, 2.0);
    let network = funnel(400, Duration::from_secs(400), Duration::ZERO, Duration::from_secs(2));
    let transfers = through_the_mix(&network, &stays);
    let deliveries: Vec<_> =
        stays.iter().map(|(sender, _, leaves)| delivery((400, 401), *sender, *leaves)).collect();
    let sample = Adversary { sample: 10.try_into().expect("not zero"), ..Adversary::default() };
    let nobody = Confessions::default();
    let judged = conclude(&sample, &fixed_receivers(), &network, (&transfers, &nobody), &deliveries, None);
    assert_eq!((judged.traced, judged.untraced), (40, 0));
}

#[test]
fn who_cannot_have_been_ready_did_not_leave() {
    let least = Duration::from_millis(100);
    let network = funnel(2, Duration::from_secs(10), least, Duration::from_secs(1));
    // The second comes 50 ms before the first leaves, in half the time that it takes.
    let stays = [(0, 5_000_000, 5_150_000), (1, 5_100_000, 5_900_000)];
    let all = distributions(&network, &through_the_mix(&network, &stays));
    for (at, senders) in all.iter().enumerate() {
        assert!((senders[at] - 1.0).abs() < 1e-3, "{at}: {senders:?}");
    }
}

/// An hour of messages and an hour of quiet, with ticks every ten seconds on average.
fn constant_rate() -> Scenario {
    let text = "version = 1\nname = \"\"\nprotocol = \"motes\"\nnodes = {}\nmotes.payload_mean = \"10s\"\n\
        run.send_for = \"1h\"\nrun.cool_down = \"2h\"";
    toml::from_str(text).expect("a scenario")
}

/// Packets between four motes for three hours, every five seconds on average; and others, of the
/// first hour alone, on one link.
fn between_four(apart_on_one_link: Option<f64>) -> Vec<Transfer> {
    let mut rng = random::stream(11, 0, Purpose::Load);
    let mut transfers = Vec::new();
    let mut add = |apart: f64, last: f64, link: Option<(u16, u16)>| {
        let mut at = 0.0;
        while at < last {
            let uniform = ((rng.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
            at -= libm::log(uniform) * apart;
            let (from, step) = ((rng.next_u32() % 4) as u16, (rng.next_u32() % 3) as u16 + 1);
            let (from, to) = link.unwrap_or((from, (from + step) % 4));
            transfers.push(transfer(from, to, (at * 1e6) as u64));
        }
    };
    add(1.25, 3.0 * 3600.0, None);
    if let Some(apart) = apart_on_one_link {
        add(apart, 3600.0, Some((2, 3)));
    }
    transfers
}

#[test]
fn who_is_as_busy_as_idle_is_not_told_by_counting() {
    let counted = links::count(&constant_rate(), &between_four(None)).expect("it has a payload stream");
    assert_eq!((counted.motes_told, counted.links_told), (0.0, 0.0), "{counted:?}");
    for rate in [counted.arrivals_busy_per_s, counted.arrivals_idle_per_s, counted.departures_idle_per_s] {
        assert!((rate - 0.2).abs() < 0.02, "{counted:?}");
    }
}

#[test]
fn one_link_that_carries_more_while_somebody_speaks_is_told() {
    // A packet each twenty seconds, as many as the link carries anyway.
    let counted = links::count(&constant_rate(), &between_four(Some(15.0))).expect("it has a payload stream");
    assert!((counted.links_told - 1.0 / 12.0).abs() < 1e-9, "one of twelve links: {counted:?}");
    assert!((counted.motes_told - 0.5).abs() < 1e-9, "its two ends: {counted:?}");
}

#[test]
fn without_a_payload_stream_or_quiet_there_is_nothing_to_compare() {
    let mut scenario = constant_rate();
    scenario.run.cool_down = crate::scenario::Time(Duration::ZERO);
    assert_eq!(links::count(&scenario, &between_four(None)), None);
    assert_eq!(links::count(&fixed_receivers(), &between_four(None)), None);
}
