//! Many runs of one scenario: every combination of what [`Sweep`](crate::scenario::Sweep) varies,
//! with every seed.
//!
//! ```text
//! draft ─ plan: numbered runs ─ run, some at a time ─ journal: a line for each that is done ─ runs.csv, runs.parquet, summary.csv
//! ```
//!
//! A run that is in the journal is never run again, whatever ended the process. Results are made
//! from the journal alone, in the order of the plan, so that they do not depend on how often a
//! sweep was interrupted, on the number of cores, or on who ran the runs.

mod journal;
mod parquet;
mod plan;
mod results;
mod row;
mod statistics;

pub use journal::{Done, Journal, JournalError};
pub use plan::{Plan, Planned};
pub use row::{Cell, Row};
pub use statistics::{Interval, interval};

use crate::observe::Observers;
use crate::outcome::Outcome;
use crate::run::{Impossible, run_with};
use motemix_toml::FileError;
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;

/// How a sweep is run.
#[derive(Clone, Copy, Debug)]
pub struct Work<'w> {
    /// Runs at a time.
    pub jobs: usize,
    /// Only these runs, by number; all by default.
    pub only: Option<&'w [u32]>,
    /// Somebody wants it to end: what is finished is kept.
    pub stop: &'w AtomicBool,
}

/// How far a sweep has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stand {
    /// Runs in the journal.
    pub done: usize,
    /// Runs of the plan.
    pub all: usize,
}

/// Why a sweep did not end well.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// A combination asks for what cannot be.
    #[error(transparent)]
    Scenario(#[from] FileError),
    /// A run has no outcome.
    #[error("run {run}: {why}")]
    Run {
        /// Its number.
        run: u32,
        /// Why.
        why: Impossible,
    },
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Results cannot be written.
    #[error("cannot write {}: {why}", path.display())]
    Results {
        /// Where.
        path: PathBuf,
        /// Why.
        why: io::Error,
    },
}

/// Runs what is not in the journal yet, and writes each run down when it is done. `tell` hears how
/// far it has come, at the beginning and after each run.
///
/// # Errors
/// See [`SweepError`]. Runs that were done are in the journal nevertheless.
pub fn run(
    plan: &Plan,
    journal: &mut Journal,
    work: Work<'_>,
    tell: &mut dyn FnMut(Stand),
) -> Result<(), SweepError> {
    let wanted = |run: &&Planned| work.only.is_none_or(|only| only.contains(&run.id));
    let due: Vec<&Planned> = plan.runs().iter().filter(wanted).filter(|run| !journal.has(run.id)).collect();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(work.jobs.max(1)).build();
    let pool = pool.map_err(|error| JournalError::Io(io::Error::other(error)))?;
    tell(Stand { done: journal.len(), all: plan.runs().len() });
    let failed = &AtomicBool::new(false);
    thread::scope(|scope| {
        let (done, outcomes) = mpsc::channel();
        scope.spawn(move || {
            pool.install(|| {
                due.par_iter().for_each_with(done, |done, planned| {
                    let over = || work.stop.load(Ordering::Relaxed) || failed.load(Ordering::Relaxed);
                    if !over() {
                        // Nobody listens any more once the journal has failed.
                        let _ = done.send((planned.id, one(plan, planned, &over)));
                    }
                });
            });
        });
        for (id, outcome) in outcomes {
            let written = match outcome {
                Err(SweepError::Run { why: Impossible::Stopped, .. }) => continue,
                Err(error) => Err(error),
                Ok(outcome) => journal.append(id, &outcome).map_err(SweepError::from),
            };
            if let Err(error) = written {
                failed.store(true, Ordering::Relaxed);
                return Err(error);
            }
            tell(Stand { done: journal.len(), all: plan.runs().len() });
        }
        Ok(())
    })
}

fn one(plan: &Plan, planned: &Planned, over: &dyn Fn() -> bool) -> Result<Outcome, SweepError> {
    let scenario = plan.scenario(planned)?;
    let mut progress = |_| if over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let outcome = run_with(&scenario, Observers { progress: Some(&mut progress), ..Observers::default() });
    outcome.map_err(|why| SweepError::Run { run: planned.id, why })
}

/// Writes `runs.csv`, `runs.parquet` and `summary.csv` from what is in the journal.
///
/// # Errors
/// [`SweepError::Results`], or the journal holds what no outcome is.
pub fn write_results(plan: &Plan, journal: &Journal, dir: &Path) -> Result<(), SweepError> {
    let table = results::Table::of(plan, journal)?;
    for (name, bytes) in [
        ("runs.csv", table.csv()),
        ("runs.parquet", parquet::bytes(&table)),
        ("summary.csv", table.summary(plan)),
    ] {
        let path = dir.join(name);
        let written = bytes.and_then(|bytes| results::replace(&path, &bytes));
        written.map_err(|why| SweepError::Results { path, why })?;
    }
    Ok(())
}
