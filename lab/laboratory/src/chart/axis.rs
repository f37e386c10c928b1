//! A linear or logarithmic axis, and where its ticks are.

use std::ops::Range;

/// Ticks of a linear axis, about.
const TICKS: f64 = 6.0;

/// An axis over some values.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Axis {
    range: Range<f64>,
    logarithmic: bool,
}

impl Axis {
    /// Over finite values; a logarithmic one over those above zero. A linear one begins at zero if
    /// `from_zero`.
    pub fn over(values: impl Iterator<Item = f64> + Clone, logarithmic: bool, from_zero: bool) -> Self {
        let values = values.filter(|value| value.is_finite() && (!logarithmic || *value > 0.0));
        let mut low = values.clone().fold(f64::INFINITY, f64::min);
        let mut high = values.fold(f64::NEG_INFINITY, f64::max);
        if low > high {
            (low, high) = if logarithmic { (1.0, 10.0) } else { (0.0, 1.0) };
        }
        if logarithmic {
            let (low, high) = (low.log10(), high.log10());
            let margin = ((high - low) * 0.05).max(0.05);
            return Self { range: low - margin..high + margin, logarithmic };
        }
        if from_zero {
            low = low.min(0.0);
        }
        let margin = if high > low { (high - low) * 0.05 } else { high.abs().max(1.0) * 0.1 };
        let below = if from_zero && low >= 0.0 { 0.0 } else { low - margin };
        Self { range: below..high + margin, logarithmic }
    }

    /// In the coordinates of the drawing.
    pub fn range(&self) -> Range<f64> {
        self.range.clone()
    }

    /// A value in the coordinates of the drawing; what a logarithmic axis cannot show is at its
    /// end.
    pub fn at(&self, value: f64) -> f64 {
        if !self.logarithmic {
            value
        } else if value > 0.0 {
            value.log10().max(self.range.start)
        } else {
            self.range.start
        }
    }

    /// Values worth a line.
    pub fn ticks(&self) -> Vec<f64> {
        let Range { start, end } = self.range;
        if self.logarithmic {
            let steps: &[f64] = if end - start > 2.5 { &[1.0] } else { &[1.0, 2.0, 5.0] };
            let decades = start.floor() as i32..=end.ceil() as i32;
            let all = decades.flat_map(|decade| steps.iter().map(move |step| step * 10_f64.powi(decade)));
            return all.filter(|tick| (start..=end).contains(&tick.log10())).collect();
        }
        let rough = (end - start) / TICKS;
        let decade = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|times| times * decade);
        let step = step.into_iter().find(|step| *step >= rough).unwrap_or(10.0 * decade);
        let (first, last) = ((start / step).ceil() as i64, (end / step).floor() as i64);
        #[allow(clippy::cast_precision_loss, reason = "a few ticks")]
        (first..=last).map(|number| number as f64 * step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        let axis = Axis::over([10.0, 60.0].into_iter(), false, false);
        assert_eq!(axis.ticks(), [10.0, 20.0, 30.0, 40.0, 50.0, 60.0]);
        let axis = Axis::over([0.0, 100.0].into_iter(), false, true);
        assert_eq!(axis.ticks(), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        let axis = Axis::over([0.0, 1.0, 1000.0].into_iter(), true, false);
        assert_eq!(axis.ticks(), [1.0, 10.0, 100.0, 1000.0]);
    }

    #[test]
    fn an_axis_has_room_for_one_value_and_for_none() {
        for values in [&[5.0][..], &[]] {
            for logarithmic in [false, true] {
                let axis = Axis::over(values.iter().copied(), logarithmic, false);
                assert!(axis.range().start < axis.range().end && !axis.ticks().is_empty(), "{axis:?}");
            }
        }
    }
}
