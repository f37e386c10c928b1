//! How good the observer's guesses are: the only place where they meet the truth.

use libm::{exp, log2};
use serde::Serialize;

/// The observer's distributions over the senders of messages.
#[derive(Clone, Copy, PartialEq, Default, Debug, Serialize)]
pub struct Guesses {
    /// Share of messages whose most probable sender is the true one.
    pub first_guess: f64,
    /// Mean Shannon entropy, bits.
    pub entropy_bits: f64,
    /// The entropy of the worst served: one message in twenty has less.
    pub entropy_p5_bits: f64,
    /// Min-entropy, bits: the binary logarithm of how often the first guess is right, as the
    /// observer expects it, with the sign changed.
    pub min_entropy_bits: f64,
    /// Privacy profile at ε = 0: between the true sender and another one, the better guess is right
    /// in (1 + δ)/2 of all cases.
    pub delta_0: f64,
    /// At ε = 1: for how much of the probability the true sender is more than e times as likely as
    /// another one.
    pub delta_1: f64,
    /// At ε = 2.
    pub delta_2: f64,
    /// Mean probability that the observer gives to the true sender.
    pub true_sender: f64,
    /// The same as the observer expects it. If it differs much from `true_sender`, the observer's
    /// model is wrong.
    pub true_sender_expected: f64,
    /// Expected calibration error: by how much the probability of the first guess differs from how
    /// often that is right, mean over the messages in ten classes of probability.
    pub calibration_error: f64,
}

/// First guesses whose stated probability is in one class.
#[derive(Clone, Copy, PartialEq, Default, Debug, Serialize)]
pub struct Reliability {
    /// How many.
    pub messages: u64,
    /// Their mean probability as the observer states it.
    pub stated: Option<f64>,
    /// The share of them that is right.
    pub right: Option<f64>,
}

/// Classes of probability.
pub(crate) const CLASSES: usize = 10;
/// Where the privacy profile is taken.
const EPSILONS: [f64; 3] = [0.0, 1.0, 2.0];

/// One message's distribution, judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judged {
    entropy: f64,
    true_sender: f64,
    expected: f64,
    /// The greatest probability.
    stated: f64,
    first_guess: f64,
    profile: [f64; 3],
}

#[allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
impl Judged {
    /// Judges a distribution by the truth; `others` are those who may have sent the message
    /// besides.
    pub fn of(probabilities: &[f64], sender: u16, others: impl Iterator<Item = u16>) -> Self {
        let of = |node: u16| probabilities.get(usize::from(node)).copied().unwrap_or_default();
        let true_sender = of(sender);
        let stated = probabilities.iter().copied().fold(0.0, f64::max);
        // It takes any of those that are equally probable.
        let firsts = probabilities.iter().filter(|p| **p >= stated).count().max(1);
        let (mut profile, mut count) = ([0.0; 3], 0_usize);
        for other in others.filter(|other| *other != sender) {
            count += 1;
            for (sum, epsilon) in profile.iter_mut().zip(EPSILONS) {
                *sum += hockey_stick(true_sender, of(other), epsilon);
            }
        }
        Self {
            entropy: entropy(probabilities),
            true_sender,
            expected: probabilities.iter().map(|p| p * p).sum(),
            stated,
            first_guess: if true_sender >= stated { 1.0 / firsts as f64 } else { 0.0 },
            profile: profile.map(|sum| sum / count.max(1) as f64),
        }
    }
}

/// max(0, 1 − e^(ε − L)) for L = ln(p/q). Its mean over what happens with p is the hockey-stick
/// divergence (Balle, Barthe and Gaboardi, NeurIPS 2018).
fn hockey_stick(p: f64, q: f64, epsilon: f64) -> f64 {
    if p > 0.0 { (1.0 - exp(epsilon) * q / p).max(0.0) } else { 0.0 }
}

#[allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
impl Guesses {
    pub(crate) fn of(judged: &[Judged]) -> Self {
        let count = judged.len().max(1) as f64;
        let mean = |of: fn(&Judged) -> f64| judged.iter().map(of).sum::<f64>() / count;
        let mut entropies: Vec<f64> = judged.iter().map(|one| one.entropy).collect();
        entropies.sort_by(f64::total_cmp);
        let worst = (entropies.len() * 5).div_ceil(100).saturating_sub(1);
        let stated = mean(|one| one.stated);
        let off = |class: &Reliability| {
            let off = class.stated.zip(class.right).map_or(0.0, |(stated, right)| (stated - right).abs());
            off * class.messages as f64
        };
        Self {
            first_guess: mean(|one| one.first_guess),
            entropy_bits: mean(|one| one.entropy),
            entropy_p5_bits: entropies.get(worst).copied().unwrap_or_default(),
            min_entropy_bits: if stated > 0.0 { -log2(stated) } else { 0.0 },
            delta_0: mean(|one| one.profile[0]),
            delta_1: mean(|one| one.profile[1]),
            delta_2: mean(|one| one.profile[2]),
            true_sender: mean(|one| one.true_sender),
            true_sender_expected: mean(|one| one.expected),
            calibration_error: reliability(judged).iter().map(off).sum::<f64>() / count,
        }
    }
}

/// First guesses by classes of their stated probability, the least probable first: a reliability
/// diagram (Niculescu-Mizil and Caruana, ICML 2005).
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a few classes, and counts far below 2^53"
)]
pub(crate) fn reliability(judged: &[Judged]) -> [Reliability; CLASSES] {
    let mut sums = [(0_u64, 0.0, 0.0); CLASSES];
    for one in judged {
        let class = ((one.stated * CLASSES as f64) as usize).min(CLASSES - 1);
        let (messages, stated, right) = &mut sums[class];
        *messages += 1;
        *stated += one.stated;
        *right += one.first_guess;
    }
    sums.map(|(messages, stated, right)| {
        let mean = |sum: f64| (messages > 0).then(|| sum / messages as f64);
        Reliability { messages, stated: mean(stated), right: mean(right) }
    })
}

/// Shannon entropy, bits.
pub(crate) fn entropy(probabilities: &[f64]) -> f64 {
    probabilities.iter().filter(|p| **p > 0.0).map(|p| -p * log2(*p)).sum::<f64>().max(0.0)
}
