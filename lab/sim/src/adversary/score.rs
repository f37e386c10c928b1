//! What the observer concludes from the evidence, with and without what it learns, scored.

use super::evidence::{Evidence, Way};
use super::findings::Findings;
use super::learn::beside::{self, Came};
use super::learn::{self, Estimate, Message, Prior};
use super::links::Counted;
use super::measure::{CLASSES, Guesses, Judged, Reliability, reliability};
use super::trace::Traffic;
use crate::scenario::{Receivers, Scenario, Spread, Time};
use libm::log2;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// What an observer of the whole channel does and does not know of messages.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Anonymity {
    /// Messages that were traced from the transfer that brought them to their receivers.
    pub traced: u64,
    /// Messages of which the observer found no possible sender. They are in no mean.
    pub untraced: u64,
    /// The most that entropy could be: the logarithm of the number of senders.
    pub most_bits: f64,
    /// Each message by itself, from what was on the air until it arrived.
    pub there: Guesses,
    /// The same, with what was on the air while its acknowledgement went back.
    pub round_trip: Guesses,
    /// All messages together, with what the observer learns of the senders' habits.
    pub with_habits: Learned,
    /// Share of the senders with one receiver whose receiver the observer names after the whole
    /// run; of scenarios with fixed receivers, as is what follows.
    pub receivers_named: Option<f64>,
    /// What guessing would name.
    pub receivers_by_chance: Option<f64>,
    /// Traced messages of each sender in the whole run.
    pub messages_each: Option<f64>,
    /// Messages of a sender after which half of the receivers are named, counted from when the
    /// network is full: after the first tenth of the run's messages. `None` if it takes more than
    /// the rest of them.
    pub half_named_after: Option<f64>,
    /// Messages of a sender after which 95 % of the receivers are named.
    pub most_named_after: Option<f64>,
    /// The same by comparing messages that came at the same time; with a payload stream, where each
    /// receiver has one sender.
    pub beside: Option<Beside>,
    /// What counting packets tells of who speaks; with a payload stream.
    pub counted: Option<Counted>,
}

/// An observer who knows that each receiver has one sender, and compares messages that came at the
/// same time: what is the same for all receivers says nothing of who writes to one of them.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Beside {
    /// Share of the receivers whose sender it names after the whole run.
    pub receivers_named: f64,
    /// Messages of a sender after which half are named, counted as [`Anonymity::half_named_after`].
    pub half_named_after: Option<f64>,
    /// Messages of a sender after which 95 % are named.
    pub most_named_after: Option<f64>,
}

/// An observer who learns to whom each sender writes, and at which times of its interval.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Learned {
    /// From what was on the air until each message arrived.
    pub there: Guesses,
    /// The same, with the acknowledgements.
    pub round_trip: Guesses,
    /// Whether there were receivers to learn, from the round trips.
    pub receivers: bool,
    /// Whether there were phases to learn, from the round trips.
    pub phases: bool,
    /// The round trips by joint inference over all messages, of which no two begin with one
    /// transfer; if asked for.
    pub matched: Option<Guesses>,
    /// How often the first guess of the round trips is right, by its stated probability, in
    /// classes of a tenth.
    pub reliability: [Reliability; CLASSES],
}

/// Concludes from what was heard, and scores it. Findings are kept if somebody wants them.
#[allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub(crate) fn score(
    traffic: &Traffic<'_>,
    evidence: &Evidence,
    scenario: &Scenario,
    sweeps: u32,
    findings: Option<&mut Findings>,
) -> Anonymity {
    let nodes = traffic.network().nodes.len();
    // How times are spread is as public as their mean.
    let interval = (scenario.load.spread == Spread::Fixed).then_some(scenario.load.interval.0);
    let [there, round_trip] =
        [Way::There, Way::RoundTrip].map(|way| Lesson::of(traffic, evidence, way, interval));
    let estimates = [&there, &round_trip].map(|lesson| lesson.estimate(nodes));
    let single = |way, at: usize| evidence.heard[at].senders(way, nodes);
    // Who learned nothing keeps what each message says by itself, to the last bit.
    let learned = |lesson: &Lesson, estimate: &Estimate<'_>, at| {
        if lesson.prior == Prior::default() { single(lesson.way, at) } else { estimate.senders(at) }
    };
    let judged_there = judge(traffic, evidence, |at| learned(&there, &estimates[0], at));
    let judged_round_trip = judge(traffic, evidence, |at| learned(&round_trip, &estimates[1], at));
    let matched = (sweeps > 0).then(|| {
        let candidates = learn::candidates(traffic, evidence, &estimates[1], interval);
        let senders = learn::matched(&candidates, nodes, round_trip.prior, sweeps, scenario.seed);
        Guesses::of(&judge(traffic, evidence, |at| senders[at].clone()))
    });
    if let Some(findings) = findings {
        *findings = Findings::of(traffic.transfers(), evidence, nodes, |at| {
            [learned(&there, &estimates[0], at), learned(&round_trip, &estimates[1], at)]
        });
    }
    let mut anonymity = Anonymity {
        traced: evidence.heard.len() as u64,
        untraced: evidence.untraced,
        most_bits: log2(traffic.network().nodes.iter().filter(|node| node.sends).count().max(1) as f64),
        there: Guesses::of(&judge(traffic, evidence, |at| single(Way::There, at))),
        round_trip: Guesses::of(&judge(traffic, evidence, |at| single(Way::RoundTrip, at))),
        with_habits: Learned {
            there: Guesses::of(&judged_there),
            round_trip: Guesses::of(&judged_round_trip),
            receivers: round_trip.prior.habits.is_some(),
            phases: round_trip.prior.phases.is_some(),
            matched,
            reliability: reliability(&judged_round_trip),
        },
        receivers_named: None,
        receivers_by_chance: None,
        messages_each: None,
        half_named_after: None,
        most_named_after: None,
        beside: None,
        counted: None,
    };
    if scenario.load.receivers != Receivers::Random {
        name(traffic, evidence, &round_trip, &mut anonymity);
    }
    if scenario.load.receivers == Receivers::Even
        && scenario.motes.payload_mean.and_then(Time::unless_zero).is_some()
    {
        // In an interval, each sender has a message to compare.
        let near = (scenario.motes.mean_delay.0 / 2).max(scenario.load.interval.0);
        anonymity.beside = Some(compare(traffic, evidence, near));
    }
    anonymity
}

