//! Means of independent trials, and how far they may be from the truth.

/// Gathers trials.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Gathered {
    count: u32,
    mean: f64,
    /// Sum of the squares of what each was off.
    squares: f64,
}

/// A mean of independent trials.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Estimate {
    /// The mean of the trials.
    pub mean: f64,
    /// The true mean is within so much of it, with 95 %: 1.96 standard errors, for which there have
    /// to be some dozens of trials. Infinite of fewer than two.
    pub half: f64,
}

impl Gathered {
    /// One trial more. Welford, "Note on a method for calculating corrected sums of squares and
    /// products", 1962.
    pub fn add(&mut self, value: f64) {
        self.count += 1;
        let off = value - self.mean;
        self.mean += off / f64::from(self.count);
        self.squares += off * (value - self.mean);
    }

    /// How many there were.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// What they say.
    pub fn estimate(&self) -> Estimate {
        let half = if self.count < 2 {
            f64::INFINITY
        } else {
            let count = f64::from(self.count);
            1.96 * libm::sqrt(self.squares / (count - 1.0) / count)
        };
        Estimate { mean: self.mean, half }
    }
}

impl FromIterator<f64> for Gathered {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let mut gathered = Self::default();
        values.into_iter().for_each(|value| gathered.add(value));
        gathered
    }
}

impl Estimate {
    /// Whether a value is within `times` the half width of the mean.
    pub fn agrees(&self, value: f64, times: f64) -> bool {
        (value - self.mean).abs() <= times * self.half
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_is_mean_and_standard_error() {
        let gathered: Gathered = [1.0, 2.0, 3.0, 4.0].into_iter().collect();
        let Estimate { mean, half } = gathered.estimate();
        assert!((mean - 2.5).abs() < 1e-12);
        // Variance 5/3, of four values.
        assert!((half - 1.96 * (5.0_f64 / 12.0).sqrt()).abs() < 1e-12);
        assert!(Gathered::default().estimate().half.is_infinite());
    }
}
