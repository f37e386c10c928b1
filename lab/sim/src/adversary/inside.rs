//! Who is still inside a node: probabilities, and how they depend on each other.
//!
//! That one may have left makes it more probable that another one did not. Without that, an
//! observer who saw two packets come and two leave would not know that nobody is left; with nothing
//! else but that, it would forget that some end there. So means and covariances are kept, and third
//! moments taken as those of a normal distribution (assumed density filtering; Maybeck, "Stochastic
//! Models, Estimation, and Control", volume 2, 1982, section 12.3).
//!
//! A covariance for each pair takes time by the square of their number. Of many, only the sum of
//! all covariances is kept: it says how well their number is known, which is nearly all that one
//! of many tells of another (`sum`).

mod pairs;
mod sum;

use libm::ceil;
use pairs::Pairs;
use sum::Sum;

/// So many at most are followed pair by pair.
const MOST_IN_PAIRS: usize = 256;
/// At most so much is learned at once of time in which nobody left.
const SMALL: f64 = 0.2;
/// Nothing more is to be learned then.
const MUCH: f64 = 20.0;

/// Probabilities of being inside, in the order of joining, and how they depend on each other.
#[derive(Clone, Debug)]
pub(crate) struct Inside {
    mean: Vec<f64>,
    dependence: Dependence,
    most_in_pairs: usize,
}

#[derive(Clone, Debug)]
enum Dependence {
    Pairs(Pairs),
    Sum(Sum),
}

/// One leaves: what was known before.
struct Leaving<'l> {
    before: &'l [f64],
    /// Covariances of each with the sum of all rates of those inside.
    against: &'l [f64],
    rates: &'l [f64],
    /// What all rates come to.
    total: f64,
}

impl Default for Inside {
    fn default() -> Self {
        Self::in_pairs(MOST_IN_PAIRS)
    }
}

impl Inside {
    /// Nobody yet; so many at most are followed pair by pair.
    fn in_pairs(most: usize) -> Self {
        let dependence = Dependence::Pairs(Pairs::default());
        Self { mean: Vec::new(), dependence, most_in_pairs: most }
    }

    /// How probably each is inside.
    pub fn probabilities(&self) -> &[f64] {
        &self.mean
    }

    /// Whether they are too many to be followed pair by pair.
    pub fn are_many(&self) -> bool {
        matches!(self.dependence, Dependence::Sum(_))
    }

    /// One comes, who stays at all with this probability.
    pub fn join(&mut self, probability: f64) {
        self.mean.push(probability);
        let many = self.mean.len() > self.most_in_pairs;
        match &mut self.dependence {
            // Whoever comes depends on nobody.
            Dependence::Sum(_) => {}
            Dependence::Pairs(pairs) if many => self.dependence = Dependence::Sum(Sum::of(pairs)),
            Dependence::Pairs(pairs) => pairs.join(),
        }
    }

    /// Time passes and nobody leaves. By `hazards` each would have left, added up over that time.
    pub fn stay(&mut self, hazards: &[f64]) {
        let most = hazards.iter().copied().fold(0.0, f64::max).min(MUCH);
        let parts = ceil(most / SMALL);
        let hazards: Vec<f64> = hazards.iter().map(|hazard| hazard.min(MUCH) / parts).collect();
        let mut part = 0.0;
        while part < parts {
            let against = self.against(&hazards);
            for (mean, against) in self.mean.iter_mut().zip(against) {
                *mean = (*mean - against).clamp(0.0, 1.0);
            }
            self.bound();
            part += 1.0;
        }
    }

    /// One leaves: of those with these rates, or one who was not among them. `total` is what all
    /// rates come to, each by the probability of its being inside.
    pub fn leave(&mut self, rates: &[f64], total: f64) {
        let against = self.against(rates);
        let before = self.mean.clone();
        for (at, mean) in self.mean.iter_mut().enumerate() {
            *mean = (before[at] + (against[at] - rates[at] * before[at]) / total).clamp(0.0, 1.0);
        }
        let leaving = Leaving { before: &before, against: &against, rates, total };
        match &mut self.dependence {
            Dependence::Pairs(pairs) => pairs.leave(&leaving, &self.mean),
            Dependence::Sum(sum) => sum.leave(&leaving, &self.mean),
        }
        self.bound();
    }

