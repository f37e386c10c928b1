//! The table and `target/bench.json`.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use serde::Serialize;

use crate::turns::Times;

/// Stands where nothing was measured.
const NOTHING: &str = "–";

/// One comparison. A ratio above 1 means that ours is better.
#[derive(Serialize)]
pub struct Row {
    what: &'static str,
    ours: f64,
    peer: String,
    theirs: f64,
    unit: &'static str,
    ratio: f64,
    #[serde(skip)]
    medians: Option<(f64, f64)>,
    #[serde(skip)]
    goal: Option<Goal>,
}

/// What this project sets itself.
#[derive(Clone, Copy)]
enum Goal {
    Ratio(f64),
    Below(f64),
    AtLeast(f64),
}

impl Row {
    /// Times in microseconds: the minima are the figures, the medians stand beside them.
    pub fn times(what: &'static str, (ours, theirs): (Times, Times), peer: impl Into<String>) -> Self {
        Self {
            what,
            ours: ours.minimum,
            peer: peer.into(),
            theirs: theirs.minimum,
            unit: "µs",
            ratio: theirs.minimum / ours.minimum,
            medians: Some((ours.median, theirs.median)),
            goal: None,
        }
    }

    /// Something of which less is better.
    pub fn less(
        what: &'static str,
        ours: f64,
        peer: impl Into<String>,
        theirs: f64,
        unit: &'static str,
    ) -> Self {
        Self { what, ours, peer: peer.into(), theirs, unit, ratio: theirs / ours, medians: None, goal: None }
    }

    /// Our figure alone: nothing was measured beside it in this run.
    pub fn alone(what: &'static str, ours: f64, unit: &'static str) -> Self {
        Self::less(what, ours, "none in this run", f64::NAN, unit)
    }

    /// Rates in units each second: the best turns are the figures, the medians stand beside them.
    pub fn rates(
        what: &'static str,
        ours: &[f64],
        peer: impl Into<String>,
        theirs: &[f64],
        unit: &'static str,
    ) -> Self {
        let ([our_median, ours], [their_median, theirs]) = (median_and_best(ours), median_and_best(theirs));
        Self {
            ratio: ours / theirs,
            medians: Some((our_median, their_median)),
            ..Self::less(what, ours, peer, theirs, unit)
        }
    }

    /// The ratio that this project sets itself.
    #[must_use]
    pub fn at_least(self, ratio: f64) -> Self {
        Self { goal: Some(Goal::Ratio(ratio)), ..self }
    }

    /// The bound on our own figure that this project sets itself.
    #[must_use]
    pub fn below(self, bound: f64) -> Self {
        Self { goal: Some(Goal::Below(bound)), ..self }
    }

    /// The least that this project sets itself for our own figure.
    #[must_use]
    pub fn ours_at_least(self, least: f64) -> Self {
        Self { goal: Some(Goal::AtLeast(least)), ..self }
    }

    /// Rates of which more is better, with nothing beside them.
    pub fn more(
        what: &'static str,
        ours: f64,
        peer: impl Into<String>,
        theirs: f64,
        unit: &'static str,
    ) -> Self {
        Self { ratio: ours / theirs, ..Self::less(what, ours, peer, theirs, unit) }
    }

    /// The medians that stand beside the figures.
    #[must_use]
    pub fn with_medians(self, ours: f64, theirs: f64) -> Self {
        Self { medians: Some((ours, theirs)), ..self }
    }

    /// The peer's figure.
    pub fn theirs(&self) -> f64 {
        self.theirs
    }

    fn cells(&self) -> [String; 8] {
        let medians = self
            .medians
            .map_or(String::new(), |(ours, theirs)| format!("{} / {}", figure(ours), figure(theirs)));
        let goal = self.goal.map_or(String::new(), |goal| {
            let (text, met) = match goal {
                Goal::Ratio(least) => (format!("ratio ≥ {least:?}"), self.ratio >= least),
                Goal::AtLeast(least) => (format!("ours ≥ {least:.0}"), self.ours >= least),
                Goal::Below(bound) => (format!("ours < {bound:.0}"), self.ours < bound),
            };
            format!("{text}: {}", if met { "met" } else { "missed" })
        });
        [
            self.what.to_owned(),
            figure(self.ours),
            self.peer.clone(),
            figure(self.theirs),
            self.unit.to_owned(),
            if self.ratio.is_nan() { NOTHING.to_owned() } else { format!("{:.2}", self.ratio) },
            goal,
            medians,
        ]
    }
}

fn median_and_best(rates: &[f64]) -> [f64; 2] {
    let mut rates = rates.to_vec();
    rates.sort_unstable_by(f64::total_cmp);
    [rates.get(rates.len() / 2), rates.last()].map(|rate| rate.copied().unwrap_or(f64::NAN))
}

fn figure(value: f64) -> String {
    if value.is_nan() {
        return NOTHING.to_owned();
    }
    if value >= 1000.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}

/// The table, in a form that is also Markdown.
pub fn table(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::ASCII_MARKDOWN)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(["what", "ours", "peer", "theirs", "unit", "ratio", "goal", "medians"]);
    for row in rows {
        table.add_row(row.cells());
    }
    for column in [1, 3, 5, 7] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// Writes the rows as JSON.
pub fn write(rows: &[Row], file: &Path) -> Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    }
    let json = serde_json::to_string_pretty(rows)?;
    fs::write(file, json + "\n").with_context(|| format!("writing {}", file.display()))
}
