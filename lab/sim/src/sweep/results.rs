//! The table of all runs, and that of their means.

use super::row::{Cell, Row};
use super::{Journal, JournalError, Plan, interval};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

/// Columns under this name are counts by reason; where there is none, there were none.
const DROPS: &str = "drops.";
/// What is under this name is no outcome: it follows from the scenario.
const LIMITS: &str = "limits.";

/// All runs, in the order of their numbers.
pub(super) struct Table {
    pub columns: Vec<String>,
    /// Each with a cell for each column.
    pub rows: Vec<Vec<Cell>>,
    /// The numbers of the rows' runs.
    ids: Vec<u32>,
}

impl Table {
    /// What is in the journal. A row begins with the number of the run and what was varied.
    pub fn of(plan: &Plan, journal: &Journal) -> Result<Self, JournalError> {
        let mut rows = Vec::new();
        for (id, outcome) in journal.outcomes() {
            rows.push((id, Row::parse(outcome).map_err(io::Error::other)?));
        }
        let names = columns(rows.iter().map(|(_, row)| row));
        let varied = plan.fields();
        let columns =
            ["run"].iter().map(ToString::to_string).chain(varied.iter().cloned()).chain(names.clone());
        let cells = |id: u32, row: &Row| {
            let settings = plan.run(id).into_iter().flat_map(|run| &run.settings);
            let settings = settings.map(|setting| Cell::from(&setting.value));
            let by_name: BTreeMap<&str, &Cell> =
                row.0.iter().map(|(name, cell)| (name.as_str(), cell)).collect();
            let missing = |name: &str| if name.starts_with(DROPS) { Cell::Integer(0) } else { Cell::Empty };
            let figures = names
                .iter()
                .map(|name| by_name.get(name.as_str()).map_or_else(|| missing(name), |cell| (*cell).clone()));
            [Cell::Integer(i64::from(id))].into_iter().chain(settings).chain(figures).collect()
        };
        Ok(Self {
            columns: columns.collect(),
            ids: rows.iter().map(|(id, _)| *id).collect(),
            rows: rows.iter().map(|(id, row)| cells(*id, row)).collect(),
        })
    }

    /// As comma-separated values: RFC 4180.
    pub fn csv(&self) -> io::Result<Vec<u8>> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(&self.columns)?;
        for row in &self.rows {
            writer.write_record(row.iter().map(ToString::to_string))?;
        }
        writer.into_inner().map_err(|error| io::Error::other(error.to_string()))
    }

    /// Means and confidence intervals of each combination, as comma-separated values.
    pub fn summary(&self, plan: &Plan) -> io::Result<Vec<u8>> {
        let varied = plan.fields().len();
        let is_figure = |column: &usize| {
            !["run", "seed"].contains(&self.columns[*column].as_str())
                && self.rows.iter().any(|row| row[*column].number().is_some())
        };
        let figures: Vec<usize> = (1 + varied..self.columns.len()).filter(is_figure).collect();
        let mut writer = csv::Writer::from_writer(Vec::new());
        let means = figures.iter().map(|column| &self.columns[*column]);
        let means = means.flat_map(|name| [format!("{name}.mean"), format!("{name}.ci95")]);
        writer.write_record(plan.fields().iter().cloned().chain(["runs".into()]).chain(means))?;

        let mut combinations: BTreeMap<u32, Vec<&[Cell]>> = BTreeMap::new();
        for (id, row) in self.ids.iter().zip(&self.rows) {
            combinations.entry(id / plan.seeds()).or_default().push(row);
        }
        for rows in combinations.values() {
            let of_all = rows.iter().flat_map(|row| &row[1..=varied]).take(varied).map(ToString::to_string);
            let means = figures.iter().flat_map(|column| {
                let values: Vec<f64> = rows.iter().filter_map(|row| row[*column].number()).collect();
                let known = interval(&values);
                let text = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
                [text(known.map(|known| known.mean)), text(known.and_then(|known| known.half))]
            });
            writer.write_record(of_all.chain([rows.len().to_string()]).chain(means))?;
        }
        writer.into_inner().map_err(|error| io::Error::other(error.to_string()))
    }
}

/// The columns of all rows: groups in the order of the first row, reasons of drops in the order of
/// their names.
fn columns<'r>(rows: impl Iterator<Item = &'r Row>) -> Vec<String> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for (name, _) in rows.flat_map(|row| &row.0).filter(|(name, _)| !name.starts_with(LIMITS)) {
        let group = name.split('.').next().unwrap_or(name);
        let at = groups.iter().position(|(known, _)| known == group).unwrap_or_else(|| {
            groups.push((group.to_owned(), Vec::new()));
            groups.len() - 1
        });
        if !groups[at].1.contains(name) {
            groups[at].1.push(name.clone());
        }
    }
    for (_, names) in &mut groups {
        if names.iter().all(|name| name.starts_with(DROPS)) {
            names.sort_unstable();
        }
    }
    groups.into_iter().flat_map(|(_, names)| names).collect()
}

/// Replaces a file whole: whoever reads it sees the old one or the new one.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let unfinished = path.with_extension("unfinished");
    let mut file = File::create(&unfinished)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&unfinished, path)
}
