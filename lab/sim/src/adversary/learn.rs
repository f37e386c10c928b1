//! Habits, phases and single messages in one estimate.
//!
//! The observer does not know whom a node writes to nor at which times. It estimates both from all
//! messages of the run together with the senders of the messages: by expectation-maximisation with
//! Dirichlet priors, in which a message is weighed by what is known of all others but not of
//! itself (collapsed variational inference: Teh, Newman and Welling, NIPS 2006; Asuncion and
//! others, UAI 2009). A message that counted for its own sender would make the observer surer with
//! each round. Danezis and Troncoso, "Vida: How to Use Bayesian Inference to De-anonymize
//! Persistent Communications", PETS 2009, have the same model of habits.
//!
//! ```text
//! P(sender, start | message) ∝ weight of the start × habit: sender to receiver × phase: sender, start
//! ```

pub(crate) mod beside;
mod choose;
mod matching;
mod named;

pub(crate) use choose::choose;
pub(crate) use matching::{Candidate, matched};
pub(crate) use named::naming;

use super::evidence::{Evidence, Way, begin, normalise};
use super::trace::{Start, Traffic};
use libm::log;
use std::time::Duration;

/// Parts into which the interval between messages is cut, to learn phases.
pub(crate) const BINS: usize = 128;
/// A sender is not exact: so much of what is learned of a part of the interval is learned of it,
/// and of each of its neighbours.
const HERE: f64 = 0.5;
const BESIDE: f64 = 0.25;
/// A round in which the belief in fewer messages than this share changes is the last.
const SETTLED: f64 = 5e-4;
const MOST_ROUNDS: usize = 60;

/// One message as the estimate sees it.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub receiver: u16,
    /// Who may have begun it, and when; weights add up to one.
    pub choices: Vec<Choice>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Choice {
    pub sender: u16,
    /// When it began, modulo the interval; 0 if phases are not looked at.
    pub bin: u16,
    /// The transfer that began it; 0 if phases are not looked at.
    pub start: u32,
    /// How probably that was one of the sender's own packets, before its time was looked at.
    pub begun: f32,
    pub weight: f32,
}

/// How far habits and phases have to show before they are believed, in messages of a sender.
/// Without a number they are not learned.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Prior {
    pub habits: Option<f64>,
    pub phases: Option<f64>,
}

/// In which part of the interval a start is.
fn bin(traffic: &Traffic<'_>, start: &Start, interval: Option<Duration>) -> Option<u16> {
    let at = begin(traffic, start)?.as_micros();
    let period = u64::try_from(interval?.as_micros()).ok()?;
    u16::try_from(at.checked_rem(period)? * BINS as u64 / period).ok()
}

/// All messages with the transfers that may have begun them, by the round trip and with the phases
/// that an estimate has learned.
pub(crate) fn candidates(
    traffic: &Traffic<'_>,
    evidence: &Evidence,
    estimate: &Estimate<'_>,
    interval: Option<Duration>,
) -> Vec<Candidate> {
    let mut others = estimate.clone();
    let heard = evidence.heard.iter().enumerate().map(|(at, heard)| {
        // A message says nothing of its own phase.
        others.count(at, -1.0);
        let starts = heard.weights(Way::RoundTrip).map(|(start, weight)| {
            let bin = bin(traffic, start, interval).unwrap_or_default();
            let begun = start.begun;
            let choice = Choice { sender: start.sender, bin, start: start.transfer, begun, weight };
            (start.sender, start.transfer, f64::from(weight) * others.counts.phase(&choice))
        });
        let starts = starts.collect();
        others.count(at, 1.0);
        let senders = (0_u16..).zip(estimate.senders(at));
        let first = senders.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(sender, _)| sender);
        Candidate { receiver: heard.receiver, starts, first }
    });
    heard.collect()
}

