//! The sum of all covariances, in place of each.
//!
//! Who comes depends on nobody. What makes those inside depend on each other is their number: the
//! observer counts who comes and who leaves, so that one who is inside says that another is not. To
//! condition independent events on their number makes the covariance of two of them, in the first
//! order, proportional to the product of their variances. So one factor says all of them, and their
//! sum is followed exactly: each step adds up over all pairs what `pairs` computes for each of
//! them.

use super::Leaving;
use super::pairs::Pairs;

/// The sum of the covariances of all pairs, each pair in both orders.
#[derive(Clone, Debug)]
pub(super) struct Sum {
    covariance: f64,
}

/// Variances of those inside: each, their sum, and the sum of their products in pairs.
struct Variances {
    each: Vec<f64>,
    sum: f64,
    products: f64,
}

impl Variances {
    fn of(mean: &[f64]) -> Self {
        let each: Vec<f64> = mean.iter().map(|mean| mean * (1.0 - mean)).collect();
        let (sum, squares) = sums(&each);
        Self { products: (sum * sum - squares).max(0.0), each, sum }
    }
}

/// The sum of a list, and that of its squares.
fn sums(list: &[f64]) -> (f64, f64) {
    list.iter().fold((0.0, 0.0), |(sum, squares), item| (sum + item, squares + item * item))
}

impl Sum {
    pub fn of(pairs: &Pairs) -> Self {
        Self { covariance: pairs.covariance.iter().flatten().sum() }
    }

    /// The covariance of two, for each product of their variances.
    fn factor(&self, variances: &Variances) -> f64 {
        if variances.products > f64::MIN_POSITIVE { self.covariance / variances.products } else { 0.0 }
    }

    pub fn against(&self, mean: &[f64], rates: &[f64]) -> Vec<f64> {
        let variances = Variances::of(mean);
        let factor = self.factor(&variances);
        let all: f64 = variances.each.iter().zip(rates).map(|(variance, rate)| variance * rate).sum();
        let own = variances.each.iter().zip(rates);
        own.map(|(variance, rate)| variance * (rate + factor * (all - variance * rate))).collect()
    }

    pub fn leave(&mut self, leaving: &Leaving<'_>, mean: &[f64]) {
        let Leaving { before, against, rates, total } = *leaving;
        let variances = Variances::of(before);
        let factor = self.factor(&variances);
        let (inside, squares) = sums(before);
        let all_against: f64 = against.iter().sum();
        // Products of two, each pair in both orders: how probably both are inside.
        let both = self.covariance + inside * inside - squares;
        let (mut own_against, mut with_rates) = (0.0, 0.0);
        for (((mean, against), rate), variance) in before.iter().zip(against).zip(rates).zip(&variances.each)
        {
            own_against += mean * against;
            with_rates += rate * (factor * variance * (variances.sum - variance) + mean * (inside - mean));
        }
        let both = both + 2.0 * (inside * all_against - own_against) / total - 2.0 * with_rates / total;
        let (inside, squares) = sums(mean);
        self.covariance = both - (inside * inside - squares);
    }

    pub fn retain(&mut self, mean: &[f64], keep: &[bool]) {
        let factor = self.factor(&Variances::of(mean));
        let kept: Vec<f64> =
            mean.iter().zip(keep).filter(|(_, keep)| **keep).map(|(mean, _)| *mean).collect();
        self.covariance = factor * Variances::of(&kept).products;
    }

    /// The variance of their number is not negative, and at most twice what it is if they are
    /// independent.
    pub fn bound(&mut self, mean: &[f64]) {
        let variance = Variances::of(mean).sum;
        self.covariance = self.covariance.max(-variance).min(variance);
    }
}
