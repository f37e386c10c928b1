//! What an observer learns from many messages together.

use super::{delivery, transfer};
use crate::adversary::dwell::{Dwell, Parts};
use crate::adversary::findings::Findings;
use crate::adversary::knowledge::{Known, Network};
use crate::adversary::sniffer::Transfer;
use crate::adversary::{Anonymity, Confessions, Delivery, conclude};
use crate::random::{self, Purpose, below};
use crate::scenario::{Adversary, Scenario};
use chacha20::ChaCha8Rng;
use rand_core::Rng as _;
use std::rc::Rc;
use std::time::Duration;

const SENDERS: u16 = 16;
const RECEIVERS: u16 = 12;
const MIX: u16 = SENDERS;
/// Seconds between two messages of a sender.
const EVERY: f64 = 16.0;
const DELAY: f64 = 4.0;

/// What happened in a network in which all go through one mix.
struct Crowd {
    network: Network,
    transfers: Vec<Transfer>,
    deliveries: Vec<Delivery>,
}

/// When senders send, and to whom.
#[derive(Clone, Copy)]
struct Ways {
    periodic: bool,
    fixed: bool,
    /// Whether each sends as much drop cover as messages, at random.
    cover: bool,
}

impl Ways {
    const FIXED: Self = Self { periodic: false, fixed: true, cover: false };
    const SHUFFLED: Self = Self { periodic: false, fixed: false, cover: false };
    const COVERED: Self = Self { periodic: false, fixed: false, cover: true };
    const PERIODIC: Self = Self { periodic: true, fixed: false, cover: true };
}

