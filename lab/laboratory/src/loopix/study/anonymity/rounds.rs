//! Rounds with noise: Vuvuzela (van den Hooff, Lazar, Zaharia and Zeldovich, SOSP 2015).
//!
//! In each round every user sends one request through a chain of servers, which shuffle all of
//! them, to a *dead drop* at the last. Two who talk meet at one dead drop, everybody else is alone
//! at one. The last server, which works for the observer, sees how many dead drops were visited
//! once and how many twice. Each server before it adds visits: ⌈max(0, Laplace(µ, b))⌉ single ones
//! and ⌈max(0, Laplace(µ/2, b/2))⌉ pairs.
//!
//! An observer who only watches learns nothing about who talks: whoever it is, the counts are the
//! same. So it cuts half of the users off, others in each round. If the sender is among them, there
//! is a pair less, and there are two single visits more. That is the attack of the paper, on all
//! users at once. The two who talk trust each other: one of them alone would see when the other is
//! cut off.

use super::super::chance::{Chance, Purpose};
use super::measures::{EPSILONS, Known, SENDERS, SURE};

/// Servers; the last one adds no noise.
const SERVERS: u32 = 3;
/// µ/b of the paper's configuration: 300,000 and 13,800.
const NOISE_TO_SCALE: f64 = 300_000.0 / 13_800.0;
/// Noise that is further than so many b from its mean has less than a hundred-thousandth of all
/// probability.
const REACH: f64 = 12.0;

/// A network of rounds.
#[derive(Debug, Clone)]
pub struct Rounds {
    /// Users, each of whom sends in every round.
    pub users: u32,
    /// Time from one round to the next, seconds.
    pub every_s: f64,
    /// µ: single visits that a server adds on average.
    pub noise: f64,
    /// b of single visits; of pairs it is half of it.
    pub scale: f64,
    singles: Noise,
    pairs: Noise,
}

/// What an observer learns in a round, and after how many.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Learned {
    /// How often the likeliest user is the sender.
    pub best_guess: f64,
    /// How often S₀ is likelier than one other user.
    pub best_guess_of_two: f64,
    /// Mean of −log₂ of the highest probability of a user, bits.
    pub sender_min_bits: f64,
    /// δ(ε) at [`EPSILONS`], for S₀ and another user.
    pub delta: [f64; 3],
    /// Rounds until the sender is known.
    pub known: Known,
}

/// The sum of what all servers add: probabilities of `first`, `first` + 1, …
#[derive(Debug, Clone, Default)]
struct Noise {
    first: usize,
    probabilities: Vec<f64>,
    /// Up to each of them, for drawing.
    cumulated: Vec<f64>,
}

impl Rounds {
    /// As many packets in a second as `users` who each send `rate` packets a second through three
    /// mixes, four links; and a mean wait of `latency_s`, which is half of a round. Nothing if that
    /// leaves no packets for noise.
    ///
    /// A round has 2(3N + 6µ) packets: N, N + 2µ and N + 4µ requests on the way to each server, and
    /// as many answers.
    pub fn within(users: u32, rate: f64, latency_s: f64) -> Option<Self> {
        let every_s = 2.0 * latency_s;
        let noise = f64::from(users) * (4.0 * rate * every_s - 6.0) / 12.0;
        let scale = noise / NOISE_TO_SCALE;
        (scale >= 1.0).then(|| Self {
            users,
            every_s,
            noise,
            scale,
            singles: Noise::of(noise, scale),
            pairs: Noise::of(noise / 2.0, scale / 2.0),
        })
    }

    /// What an observer learns who only watches.
    pub fn watched(&self, bound: u32) -> Learned {
        let users = f64::from(self.users);
        Learned {
            best_guess: 1.0 / users,
            best_guess_of_two: 0.5,
            sender_min_bits: libm::log2(users),
            delta: [0.0; 3],
            known: Known { half: None, most: None, bound },
        }
    }

    /// What an observer learns who cuts half of the users off.
    pub fn cut_off(&self, bound: u32, seed: u64) -> Learned {
        let half = f64::from(self.users) / 2.0;
        let (mut likelier, mut bits, mut delta) = (0.0, 0.0, [0.0; 3]);
        // The sender is in, a pair more, or it is cut off and there are two single visits more.
        for singles in self.singles.first..self.singles.end() + 2 {
            let (single_in, single_out) = (self.singles.of_number(singles), self.singles.before(singles, 2));
            for pairs in self.pairs.first..=self.pairs.end() {
                let is_in = single_in * self.pairs.before(pairs, 1);
                let is_out = single_out * self.pairs.of_number(pairs);
                if is_in + is_out <= 0.0 {
                    continue;
                }
                let most = is_in.max(is_out);
                likelier += most;
                bits -= f64::midpoint(is_in, is_out) * libm::log2(most / (is_in + is_out) / half);
                for (delta, epsilon) in delta.iter_mut().zip(EPSILONS) {
                    *delta += (is_in - libm::exp(epsilon) * is_out).max(0.0);
                }
            }
        }
        // In every other round just one of two users is cut off.
        let delta = delta.map(|delta| delta / 2.0);
        Learned {
            best_guess: likelier / f64::from(self.users),
            best_guess_of_two: f64::midpoint(1.0, delta[0]),
            sender_min_bits: bits,
            delta,
            known: self.known(bound, seed),
        }
    }

    fn known(&self, bound: u32, seed: u64) -> Known {
        let rounds = (0..u64::from(SENDERS))
            .map(|more| self.until_known(bound, &mut Chance::of(seed.wrapping_add(more), Purpose::Noise)));
        Known::after(rounds.collect(), bound)
    }

