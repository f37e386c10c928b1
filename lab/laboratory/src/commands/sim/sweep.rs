//! `motemix-lab sim sweep`.

use super::Interrupt;
use crate::cli::SimSweep as Args;
use crate::failure::Failure;
use crate::report::{self, Progress};
use motemix_sim::sweep::{self, Done, Journal, JournalError, Plan, Stand, SweepError, Work};
use std::io;
use std::path::Path;
use std::thread;

pub fn sweep(args: &Args) -> Result<(), Failure> {
    let plan = args.scenario.plan()?;
    if let Some(unknown) = args.only.iter().flatten().find(|id| plan.run(**id).is_none()) {
        let runs = plan.runs().len();
        return Err(Failure::broken(format!("--only {unknown}: the sweep has {runs} runs, from 0")));
    }
    let open = |dir: &Path| Journal::open(dir, &plan, args.restart).map_err(|error| failure(error.into()));
    match &args.out {
        None => list(args, &plan, None),
        Some(dir) if args.list => list(args, &plan, Some(&open(dir)?)),
        Some(dir) if args.take => take(&plan, open(dir)?, dir),
        Some(dir) => {
            // Before there is a journal, so that whoever sees one can interrupt.
            let interrupt = Interrupt::listen()?;
            work(args, &plan, open(dir)?, dir, &interrupt)
        }
    }
}

/// What the user gave is broken, or the system failed.
fn failure(error: SweepError) -> Failure {
    match error {
        SweepError::Journal(JournalError::Io(_)) | SweepError::Results { .. } => Failure::failed(error),
        _ => Failure::broken(error),
    }
}

fn list(args: &Args, plan: &Plan, journal: Option<&Journal>) -> Result<(), Failure> {
    let is_done = |id: u32| journal.is_some_and(|journal| journal.has(id));
    let is_wanted = |id: u32| args.only.as_ref().is_none_or(|only| only.contains(&id));
    let mut lines = Vec::new();
    for run in plan.runs().iter().filter(|run| is_wanted(run.id) && !is_done(run.id)) {
        serde_json::to_writer(&mut lines, run).map_err(|error| Failure::failed(error.to_string()))?;
        lines.push(b'\n');
    }
    Ok(report::print(&lines)?)
}

fn work(
    args: &Args,
    plan: &Plan,
    mut journal: Journal,
    dir: &Path,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let work = Work {
        jobs: args.jobs.map_or(cores, usize::from),
        only: args.only.as_deref(),
        stop: interrupt.flag(),
    };
    let mut progress = Progress::new(plan.runs().len() as u64);
    let mut tell =
        |stand: Stand| progress.at(stand.done as u64, &format!("{} of {} runs", stand.done, stand.all));
    let ended = sweep::run(plan, &mut journal, work, &mut tell);
    progress.finish();
    ended.map_err(failure)?;
    if interrupt.is_raised() {
        let (done, all) = (journal.len(), plan.runs().len());
        return Err(Failure::failed(format!(
            "interrupted: {done} of {all} runs are done; the same command goes on from there"
        )));
    }
    finish(plan, &journal, dir)
}

fn take(plan: &Plan, mut journal: Journal, dir: &Path) -> Result<(), Failure> {
    let mut progress = Progress::new(plan.runs().len() as u64);
    for done in serde_json::Deserializer::from_reader(io::stdin().lock()).into_iter::<Done>() {
        let done = done.map_err(|error| Failure::broken(format!("stdin: {error}")))?;
        if plan.run(done.run).is_none() {
            return Err(Failure::broken(format!("stdin: there is no run {} in the sweep", done.run)));
        }
        if !journal.has(done.run) {
            journal.append(done.run, &done.outcome).map_err(|error| failure(error.into()))?;
        }
        let (done, all) = (journal.len(), plan.runs().len());
        progress.at(done as u64, &format!("{done} of {all} runs"));
    }
    progress.finish();
    finish(plan, &journal, dir)
}

fn finish(plan: &Plan, journal: &Journal, dir: &Path) -> Result<(), Failure> {
    sweep::write_results(plan, journal, dir).map_err(failure)?;
    let (done, all) = (journal.len(), plan.runs().len());
    eprintln!("{done} of {all} runs are in {}", dir.join("runs.csv").display());
    Ok(())
}
