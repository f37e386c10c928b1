//! The thesis' experiment: RIOT's network stack, Sphinx as a thread on it, plain datagrams.

#![allow(
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "counts and microseconds are far below 2^52"
)]

use motemix_sim::reproduce::{Case, ablation, figure7, figure8};
use motemix_sim::scenario::Scenario;
use motemix_sim::{Outcome, run};

fn of(protocol: &str, nodes: &str, more: &str) -> Outcome {
    // At known times, unless the story is about others.
    let spread = if more.contains("load.spread") { "" } else { "load.spread = \"fixed\"" };
    let text = format!("version = 1\nname = \"story\"\nprotocol = \"{protocol}\"\n{spread}\n{more}\n{nodes}");
    let scenario: Scenario = toml::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    run(&scenario).expect("a network")
}

/// One sender, one receiver, one message.
const ONE: &str = "run = { send_for = \"16 s\", cool_down = \"10 min\" }";
const PAIR: &str = "[nodes.a]\ncount = 1\nreceives = false\n[nodes.b]\ncount = 1\nsends = false\n";

fn mesh(more: &str) -> Outcome {
    of(
        "thesis",
        "[nodes.mote]\ncount = 12\n",
        &format!("run.send_for = \"20 min\"\nload.interval = \"12 s\"\n{more}"),
    )
}

#[test]
fn a_datagram_takes_the_airtime_of_its_six_frames() {
    let outcome = of("udp", PAIR, ONE);
    assert_eq!([outcome.sent, outcome.delivered, outcome.acknowledged, outcome.retransmitted], [1, 1, 1, 0]);
    // There and back: 24.192 ms of data and six acknowledgements of 0.352 ms.
    assert_eq!((outcome.airtime_s * 1e6).round() as u64, 2 * (24_192 + 6 * 352));
}

#[test]
fn shorter_packets_take_fewer_frames() {
    for (packet, frames) in [(93, 1), (184, 2), (280, 3), (376, 4), (472, 5), (568, 6)] {
        let outcome = of("udp", PAIR, &format!("{ONE}\nthesis.packet = {packet}"));
        // The payload and UDP's and IPv6's compressed headers; for each frame a header, and one of
        // fragments if there are several.
        let fragments = if frames > 1 { 4 * frames + frames - 1 } else { 0 };
        let bytes = packet + 9 + 29 * frames + fragments;
        assert_eq!((outcome.airtime_s * 1e6).round() as u64, 2 * (bytes * 32 + frames * 352), "{packet}");
    }
}

#[test]
fn without_anybody_else_a_message_is_acknowledged_after_creating_and_six_hops() {
    let outcome = of(
        "thesis",
        "[nodes.a]\ncount = 1\nreceives = false\nforwards = false\n[nodes.b]\ncount = 9\nsends = false\n",
        &format!("{ONE}\nthesis.variation = \"0 s\""),
    );
    assert_eq!([outcome.sent, outcome.acknowledged, outcome.forwarded()], [1, 1, 4]);
    let computed = 14.7 + 4.0 * 1.176 + 1.141 + 0.549;
    assert!((computed..computed + 1.0).contains(&outcome.rtt_s.p50), "{}", outcome.rtt_s.p50);
}

/// What is not the subject of a story.
trait Forwarded {
    fn forwarded(&self) -> u64;
}

impl Forwarded for Outcome {
    fn forwarded(&self) -> u64 {
        // Six datagrams of six frames: one is the sender's, one the receiver's.
        let frames = (self.airtime_s * 1e6 / f64::from((24_192 + 6 * 352) as u32)).round() as u64;
        frames - 2
    }
}

#[test]
fn what_is_full_or_late_is_counted_under_its_reason() {
    for (reason, settings) in [
        ("riot: packet buffer full, no reassembly", "riot.packet_buffer = 3000"),
        ("riot: packet buffer full, datagram not sent", "riot.packet_buffer = 3000"),
        ("riot: packet buffer full, fragment not sent", "riot.packet_buffer = 800"),
        ("riot: packet buffer full, frame not read", "riot.packet_buffer = 1500"),
        ("riot: socket's box full", "riot.socket_box = 1"),
        ("riot: reassembly timeout", "riot.frame = \"100 us\""),
        (
            "riot: reassembly full",
            "riot.reassembly = 1\nriot.override_oldest = false\nriot.frame = \"100 us\"",
        ),
        ("riot: reassembly given up for a newer one", "riot.reassembly = 1\nriot.frame = \"100 us\""),
        ("riot: fragmentation buffer taken", "riot.fragmentation = 0"),
        ("riot: interface's queue full", "riot.interface_queue = 1\nriot.spins = false"),
        ("riot: 6LoWPAN's queue full, datagram", "riot.sixlowpan_queue = 0"),
        ("riot: 6LoWPAN's queue full, frame", "riot.sixlowpan_queue = 1"),
        ("riot: IPv6's queue full", "riot.ipv6_queue = 0"),
        ("riot: UDP's queue full", "riot.udp_queue = 0"),
        ("riot: frame overwritten by one to send", ""),
    ] {
        let outcome = mesh(settings);
        assert!(outcome.drops.contains_key(reason), "{reason}: {:?}", outcome.drops);
    }
}

