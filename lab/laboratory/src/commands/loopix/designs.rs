//! `motemix-lab loopix designs`.

use super::anonymity::messages;
use super::rows::{brief, linkability, write_csv};
use crate::chart::{self, Lines, Point, Series, Style};
use crate::cli::LoopixDesigns as Args;
use crate::failure::Failure;
use crate::report::{self, Progress, Table};
use anyhow::Result;
use motemix_lab::loopix::study::anonymity::measures::{Linkability, MOST_MESSAGES};
use motemix_lab::loopix::study::anonymity::network::{Design, Network};
use motemix_lab::loopix::study::anonymity::rounds::{Learned, Rounds};
use motemix_lab::loopix::study::estimate::Gathered;
use serde::Serialize;
use std::time::Duration;

const LATENCIES: [Duration; 4] =
    [Duration::from_secs(3), Duration::from_secs(6), Duration::from_secs(12), Duration::from_secs(24)];
const LAYERS: u32 = 3;
/// Packets that a mix may hold in a simulation, on average.
const MOST_POOL: f64 = 10_000.0;
/// Packets whose mean time finds the size of a threshold mix: so many mean delays, and no fewer
/// than so many packets.
const TIMED: f64 = 200.0;
const FEWEST_TIMED: f64 = 20_000.0;

/// Runs whose mean latency is told: pool mixes that send at the same time or one after the other
/// make a difference.
const RUNS: u64 = 10;

const POISSON: &str = "Poisson mixes";
const THRESHOLD: &str = "threshold mixes";
const POOL: &str = "timed pool mixes";
const WATCHED: &str = "rounds with noise";
const CUT_OFF: &str = "rounds with noise, users cut off";
const NAMES: [&str; 5] = [POISSON, THRESHOLD, POOL, WATCHED, CUT_OFF];

/// A design at a latency.
#[derive(Serialize)]
struct Row {
    design: &'static str,
    /// What was asked for, and what it takes.
    latency_s: f64,
    measured_s: f64,
    rate: f64,
    users: u32,
    /// λ/μ of a mix, packets of a threshold mix, packets that a pool mix keeps, or µ of the noise.
    parameter: f64,
    best_guess_of_two: f64,
    best_guess: f64,
    sender_min_bits: f64,
    delta_0: f64,
    delta_1: f64,
    delta_2: f64,
    known_half: Option<u32>,
    known_most: Option<u32>,
    known_bound: u32,
}

pub fn designs(args: &Args) -> Result<(), Failure> {
    let latencies = if args.latencies.is_empty() { &LATENCIES[..] } else { &args.latencies };
    for latency in latencies {
        check(args, *latency)?;
    }
    let mut progress = Progress::new((latencies.len() * NAMES.len()) as u64);
    let mut rows = Vec::new();
    for latency in latencies {
        for name in NAMES {
            progress.at(rows.len() as u64, &format!("{name}, {} s", brief(latency.as_secs_f64())));
            rows.push(row(args, name, latency.as_secs_f64())?);
        }
    }
    progress.finish();
    if let Some(dir) = &args.csv {
        write_csv(&dir.join("designs.csv"), &rows)?;
    }
    if let Some(dir) = &args.svg {
        chart::write(&dir.join("designs.svg"), figure(&rows).draw())?;
    }
    if args.json { Ok(report::print_json(&rows)?) } else { Ok(print(args, &rows)?) }
}

fn check(args: &Args, latency: Duration) -> Result<(), Failure> {
    let latency_s = latency.as_secs_f64();
    let pool = network(args, latency_s).pool;
    let text = humantime::format_duration(latency);
    if pool > MOST_POOL {
        return Err(Failure::broken(format!(
            "--latency {text}: a mix would hold more than {MOST_POOL} packets, so many are not simulated; fewer --users, a lower --rate or more --mixes"
        )));
    }
    if Rounds::within(args.users, args.rate, latency_s).is_none() {
        return Err(Failure::broken(format!(
            "--latency {text}: at a --rate of {} the rounds of {} users have no packets left for noise; a longer --latency or a higher --rate",
            args.rate, args.users
        )));
    }
    Ok(())
}

/// Poisson mixes that take so long.
fn network(args: &Args, latency_s: f64) -> Network {
    let delay_s = latency_s / f64::from(LAYERS);
    let pool = f64::from(args.users) * args.rate * delay_s / f64::from(args.mixes);
    Network::honest(LAYERS, args.mixes, pool, args.users)
}

