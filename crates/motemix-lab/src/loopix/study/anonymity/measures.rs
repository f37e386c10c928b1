//! The measures of the field, of what many targets showed.
//!
//! * *Best guess*: how often the user to whom the observer gives the highest probability is the
//!   sender; among all users, and between the sender S₀ and one other user S₁.
//! * *Entropy* and *min-entropy*, −log₂ of the highest probability: of the packet that is the
//!   target, of the user who gets it, and of its sender.
//! * *δ(ε)*: the least δ with P₀(A) ≤ e^ε P₁(A) + δ for whatever A the observer looks for, P₀ and
//!   P₁ being what it sees if S₀ or if S₁ sent the message: differential privacy for one message,
//!   as AnoA defines sender anonymity (Backes, Kate, Manoharan, Meiser and Mohammadi, CSF 2013). By
//!   Neyman and Pearson the best A is "L > ε", L = ln(dP₀/dP₁), so that
//!   δ(ε) = P₀(L > ε) − e^ε P₁(L > ε) = E₀[(1 − e^(ε−L))⁺].
//!   The best guess between two is right with probability (1 + δ(0))/2.
//! * *Messages until known*: S₀ sends messages to one receiver, who works for the observer. It
//!   multiplies the likelihoods of all users, message by message, until it is 95 % sure of S₀
//!   (Wald's sequential test, for all users at once).

use super::super::chance::{Chance, Purpose};
use super::super::estimate::{Estimate, Gathered};
use super::network::Trial;

/// ε of the profile.
pub const EPSILONS: [f64; 3] = [0.0, 1.0, 2.0];
/// The sender is known when the observer is so sure of him or her.
pub const SURE: f64 = 0.95;
/// Messages after which nobody counts any more.
pub const MOST_MESSAGES: u32 = 10_000;
/// Senders whose messages are counted, at most: no more than targets were followed.
pub const SENDERS: u32 = 200;

/// What many targets showed.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Linkability {
    /// Mean of [`Trial::packet_bits`].
    pub packet_bits: Estimate,
    /// Mean of [`Trial::packet_min_bits`].
    pub packet_min_bits: Estimate,
    /// Mean of [`Trial::user_bits`].
    pub user_bits: Estimate,
    /// Mean of [`Trial::surprise`].
    pub surprise: Estimate,
    /// Mean of [`Trial::sender_bits`].
    pub sender_bits: Estimate,
    /// Mean of [`Trial::sender_min_bits`].
    pub sender_min_bits: Estimate,
    /// How often the likeliest of all users is the sender.
    pub best_guess: Estimate,
    /// How often S₀ is likelier than another user: ½ is nothing, 1 is certainty.
    pub best_guess_of_two: Estimate,
    /// δ(ε) at [`EPSILONS`].
    pub delta: [Estimate; 3],
    /// After how many messages the sender is known.
    pub known: Known,
}

/// After how many messages to one receiver their sender is known; nothing stands for more than
/// [`MOST_MESSAGES`], or more than the bound that was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Known {
    /// Half of all senders.
    pub half: Option<u32>,
    /// 95 % of all senders.
    pub most: Option<u32>,
    /// Until where was counted.
    pub bound: u32,
}

impl Linkability {
    /// What the trials say; `seed` draws the messages of senders from them.
    pub fn of(trials: &[Trial], seed: u64) -> Self {
        let mean = |of: &dyn Fn(&Trial) -> f64| trials.iter().map(of).collect::<Gathered>().estimate();
        Self {
            packet_bits: mean(&|trial| trial.packet_bits),
            packet_min_bits: mean(&|trial| trial.packet_min_bits),
            user_bits: mean(&|trial| trial.user_bits),
            surprise: mean(&|trial| trial.surprise),
            sender_bits: mean(&|trial| trial.sender_bits),
            sender_min_bits: mean(&|trial| trial.sender_min_bits),
            best_guess: mean(&Trial::best_guess),
            best_guess_of_two: mean(&Trial::best_guess_of_two),
            delta: EPSILONS.map(|epsilon| mean(&|trial| trial.delta(epsilon))),
            known: Known::of(trials, MOST_MESSAGES, seed),
        }
    }
}

impl Trial {
    /// Whether S₀ is the likeliest user; a part, if several are equally likely.
    fn best_guess(&self) -> f64 {
        let alike = self.others.iter().filter(|ratio| is_even(**ratio)).count();
        if self.others.iter().any(|ratio| *ratio > 1.0 && !is_even(*ratio)) {
            return 0.0;
        }
        1.0 / (1.0 + count(alike))
    }

    /// The share of the other users than whom S₀ is likelier.
    fn best_guess_of_two(&self) -> f64 {
        self.of_others(|ratio| if is_even(ratio) { 0.5 } else { f64::from(u8::from(ratio < 1.0)) })
    }

    /// E₀[(1 − e^(ε−L))⁺] over the other users.
    fn delta(&self, epsilon: f64) -> f64 {
        let factor = libm::exp(epsilon);
        self.of_others(|ratio| (1.0 - factor * ratio).max(0.0))
    }

    /// The mean over all other users of something of p/p₀.
    fn of_others(&self, of: impl Fn(f64) -> f64) -> f64 {
        let others = f64::from(self.users - 1);
        let none = others - count(self.others.len());
        (self.others.iter().copied().map(&of).sum::<f64>() + none * of(0.0)) / others
    }
}

