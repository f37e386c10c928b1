//! The shipping code on the channel of the thesis: what it delivers, at what price, and what each
//! remedy contributes.

#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]

use motemix_sim::reproduce::{Case, remedies};
use motemix_sim::scenario::{Scenario, Spread, Time};
use motemix_sim::{Outcome, run};
use std::path::Path;

/// A scenario of this repository, for ten minutes instead of an hour.
fn scenario(name: &str) -> Scenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(name);
    let mut scenario: Scenario =
        toml::from_str(&std::fs::read_to_string(path).expect("a file")).expect("a scenario");
    scenario.run.send_for = Time::seconds(10 * 60);
    scenario
}

fn mesh(nodes: u16, interval: u64) -> Outcome {
    mesh_at(Spread::Exponential, nodes, interval)
}

fn mesh_at(spread: Spread, nodes: u16, interval: u64) -> Outcome {
    let mut scenario = scenario("mesh-64.toml");
    scenario.load.spread = spread;
    scenario.nodes.get_mut("mote").expect("the group").count = nodes;
    scenario.load.interval = Time::seconds(interval);
    run(&scenario).expect("a network")
}

fn share(outcome: &Outcome) -> f64 {
    outcome.acknowledged as f64 / outcome.sent as f64
}

#[test]
fn at_60_and_64_nodes_practically_every_message_is_acknowledged() {
    for (nodes, spread) in
        [60, 64].into_iter().flat_map(|nodes| [(nodes, Spread::Fixed), (nodes, Spread::Exponential)])
    {
        let outcome = mesh_at(spread, nodes, 16);
        println!(
            "{nodes} nodes: {} of {} acknowledged, {} refused",
            outcome.acknowledged, outcome.sent, outcome.refused
        );
        if spread == Spread::Fixed {
            assert_eq!(outcome.refused, 0);
        }
        // At random times, a node is now and then given more at once than it has places for.
        assert!(outcome.refused * 500 <= outcome.sent + outcome.refused);
        assert!(share(&outcome) >= 0.998, "{outcome:#?}");
    }
}

#[test]
fn a_message_takes_at_most_a_quarter_of_the_air_that_the_thesis_needed() {
    let mut thesis = scenario("thesis-mesh.toml");
    thesis.nodes.get_mut("mote").expect("the group").count = 64;
    let thesis = run(&thesis).expect("a network").airtime_s_per_ack;
    let ours = mesh(64, 16).airtime_s_per_ack;
    println!("{ours:.3} s of air for an acknowledged message, the thesis {thesis:.3}");
    assert!(ours * 4.0 <= thesis);
}

/// What is too much is refused by the node that is given it, so what the channel carries does not
/// fall.
#[test]
fn up_to_four_times_the_load_the_channel_carries_what_it_can() {
    let outcomes = [16, 12, 8, 5, 4].map(|interval| mesh(64, interval));
    for outcome in &outcomes {
        println!(
            "{} offered, {} accepted, {} acknowledged, {} discarded",
            outcome.sent + outcome.refused,
            outcome.sent,
            outcome.acknowledged,
            outcome.discarded
        );
        assert!(share(outcome) >= 0.98, "what was accepted arrives");
    }
    for pair in outcomes.windows(2) {
        assert!(pair[1].acknowledged as f64 >= 0.95 * pair[0].acknowledged as f64, "no collapse");
    }
}

fn remedy(cases: &[Case], label: &str) -> Outcome {
    let case = cases.iter().find(|case| case.label == label).expect("a remedy");
    let mut scenario = case.scenario.clone();
    scenario.run.send_for = Time::seconds(10 * 60);
    let outcome = run(&scenario).expect("a network");
    let acknowledged = 100.0 * share(&outcome);
    println!(
        "{label}: {acknowledged:.2} % of {} accepted, {} acknowledged",
        outcome.sent, outcome.acknowledged
    );
    outcome
}

#[test]
fn each_remedy_is_worth_it() {
    let cases = remedies();
    let run = |label| remedy(&cases, label);
    // Under the thesis' load, putting frames back is what counts.
    assert!(share(&run("motes as they ship")) > share(&run("without putting frames back")) + 0.02);
    assert!(run("without any of these").acknowledged < run("motes as they ship").acknowledged * 8 / 10);
    // Under more than the channel carries, holding back and sending fragments again.
    let overloaded = run("motes as they ship, four times the load");
    assert!(
        overloaded.acknowledged > run("without rate control, four times the load").acknowledged * 11 / 10
    );
    assert!(overloaded.acknowledged > run("without pacing, four times the load").acknowledged);
    let recovered = run("with recovery of fragments, four times the load");
    assert!(share(&recovered) >= 0.999 && share(&recovered) > share(&overloaded));
}

/// As a sensor does: always to the same receiver. Then headers wait in the pool, and a reading
/// leaves at once.
#[test]
fn a_header_in_the_pool_saves_time() {
    let median = |headers| {
        let mut scenario = scenario("mesh-64.toml");
        scenario.load.receivers = motemix_sim::scenario::Receivers::Fixed;
        scenario.motes.mean_delay = Time::millis(0);
        scenario.nodes.get_mut("mote").expect("the group").not_as_shipped.headers = Some(headers);
        run(&scenario).expect("a network").rtt_s.p50
    };
    let (pooled, made) = (median(4), median(1));
    println!("median round trip {pooled:.3} s with a pool, {made:.3} s without");
    assert!(made - pooled > 0.1);
}

/// Every mote makes keys with every other one, and each frame has a header and a MIC of its own. The
/// whole mesh for its hour: in a shorter run handshakes would be a greater part.
#[test]
fn protected_links_lose_no_message_and_cost_a_twentieth_of_the_air_at_most() {
    let outcome = |name| {
        let mut scenario = scenario(name);
        scenario.run.send_for = Time::seconds(60 * 60);
        run(&scenario).expect("a network")
    };
    let [plain, protected] = ["mesh-64.toml", "mesh-64-protected.toml"].map(outcome);
    println!(
        "{} of {} acknowledged, {:.4} s of air a message beside {:.4}; {:?}",
        protected.acknowledged,
        protected.sent,
        protected.airtime_s_per_ack,
        plain.airtime_s_per_ack,
        protected.handshakes
    );
    assert!(share(&protected) >= 0.998, "{protected:#?}");
    assert!(protected.airtime_s_per_ack <= 1.05 * plain.airtime_s_per_ack);
}

/// What sensors send: each reading signed, in flash until it is acknowledged, and checked by its
/// receiver. Readings that wait for another one to be acknowledged are sent while the network cools
/// down.
#[test]
fn signed_readings_of_64_motes_arrive_and_are_believed() {
    let outcome = run(&scenario("mesh-64-readings.toml")).expect("a network");
    let readings = outcome.readings.expect("that is what they send");
    println!("{readings:?}; {} sent, {} acknowledged", outcome.sent, outcome.acknowledged);
    // A reading every 16 s from each, in ten minutes.
    assert!((2_200..=2_600).contains(&readings.measured), "{readings:?}");
    assert!(readings.believed as f64 >= 0.998 * readings.measured as f64, "{outcome:#?}");
    let refused = |reason: &str| outcome.drops.get(reason).copied().unwrap_or_default();
    assert_eq!([refused("reading: altered"), refused("reading: malformed")], [0, 0], "{outcome:#?}");
    assert_eq!(refused("reading: of no known device"), 0, "{outcome:#?}");
}