    /// Rounds until S₀ is known; more than `bound` if that is not enough.
    fn until_known(&self, bound: u32, chance: &mut Chance) -> u32 {
        // ln(P(rounds | user)/P(rounds | S₀)) of the others.
        let mut candidates = vec![0.0; self.users as usize - 1];
        for round in 0..bound {
            let is_in = chance.happens(0.5);
            let singles = self.singles.draw(chance) + if is_in { 0 } else { 2 };
            let pairs = self.pairs.draw(chance) + usize::from(is_in);
            let of_in = self.singles.of_number(singles) * self.pairs.before(pairs, 1);
            let of_out = self.singles.before(singles, 2) * self.pairs.of_number(pairs);
            let (same, other) = if is_in { (of_in, of_out) } else { (of_out, of_in) };
            let log = libm::log(other / same);
            for candidate in &mut candidates {
                *candidate += if chance.happens(0.5) { log } else { 0.0 };
            }
            let all: f64 = candidates.iter().map(|log| libm::exp(*log)).sum();
            if 1.0 >= SURE * (1.0 + all) {
                return round + 1;
            }
        }
        bound.saturating_add(1)
    }
}

impl Noise {
    /// The sum of ⌈max(0, Laplace(mean, scale))⌉ of each server that adds some.
    fn of(mean: f64, scale: f64) -> Self {
        let below = |value: f64| {
            let off = (value - mean) / scale;
            if off < 0.0 { libm::exp(off) / 2.0 } else { 1.0 - libm::exp(-off) / 2.0 }
        };
        #[allow(clippy::cast_sign_loss, reason = "not below zero")]
        let (first, last) =
            (libm::floor((mean - REACH * scale).max(0.0)) as u32, libm::ceil(mean + REACH * scale) as u32);
        let one = (first..=last).map(|number| {
            let number = f64::from(number);
            if number < 1.0 { below(0.0) } else { below(number) - below(number - 1.0) }
        });
        let one: Vec<f64> = one.collect();
        let mut sum = vec![1.0];
        for _ in 1..SERVERS {
            let mut more = vec![0.0; sum.len() + one.len() - 1];
            for (place, probability) in sum.iter().enumerate() {
                for (more, other) in more[place..].iter_mut().zip(&one) {
                    *more += probability * other;
                }
            }
            sum = more;
        }
        let all: f64 = sum.iter().sum();
        for probability in &mut sum {
            *probability /= all;
        }
        let up_to = |sum: &mut f64, probability: &f64| {
            *sum += probability;
            Some(*sum)
        };
        let cumulated = sum.iter().scan(0.0, up_to).collect();
        Self { first: (first * (SERVERS - 1)) as usize, probabilities: sum, cumulated }
    }

    /// The first number that is not reached.
    fn end(&self) -> usize {
        self.first + self.probabilities.len()
    }

    fn of_number(&self, number: usize) -> f64 {
        let place = number.checked_sub(self.first);
        place.and_then(|place| self.probabilities.get(place)).copied().unwrap_or(0.0)
    }

    /// The probability of the number that is so much less.
    fn before(&self, number: usize, less: usize) -> f64 {
        number.checked_sub(less).map_or(0.0, |number| self.of_number(number))
    }

    fn draw(&self, chance: &mut Chance) -> usize {
        let at = chance.unit();
        let place = self.cumulated.partition_point(|sum| *sum <= at);
        self.first + place.min(self.probabilities.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loopix::study::estimate::Gathered;

    #[test]
    fn noise_is_the_papers() {
        let noise = Noise::of(20.0, 3.0);
        let all: f64 = noise.probabilities.iter().sum();
        assert!((all - 1.0).abs() < 1e-9);
        // Two servers; rounding up adds half a visit each.
        let mean: f64 = (noise.first..noise.end())
            .map(|number| noise.of_number(number) * f64::from(u16::try_from(number).unwrap()))
            .sum();
        assert!((mean - 41.0).abs() < 0.05, "{mean}");
        let mut chance = Chance::of(1, Purpose::Noise);
        let drawn: Gathered =
            (0..20_000).map(|_| f64::from(u16::try_from(noise.draw(&mut chance)).unwrap())).collect();
        assert!(drawn.estimate().agrees(mean, 2.0), "{:?} {mean}", drawn.estimate());
    }

    #[test]
    fn packets_are_as_many_as_those_of_mixes() {
        let rounds = Rounds::within(100, 1.0, 6.0).unwrap();
        let of_round = 6.0 * 100.0 + 12.0 * rounds.noise;
        assert!((of_round / rounds.every_s - 4.0 * 100.0).abs() < 1e-9);
        assert!(Rounds::within(100, 1.0, 0.5).is_none(), "one request takes all");
    }

    #[test]
    fn a_round_gives_away_no_more_than_the_paper_says() {
        // ε = 4/b with one honest server, so with two no more.
        let rounds = Rounds::within(100, 1.0, 6.0).unwrap();
        let learned = rounds.cut_off(10, 1);
        let bound = (libm::exp(4.0 / rounds.scale) - 1.0) / 2.0;
        assert!(learned.delta[0] > 0.0 && learned.delta[0] < bound, "{learned:?} {bound}");
        assert!(learned.delta[1] < 1e-4 && learned.delta[2] < 1e-4, "{learned:?}");
        assert!((2.0 * learned.best_guess_of_two - 1.0 - learned.delta[0]).abs() < 1e-12);
        assert!(learned.sender_min_bits < libm::log2(100.0) && learned.best_guess > 0.01);
        assert_eq!(learned.known.half, None);
    }

    #[test]
    fn less_noise_is_sooner_seen_through() {
        let rounds = |latency_s| Rounds::within(20, 1.0, latency_s).unwrap().known(3000, 1).half.unwrap();
        assert!(rounds(4.0) < rounds(8.0), "{} {}", rounds(4.0), rounds(8.0));
    }
}