/// The messages of the run, with phases if there is an interval to learn them for.
pub(crate) fn messages(
    traffic: &Traffic<'_>,
    evidence: &Evidence,
    way: Way,
    interval: Option<Duration>,
) -> Vec<Message> {
    let heard = evidence.heard.iter().map(|heard| {
        let choice = |(start, weight): (&Start, f32)| {
            let bin = bin(traffic, start, interval);
            let transfer = if bin.is_some() { start.transfer } else { 0 };
            Choice {
                sender: start.sender,
                bin: bin.unwrap_or_default(),
                start: transfer,
                begun: start.begun,
                weight,
            }
        };
        let possible = heard.weights(way).filter(|(_, weight)| *weight > 0.0);
        let mut choices: Vec<Choice> = possible.map(choice).collect();
        // Without phases, it does not matter which start of a sender it was.
        choices.sort_by_key(|choice| (choice.sender, choice.start));
        choices.dedup_by(|later, first| {
            let same = (later.sender, later.start) == (first.sender, first.start);
            first.weight += if same { later.weight } else { 0.0 };
            same
        });
        Message { receiver: heard.receiver, choices }
    });
    heard.collect()
}

/// What is known of all senders: expected numbers of messages.
#[derive(Clone, Debug)]
struct Counts {
    nodes: usize,
    prior: Prior,
    /// By sender: all messages.
    sent: Vec<f64>,
    /// By receiver and sender: all senders of a message are asked for together.
    written: Vec<f64>,
    /// By sender and part of the interval.
    phases: Vec<f64>,
    /// By transfer: what of the phases is from messages that may have begun with it.
    starts: Vec<f64>,
    popularity: Popularity,
}

impl Counts {
    fn new(nodes: usize, prior: Prior, popularity: Popularity) -> Self {
        let phases = if prior.phases.is_some() { nodes * BINS } else { 0 };
        Self {
            nodes,
            prior,
            sent: vec![0.0; nodes],
            written: vec![0.0; nodes * nodes],
            phases: vec![0.0; phases],
            starts: Vec::new(),
            popularity,
        }
    }

    fn add(&mut self, receiver: u16, choice: &Choice, messages: f64) {
        let sender = usize::from(choice.sender);
        self.sent[sender] += messages;
        self.written[usize::from(receiver) * self.nodes + sender] += messages;
        if self.prior.phases.is_some() {
            let bin = usize::from(choice.bin);
            for (beside, share) in [(BINS - 1, BESIDE), (0, HERE), (1, BESIDE)] {
                self.phases[sender * BINS + (bin + beside) % BINS] += messages * share;
            }
            let start = choice.start as usize;
            if start >= self.starts.len() {
                self.starts.resize(start + 1, 0.0);
            }
            self.starts[start] += messages;
        }
    }

    /// By how much what is known of the sender makes this choice more probable than it is by
    /// itself.
    fn factor(&self, receiver: u16, choice: &Choice) -> f64 {
        let (sender, receiver) = (usize::from(choice.sender), usize::from(receiver));
        let habit = self.prior.habits.map_or(1.0, |strength| {
            let written = self.written[receiver * self.nodes + sender].max(0.0);
            let expected = self.popularity.of(sender, receiver);
            (strength + written / expected) / (strength + self.sent[sender].max(0.0))
        });
        habit * self.phase(choice)
    }

    /// The part of that which its time has. Other messages that may have begun with the same
    /// transfer say nothing of it: only one has.
    #[allow(clippy::cast_precision_loss, reason = "a few bins")]
    fn phase(&self, choice: &Choice) -> f64 {
        let sender = usize::from(choice.sender);
        self.prior.phases.map_or(1.0, |strength| {
            let own = self.starts.get(choice.start as usize).copied().unwrap_or_default();
            let here = self.phases[sender * BINS + usize::from(choice.bin)] - own * HERE;
            let sent = self.sent[sender] - own;
            let times = (strength + here.max(0.0) * BINS as f64) / (strength + sent.max(0.0));
            // However well its time fits: more than begun it cannot be.
            times / (1.0 + f64::from(choice.begun) * (times - 1.0))
        })
    }
}

