//! `motemix-lab bench`: what packets cost on this machine.

mod work;

use crate::cli::Bench as Args;
use crate::failure::Failure;
use crate::report::{self, Progress, Table};
use motemix_os::curve::HostCurve;
use serde::Serialize;
use std::time::{Duration, Instant};
use work::Work;

/// Turns of each row, even if the time is up.
const LEAST_TURNS: usize = 10;
/// Samples of one turn: enough to find warm caches, few enough to share every disturbance.
const SAMPLES_A_TURN: usize = 10;

/// Everything measured, as `--json` prints it.
#[derive(Serialize)]
struct Report {
    /// The backend of X25519.
    curve: &'static str,
    optimised: bool,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    work: &'static str,
    profile: &'static str,
    hops: &'static str,
    samples: usize,
    minimum_us: f64,
    median_us: f64,
    /// On one core, by the median.
    per_second: u128,
}

pub fn bench(args: &Args) -> Result<(), Failure> {
    let optimised = !cfg!(debug_assertions);
    if !optimised {
        eprintln!("this is a build for tests; measure one that was made with --release");
    }
    let rows = measure(work::all(), Duration::from_secs(args.seconds));
    let report = Report { curve: HostCurve::backend(), optimised, rows };
    Ok(if args.json { report::print_json(&report) } else { report.table().print() }?)
}

/// All rows take turns, so that whatever disturbs the machine disturbs all of them.
fn measure(mut works: Vec<Work>, time: Duration) -> Vec<Row> {
    let mut progress = Progress::new(time.as_millis() as u64);
    let mut samples = vec![Vec::new(); works.len()];
    // The first samples fill caches and wake the vector units; they do not count.
    for work in &mut works {
        (work.sample)();
    }
    let begin = Instant::now();
    let mut turns = 0;
    while turns < LEAST_TURNS || begin.elapsed() < time {
        for (work, samples) in works.iter_mut().zip(&mut samples) {
            samples.extend((0..SAMPLES_A_TURN).map(|_| (work.sample)()));
        }
        turns += 1;
        progress.at(begin.elapsed().as_millis() as u64, "measuring");
    }
    progress.finish();
    works.iter().zip(samples).map(|(work, samples)| Row::new(work, samples)).collect()
}

impl Row {
    fn new(work: &Work, mut samples: Vec<Duration>) -> Self {
        samples.sort_unstable();
        let at = |position: usize| samples.get(position).copied().unwrap_or_default();
        let (minimum, median) = (at(0), at(samples.len() / 2));
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        Self {
            work: work.name,
            profile: work.profile,
            hops: work.hops,
            samples: samples.len(),
            minimum_us: micros(minimum),
            median_us: micros(median),
            per_second: Duration::from_secs(1).as_nanos().checked_div(median.as_nanos()).unwrap_or(0),
        }
    }
}

impl Report {
    fn table(&self) -> Table {
        let mut table = Table::new(["work", "profile", "hops", "minimum µs", "median µs", "per second"]);
        for row in &self.rows {
            let name =
                if row.work == "x25519" { format!("x25519 ({})", self.curve) } else { row.work.into() };
            let micros = |time: f64| format!("{time:.1}");
            table.row([
                name,
                row.profile.to_owned(),
                row.hops.to_owned(),
                micros(row.minimum_us),
                micros(row.median_us),
                row.per_second.to_string(),
            ]);
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_the_least_and_the_middle_of_its_samples() {
        let work = Work { name: "hop", profile: "mote", hops: "-", sample: Box::new(|| Duration::ZERO) };
        let row = Row::new(&work, [40, 10, 20].map(Duration::from_micros).to_vec());
        assert_eq!((row.samples, row.per_second), (3, 50_000));
        assert!((row.minimum_us - 10.0).abs() < 1e-9 && (row.median_us - 20.0).abs() < 1e-9);
    }
}
