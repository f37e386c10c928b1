//! What measurements write: one row for each quantity at each point, and what a row is a summary
//! of.

use crate::failure::Failure;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

/// What varies from one run to the next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The command: `bandwidth`, `mix-throughput`, `saturation`, `latency`, `pull`, `mixing`, and
    /// `messages` with its times.
    pub measurement: String,
    /// Whose programs the nodes run: `motemix` or `python`.
    pub nodes: String,
    /// Providers and mixes: `4+6`.
    pub network: String,
    /// Clients in the network.
    pub clients: u32,
    /// λ: packets that a client sends in a second, of all three streams; at a mix under load,
    /// packets offered in a second.
    pub rate: f64,
    /// Which of the repetitions, from 1.
    pub repetition: u32,
    /// For how long was measured; for saturation, how long the load lasted.
    pub seconds: f64,
}

/// One quantity at one point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub measurement: String,
    pub nodes: String,
    pub network: String,
    pub clients: u32,
    pub rate: f64,
    pub repetition: u32,
    pub seconds: f64,
    /// What was measured; `docs/research/loopix-measurements.md` lists the words.
    pub quantity: String,
    pub unit: String,
    /// How many values the following are of.
    pub samples: u64,
    pub mean: f64,
    /// Standard deviation; 0 for fewer than two samples.
    pub sd: f64,
    pub min: f64,
    pub p10: f64,
    pub median: f64,
    pub p90: f64,
    pub max: f64,
}

impl Point {
    /// A row about samples taken here.
    pub fn row(&self, quantity: &str, unit: &str, samples: &[f64]) -> Row {
        let mut sorted = samples.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let at = |part: f64| {
            let place = (part * sorted.len().saturating_sub(1) as f64).round() as usize;
            sorted.get(place).copied().unwrap_or(f64::NAN)
        };
        let count = sorted.len() as f64;
        let mean = sorted.iter().sum::<f64>() / count;
        let squares: f64 = sorted.iter().map(|value| (value - mean) * (value - mean)).sum();
        Row {
            measurement: self.measurement.clone(),
            nodes: self.nodes.clone(),
            network: self.network.clone(),
            clients: self.clients,
            rate: self.rate,
            repetition: self.repetition,
            seconds: self.seconds,
            quantity: quantity.into(),
            unit: unit.into(),
            samples: sorted.len() as u64,
            mean,
            sd: if sorted.len() < 2 { 0.0 } else { (squares / (count - 1.0)).sqrt() },
            min: at(0.0),
            p10: at(0.1),
            median: at(0.5),
            p90: at(0.9),
            max: at(1.0),
        }
    }
}

impl Row {
    #[allow(clippy::float_cmp, reason = "the numbers of a command line, written and read again without loss")]
    fn is_of(&self, point: &Point) -> bool {
        self.measurement == point.measurement
            && self.nodes == point.nodes
            && self.network == point.network
            && self.clients == point.clients
            && self.rate == point.rate
            && self.repetition == point.repetition
            && self.seconds == point.seconds
    }
}

/// The rows of one command, in a file that grows point by point: the same command goes on where it
/// was interrupted.
pub struct Campaign {
    file: PathBuf,
    rows: Vec<Row>,
}

impl Campaign {
    /// Reads what an earlier run has left in `dir`.
    pub fn open(dir: &Path, name: &str) -> Result<Self, Failure> {
        fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
        let file = dir.join(name).with_extension("csv");
        if !file.exists() {
            return Ok(Self { file, rows: Vec::new() });
        }
        let read = || csv::Reader::from_path(&file)?.deserialize().collect::<Result<Vec<Row>, _>>();
        let rows = read().map_err(|error| {
            Failure::broken(format!("{}: {error}; move it away to begin anew", file.display()))
        })?;
        Ok(Self { file, rows })
    }

    /// Whether this point was measured already.
    pub fn has(&self, point: &Point) -> bool {
        self.rows.iter().any(|row| row.is_of(point))
    }