/// What was learned from messages.
#[derive(Clone, Debug)]
pub(crate) struct Estimate<'m> {
    messages: &'m [Message],
    counts: Counts,
    /// By message and choice.
    beliefs: Vec<Vec<f32>>,
}

impl<'m> Estimate<'m> {
    /// Learns from those messages that are wanted; knows nothing of the others.
    #[allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    pub fn fit(messages: &'m [Message], nodes: usize, prior: Prior, wanted: impl Fn(usize) -> bool) -> Self {
        let popularity = Popularity::new(messages.iter().map(|message| message.receiver), nodes);
        let wanted: Vec<bool> = (0..messages.len()).map(wanted).collect();
        let single = |message: &Message| message.choices.iter().map(|choice| choice.weight).collect();
        let mut estimate = Self {
            messages,
            counts: Counts::new(nodes, prior, popularity),
            beliefs: messages.iter().map(single).collect(),
        };
        if prior == Prior::default() {
            return estimate;
        }
        let learned = || (0..messages.len()).filter(|at| wanted[*at]);
        for at in learned() {
            estimate.count(at, 1.0);
        }
        let enough = SETTLED * learned().count() as f64;
        for _ in 0..MOST_ROUNDS {
            let mut moved = 0.0;
            for at in learned() {
                estimate.count(at, -1.0);
                moved += estimate.weigh(at);
                estimate.count(at, 1.0);
            }
            if moved < enough {
                break;
            }
        }
        estimate
    }

    /// Adds one message to what is known, or takes it away.
    fn count(&mut self, at: usize, times: f64) {
        let message = &self.messages[at];
        for (choice, belief) in message.choices.iter().zip(&self.beliefs[at]) {
            self.counts.add(message.receiver, choice, f64::from(*belief) * times);
        }
    }

    /// Weighs one message by what is known of the others. Returns how much of the belief moved.
    fn weigh(&mut self, at: usize) -> f64 {
        let message = &self.messages[at];
        let factor = |choice: &Choice| self.counts.factor(message.receiver, choice) as f32;
        let weight = |choice: &Choice| choice.weight * factor(choice);
        let mut beliefs: Vec<f32> = message.choices.iter().map(weight).collect();
        if normalise(&mut beliefs).is_none() {
            return 0.0;
        }
        let moved = beliefs.iter().zip(&self.beliefs[at]).map(|(new, old)| (new - old).abs()).sum::<f32>();
        self.beliefs[at] = beliefs;
        f64::from(moved) / 2.0
    }

    /// The logarithm of how much more probable a message is that was not learned from, than for
    /// somebody who has learned nothing.
    fn gain(&self, at: usize) -> f64 {
        let message = &self.messages[at];
        let factor = |choice: &Choice| self.counts.factor(message.receiver, choice);
        let weight = |choice: &Choice| f64::from(choice.weight) * factor(choice);
        log(message.choices.iter().map(weight).sum::<f64>().max(f64::MIN_POSITIVE))
    }

    /// The distribution over the senders of a message.
    pub fn senders(&self, at: usize) -> Vec<f64> {
        let mut senders = vec![0.0; self.counts.nodes];
        for (choice, belief) in self.messages[at].choices.iter().zip(&self.beliefs[at]) {
            senders[usize::from(choice.sender)] += f64::from(*belief);
        }
        senders
    }

    /// Whom a sender most probably writes to, of these.
    pub fn receiver(&self, sender: u16, among: impl Iterator<Item = u16>) -> Option<u16> {
        let written = |receiver: u16| {
            let (sender, receiver) = (usize::from(sender), usize::from(receiver));
            let strength = self.counts.prior.habits.unwrap_or_default();
            let expected = strength * self.counts.popularity.of(sender, receiver);
            self.counts.written[receiver * self.counts.nodes + sender] + expected
        };
        // The first of equals.
        among.map(|at| (written(at), at)).reduce(|a, b| if b.0 > a.0 { b } else { a }).map(|(_, at)| at)
    }
}

