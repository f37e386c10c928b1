//! How good the observer's guesses are: the only place where they meet the truth.

use super::Delivery;
use super::links::Counted;
use super::trace::Traffic;
use libm::{log2, sqrt};
use serde::Serialize;
use std::collections::BTreeMap;

/// What an observer of the whole channel does and does not know of messages.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Anonymity {
    /// Messages that were traced from the transfer that brought them to their receivers.
    pub traced: u64,
    /// Messages of which the observer found no possible sender. They are in no mean.
    pub untraced: u64,
    /// The most that entropy could be: the logarithm of the number of senders.
    pub most_bits: f64,
    /// From what was on the air until the message arrived.
    pub there: Guesses,
    /// The same, with what was on the air while its acknowledgement went back.
    pub round_trip: Guesses,
    /// Share of the senders with one receiver whose receiver the observer names after the whole
    /// run; of scenarios with fixed receivers.
    pub receivers_named: Option<f64>,
    /// What guessing would name.
    pub receivers_by_chance: Option<f64>,
    /// What counting packets tells of who speaks; with a payload stream.
    pub counted: Option<Counted>,
}

/// The observer's distributions over the senders of messages.
#[derive(Clone, Copy, PartialEq, Default, Debug, Serialize)]
pub struct Guesses {
    /// Mean entropy, bits.
    pub entropy_bits: f64,
    /// The entropy of the worst served: one message in twenty has less.
    pub entropy_p5_bits: f64,
    /// Mean probability that the observer gives to the true sender.
    pub true_sender: f64,
    /// The same as the observer expects it. If it differs much from `true_sender`, the observer's
    /// model is wrong.
    pub true_sender_expected: f64,
    /// Share of messages whose most probable sender is the true one.
    pub first_guess: f64,
}

/// One message's distribution, judged.
#[derive(Clone, Copy)]
struct Judged {
    entropy: f64,
    true_sender: f64,
    expected: f64,
    first_guess: f64,
}

#[allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
impl Guesses {
    fn of(judged: &[Judged]) -> Self {
        let count = judged.len().max(1) as f64;
        let mean = |of: fn(&Judged) -> f64| judged.iter().map(of).sum::<f64>() / count;
        let mut entropies: Vec<f64> = judged.iter().map(|one| one.entropy).collect();
        entropies.sort_by(f64::total_cmp);
        let worst = (entropies.len() * 5).div_ceil(100).saturating_sub(1);
        Self {
            entropy_bits: mean(|one| one.entropy),
            entropy_p5_bits: entropies.get(worst).copied().unwrap_or_default(),
            true_sender: mean(|one| one.true_sender),
            true_sender_expected: mean(|one| one.expected),
            first_guess: mean(|one| one.first_guess),
        }
    }
}

/// Makes probabilities of weights; `None` of nothing.
fn normal(weights: &[f64]) -> Option<Vec<f64>> {
    let sum: f64 = weights.iter().sum();
    (sum > 0.0).then(|| weights.iter().map(|weight| weight / sum).collect())
}

/// Shannon entropy, bits.
pub(crate) fn entropy(probabilities: &[f64]) -> f64 {
    probabilities.iter().filter(|p| **p > 0.0).map(|p| -p * log2(*p)).sum::<f64>().max(0.0)
}

#[allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn judge(probabilities: &[f64], sender: u16) -> Judged {
    let of_sender = probabilities.get(usize::from(sender)).copied().unwrap_or_default();
    let most = probabilities.iter().copied().fold(0.0, f64::max);
    // Of equally probable ones it takes any.
    let firsts = probabilities.iter().filter(|p| **p >= most).count().max(1);
    Judged {
        entropy: entropy(probabilities),
        true_sender: of_sender,
        expected: probabilities.iter().map(|p| p * p).sum(),
        first_guess: if of_sender >= most { 1.0 / firsts as f64 } else { 0.0 },
    }
}