fn row(args: &Args, design: &'static str, latency_s: f64) -> Result<Row, Failure> {
    let poisson = network(args, latency_s);
    let (parameter, network) = match design {
        POISSON => (poisson.pool, poisson),
        THRESHOLD => {
            let size = threshold(&poisson, args.seed);
            (f64::from(size), Network { design: Design::Threshold { size }, ..poisson })
        }
        POOL => {
            // Half of the delay is the wait for the next time, the other half the pool's.
            #[allow(clippy::cast_sign_loss, reason = "not below zero")]
            let keep = libm::round(poisson.pool / 2.0) as u32;
            (f64::from(keep), Network { design: Design::TimedPool { every: 1.0, keep }, ..poisson })
        }
        _ => {
            let rounds = Rounds::within(args.users, args.rate, latency_s);
            let rounds = rounds.ok_or_else(|| Failure::broken("no packets are left for noise"))?;
            let learned = match design {
                WATCHED => rounds.watched(MOST_MESSAGES),
                _ => rounds.cut_off(MOST_MESSAGES, args.seed),
            };
            return Ok(of_rounds(args, design, latency_s, &rounds, &learned));
        }
    };
    let found = linkability(network, args.trials, args.seed);
    let delay_s = latency_s / f64::from(LAYERS);
    let runs = (0..RUNS).map(|run| network.latency(timed(&network), args.seed.wrapping_add(run)));
    let measured_s = runs.collect::<Gathered>().estimate().mean * delay_s;
    Ok(of_mixes(args, design, (latency_s, measured_s), parameter, &found))
}

fn of_mixes(
    args: &Args,
    design: &'static str,
    (latency_s, measured_s): (f64, f64),
    parameter: f64,
    found: &Linkability,
) -> Row {
    let [delta_0, delta_1, delta_2] = found.delta.map(|delta| delta.mean);
    Row {
        design,
        latency_s,
        measured_s,
        rate: args.rate,
        users: args.users,
        parameter,
        best_guess_of_two: found.best_guess_of_two.mean,
        best_guess: found.best_guess.mean,
        sender_min_bits: found.sender_min_bits.mean,
        delta_0,
        delta_1,
        delta_2,
        known_half: found.known.half,
        known_most: found.known.most,
        known_bound: found.known.bound,
    }
}

fn of_rounds(args: &Args, design: &'static str, latency_s: f64, rounds: &Rounds, learned: &Learned) -> Row {
    let [delta_0, delta_1, delta_2] = learned.delta;
    Row {
        design,
        latency_s,
        measured_s: rounds.every_s / 2.0,
        rate: args.rate,
        users: args.users,
        parameter: rounds.noise,
        best_guess_of_two: learned.best_guess_of_two,
        best_guess: learned.best_guess,
        sender_min_bits: learned.sender_min_bits,
        delta_0,
        delta_1,
        delta_2,
        known_half: learned.known.half,
        known_most: learned.known.most,
        known_bound: learned.known.bound,
    }
}

fn timed(network: &Network) -> u32 {
    #[allow(clippy::cast_sign_loss, reason = "a number of packets")]
    let packets = (TIMED * network.pool * f64::from(network.width)).max(FEWEST_TIMED) as u32;
    packets
}

/// The size of threshold mixes that take as long as Poisson mixes. Behind the first layer packets
/// come in batches, so that no formula for single packets holds.
fn threshold(poisson: &Network, seed: u64) -> u32 {
    let takes = |size| {
        let network = Network { design: Design::Threshold { size }, ..*poisson };
        network.latency(timed(&network), seed)
    };
    let (mut low, mut high) = (1, 2);
    while takes(high) < f64::from(LAYERS) && high < u32::MAX / 4 {
        (low, high) = (high, high * 2);
    }
    while high - low > 1 {
        let middle = low.midpoint(high);
        if takes(middle) < f64::from(LAYERS) { low = middle } else { high = middle }
    }
    high
}

fn print(args: &Args, rows: &[Row]) -> Result<()> {
    let intro = format!(
        "{} users who each send {} packets a second; who sent a message that is seen to arrive?\n",
        args.users,
        brief(args.rate)
    );
    report::print(intro.as_bytes())?;
    let mut table = Table::new([
        "design",
        "latency, s",
        "λ/μ, size, µ",
        "of 2",
        "of all",
        "min, bits",
        "δ(0)",
        "δ(1)",
        "δ(2)",
        "half known",
        "95 %",
    ]);
    for row in rows {
        table.row([
            row.design.into(),
            brief(row.measured_s),
            brief(row.parameter),
            format!("{:.3}", row.best_guess_of_two),
            format!("{:.3}", row.best_guess),
            format!("{:.2}", row.sender_min_bits),
            format!("{:.3}", row.delta_0),
            format!("{:.3}", row.delta_1),
            format!("{:.3}", row.delta_2),
            messages(row.known_half, row.known_bound),
            messages(row.known_most, row.known_bound),
        ]);
    }
    table.print()
}

fn figure(rows: &[Row]) -> Lines {
    let series = NAMES.into_iter().enumerate().map(|(colour, name)| Series {
        name: if name == WATCHED { format!("{name}: more than {MOST_MESSAGES}") } else { name.into() },
        colour,
        style: if name == WATCHED { Style::Hollow } else { Style::Solid },
        points: rows
            .iter()
            .filter(|row| row.design == name)
            .map(|row| Point {
                x: row.latency_s,
                y: f64::from(row.known_half.unwrap_or(row.known_bound)),
                half: None,
            })
            .collect(),
    });
    Lines {
        title: "Messages until the sender is known, at the same number of packets".into(),
        x: "mean latency, seconds".into(),
        y: "messages until half of senders are known".into(),
        log_x: true,
        log_y: true,
        series: series.collect(),
    }
}