    /// Forgets all but those to keep.
    pub fn retain(&mut self, keep: &[bool]) {
        match &mut self.dependence {
            Dependence::Pairs(pairs) => pairs.retain(keep),
            Dependence::Sum(sum) => sum.retain(&self.mean, keep),
        }
        retain(&mut self.mean, keep);
    }

    /// Covariances with the sum of all rates of those inside.
    fn against(&self, rates: &[f64]) -> Vec<f64> {
        match &self.dependence {
            Dependence::Pairs(pairs) => pairs.against(&self.mean, rates),
            Dependence::Sum(sum) => sum.against(&self.mean, rates),
        }
    }

    /// Keeps covariances within what events with these probabilities can have.
    fn bound(&mut self) {
        match &mut self.dependence {
            Dependence::Pairs(pairs) => pairs.bound(&self.mean),
            Dependence::Sum(sum) => sum.bound(&self.mean),
        }
    }
}

fn retain<T>(list: &mut Vec<T>, keep: &[bool]) {
    let mut keep = keep.iter();
    list.retain(|_| keep.next().copied().unwrap_or(true));
}

#[cfg(test)]
#[allow(clippy::cast_precision_loss, reason = "small numbers")]
mod tests {
    use super::*;

    /// The same by counting all cases: probabilities of sets.
    struct Cases(Vec<f64>);

    impl Cases {
        fn new(joined: &[f64]) -> Self {
            let of = |set: usize| {
                let one = |(at, p): (usize, &f64)| if set >> at & 1 == 1 { *p } else { 1.0 - p };
                joined.iter().enumerate().map(one).product()
            };
            Self((0..1 << joined.len()).map(of).collect())
        }

        fn leave(&mut self, rates: &[f64], others: f64) {
            let mut after: Vec<f64> = self.0.iter().map(|p| p * others).collect();
            for (set, p) in self.0.iter().enumerate() {
                for (at, rate) in rates.iter().enumerate().filter(|(at, _)| set >> at & 1 == 1) {
                    after[set & !(1 << at)] += p * rate;
                }
            }
            let sum: f64 = after.iter().sum();
            self.0 = after.iter().map(|p| p / sum).collect();
        }

        fn mean(&self, at: usize) -> f64 {
            self.0.iter().enumerate().filter(|(set, _)| set >> at & 1 == 1).map(|(_, p)| p).sum()
        }
    }

    fn total(inside: &Inside, rates: &[f64], others: f64) -> f64 {
        inside.probabilities().iter().zip(rates).map(|(p, rate)| p * rate).sum::<f64>() + others
    }

    fn joined(probabilities: &[f64]) -> Inside {
        let mut inside = Inside::default();
        for p in probabilities {
            inside.join(*p);
        }
        inside
    }

    #[test]
    fn when_as_many_leave_as_came_nobody_is_left() {
        let mut inside = joined(&[1.0; 4]);
        for left in 1..=4 {
            let total = total(&inside, &[2.0; 4], 0.0);
            inside.leave(&[2.0; 4], total);
            for p in inside.probabilities() {
                assert!((p - f64::from(4 - left) / 4.0).abs() < 1e-9, "{p} after {left}");
            }
        }
    }

    #[test]
    fn it_is_near_to_counting_all_cases() {
        let (probabilities, rates, others) = ([0.9, 0.7, 0.8, 0.95], [1.0, 2.0, 0.5, 1.0], 0.3);
        let (mut inside, mut cases) = (joined(&probabilities), Cases::new(&probabilities));
        for departure in 0..3 {
            let total = total(&inside, &rates, others);
            inside.leave(&rates, total);
            cases.leave(&rates, others);
            for (at, p) in inside.probabilities().iter().enumerate() {
                assert!((p - cases.mean(at)).abs() < 0.04, "{departure}, {at}: {p}, {}", cases.mean(at));
            }
        }
    }

    #[test]
    fn silence_says_that_those_who_may_be_over_are() {
        let mut inside = joined(&[0.5, 1.0]);
        inside.stay(&[1.0, 1.0]);
        let expected = 0.5 / (0.5 + 0.5 * 1_f64.exp());
        assert!((inside.probabilities()[0] - expected).abs() < 0.02, "{:?}", inside.probabilities());
        assert!(inside.probabilities()[1] > 0.999);
    }

