//! Two samples: do they come from one distribution?

#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]

/// Welch's statistic for the difference of two means, in its own standard deviations. With 40
/// values in each sample it exceeds 4.2 by chance once in 15,000 comparisons.
pub fn welch(a: &[f64], b: &[f64]) -> f64 {
    let (mean_a, error_a) = mean_and_squared_error(a);
    let (mean_b, error_b) = mean_and_squared_error(b);
    let difference = (mean_a - mean_b).abs();
    // What is never seen, or always as often, is the same in both or surely is not.
    if difference == 0.0 { 0.0 } else { difference / (error_a + error_b).sqrt() }
}

pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn mean_and_squared_error(values: &[f64]) -> (f64, f64) {
    let (count, mean) = (values.len() as f64, mean(values));
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, variance / count)
}

/// The greatest distance of the two samples' distribution functions (Kolmogorov and Smirnov), in
/// units in which it exceeds 1.95 by chance once in 1,000 comparisons.
pub fn kolmogorov_smirnov(a: &[f64], b: &[f64]) -> f64 {
    let below = |values: &[f64], bound: f64| {
        values.iter().filter(|value| **value <= bound).count() as f64 / values.len() as f64
    };
    let distance = |bound: &f64| (below(a, *bound) - below(b, *bound)).abs();
    let greatest = a.iter().chain(b).map(distance).fold(0.0, f64::max);
    let (a, b) = (a.len() as f64, b.len() as f64);
    greatest * (a * b / (a + b)).sqrt()
}
