//! A covariance for each pair.

use super::{Leaving, retain};

/// Covariances off the diagonal; that follows from the means.
#[derive(Clone, Default, Debug)]
pub(super) struct Pairs {
    pub(super) covariance: Vec<Vec<f64>>,
}

impl Pairs {
    /// One comes, who depends on nobody.
    pub fn join(&mut self) {
        self.covariance.iter_mut().for_each(|row| row.push(0.0));
        self.covariance.push(vec![0.0; self.covariance.len() + 1]);
    }

    pub fn against(&self, mean: &[f64], rates: &[f64]) -> Vec<f64> {
        let own = |at: usize| mean[at] * (1.0 - mean[at]) * rates[at];
        let others =
            |row: &Vec<f64>| row.iter().zip(rates).map(|(covariance, rate)| covariance * rate).sum::<f64>();
        self.covariance.iter().enumerate().map(|(at, row)| own(at) + others(row)).collect()
    }

    pub fn leave(&mut self, leaving: &Leaving<'_>, mean: &[f64]) {
        let Leaving { before, against, rates, total } = *leaving;
        for row in 0..before.len() {
            for column in 0..row {
                let product = self.covariance[row][column] + before[row] * before[column];
                let with_rate =
                    product * total + before[row] * against[column] + before[column] * against[row];
                let product = (with_rate - (rates[row] + rates[column]) * product) / total;
                self.set(row, column, product - mean[row] * mean[column]);
            }
        }
    }

    pub fn retain(&mut self, keep: &[bool]) {
        retain(&mut self.covariance, keep);
        self.covariance.iter_mut().for_each(|row| retain(row, keep));
    }

    fn set(&mut self, row: usize, column: usize, covariance: f64) {
        self.covariance[row][column] = covariance;
        self.covariance[column][row] = covariance;
    }

    /// Keeps covariances within what two events with these probabilities can have.
    pub fn bound(&mut self, mean: &[f64]) {
        for row in 0..mean.len() {
            for column in 0..row {
                let (a, b) = (mean[row], mean[column]);
                let (least, most) = ((a + b - 1.0).max(0.0) - a * b, a.min(b) - a * b);
                // Not `clamp`, which wants the bounds in order: rounding may turn them round where
                // they meet.
                self.set(row, column, self.covariance[row][column].max(least).min(most));
            }
        }
    }
}
