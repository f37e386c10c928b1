//! All messages at once: a Markov chain over who began which message with which transfer.
//!
//! No two messages begin with one transfer, which the estimate does not know. The chain goes
//! through assignments of messages to starts in proportion to their probability, with what each
//! sender's habits may be integrated out (Danezis and Troncoso, PETS 2009, have a chain over the
//! secret state of mixes). A message either moves to a start that nobody has, or swaps starts with
//! another message. What the chain says more than the estimate is what the estimate misses.

use super::{Popularity, Prior};
use crate::random::{self, Purpose};
use chacha20::ChaCha8Rng;
use rand_core::Rng as _;
use std::collections::BTreeMap;

/// A message and the transfers with which it may have begun.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub receiver: u16,
    /// Sender, transfer, and weight with all that is known but habits; in the order of transfers.
    pub starts: Vec<(u16, u32, f64)>,
    /// The most probable sender by an estimate: the chain begins with one of its starts. From
    /// elsewhere it takes long to find the habits.
    pub first: Option<u16>,
}

/// That none of a message's starts is the one, as against all of them together.
const NONE: f64 = 1e-4;

/// A state of the chain.
struct Chain<'c> {
    candidates: &'c [Candidate],
    nodes: usize,
    habits: Option<f64>,
    popularity: Popularity,
    sent: Vec<f64>,
    written: Vec<f64>,
    /// By message: the place of its start.
    at: Vec<Option<usize>>,
    /// By transfer: the message that began with it.
    taken: BTreeMap<u32, usize>,
    rng: ChaCha8Rng,
}

/// Distributions over the senders of all messages, from so many sweeps over them; a fifth more
/// come before, until the chain has forgotten where it began.
pub(crate) fn matched(
    candidates: &[Candidate],
    nodes: usize,
    prior: Prior,
    sweeps: u32,
    seed: u64,
) -> Vec<Vec<f64>> {
    let mut chain = Chain::new(candidates, nodes, prior, seed);
    let mut sums = vec![vec![0.0; nodes]; candidates.len()];
    for sweep in 0..sweeps + sweeps / 5 {
        for (message, sums) in sums.iter_mut().enumerate() {
            chain.swap(message);
            chain.step(message, (sweep >= sweeps / 5).then_some(sums));
        }
    }
    for sums in &mut sums {
        normalise(sums);
    }
    sums
}

fn normalise(sums: &mut [f64]) {
    let all: f64 = sums.iter().sum();
    if all > 0.0 {
        for sum in sums {
            *sum /= all;
        }
    }
}

impl<'c> Chain<'c> {
    fn new(candidates: &'c [Candidate], nodes: usize, prior: Prior, seed: u64) -> Self {
        let receivers = candidates.iter().map(|candidate| candidate.receiver);
        let mut chain = Self {
            candidates,
            nodes,
            habits: prior.habits,
            popularity: Popularity::new(receivers, nodes),
            sent: vec![0.0; nodes],
            written: vec![0.0; nodes * nodes],
            at: vec![None; candidates.len()],
            taken: BTreeMap::new(),
            // The stream of no node.
            rng: random::stream(seed, u32::MAX, Purpose::Matching),
        };
        for message in 0..candidates.len() {
            chain.begin(message);
        }
        chain
    }

    fn uniform(&mut self) -> f64 {
        const BITS: u32 = 53;
        let whole = self.rng.next_u64() >> (u64::BITS - BITS);
        #[allow(clippy::cast_precision_loss, reason = "as many bits as a double has")]
        let part = whole as f64 / (1_u64 << BITS) as f64;
        part
    }

    fn place(&self, message: usize, sender: u16) -> (usize, usize) {
        let sender = usize::from(sender);
        (sender, sender * self.nodes + usize::from(self.candidates[message].receiver))
    }

    /// How probable it is that a sender, of whom the other messages are known, writes to the
    /// receiver of this one; times a factor that is the same for all senders.
    fn habit(&self, message: usize, sender: u16) -> f64 {
        let Some(strength) = self.habits else { return 1.0 };
        let (sender, pair) = self.place(message, sender);
        let expected = self.popularity.of(sender, self.candidates[message].receiver.into());
        (strength + self.written[pair] / expected) / (strength + self.sent[sender])
    }

    fn put(&mut self, message: usize, place: Option<usize>) {
        self.at[message] = place;
        let Some(place) = place else { return };
        let (sender, transfer, _) = self.candidates[message].starts[place];
        let (sender, pair) = self.place(message, sender);
        self.sent[sender] += 1.0;
        self.written[pair] += 1.0;
        self.taken.insert(transfer, message);
    }

    fn take(&mut self, message: usize) -> Option<usize> {
        let place = self.at[message].take()?;
        let (sender, transfer, _) = self.candidates[message].starts[place];
        let (sender, pair) = self.place(message, sender);
        self.sent[sender] -= 1.0;
        self.written[pair] -= 1.0;
        self.taken.remove(&transfer);
        Some(place)
    }

    /// A message takes the best free start of its most probable sender.
    fn begin(&mut self, message: usize) {
        let Candidate { starts, first, .. } = &self.candidates[message];
        let free = |(_, (sender, transfer, _)): &(usize, &(u16, u32, f64))| {
            Some(*sender) == *first && !self.taken.contains_key(transfer)
        };
        let best = starts.iter().enumerate().filter(free).max_by(|(_, a), (_, b)| a.2.total_cmp(&b.2));
        self.put(message, best.map(|(place, _)| place));
    }

