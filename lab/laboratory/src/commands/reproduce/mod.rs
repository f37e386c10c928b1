//! `motemix-lab reproduce`: the experiments of others, beside what they measured.

mod drawing;

use super::sim::Interrupt;
use crate::cli::ReproduceThesis as Args;
use crate::failure::Failure;
use crate::report::{self, Progress, Table};
use motemix_sim::reproduce::{Case, Measured, ablation, figure7, figure8, remedies};
use motemix_sim::scenario::{Protocol, Scenario};
use motemix_sim::sweep::interval;
use motemix_sim::{Impossible, Observers, Outcome, run_with};
use rayon::iter::{IndexedParallelIterator as _, IntoParallelRefIterator as _, ParallelIterator as _};
use serde::Serialize;
use std::sync::Mutex;

/// The first seed; smaller ones were used to fit the model to the thesis.
const FIRST_SEED: u64 = 101;

/// One point of a figure, measured and simulated.
#[derive(Serialize)]
struct Found {
    figure: &'static str,
    label: String,
    protocol: Protocol,
    nodes: u32,
    measured: Option<Percentages<f64>>,
    simulated: Percentages<Mean>,
    /// Messages that were acknowledged, in each second in which messages were sent.
    acknowledged_per_s: Mean,
    /// Messages that full nodes did not accept, percent of those that were offered.
    refused: Mean,
    /// Seconds in which somebody sent, for each acknowledged message.
    airtime_s_per_ack: Mean,
    /// Median of the seconds until a message was acknowledged.
    rtt_s: Mean,
}

/// In percent of the messages sent.
#[derive(Clone, Copy, Serialize)]
struct Percentages<T> {
    retransmitted: T,
    acknowledged: T,
    discarded: T,
}

/// Over the seeds.
#[derive(Clone, Copy, Serialize)]
struct Mean {
    mean: f64,
    /// Half of the confidence interval of 95 %.
    ci95: Option<f64>,
}

/// What is to be simulated.
struct Task {
    figure: &'static str,
    case: Case,
}

pub fn thesis(args: &Args) -> Result<(), Failure> {
    let found = simulate(&tasks(), args.seeds)?;
    if let Some(dir) = &args.svg {
        drawing::draw(&found, dir)?;
    }
    if args.json {
        return Ok(report::print_json(&found)?);
    }
    for (figure, title) in [
        ("7", "Figure 7: every node sends, forwards and receives; percent of the messages sent\n"),
        ("8", "\nFigure 8: clients, mixes and servers apart\n"),
        ("ablation", "\nThe mesh of 60 nodes, with one cause of loss after the other taken away\n"),
    ] {
        report::print(title.as_bytes())?;
        table(found.iter().filter(|found| found.figure == figure)).print()?;
    }
    report::print(b"\nMotes, 64 nodes, with one remedy after the other left out\n")?;
    remedies_table(found.iter().filter(|found| found.figure == "remedies")).print()?;
    Ok(())
}

/// The thesis' points, and after each of Sphinx the same with motes as they ship.
fn tasks() -> Vec<Task> {
    let with_ours = |figure: &'static str, case: Case| {
        let ours = (case.scenario.protocol == Protocol::Thesis).then(|| Task { figure, case: ours(&case) });
        [Task { figure, case }].into_iter().chain(ours)
    };
    let figure7 = figure7().into_iter().flat_map(|case| with_ours("7", case));
    let figure8 = figure8().into_iter().flat_map(|case| with_ours("8", case));
    let ablation = ablation().into_iter().map(|case| Task { figure: "ablation", case });
    let remedies = remedies().into_iter().map(|case| Task { figure: "remedies", case });
    figure7.chain(figure8).chain(ablation).chain(remedies).collect()
}

fn ours(case: &Case) -> Case {
    let scenario = Scenario {
        protocol: Protocol::Motes,
        name: format!("{}-motes", case.scenario.name),
        ..case.scenario.clone()
    };
    // Of the mesh, labels begin with what the nodes run; of the others, with who they are.
    let label = match case.label.strip_prefix("Sphinx") {
        Some(rest) => format!("motes{rest}"),
        None => format!("{}, motes", case.label),
    };
    Case { label, scenario, measured: None }
}