/// How often each node is written to, by all together. Who knows all deliveries knows that, and
/// expects it of a sender of whom nothing is known.
#[derive(Clone, Debug)]
struct Popularity {
    counts: Vec<f64>,
    all: f64,
}

impl Popularity {
    fn new(receivers: impl Iterator<Item = u16>, nodes: usize) -> Self {
        let mut counts = vec![0.0; nodes];
        for receiver in receivers {
            counts[usize::from(receiver)] += 1.0;
        }
        let all = counts.iter().sum();
        Self { counts, all }
    }

    /// The share of a sender's messages that goes to a receiver. Nobody writes to itself.
    fn of(&self, sender: usize, receiver: usize) -> f64 {
        let to_others = self.all - self.counts[sender];
        if to_others > 0.0 { self.counts[receiver] / to_others } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODES: usize = 5;

    /// A message to node 3 that each of these may have begun: sender, part of the interval,
    /// transfer.
    fn message(choices: &[(u16, u16, u32)], weights: &[f32]) -> Message {
        let choice = |((sender, bin, start), weight): (&(u16, u16, u32), &f32)| Choice {
            sender: *sender,
            bin: *bin,
            start: *start,
            begun: 0.5,
            weight: *weight,
        };
        Message { receiver: 3, choices: choices.iter().zip(weights).map(choice).collect() }
    }

    fn senders(messages: &[Message], prior: Prior) -> Vec<Vec<f64>> {
        let estimate = Estimate::fit(messages, NODES, prior, |_| true);
        (0..messages.len()).map(|at| estimate.senders(at)).collect()
    }

    #[test]
    fn a_message_says_nothing_of_its_own_sender() {
        let by_another = Message { receiver: 4, ..message(&[(2, 0, 0)], &[1.0]) };
        let messages = [message(&[(0, 0, 0), (1, 0, 0)], &[0.6, 0.4]), by_another];
        let found = senders(&messages, Prior { habits: Some(0.03), phases: None });
        assert!((found[0][0] - 0.6).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn two_messages_that_may_have_begun_with_one_transfer_do_not_confirm_its_phase() {
        let prior = Prior { habits: None, phases: Some(3.0) };
        let other = |sender, start| message(&[(0, 5, 7), (sender, 9, start)], &[0.5, 0.5]);
        for found in senders(&[other(1, 8), other(2, 9)], prior) {
            assert!((found[0] - 0.5).abs() < 1e-6, "{found:?}");
        }
        // With two transfers they do.
        let messages =
            [message(&[(0, 5, 7), (1, 9, 8)], &[0.5; 2]), message(&[(0, 5, 6), (2, 9, 9)], &[0.5; 2])];
        for found in senders(&messages, prior) {
            assert!(found[0] > 0.6, "{found:?}");
        }
    }

    #[test]
    fn no_phase_makes_a_start_surer_than_one_of_the_senders_own() {
        let messages: Vec<Message> = (0..40).map(|at| message(&[(0, 5, at)], &[1.0])).collect();
        let prior = Prior { habits: None, phases: Some(3.0) };
        let known = Estimate::fit(&messages, NODES, prior, |_| true);
        let phase = |begun: f32, bin| {
            known.counts.phase(&Choice { sender: 0, bin, start: 99, begun, weight: 1.0 }) * f64::from(begun)
        };
        assert!((phase(1.0, 5) - 1.0).abs() < 1e-9 && (phase(1.0, 70) - 1.0).abs() < 1e-9);
        assert!(phase(0.5, 5) > 0.9 && phase(0.5, 5) <= 1.0, "{}", phase(0.5, 5));
        assert!(phase(0.5, 70) < 0.1, "{}", phase(0.5, 70));
    }
}