    #[test]
    fn who_is_forgotten_takes_its_covariances_along() {
        let mut inside = joined(&[0.5, 0.6, 0.7]);
        inside.leave(&[1.0; 3], 1.8);
        let Dependence::Pairs(before) = inside.dependence.clone() else { panic!("three are few") };
        inside.retain(&[true, false, true]);
        let Dependence::Pairs(after) = &inside.dependence else { panic!("two are few") };
        assert_eq!((inside.mean.len(), after.covariance[1].len()), (2, 2));
        assert_eq!(after.covariance[1][0].to_bits(), before.covariance[2][0].to_bits());
    }

    /// A mix that some forty are inside of: what the sum of all covariances says of each, and what
    /// all pairs say. `ends` is the share whose path ends there.
    fn differences(ends: f64, uneven: bool) -> (f64, f64, f64) {
        use crate::random::{self, Purpose};
        use rand_core::Rng as _;
        const COME: usize = 1200;
        let mut rng = random::stream(11, 0, Purpose::Load);
        let mut uniform = || ((rng.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        // When each comes and when it leaves, if it does; forty times as many come as leave in the
        // mean time of one.
        let mut events: Vec<(f64, Option<usize>)> = Vec::new();
        let mut now = 0.0;
        for _ in 0..COME {
            now -= libm::log(uniform()) / 40.0;
            events.push((now, None));
            if uniform() > ends {
                events.push((now - libm::log(uniform()), Some(0)));
            }
        }
        events.sort_by(|a, b| a.0.total_cmp(&b.0));
        let [mut pairs, mut sum, mut alone] = [usize::MAX, 0, usize::MAX].map(Inside::in_pairs);
        let (mut since, mut number) = (0.0, 0);
        let (mut of_sum, mut of_alone, mut all) = (0.0, 0.0, 0.0);
        let mut speeds: Vec<f64> = Vec::new();
        for (at, leaves) in events {
            let risks: Vec<f64> = speeds.iter().map(|speed| speed * (at - since)).collect();
            since = at;
            let each = [&mut pairs, &mut sum, &mut alone];
            for inside in each {
                inside.stay(&risks);
                if leaves.is_some() {
                    let total = total(inside, &speeds, 1e-3);
                    inside.leave(&speeds, total);
                } else {
                    inside.join(1.0 - ends);
                }
            }
            if leaves.is_none() {
                // Who waits to be computed leaves later; here, one in three is slower.
                speeds.push(if uneven && number % 3 == 0 { 0.5 } else { 1.0 });
                number += 1;
            }
            // Nobody depends on anybody.
            if let Dependence::Pairs(alone) = &mut alone.dependence {
                alone.covariance.iter_mut().flatten().for_each(|covariance| *covariance = 0.0);
            }
            for (at, exact) in pairs.probabilities().iter().enumerate() {
                of_sum += (sum.probabilities()[at] - exact).abs();
                of_alone += (alone.probabilities()[at] - exact).abs();
                all += exact;
            }
            let keep: Vec<bool> = pairs.probabilities().iter().map(|inside| *inside > 1e-3).collect();
            for inside in [&mut pairs, &mut sum, &mut alone] {
                inside.retain(&keep);
            }
            let mut kept = keep.iter();
            speeds.retain(|_| kept.next().copied().unwrap_or(true));
        }
        (of_sum / all, of_alone / all, all / (2.0 * COME as f64))
    }

    #[test]
    fn of_many_the_sum_of_all_covariances_says_what_all_pairs_say() {
        for (ends, uneven) in [(0.0, false), (0.2, false), (0.2, true)] {
            let (of_sum, of_alone, inside) = differences(ends, uneven);
            println!("{ends}, {uneven}: {of_sum:.4} by the sum, {of_alone:.4} alone, {inside:.1} inside");
            assert!(inside > 25.0, "{inside}");
            assert!(of_sum < 0.01, "{of_sum}");
            // The comparison would notice.
            assert!(of_alone > 3.0 * of_sum, "{of_alone}, {of_sum}");
        }
    }
}
