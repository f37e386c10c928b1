//! What is worth learning: priors under which messages that were not learned from are most
//! probable.
//!
//! Where receivers are drawn for each message, or times are, whatever is learned is noise, and an
//! observer that believed it would be surer and not better. It shows in messages that were left
//! out: they are no more probable for who has learned than for who has not.

use super::{Estimate, Message, Prior};
use libm::sqrt;

/// Strengths that are tried.
const HABITS: [f64; 6] = [0.03, 0.3, 3.0, 30.0, 300.0, 3000.0];
const PHASES: [f64; 2] = [3.0, 30.0];
/// Parts of the run that are in the one half and in the other in turn.
const STRETCHES: usize = 4;
/// Stretches whose means are compared.
const BATCHES: usize = 32;
/// Standard errors by which a gain has to exceed chance. A mean gain of nothing does so once in
/// some 400 times (Student's t with 31 degrees of freedom); what is learned from noise has less.
const BEYOND_CHANCE: f64 = 3.0;

/// The best prior of two kinds of messages: without and with phases, if there may be any.
pub(crate) fn choose(plain: &[Message], phased: Option<&[Message]>, nodes: usize) -> Prior {
    let none = left_out(plain, nodes, Prior::default());
    let habits = |strength| Prior { habits: Some(strength), phases: None };
    let (alone, gains) = better(plain, nodes, (Prior::default(), none), HABITS.map(habits));
    let Some(phased) = phased else { return alone };
    let timed = |strength| Prior { phases: Some(strength), ..alone };
    let (with_phases, gains) = better(phased, nodes, (alone, gains), PHASES.map(timed));
    if with_phases.phases.is_none() {
        return alone;
    }
    // Who knows phases may see habits that were not to be seen before.
    let habits = |strength| Prior { habits: Some(strength), ..with_phases };
    better(phased, nodes, (with_phases, gains), HABITS.map(habits)).0
}

/// The best of some priors, if it is better than what there is beyond chance, and the gains of
/// single messages by it.
fn better(
    messages: &[Message],
    nodes: usize,
    known: (Prior, Vec<f64>),
    tried: impl IntoIterator<Item = Prior>,
) -> (Prior, Vec<f64>) {
    let sum = |gains: &[f64]| gains.iter().sum::<f64>();
    let mut best: Option<(Prior, Vec<f64>)> = None;
    for prior in tried {
        let gains = left_out(messages, nodes, prior);
        // Gains grow with the strength of the prior and fall again.
        if best.as_ref().is_some_and(|(_, known)| sum(known) > sum(&gains)) {
            break;
        }
        best = Some((prior, gains));
    }
    best.filter(|(_, gains)| exceeds(gains, &known.1)).unwrap_or(known)
}

/// Gains of messages, each by an estimate from the half of the run that it is not in. Messages of
/// one moment may have begun with the same transfers and tell of each other. So the halves are made
/// of long stretches, and messages near to an end of one are not asked.
fn left_out(messages: &[Message], nodes: usize, prior: Prior) -> Vec<f64> {
    let stretch = messages.len().div_ceil(STRETCHES).max(1);
    let half_of = move |at: usize| at / stretch % 2;
    let halves = [0, 1].map(|half| Estimate::fit(messages, nodes, prior, move |at| half_of(at) == half));
    let inner = stretch / 4..stretch - stretch / 4;
    let asked = (0..messages.len()).filter(|at| inner.contains(&(at % stretch)));
    asked.map(|at| halves[1 - half_of(at)].gain(at)).collect()
}

/// Whether the one is more than the other, by more than chance. Messages of one moment gain
/// together, so that chance is taken from the means of stretches.
#[allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn exceeds(gains: &[f64], others: &[f64]) -> bool {
    let differences: Vec<f64> = gains.iter().zip(others).map(|(a, b)| a - b).collect();
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
    let means: Vec<f64> = differences.chunks(gains.len().div_ceil(BATCHES).max(1)).map(mean).collect();
    if means.len() < 2 {
        return false;
    }
    let (all, count) = (mean(&means), means.len() as f64);
    let squares: f64 = means.iter().map(|gain| (gain - all) * (gain - all)).sum();
    all > BEYOND_CHANCE * sqrt(squares / (count - 1.0) / count)
}
