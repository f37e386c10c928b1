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
//! * *Messages until named*: after how many of them S₀ is the likeliest, whether the observer is
//!   sure or not. That is sooner.
//! * *Round trip*: the receiver acknowledges each message, and the observer follows the
//!   acknowledgement to all who may get it. Whoever gets it sent the message.

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
    /// What is known of messages that are acknowledged.
    pub round_trip: RoundTrip,
}

/// What an observer knows who follows messages and their acknowledgements.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct RoundTrip {
    /// How often the likeliest of all users is the sender of one message.
    pub best_guess: Estimate,
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
            round_trip: RoundTrip {
                best_guess: best_guess_after(1, trials, seed),
                known: Known::of_round_trips(trials, MOST_MESSAGES, seed),
            },
        }
    }
}

/// How often the likeliest of all users is the sender after so many messages to one receiver, all
/// of them acknowledged.
pub fn best_guess_after(messages: u32, trials: &[Trial], seed: u64) -> Estimate {
    let ways = [Way::there(trials), Way::back(trials)];
    let guess = |mut suspects: Suspects| {
        for _ in 0..messages {
            suspects.hear(|_| true);
        }
        suspects.best_guess()
    };
    all_suspects(&ways, trials, seed).into_iter().map(guess).collect::<Gathered>().estimate()
}

impl Trial {
    fn best_guess(&self) -> f64 {
        best_guess(self.others.iter().copied())
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
        Self::by(&[Way::there(trials)], users_of(trials), bound, seed, |_| |_: u32, _: u32| true)
    }

    /// The same if each message is acknowledged, and the observer follows the acknowledgement too.
    pub fn of_round_trips(trials: &[Trial], bound: u32, seed: u64) -> Self {
        let ways = [Way::there(trials), Way::back(trials)];
        Self::by(&ways, users_of(trials), bound, seed, |_| |_: u32, _: u32| true)
    }

    /// The same of the way there if only some of `users` are present when a message is sent:
    /// `presence` makes, of a seed, what says whether another user is there at a message. S₀ always
    /// is.
    pub fn despite_absence<P: Fn(u32, u32) -> bool>(
        trials: &[Trial],
        users: u32,
        bound: u32,
        seed: u64,
        presence: impl Fn(u64) -> P,
    ) -> Self {
        Self::by(&[Way::there(trials)], users, bound, seed, presence)
    }

    fn by<P: Fn(u32, u32) -> bool>(
        ways: &[Way],
        users: u32,
        bound: u32,
        seed: u64,
        presence: impl Fn(u64) -> P,
    ) -> Self {
        let trials = ways.iter().map(|way| way.messages.len()).min().unwrap_or(0);
        let senders = u64::from(SENDERS).min(trials as u64);
        let known = (0..senders).map(|more| {
            let seed = seed.wrapping_add(more);
            let is_present = presence(seed);
            let mut suspects = Suspects::new(ways, users, Chance::of(seed, Purpose::Messages));
            let sure = (0..bound).find(|message| {
                suspects.hear(|user| is_present(user, *message));
                suspects.is_sure()
            });
            sure.map_or(bound.saturating_add(1), |message| message + 1)
        });
        Self::after(known.collect(), bound)
    }

    /// After how many messages, each of them acknowledged, the likeliest of all users is the
    /// sender, for half and for 95 % of the senders. A guess is right long before the observer is
    /// sure of it.
    pub fn likeliest_of_round_trips(trials: &[Trial], bound: u32, seed: u64) -> Self {
        let ways = [Way::there(trials), Way::back(trials)];
        let mut senders = all_suspects(&ways, trials, seed);
        let mut known = Self { half: None, most: None, bound };
        for message in 1..=bound {
            let guess = |suspects: &mut Suspects| {
                suspects.hear(|_| true);
                suspects.best_guess()
            };
            let right = senders.iter_mut().map(guess).sum::<f64>() / count(trials.len());
            if right >= 0.5 {
                known.half.get_or_insert(message);
            }
            if right >= SURE {
                known.most = Some(message);
                break;
            }
        }
        known
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

/// One way of messages: what each of them may have shown.
struct Way {
    /// ln(p/p₀) of the other users for whom it is not zero, and how many others there are.
    messages: Vec<(Vec<f64>, u32)>,
}

impl Way {
    /// The way of messages: who sent them.
    fn there(trials: &[Trial]) -> Self {
        Self::of(trials, |trial| &trial.others)
    }

    /// The way of acknowledgements: who gets them.
    fn back(trials: &[Trial]) -> Self {
        Self::of(trials, |trial| &trial.other_receivers)
    }

    fn of(trials: &[Trial], others: impl Fn(&Trial) -> &Vec<f64>) -> Self {
        let more = excess(trials, &others);
        let logarithms =
            |trial: &Trial| others(trial).iter().map(|ratio| libm::log(*ratio) - more).collect::<Vec<_>>();
        Self { messages: trials.iter().map(|trial| (logarithms(trial), trial.users - 1)).collect() }
    }
}

/// All who may be S₀, message by message.
struct Suspects<'w> {
    ways: &'w [Way],
    /// ln(P(messages | user)/P(messages | S₀)) of the others who may still be the sender.
    others: Vec<(u32, f64)>,
    /// Chance decides who of the others is who, for all users are alike.
    chance: Chance,
}

impl<'w> Suspects<'w> {
    fn new(ways: &'w [Way], users: u32, chance: Chance) -> Self {
        Self { ways, others: (1..users).map(|user| (user, 0.0)).collect(), chance }
    }