#[test]
fn nothing_is_full_where_everything_is_large() {
    let outcome = mesh("riot.packet_buffer = 9000000\nriot.socket_box = 9999\nriot.reassembly = 200");
    let full: Vec<_> = outcome.drops.keys().filter(|reason| reason.contains("full")).collect();
    assert!(full.is_empty(), "{full:?}");
}

/// A Cortex-M0+ computes for eleven seconds, fragments wait for three.
#[test]
fn a_blocked_thread_does_not_stop_reassembly() {
    let both = "[nodes.mote]\ncount = 2\nboard = \"samr21-xpro\"\n";
    let outcome = of(
        "thesis",
        both,
        "run.send_for = \"20 min\"\nload.interval = \"7 s\"\nload.spread = \"uniform\"\nthesis.hops = [1, 1]\nriot.one_buffer = false\nriot.deaf_until_sent = false\nriot.frame = \"3700 us\"",
    );
    assert!(outcome.sent > 60, "{outcome:?}");
    assert_eq!([outcome.acknowledged, outcome.retransmitted], [outcome.sent, 0]);
    assert!(outcome.rtt_s.p99 > 20.0, "some waited for the other's creation: {:?}", outcome.rtt_s);
    assert!(outcome.drops.keys().all(|reason| !reason.starts_with("riot")), "{:?}", outcome.drops);
}

#[test]
fn what_nobody_answers_is_sent_three_times_and_discarded() {
    let outcome = of("thesis", "[nodes.mote]\ncount = 8\n", "run.send_for = \"5 min\"\nradio.loss = 1.0");
    assert!(outcome.sent > 20);
    assert_eq!([outcome.retransmitted, outcome.discarded], [2 * outcome.sent, outcome.sent]);
}

/// The receiver computes longer than the sender waits; what it sends arrives while the sender
/// creates the message again.
#[test]
fn an_acknowledgement_counts_whichever_try_it_is_for() {
    let impatient = "thesis = { hops = [1, 1], timeout = \"500 ms\", look = \"20 ms\", variation = \"0 s\" }";
    let outcome = of("thesis", PAIR, &format!("{ONE}\n{impatient}"));
    assert_eq!([outcome.sent, outcome.acknowledged, outcome.discarded], [1, 1, 0]);
    assert_eq!([outcome.retransmitted, outcome.delivered, outcome.duplicates], [1, 1, 1]);
    assert_eq!(outcome.drops.get("thesis: acknowledged before, or discarded"), Some(&1));
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_one_another() {
    let run = |seed| mesh(&format!("seed = {seed}"));
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn networks_that_cannot_be_are_refused() {
    for (nodes, more) in [
        (4, "thesis.hops = [4, 4]"),
        (10, "thesis.hops = [6, 3]"),
        (10, "thesis.hops = [0, 3]"),
        (10, "thesis.packet = 20"),
    ] {
        let text = format!(
            "version = 1\nname = \"x\"\nprotocol = \"thesis\"\n{more}\n[nodes.mote]\ncount = {nodes}\n"
        );
        assert!(run(&toml::from_str(&text).expect("a scenario")).is_err(), "{more}");
    }
}

/// Percent of the messages sent, over two seeds to which nothing was fitted.
/// `docs/research/simulator-results.md` has more seeds.
fn acknowledged(case: &Case) -> f64 {
    let outcomes =
        [101, 102].map(|seed| run(&Scenario { seed, ..case.scenario.clone() }).expect("a network"));
    let sum = |of: fn(&Outcome) -> u64| outcomes.iter().map(|outcome| of(outcome) as f64).sum::<f64>();
    100.0 * sum(|outcome| outcome.acknowledged) / sum(|outcome| outcome.sent)
}

fn root_mean_square(cases: &[Case]) -> f64 {
    let square = |case: &Case| {
        let measured = case.measured.expect("measured").acknowledged;
        (acknowledged(case) - measured).powi(2)
    };
    (cases.iter().map(square).sum::<f64>() / cases.len() as f64).sqrt()
}

#[test]
fn the_mesh_acknowledges_as_in_figure_7() {
    let cases = figure7();
    let (sphinx, udp) = cases.split_at(6);
    let (sphinx, udp) = (root_mean_square(sphinx), root_mean_square(udp));
    assert!(sphinx < 5.5, "Sphinx: {sphinx} percentage points");
    assert!(udp < 2.0, "UDP: {udp} percentage points");
}

#[test]
fn topologies_acknowledge_nearly_as_in_figure_8() {
    for case in figure8() {
        let off = acknowledged(&case) - case.measured.expect("measured").acknowledged;
        assert!(off.abs() < 4.5, "{}: {off} percentage points", case.label);
    }
}

#[test]
fn channel_access_is_the_cause_that_matters() {
    let cases = ablation();
    let of = |name: &str| {
        let case = cases.iter().find(|case| case.scenario.name == format!("ablation-{name}"));
        acknowledged(case.expect("a case"))
    };
    let none = of("none");
    assert!(of("access") > none + 25.0);
    for small in ["retries", "reassembly"] {
        assert!((of(small) - none).abs() < 5.0, "{small}");
    }
}