    /// Writes the rows of a point, all at once.
    pub fn add(&mut self, rows: Vec<Row>) -> Result<()> {
        let cannot = || format!("cannot write {}", self.file.display());
        let mut writer = csv::WriterBuilder::new().has_headers(self.rows.is_empty()).from_writer(Vec::new());
        for row in &rows {
            writer.serialize(row).with_context(cannot)?;
        }
        let bytes = writer.into_inner().with_context(cannot)?;
        let file = OpenOptions::new().create(true).append(true).open(&self.file);
        std::io::Write::write_all(&mut file.with_context(cannot)?, &bytes).with_context(cannot)?;
        self.rows.extend(rows);
        Ok(())
    }

    /// The rows about a quantity at these points, in their order.
    pub fn about(&self, points: &[Point], quantity: &str) -> Vec<&Row> {
        let of = |point: &Point| self.rows.iter().find(|row| row.quantity == quantity && row.is_of(point));
        points.iter().filter_map(of).collect()
    }

    /// All rows of these points.
    pub fn of(&self, points: &[Point]) -> Vec<&Row> {
        self.rows.iter().filter(|row| points.iter().any(|point| row.is_of(point))).collect()
    }
}

/// Repetitions of a quantity taken together: x, mean over all samples, standard deviation over the
/// repetitions' means, or of the samples if there is one repetition.
pub fn together(rows: &[&Row], x: impl Fn(&Row) -> f64) -> Vec<(f64, f64, f64)> {
    let mut groups: Vec<(f64, Vec<&Row>)> = Vec::new();
    for row in rows {
        let at = x(row);
        match groups.iter_mut().find(|(place, _)| place.total_cmp(&at).is_eq()) {
            Some((_, group)) => group.push(row),
            None => groups.push((at, vec![row])),
        }
    }
    let summary = |(at, group): (f64, Vec<&Row>)| {
        let count = group.len() as f64;
        let mean = group.iter().map(|row| row.mean).sum::<f64>() / count;
        let sd = if let [only] = group.as_slice() {
            only.sd
        } else {
            let squares: f64 = group.iter().map(|row| (row.mean - mean) * (row.mean - mean)).sum();
            (squares / (count - 1.0)).sqrt()
        };
        (at, mean, sd)
    };
    groups.into_iter().map(summary).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(repetition: u32) -> Point {
        Point {
            measurement: "latency".into(),
            nodes: "motemix".into(),
            network: "4+6".into(),
            clients: 2,
            rate: 0.3,
            repetition,
            seconds: 1.5,
        }
    }

    #[test]
    fn a_row_sums_samples_up() {
        let row = point(1).row("latency", "ms", &[4.0, 1.0, 3.0, 2.0, 10.0]);
        assert_eq!((row.samples, row.mean, row.min, row.median, row.max), (5, 4.0, 1.0, 3.0, 10.0));
        assert!((row.sd - 12.5_f64.sqrt()).abs() < 1e-12);
        assert!(point(1).row("latency", "ms", &[7.0]).sd.abs() < f64::EPSILON);
    }

    #[test]
    fn a_campaign_goes_on_where_it_was_interrupted() {
        let folder = tempfile::tempdir().unwrap();
        let mut first = Campaign::open(folder.path(), "latency").unwrap();
        assert!(!first.has(&point(1)));
        first
            .add(vec![point(1).row("latency", "ms", &[1.0, 3.0]), point(1).row("cpu", "s", &[0.25])])
            .unwrap();
        first.add(vec![point(2).row("latency", "ms", &[4.0])]).unwrap();
        let second = Campaign::open(folder.path(), "latency").unwrap();
        assert!(second.has(&point(1)) && second.has(&point(2)) && !second.has(&point(3)));
        assert_eq!(second.of(&[point(1), point(2)]).len(), 3);
        let both = second.about(&[point(1), point(2)], "latency");
        assert_eq!(together(&both, |row| row.rate), [(0.3, 3.0, 2.0_f64.sqrt())]);
        std::fs::write(folder.path().join("latency.csv"), "not,rows\n1,2\n").unwrap();
        assert!(Campaign::open(folder.path(), "latency").is_err());
    }
}