/// The reply may not have been seen; then nothing is learned of where it went.
#[allow(clippy::cast_precision_loss, reason = "as many as nodes")]
fn with_return(there: &[f64], returns: &[f64]) -> Vec<f64> {
    let seen: f64 = returns.iter().sum();
    let scale = if seen > 1.0 { 1.0 / seen } else { 1.0 };
    let possible = there.iter().filter(|p| **p > 0.0).count().max(1) as f64;
    let unseen = (1.0 - seen * scale).max(LEAST_UNSEEN) / possible;
    there.iter().zip(returns).map(|(there, back)| there * (back * scale + unseen)).collect()
}

/// However sure the observer is of the reply's way, it may have followed another packet.
const LEAST_UNSEEN: f64 = 1e-3;

/// Scores the tracing of messages, one in `sample`.
#[allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub(crate) fn messages(
    traffic: &Traffic<'_>,
    delivered: impl Iterator<Item = (Option<u32>, Delivery)>,
    sample: usize,
) -> Anonymity {
    let (mut there, mut round_trip, mut untraced) = (Vec::new(), Vec::new(), 0);
    for (transfer, delivery) in delivered.step_by(sample) {
        let Some((transfer, senders)) =
            transfer.and_then(|transfer| Some((transfer, normal(&traffic.senders(transfer))?)))
        else {
            untraced += 1;
            continue;
        };
        there.push(judge(&senders, delivery.sender));
        let both = normal(&with_return(&senders, &traffic.returns(transfer)));
        round_trip.push(judge(both.as_ref().unwrap_or(&senders), delivery.sender));
    }
    Anonymity {
        traced: there.len() as u64,
        untraced,
        most_bits: log2(traffic.network().nodes.iter().filter(|node| node.sends).count().max(1) as f64),
        there: Guesses::of(&there),
        round_trip: Guesses::of(&round_trip),
        receivers_named: None,
        receivers_by_chance: None,
        counted: None,
    }
}

/// Statistical disclosure (Danezis, "Statistical Disclosure Attacks", SEC 2003): over the whole
/// run, who sends to whom more often than all together do. Returns the share of `always`, receivers
/// by sender, that is named, and that by chance.
#[allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub(crate) fn disclose(
    traffic: &Traffic<'_>,
    always: &BTreeMap<u16, u16>,
    sample: usize,
) -> Option<(f64, f64)> {
    let nodes = &traffic.network().nodes;
    // Weights by receiver and sender.
    let mut seen = vec![vec![0.0; nodes.len()]; nodes.len()];
    for transfer in traffic.numbers().step_by(sample) {
        let Some(row) = traffic.receiver(transfer).and_then(|receiver| seen.get_mut(usize::from(receiver)))
        else {
            continue;
        };
        for (sum, weight) in row.iter_mut().zip(traffic.senders(transfer)) {
            *sum += weight;
        }
    }
    let of_receiver: Vec<f64> = seen.iter().map(|row| row.iter().sum()).collect();
    let of_sender = |sender: usize| seen.iter().map(|row| row[sender]).sum::<f64>();
    let all: f64 = of_receiver.iter().sum();
    let (mut named, mut chance) = (0.0, 0.0);
    for (sender, receiver) in always {
        let sender = usize::from(*sender);
        let of_sender = of_sender(sender);
        let candidates = (0..nodes.len()).filter(|at| nodes[*at].receives && *at != sender);
        chance += 1.0 / candidates.clone().count().max(1) as f64;
        let excess = |at: &usize| {
            let expected = of_receiver[*at] * of_sender / all;
            if expected > 0.0 { (seen[*at][sender] - expected) / sqrt(expected) } else { 0.0 }
        };
        let best = candidates.map(|at| (excess(&at), at)).max_by(|a, b| a.0.total_cmp(&b.0));
        named += f64::from(best.is_some_and(|(_, at)| at == usize::from(*receiver)));
    }
    let count = always.len() as f64;
    (!always.is_empty()).then(|| (named / count, chance / count))
}