    /// A message takes one of the starts that are free, by their probabilities. They are counted,
    /// which says more than the start that was taken.
    fn step(&mut self, message: usize, counted: Option<&mut [f64]>) {
        self.take(message);
        let starts = &self.candidates[message].starts;
        let free = |transfer: u32| !self.taken.contains_key(&transfer);
        let weight = |(sender, transfer, weight): &(u16, u32, f64)| {
            if free(*transfer) { weight * self.habit(message, *sender) } else { 0.0 }
        };
        let weights: Vec<f64> = starts.iter().map(weight).collect();
        let all = weights.iter().sum::<f64>() + NONE;
        if let Some(counted) = counted {
            for ((sender, ..), weight) in starts.iter().zip(&weights) {
                counted[usize::from(*sender)] += weight / all;
            }
        }
        let mut drawn = self.uniform() * all;
        let place = weights.iter().position(|weight| {
            drawn -= weight;
            drawn < 0.0
        });
        self.put(message, place);
    }

    /// A message asks for the start of another one and offers its own.
    fn swap(&mut self, message: usize) {
        let starts = &self.candidates[message].starts;
        let mut drawn = self.uniform() * starts.iter().map(|(.., weight)| weight).sum::<f64>();
        let wanted = starts.iter().position(|(.., weight)| {
            drawn -= weight;
            drawn < 0.0
        });
        let (Some(wanted), Some(own)) = (wanted, self.at[message]) else { return };
        let Some(other) = self.taken.get(&starts[wanted].1).copied().filter(|other| *other != message) else {
            return;
        };
        let theirs = &self.candidates[other].starts;
        let offered = theirs.binary_search_by_key(&starts[own].1, |(_, transfer, _)| *transfer);
        let (Ok(offered), Some(given)) = (offered, self.at[other]) else { return };
        // A wish is drawn by its weight, so that of this message's weights nothing is left.
        let before = (own, given, theirs[given].2);
        let after = (wanted, offered, theirs[offered].2);
        self.take(message);
        self.take(other);
        let [before, after] = [before, after].map(|(place, others, weight)| {
            let first = self.habit(message, self.candidates[message].starts[place].0);
            self.put(message, Some(place));
            let second = self.habit(other, self.candidates[other].starts[others].0);
            self.take(message);
            (place, others, weight * first * second)
        });
        let accepted = self.uniform() * before.2 < after.2;
        let (place, others, _) = if accepted { after } else { before };
        self.put(message, Some(place));
        self.put(other, Some(others));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same by going through all assignments.
    fn enumerated(candidates: &[Candidate], nodes: usize, habits: Option<f64>) -> Vec<Vec<f64>> {
        let prior = Prior { habits, phases: None };
        let mut sums = vec![vec![0.0; nodes]; candidates.len()];
        let mut places = vec![0; candidates.len()];
        loop {
            if let Some(weight) = weight_of(candidates, nodes, prior, &places) {
                for (message, place) in places.iter().enumerate() {
                    if let Some((sender, ..)) = candidates[message].starts.get(*place) {
                        sums[message][usize::from(*sender)] += weight;
                    }
                }
            }
            let more = |at: &usize| places[*at] < candidates[*at].starts.len();
            let Some(next) = (0..places.len()).find(more) else { break };
            places[..next].fill(0);
            places[next] += 1;
        }
        for sums in &mut sums {
            normalise(sums);
        }
        sums
    }

    /// A place behind the last start is none.
    fn weight_of(candidates: &[Candidate], nodes: usize, prior: Prior, places: &[usize]) -> Option<f64> {
        let mut chain = Chain::new(&[], nodes, prior, 0);
        chain.candidates = candidates;
        chain.at = vec![None; candidates.len()];
        chain.popularity = Popularity::new(candidates.iter().map(|candidate| candidate.receiver), nodes);
        let mut weight = 1.0;
        for (message, place) in places.iter().enumerate() {
            let Some((sender, transfer, own)) = candidates[message].starts.get(*place) else {
                weight *= NONE;
                continue;
            };
            if chain.taken.contains_key(transfer) {
                return None;
            }
            weight *= own * chain.habit(message, *sender);
            chain.put(message, Some(*place));
        }
        Some(weight)
    }

    #[test]
    fn it_is_the_enumeration_of_all_matchings() {
        let message = |receiver, starts: &[(u16, u32, f64)]| Candidate {
            receiver,
            starts: starts.to_vec(),
            first: None,
        };
        let candidates = [
            message(4, &[(0, 10, 0.5), (1, 11, 0.3), (2, 12, 0.2)]),
            message(4, &[(0, 10, 0.4), (1, 11, 0.4), (0, 13, 0.2)]),
            message(5, &[(1, 11, 0.6), (2, 12, 0.3), (0, 13, 0.1)]),
            message(4, &[(2, 12, 0.7), (0, 13, 0.3)]),
        ];
        for habits in [None, Some(0.5)] {
            let found = matched(&candidates, 6, Prior { habits, phases: None }, 200_000, 1);
            for (found, expected) in found.iter().zip(enumerated(&candidates, 6, habits)) {
                for (found, expected) in found.iter().zip(&expected) {
                    assert!((found - expected).abs() < 0.01, "{habits:?}: {found} for {expected}");
                }
            }
        }
    }
}
