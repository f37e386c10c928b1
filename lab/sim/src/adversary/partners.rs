//! Who belongs together, by counting alone: who is silent, or speaks more, when somebody else is
//! away or attacked.
//!
//! Long-term intersection (Raymond, "Traffic Analysis", PET 2000; Kesdogan, Agrawal and Penz,
//! "Limits of Anonymity in Open Environments", IH 2002) with the simplest of statistics: the
//! difference of two means in units of its deviation.

use libm::sqrt;

/// By how many standard deviations there is more in the windows that are marked than in others.
#[allow(clippy::cast_precision_loss, reason = "counts of windows")]
pub(crate) fn excess(marked: &[bool], counts: &[f64]) -> f64 {
    let mean = |wanted: bool| {
        let chosen = marked.iter().zip(counts).filter(|(marked, _)| **marked == wanted);
        let (number, sum, squares) =
            chosen.fold((0.0, 0.0, 0.0), |(n, sum, squares), (_, c)| (n + 1.0, sum + c, squares + c * c));
        let mean: f64 = if number > 0.0 { sum / number } else { 0.0 };
        let variance: f64 =
            if number > 1.0 { (squares - number * mean * mean) / (number - 1.0) } else { mean };
        (number, mean, variance.max(0.0))
    };
    let ((n1, mean1, variance1), (n0, mean0, variance0)) = (mean(true), mean(false));
    if n1 < 1.0 || n0 < 1.0 {
        return 0.0;
    }
    // Windows are few, and counts no more regular than a Poisson process makes them.
    let spread = variance1.max(mean1) / n1 + variance0.max(mean0) / n0;
    if spread > 0.0 { (mean1 - mean0) / sqrt(spread) } else { 0.0 }
}

/// The candidate with the greatest excess.
pub(crate) fn most<'c>(
    marked: &[bool],
    candidates: impl Iterator<Item = (u16, &'c [f64])>,
    sign: f64,
) -> Option<u16> {
    candidates
        .map(|(candidate, counts)| (sign * excess(marked, &counts[..marked.len()]), candidate))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// After how many windows the first guess is right and stays so; `None` if it is not at the end.
pub(crate) fn named_after(
    marked: &[bool],
    mut guess: impl FnMut(&[bool]) -> Option<u16>,
    truth: u16,
) -> Option<usize> {
    let mut since = None;
    for windows in 2..=marked.len() {
        if guess(&marked[..windows]) == Some(truth) {
            since = since.or(Some(windows));
        } else {
            since = None;
        }
    }
    since
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_in_marked_windows_is_an_excess_and_less_is_a_negative_one() {
        let marked = [true, false, true, false];
        assert!(excess(&marked, &[9.0, 1.0, 8.0, 2.0]) > 2.0);
        assert!(excess(&marked, &[1.0, 9.0, 2.0, 8.0]) < -2.0);
        assert!(excess(&marked, &[3.0; 4]).abs() < 1e-9);
        assert!(excess(&[true; 4], &[9.0, 1.0, 8.0, 2.0]).abs() < 1e-9, "nothing to compare with");
    }

    #[test]
    fn who_is_named_early_and_lost_again_is_named_late() {
        let marked = [true, false, true, false, true];
        let mut answers = [1, 2, 1, 1].into_iter();
        assert_eq!(named_after(&marked, |_| answers.next(), 1), Some(4));
        let mut answers = [1, 1, 1, 2].into_iter();
        assert_eq!(named_after(&marked, |_| answers.next(), 1), None);
    }
}