    /// One more message, at which some of the others are present.
    fn hear(&mut self, is_present: impl Fn(u32) -> bool) {
        for way in self.ways {
            let count = u32::try_from(way.messages.len()).unwrap_or(u32::MAX);
            let (ratios, others) = &way.messages[self.chance.below(count) as usize];
            let chance = &mut self.chance;
            self.others.retain_mut(|(user, log)| {
                let slot = chance.below(*others) as usize;
                match ratios.get(slot) {
                    Some(ratio) if is_present(*user) => {
                        *log += ratio;
                        true
                    }
                    _ => false,
                }
            });
        }
    }

    fn is_sure(&self) -> bool {
        let all: f64 = self.others.iter().map(|(_, log)| libm::exp(*log)).sum();
        1.0 >= SURE * (1.0 + all)
    }

    /// Whether S₀ is the likeliest; a part, if several are equally likely.
    fn best_guess(&self) -> f64 {
        best_guess(self.others.iter().map(|(_, log)| libm::exp(*log)))
    }
}

/// Who may be the sender, before the first message, for as many senders as there are trials.
fn all_suspects<'w>(ways: &'w [Way], trials: &[Trial], seed: u64) -> Vec<Suspects<'w>> {
    let users = users_of(trials);
    (0..trials.len() as u64)
        .map(|more| Suspects::new(ways, users, Chance::of(seed.wrapping_add(more), Purpose::Messages)))
        .collect()
}

/// By how much the mean of ln(p/p₀) is too large, as far as the same trials show it.
///
/// Where many packets of each user are on their way, a message shows little, and by chance the mean
/// of some hundred trials says that it speaks for others as often as not. But the mean of p/p₀ is
/// known: it is a ratio of likelihoods, so that it is one if S₀ sent the message, less the
/// probability that the other cannot have sent it. What it differs by in these trials says what
/// the logarithm differs by: p/p₀ is a control variate (Glasserman, "Monte Carlo Methods in
/// Financial Engineering", 2003, section 4.1).
fn excess(trials: &[Trial], others: impl Fn(&Trial) -> &Vec<f64>) -> f64 {
    let means = |trial: &Trial| {
        let ratios = others(trial);
        let all = f64::from(trial.users - 1);
        let some = count(ratios.len()).max(1.0);
        let logarithms = ratios.iter().map(|ratio| libm::log(*ratio)).sum::<f64>() / some;
        (ratios.iter().sum::<f64>() / all, logarithms, count(ratios.len()) / all)
    };
    let means: Vec<_> = trials.iter().map(means).collect();
    let mean = |of: &dyn Fn(&(f64, f64, f64)) -> f64| means.iter().map(of).sum::<f64>() / count(means.len());
    let (ratio, log, possible) = (mean(&|of| of.0), mean(&|of| of.1), mean(&|of| of.2));
    let together = mean(&|of| (of.0 - ratio) * (of.1 - log));
    let alone = mean(&|of| (of.0 - ratio) * (of.0 - ratio));
    if alone > 0.0 { together / alone * (ratio - possible) } else { 0.0 }
}

fn users_of(trials: &[Trial]) -> u32 {
    trials.first().map_or(0, |trial| trial.users)
}

/// Whether S₀ is the likeliest user, of p/p₀ of the others; a part, if several are equally likely.
fn best_guess(others: impl Iterator<Item = f64>) -> f64 {
    let mut alike = 0;
    for ratio in others {
        if is_even(ratio) {
            alike += 1;
        } else if ratio > 1.0 {
            return 0.0;
        }
    }
    1.0 / (1.0 + count(alike))
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
            other_receivers: others.clone(),
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
        // An acknowledgement says as much again.
        let round_trips = [trial(&[0.5; 9], 10)];
        let known = Known::of_round_trips(&round_trips, 100, 1);
        assert_eq!((known.half, known.most), (Some(4), Some(4)));
        assert!((best_guess_after(3, &round_trips, 1).mean - 1.0).abs() < 1e-12);
        assert!((best_guess_after(3, &[trial(&[1.0; 9], 10)], 1).mean - 0.1).abs() < 1e-12);
        // The likeliest is known at once here, and never where all are alike.
        let guessed = Known::likeliest_of_round_trips(&round_trips, 100, 1);
        assert_eq!((guessed.half, guessed.most), (Some(1), Some(1)));
        let guessed = Known::likeliest_of_round_trips(&[trial(&[1.0; 9], 10)], 100, 1);
        assert_eq!(guessed.texts(), ["more than 100", "more than 100"]);
        // Whoever is absent is not the sender.
        let at_first = |_| |_: u32, message: u32| message < 4;
        let known = Known::despite_absence(&[trial(&[1.0; 9], 10)], 10, 100, 1, at_first);
        assert_eq!(known.half, Some(5));
    }

    #[test]
    fn a_guess_is_right_before_the_observer_is_sure() {
        // Messages that speak for some of the others as well, and against them in the mean.
        let trials: Vec<_> = [0.5, 0.7, 0.9, 1.1, 1.3]
            .repeat(8)
            .into_iter()
            .map(|ratio: f64| trial(&[ratio, 1.8 - ratio, 0.9, 0.9], 5))
            .collect();
        let guessed = Known::likeliest_of_round_trips(&trials, 1000, 1);
        let sure = Known::of_round_trips(&trials, 1000, 1);
        for (share, guessed, sure) in [(0.5, guessed.half, sure.half), (SURE, guessed.most, sure.most)] {
            let (guessed, sure) = (guessed.unwrap(), sure.unwrap());
            assert!(guessed < sure, "{guessed} {sure}");
            assert!(best_guess_after(guessed, &trials, 1).mean >= share);
            assert!(best_guess_after(guessed - 1, &trials, 1).mean < share, "not before");
        }
    }
}
