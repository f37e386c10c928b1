//! Figures of measurements: ours with lines, what others state hollow.

use crate::chart::{self, Lines, Point, Series, Style};
use anyhow::Result;
use std::path::Path;

/// x, y, and how far y may be off; nothing is drawn for 0.
type Values = [(f64, f64, f64)];

/// What was measured here.
pub fn line(name: &str, colour: usize, values: &Values) -> Series {
    series(name, colour, Style::Solid, values)
}

/// What the dissertation states, or an expectation.
pub fn stated(name: &str, colour: usize, values: &Values) -> Series {
    series(name, colour, Style::Hollow, values)
}

fn series(name: &str, colour: usize, style: Style, values: &Values) -> Series {
    let point =
        |(x, y, half): &(f64, f64, f64)| Point { x: *x, y: *y, half: Some(*half).filter(|half| *half > 0.0) };
    Series { name: name.into(), colour, style, points: values.iter().map(point).collect() }
}

/// Draws series that are not empty.
pub fn write(path: &Path, title: &str, [x, y]: [&str; 2], mut all: Vec<Series>) -> Result<()> {
    all.retain(|series| !series.points.is_empty());
    let chart =
        Lines { title: title.into(), x: x.into(), y: y.into(), log_x: false, log_y: false, series: all };
    chart::write(path, chart.draw())
}