impl Known {
    /// Counts for senders whose messages are as the trials, any of which may be the next.
    pub fn of(trials: &[Trial], bound: u32, seed: u64) -> Self {
        let users = trials.first().map_or(0, |trial| trial.users);
        let everybody = |_: u32, _: u32| true;
        Self::despite_absence(trials, users, bound, seed, |_| everybody)
    }

    /// The same if only some of `users` are present when a message is sent: `presence` makes, of a
    /// seed, what says whether another user is there at a message. S₀ always is.
    pub fn despite_absence<P: Fn(u32, u32) -> bool>(
        trials: &[Trial],
        users: u32,
        bound: u32,
        seed: u64,
        presence: impl Fn(u64) -> P,
    ) -> Self {
        // Chance has to decide who of the others is who, for all users are alike.
        let logarithms: Vec<(Vec<f64>, u32)> = trials
            .iter()
            .map(|trial| (trial.others.iter().map(|ratio| libm::log(*ratio)).collect(), trial.users - 1))
            .collect();
        let senders = u64::from(SENDERS).min(trials.len() as u64);
        let known = (0..senders).map(|more| {
            let seed = seed.wrapping_add(more);
            let mut chance = Chance::of(seed, Purpose::Messages);
            messages(&logarithms, users, bound, &mut chance, presence(seed))
        });
        Self::after(known.collect(), bound)
    }

    /// Sums up what each sender needed; more than `bound` if that was not enough.
    pub fn after(mut messages: Vec<u32>, bound: u32) -> Self {
        messages.sort_unstable();
        #[allow(clippy::cast_precision_loss, reason = "a number of senders")]
        let senders = messages.len() as f64;
        let at = |share: f64| {
            #[allow(clippy::cast_sign_loss, reason = "a share of senders")]
            let place = libm::ceil(share * senders) as usize;
            messages.get(place.saturating_sub(1)).copied().filter(|messages| *messages <= bound)
        };
        Self { half: at(0.5), most: at(SURE), bound }
    }

    /// Half and most of the senders, as people read it.
    pub fn texts(&self) -> [String; 2] {
        let text = |messages: Option<u32>| {
            messages.map_or_else(|| format!("more than {}", self.bound), |messages| messages.to_string())
        };
        [text(self.half), text(self.most)]
    }
}

/// Messages until S₀ is known; more than `bound` if that is not enough.
fn messages(
    trials: &[(Vec<f64>, u32)],
    users: u32,
    bound: u32,
    chance: &mut Chance,
    is_present: impl Fn(u32, u32) -> bool,
) -> u32 {
    let count = u32::try_from(trials.len()).unwrap_or(u32::MAX);
    // ln(P(messages | user)/P(messages | S₀)) of those who may still be the sender.
    let mut candidates: Vec<(u32, f64)> = (1..users).map(|user| (user, 0.0)).collect();
    for message in 0..bound {
        let (ratios, others) = &trials[chance.below(count) as usize];
        candidates.retain_mut(|(user, log)| {
            let slot = chance.below(*others) as usize;
            match ratios.get(slot) {
                Some(ratio) if is_present(*user, message) => {
                    *log += ratio;
                    true
                }
                _ => false,
            }
        });
        let all: f64 = candidates.iter().map(|(_, log)| libm::exp(*log)).sum();
        if 1.0 >= SURE * (1.0 + all) {
            return message + 1;
        }
    }
    bound.saturating_add(1)
}

/// Whether two users are equally likely, but for rounding.
fn is_even(ratio: f64) -> bool {
    (ratio - 1.0).abs() < 1e-9
}

#[allow(clippy::cast_precision_loss, reason = "a number of users")]
fn count(users: usize) -> f64 {
    users as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(others: &[f64], users: u32) -> Trial {
        let bits = [0.0; 6];
        let [packet_bits, packet_min_bits, user_bits, surprise, sender_bits, sender_min_bits] = bits;
        let others = others.to_vec();
        Trial {
            packet_bits,
            packet_min_bits,
            user_bits,
            surprise,
            sender_bits,
            sender_min_bits,
            others,
            users,
        }
    }

    #[test]
    fn the_measures_of_a_belief_are_counted_over_all_others() {
        let trial = trial(&[0.5, 2.0, 1.0], 5);
        assert!(trial.best_guess().abs() < 1e-12);
        // Likelier than one of them and one without a packet, as likely as another.
        assert!((trial.best_guess_of_two() - 2.5 / 4.0).abs() < 1e-12);
        assert!((trial.delta(0.0) - 1.5 / 4.0).abs() < 1e-12);
        assert!((trial.delta(1.0) - 0.25).abs() < 1e-12);
        assert!((super::tests::trial(&[1.0, 0.2], 3).best_guess() - 0.5).abs() < 1e-12);
    }

    #[test]
    fn likelihoods_multiply_until_one_user_is_left() {
        // Each message makes each of nine others half as likely: 9/2ⁿ ≤ 1/19 at n = 8.
        let known = Known::of(&[trial(&[0.5; 9], 10)], 100, 1);
        assert_eq!((known.half, known.most), (Some(8), Some(8)));
        // Whoever is as likely each time is never told apart.
        let known = Known::of(&[trial(&[1.0; 9], 10)], 100, 1);
        assert_eq!(known.texts(), ["more than 100", "more than 100"]);
        // Whoever is absent is not the sender.
        let at_first = |_| |_: u32, message: u32| message < 4;
        let known = Known::despite_absence(&[trial(&[1.0; 9], 10)], 10, 100, 1, at_first);
        assert_eq!(known.half, Some(5));
    }
}