fn exponential(rng: &mut ChaCha8Rng, mean: f64) -> f64 {
    let uniform = ((rng.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
    -libm::log(uniform) * mean
}

impl Crowd {
    fn new(ways: Ways, each: u32, seed: u64) -> Self {
        let delay = Duration::from_secs_f64(DELAY);
        let parts =
            Parts { least: Duration::ZERO, busy: Duration::ZERO, delay, stalled: (0.0, Duration::ZERO) };
        let dwell = Rc::new(Dwell::new(parts));
        let rate = |some: bool| if some { 1.0 / EVERY } else { 0.0 };
        let node = |sends: bool, forwards, receives| Known {
            sends,
            forwards,
            receives,
            begins: [rate(sends), rate(sends && ways.cover), 0.0],
            dwell: Rc::clone(&dwell),
        };
        let mut nodes = vec![node(true, false, false); usize::from(SENDERS)];
        nodes.push(node(false, true, false));
        nodes.extend(vec![node(false, false, true); usize::from(RECEIVERS)]);
        let network = Network { nodes, hops: 2, vanish: 0.001 };
        let mut rng = random::stream(seed, 0, Purpose::Load);
        let (mut transfers, mut deliveries) = (Vec::new(), Vec::new());
        for sender in 0..SENDERS {
            let mut at = 1.0 + f64::from(below(&mut rng, 16_000)) / 1000.0;
            let mut cover = at;
            for _ in 0..each {
                let drawn = MIX + 1 + below(&mut rng, RECEIVERS.into()) as u16;
                let receiver = if ways.fixed { MIX + 1 + sender * 5 % RECEIVERS } else { drawn };
                let mut pass = |begin: f64, to| {
                    let leaves = begin + 0.002 + exponential(&mut rng, DELAY);
                    let [begin, on] = [begin, leaves].map(|seconds| (seconds * 1e6) as u64);
                    transfers.extend([transfer(sender, MIX, begin), transfer(MIX, to, on)]);
                    on
                };
                let on = pass(at, receiver);
                deliveries.push(delivery((MIX, receiver), sender, on));
                if ways.cover {
                    pass(cover, drawn);
                    cover += exponential(&mut rng, EVERY);
                }
                at += if ways.periodic { EVERY } else { exponential(&mut rng, EVERY) };
            }
        }
        transfers.sort_by_key(|transfer| transfer.begin);
        Self { network, transfers, deliveries }
    }

    fn observed(&self, fixed: bool) -> Anonymity {
        self.concluded(&scenario(fixed), &Adversary::default(), None)
    }

    fn concluded(
        &self,
        scenario: &Scenario,
        adversary: &Adversary,
        findings: Option<&mut Findings>,
    ) -> Anonymity {
        conclude(
            adversary,
            scenario,
            &self.network,
            (&self.transfers, &Confessions::default()),
            &self.deliveries,
            findings,
        )
    }
}

fn scenario(fixed: bool) -> Scenario {
    let receivers = if fixed { "fixed" } else { "random" };
    let text = format!(
        "version = 1\nname = \"\"\nprotocol = \"motes\"\nnodes = {{}}\nload.receivers = {receivers:?}\n\
         load.interval = \"16s\"\nload.spread = \"fixed\""
    );
    toml::from_str(&text).expect("a scenario")
}

#[test]
fn habits_of_all_messages_name_senders_that_one_message_does_not() {
    let found = Crowd::new(Ways::FIXED, 40, 1).observed(true);
    assert!(found.with_habits.receivers && !found.with_habits.phases, "{found:?}");
    let [alone, learned] = [found.round_trip, found.with_habits.round_trip];
    assert!(learned.first_guess > alone.first_guess + 0.25, "{found:?}");
    assert!(learned.entropy_bits < alone.entropy_bits / 2.0, "{found:?}");
    assert!(learned.delta_1 > alone.delta_1, "{found:?}");
    assert_eq!(found.receivers_named, Some(1.0), "{found:?}");
    let (half, most) = found.half_named_after.zip(found.most_named_after).expect("long enough");
    assert!(half < most && most < 36.0, "{found:?}");
}

/// Crowds that have neither habits nor phases.
fn nothing_is_learned(each: u32, seeds: impl Iterator<Item = u64>) {
    for seed in seeds {
        let found = Crowd::new(Ways::SHUFFLED, each, seed).observed(false);
        assert!(!found.with_habits.receivers && !found.with_habits.phases, "{seed}: {found:?}");
        assert_eq!(found.with_habits.round_trip, found.round_trip, "{seed}");
        assert_eq!(found.with_habits.there, found.there, "{seed}");
        assert_eq!(found.receivers_named, None);
    }
}

#[test]
fn where_receivers_are_shuffled_and_times_have_no_period_nothing_is_learned() {
    nothing_is_learned(40, 1..=4);
}

#[test]
#[ignore = "takes a minute: 180 crowds"]
fn chance_teaches_nothing_in_180_crowds() {
    for each in [40, 60, 225] {
        nothing_is_learned(each, 1..=60);
    }
}

#[test]
fn a_period_gives_senders_away() {
    let [periodic, random] =
        [Ways::PERIODIC, Ways::COVERED].map(|ways| Crowd::new(ways, 30, 1).observed(false));
    assert!(periodic.with_habits.phases && !random.with_habits.phases, "{periodic:?} {random:?}");
    let gain = |found: &Anonymity| found.with_habits.there.first_guess - found.there.first_guess;
    assert!(gain(&periodic) > 0.05, "{periodic:?}");
    assert!(gain(&random).abs() < 1e-9, "{random:?}");
}

#[test]
fn the_observer_is_right_as_often_as_it_says() {
    for ways in [Ways::FIXED, Ways::PERIODIC] {
        let found = Crowd::new(ways, 40, 2).observed(ways.fixed);
        assert!(found.with_habits.round_trip.calibration_error < 0.06, "{found:?}");
        let classes = found.with_habits.reliability;
        assert_eq!(classes.iter().map(|class| class.messages).sum::<u64>(), found.traced, "{found:?}");
        for class in classes.iter().filter(|class| class.messages >= 50) {
            let (stated, right) = class.stated.zip(class.right).expect("some");
            // Three standard errors, and what a model may be off besides.
            let error = 3.0 * (stated * (1.0 - stated) / class.messages as f64).sqrt() + 0.05;
            assert!((stated - right).abs() < error, "{class:?} of {found:?}");
        }
    }
}

/// Two senders who are alike may each have sent the message: what is seen of one is what would be
/// seen of the other. So all pairs of a true sender and another one are pairs of
/// worlds.
#[test]
fn the_privacy_profile_is_what_counting_pairs_gives() {
    let crowd = Crowd::new(Ways::SHUFFLED, 250, 3);
    let mut findings = Findings::default();
    let found = crowd.concluded(&scenario(false), &Adversary::default(), Some(&mut findings));
    let mut ratios = Vec::new();
    for (senders, sender) in findings.single_messages() {
        for other in (0..usize::from(SENDERS)).filter(|other| *other != usize::from(sender)) {
            let [p, q] = [senders[usize::from(sender)], senders[other]];
            ratios.push(libm::log(p) - libm::log(q));
        }
    }
    let share = |of: &dyn Fn(f64) -> f64| ratios.iter().map(|l| of(*l)).sum::<f64>() / ratios.len() as f64;
    let better = share(&|l| {
        if l > 0.0 {
            1.0
        } else if l < 0.0 {
            0.0
        } else {
            0.5
        }
    });
    let expected = f64::midpoint(1.0, found.round_trip.delta_0);
    assert!((better - expected).abs() < 0.01, "{better} for {expected}");
    for (epsilon, delta) in [(1.0, found.round_trip.delta_1), (2.0, found.round_trip.delta_2)] {
        let counted =
            share(&|l| f64::from(l > epsilon)) - libm::exp(epsilon) * share(&|l| f64::from(l < -epsilon));
        assert!((counted - delta).abs() < 0.02, "ε = {epsilon}: {counted} for {delta}");
    }
}

#[test]
fn joint_inference_finds_no_less_than_the_estimate() {
    let crowd = Crowd::new(Ways::FIXED, 30, 4);
    let adversary = Adversary { matching_sweeps: 50, ..Adversary::default() };
    let conclude = || crowd.concluded(&scenario(true), &adversary, None);
    let found = conclude();
    let matched = found.with_habits.matched.expect("asked for");
    assert!(matched.first_guess > found.with_habits.round_trip.first_guess - 0.02, "{found:?}");
    assert_eq!(found, conclude(), "one seed, one answer");
}

#[test]
fn the_truth_does_not_help_to_learn() {
    let crowd = Crowd::new(Ways::FIXED, 20, 5);
    let mut lies = Crowd { deliveries: crowd.deliveries.clone(), ..Crowd::new(Ways::FIXED, 20, 5) };
    for delivery in &mut lies.deliveries {
        delivery.sender = (delivery.sender + 1) % SENDERS;
    }
    let [truly, falsely] =
        [crowd.observed(true), lies.observed(true)].map(|found| found.with_habits.round_trip);
    assert_eq!(truly.entropy_bits.to_bits(), falsely.entropy_bits.to_bits());
    assert!(truly.first_guess > 0.5 && falsely.first_guess < 0.2, "{truly:?} {falsely:?}");
}