fn simulate(tasks: &[Task], seeds: u32) -> Result<Vec<Found>, Failure> {
    let interrupt = Interrupt::listen()?;
    let runs: Vec<(usize, u64)> = (0..tasks.len())
        .flat_map(|task| (0..u64::from(seeds)).map(move |more| (task, FIRST_SEED + more)))
        .collect();
    let progress = Mutex::new((0, Progress::new(runs.len() as u64)));
    let outcomes = runs.par_iter().with_max_len(1).map(|(task, seed)| {
        let scenario = Scenario { seed: *seed, ..tasks[*task].case.scenario.clone() };
        let mut watch = |_| interrupt.flow();
        let outcome = run_with(&scenario, Observers { progress: Some(&mut watch), ..Observers::default() });
        if let Ok(mut progress) = progress.lock() {
            progress.0 += 1;
            let message = format!("{} of {} runs", progress.0, runs.len());
            let done = progress.0;
            progress.1.at(done, &message);
        }
        outcome
    });
    let outcomes = outcomes.collect::<Result<Vec<Outcome>, Impossible>>();
    if let Ok((_, progress)) = progress.into_inner() {
        progress.finish();
    }
    let outcomes = outcomes.map_err(|error| match error {
        Impossible::Stopped => Failure::failed("interrupted"),
        Impossible::Network(_) => Failure::failed(error),
    })?;
    let of_each = outcomes.chunks(seeds as usize);
    Ok(tasks.iter().zip(of_each).map(|(task, outcomes)| Found::new(task, outcomes)).collect())
}

impl Found {
    #[allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    fn new(task: &Task, outcomes: &[Outcome]) -> Self {
        let mean = |figure: &dyn Fn(&Outcome) -> f64| {
            let values: Vec<f64> = outcomes.iter().map(figure).collect();
            let known = interval(&values);
            Mean { mean: known.map_or(0.0, |known| known.mean), ci95: known.and_then(|known| known.half) }
        };
        let case = &task.case;
        let seconds = case.scenario.run.send_for.0.as_secs_f64();
        Self {
            figure: task.figure,
            label: case.label.clone(),
            protocol: case.scenario.protocol,
            nodes: case.scenario.count(),
            measured: case.measured.map(Percentages::from),
            simulated: Percentages {
                retransmitted: mean(&|outcome| outcome.retransmitted_percent),
                acknowledged: mean(&|outcome| outcome.acknowledged_percent),
                discarded: mean(&|outcome| outcome.discarded_percent),
            },
            acknowledged_per_s: mean(&|outcome| outcome.acknowledged as f64 / seconds),
            refused: mean(&|outcome| {
                100.0 * outcome.refused as f64 / (outcome.refused + outcome.sent).max(1) as f64
            }),
            airtime_s_per_ack: mean(&|outcome| outcome.airtime_s_per_ack),
            rtt_s: mean(&|outcome| outcome.rtt_s.p50),
        }
    }
}

impl From<Measured> for Percentages<f64> {
    fn from(measured: Measured) -> Self {
        let Measured { retransmitted, acknowledged, discarded } = measured;
        Self { retransmitted, acknowledged, discarded }
    }
}

fn table<'f>(found: impl Iterator<Item = &'f Found>) -> Table {
    let mut table = Table::new([
        "",
        "acknowledged",
        "± 95 %",
        "measured",
        "retransmitted",
        "measured",
        "discarded",
        "measured",
    ]);
    for point in found {
        let one = |value: f64| format!("{value:.1}");
        let measured = |which: fn(&Percentages<f64>) -> f64| {
            point.measured.as_ref().map_or_else(String::new, |measured| one(which(measured)))
        };
        let simulated = &point.simulated;
        table.row([
            point.label.clone(),
            one(simulated.acknowledged.mean),
            simulated.acknowledged.ci95.map_or_else(String::new, one),
            measured(|figures| figures.acknowledged),
            one(simulated.retransmitted.mean),
            measured(|figures| figures.retransmitted),
            one(simulated.discarded.mean),
            measured(|figures| figures.discarded),
        ]);
    }
    table
}

fn remedies_table<'f>(found: impl Iterator<Item = &'f Found>) -> Table {
    let mut table = Table::new([
        "",
        "refused",
        "acknowledged",
        "± 95 %",
        "retransmitted",
        "acknowledged/s",
        "airtime, s each",
        "median s",
    ]);
    for point in found {
        let one = |mean: Mean| format!("{:.1}", mean.mean);
        table.row([
            point.label.clone(),
            one(point.refused),
            format!("{:.2}", point.simulated.acknowledged.mean),
            point.simulated.acknowledged.ci95.map_or_else(String::new, |half| format!("{half:.2}")),
            one(point.simulated.retransmitted),
            format!("{:.2}", point.acknowledged_per_s.mean),
            format!("{:.3}", point.airtime_s_per_ack.mean),
            one(point.rtt_s),
        ]);
    }
    table
}
