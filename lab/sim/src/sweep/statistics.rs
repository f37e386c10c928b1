//! Means, and how far they may be from the truth: confidence intervals by Student's t.

use std::f64::consts::FRAC_2_PI;

/// A mean of independent runs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Interval {
    /// The mean.
    pub mean: f64,
    /// The true mean is so near to it with 95 %; none of fewer than two runs.
    pub half: Option<f64>,
}

/// Mean and confidence interval of 95 %; none of no values.
#[allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub fn interval(values: &[f64]) -> Option<Interval> {
    let count = values.len();
    if count == 0 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / count as f64;
    let half = (count > 1).then(|| {
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        let deviation = libm::sqrt(squares / (count - 1) as f64);
        student(count - 1) * deviation / libm::sqrt(count as f64)
    });
    Some(Interval { mean, half })
}

/// With so many degrees of freedom, Student's t is nearer to zero than this with 95 %.
fn student(freedom: usize) -> f64 {
    let (mut low, mut high) = (0.0, 16.0);
    for _ in 0..64 {
        let middle = f64::midpoint(low, high);
        if within(middle, freedom) < 0.95 {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// The probability that Student's t is within ±`t`: Abramowitz and Stegun, Handbook of Mathematical
/// Functions, 26.7.3 and 26.7.4.
#[allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn within(t: f64, freedom: usize) -> f64 {
    let angle = libm::atan(t / libm::sqrt(freedom as f64));
    let (sine, cosine) = (libm::sin(angle), libm::cos(angle));
    let is_odd = freedom % 2 == 1;
    let mut term = if is_odd { cosine } else { 1.0 };
    let mut sum = 0.0;
    // The exponents of the cosine; each term has a factor more than the one before.
    let mut exponent = usize::from(is_odd);
    while exponent + 2 <= freedom {
        sum += term;
        exponent += 2;
        term *= cosine * cosine * (exponent - 1) as f64 / exponent as f64;
    }
    if is_odd { FRAC_2_PI * (angle + sine * sum) } else { sine * sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table 26.10 of the same book.
    #[test]
    fn students_t_is_that_of_the_tables() {
        for (freedom, t) in [
            (1, 12.706),
            (2, 4.303),
            (3, 3.182),
            (4, 2.776),
            (5, 2.571),
            (9, 2.262),
            (30, 2.042),
            (120, 1.980),
        ] {
            assert!((student(freedom) - t).abs() < 6e-4, "{freedom}: {}", student(freedom));
        }
    }

    #[test]
    fn an_interval_needs_two_values() {
        assert_eq!(interval(&[]), None);
        assert_eq!(interval(&[3.0]), Some(Interval { mean: 3.0, half: None }));
        let Some(Interval { mean, half: Some(half) }) = interval(&[1.0, 2.0, 3.0]) else {
            panic!("three values")
        };
        assert!((mean - 2.0).abs() < 1e-12 && (half - 4.302_652_7 / 3_f64.sqrt()).abs() < 1e-6, "{half}");
    }
}
