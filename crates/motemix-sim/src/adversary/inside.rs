//! Who is still inside a node: probabilities, and how they depend on each other.
//!
//! That one may have left makes it more probable that another one did not. Without that, an
//! observer who saw two packets come and two leave would not know that nobody is left; with nothing
//! else but that, it would forget that some end there. So means and covariances are kept, and third
//! moments taken as those of a normal distribution (assumed density filtering; Maybeck, "Stochastic
//! Models, Estimation, and Control", volume 2, 1982, section 12.3).

use libm::ceil;

/// Probabilities of being inside, in the order of joining, and their covariances.
#[derive(Clone, Default, Debug)]
pub(crate) struct Inside {
    mean: Vec<f64>,
    /// Off the diagonal; that follows from the means.
    covariance: Vec<Vec<f64>>,
}

/// At most so much is learned at once of time in which nobody left.
const SMALL: f64 = 0.2;
/// Nothing more is to be learned then.
const MUCH: f64 = 20.0;

impl Inside {
    /// How probably each is inside.
    pub fn probabilities(&self) -> &[f64] {
        &self.mean
    }

    /// One comes, who stays at all with this probability.
    pub fn join(&mut self, probability: f64) {
        self.mean.push(probability);
        self.covariance.iter_mut().for_each(|row| row.push(0.0));
        self.covariance.push(vec![0.0; self.mean.len()]);
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
        for row in 0..before.len() {
            for column in 0..row {
                let product = self.covariance[row][column] + before[row] * before[column];
                let with_rate =
                    product * total + before[row] * against[column] + before[column] * against[row];
                let product = (with_rate - (rates[row] + rates[column]) * product) / total;
                self.set(row, column, product - self.mean[row] * self.mean[column]);
            }
        }
        self.bound();
    }

    /// Forgets all but those to keep.
    pub fn retain(&mut self, keep: &[bool]) {
        retain(&mut self.mean, keep);
        retain(&mut self.covariance, keep);
        self.covariance.iter_mut().for_each(|row| retain(row, keep));
    }

    /// Covariances with the sum of all rates of those inside.
    fn against(&self, rates: &[f64]) -> Vec<f64> {
        let own = |at: usize| self.mean[at] * (1.0 - self.mean[at]) * rates[at];
        let others =
            |row: &Vec<f64>| row.iter().zip(rates).map(|(covariance, rate)| covariance * rate).sum::<f64>();
        self.covariance.iter().enumerate().map(|(at, row)| own(at) + others(row)).collect()
    }

    fn set(&mut self, row: usize, column: usize, covariance: f64) {
        self.covariance[row][column] = covariance;
        self.covariance[column][row] = covariance;
    }

    /// Keeps covariances within what two events with these probabilities can have.
    fn bound(&mut self) {
        for row in 0..self.mean.len() {
            for column in 0..row {
                let (a, b) = (self.mean[row], self.mean[column]);
                let (least, most) = ((a + b - 1.0).max(0.0) - a * b, a.min(b) - a * b);
                // Not `clamp`, which wants the bounds in order: rounding may turn them round where
                // they meet.
                self.set(row, column, self.covariance[row][column].max(least).min(most));
            }
        }
    }
}

fn retain<T>(list: &mut Vec<T>, keep: &[bool]) {
    let mut keep = keep.iter();
    list.retain(|_| keep.next().copied().unwrap_or(true));
}

#[cfg(test)]
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
        let kept = inside.covariance[2][0];
        inside.retain(&[true, false, true]);
        assert_eq!((inside.probabilities().len(), inside.covariance[1].len()), (2, 2));
        assert_eq!(inside.covariance[1][0].to_bits(), kept.to_bits());
    }
}