/// What is to be learned from one part of the messages' ways.
struct Lesson {
    way: Way,
    messages: Vec<Message>,
    prior: Prior,
}

impl Lesson {
    fn of(traffic: &Traffic<'_>, evidence: &Evidence, way: Way, interval: Option<Duration>) -> Self {
        let nodes = traffic.network().nodes.len();
        let plain = learn::messages(traffic, evidence, way, None);
        let phased = interval.map(|_| learn::messages(traffic, evidence, way, interval));
        let prior = learn::choose(&plain, phased.as_deref(), nodes);
        let messages = phased.filter(|_| prior.phases.is_some()).unwrap_or(plain);
        Self { way, messages, prior }
    }

    fn estimate(&self, nodes: usize) -> Estimate<'_> {
        Estimate::fit(&self.messages, nodes, self.prior, |_| true)
    }
}

fn judge(traffic: &Traffic<'_>, evidence: &Evidence, senders: impl Fn(usize) -> Vec<f64>) -> Vec<Judged> {
    let sending = |receiver| {
        let nodes = (0_u16..).zip(&traffic.network().nodes);
        nodes.filter(move |(node, known)| known.sends && *node != receiver).map(|(node, _)| node)
    };
    let heard = evidence.heard.iter().enumerate();
    heard.map(|(at, heard)| Judged::of(&senders(at), heard.sender, sending(heard.receiver))).collect()
}

/// Names the receivers of senders who have one.
#[allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn name(traffic: &Traffic<'_>, evidence: &Evidence, lesson: &Lesson, anonymity: &mut Anonymity) {
    let truth = writers(evidence);
    let among = (0_u16..).zip(&traffic.network().nodes).filter(|(_, node)| node.receives);
    let among: Vec<u16> = among.map(|(node, _)| node).collect();
    if truth.is_empty() {
        return;
    }
    let chance = |sender: u16| 1.0 / among.iter().filter(|other| **other != sender).count().max(1) as f64;
    let by_chance = truth.iter().map(|(sender, _)| chance(*sender)).sum::<f64>() / truth.len() as f64;
    let nodes = traffic.network().nodes.len();
    let naming = learn::naming(&lesson.messages, nodes, lesson.prior, &truth, &among);
    anonymity.receivers_named = Some(naming.named);
    anonymity.receivers_by_chance = Some(by_chance);
    anonymity.messages_each = Some(lesson.messages.len() as f64 / truth.len() as f64);
    [anonymity.half_named_after, anonymity.most_named_after] = naming.after;
}

/// All senders, each with its receiver.
fn writers(evidence: &Evidence) -> Vec<(u16, u16)> {
    let truth: BTreeMap<u16, u16> =
        evidence.heard.iter().map(|heard| (heard.sender, heard.receiver)).collect();
    truth.into_iter().collect()
}

/// Names the senders of receivers who have one.
fn compare(traffic: &Traffic<'_>, evidence: &Evidence, near: Duration) -> Beside {
    let nodes = traffic.network().nodes.len();
    let came = evidence.heard.iter().filter_map(|heard| {
        let at = traffic.transfer(heard.transfer)?.begin;
        let senders = heard.senders(Way::RoundTrip, nodes);
        Some(Came { at, receiver: heard.receiver, senders })
    });
    let came: Vec<Came> = came.collect();
    let naming = beside::naming(&came, nodes, &writers(evidence), near);
    let [half_named_after, most_named_after] = naming.after;
    Beside { receivers_named: naming.named, half_named_after, most_named_after }
}
