//! `motemix-lab sim validate`.

use crate::cli::SimValidate as Args;
use crate::failure::Failure;
use crate::report::{self, Progress, Table};
use anyhow::Context as _;
use motemix_sim::validation::{Surroundings, poisson, saturated, trains};
use serde::Serialize;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Frames of one load, and seconds of another: enough for three digits.
const FRAMES: u32 = 100_000;
const SECONDS: u32 = 4_000;

/// One figure of ours beside those of others.
#[derive(Serialize)]
struct Check {
    what: String,
    unit: &'static str,
    ours: f64,
    /// From the literature or the project's notes of ns-3.37: one figure, or the least and the
    /// most.
    known: Vec<f64>,
    source: &'static str,
    /// What ns-3 said just now.
    peer: Option<f64>,
}

/// A figure that can be worked out, here and by the peer.
struct Task {
    what: String,
    unit: &'static str,
    ours: Box<dyn Fn() -> f64>,
    known: Vec<f64>,
    source: &'static str,
    /// The peer's words for it.
    asked: Option<String>,
}

pub fn validate(args: &Args) -> Result<(), Failure> {
    let tasks = tasks();
    let mut progress = Progress::new(tasks.len() as u64);
    let mut checks = Vec::new();
    for (at, task) in tasks.into_iter().enumerate() {
        progress.at(at as u64, &task.what);
        let peer = args.peer.as_deref().zip(task.asked).map(|(peer, words)| ask(peer, &words)).transpose()?;
        let Task { what, unit, ours, known, source, .. } = task;
        checks.push(Check { what, unit, ours: ours(), known, source, peer });
    }
    progress.finish();
    if args.json {
        return Ok(report::print_json(&checks)?);
    }
    let mut table = Table::new(["", "unit", "ours", "known", "source", "ns-3 now"]);
    for check in checks {
        let known: Vec<_> = check.known.iter().map(f64::to_string).collect();
        table.row([
            check.what,
            check.unit.into(),
            format!("{:.2}", check.ours),
            known.join(" to "),
            check.source.into(),
            check.peer.map_or_else(String::new, |peer| format!("{peer:.2}")),
        ]);
    }
    Ok(table.print()?)
}

fn tasks() -> Vec<Task> {
    // The formula of IEEE 802.15.4-2006 for one sender, milliseconds.
    let period = |psdu: u16| 1.12 + 0.128 + 0.192 + 0.032 * f64::from(psdu + 6) + 0.192 + 0.352 + 0.64;
    let alone = [127, 61, 21].map(|psdu: u16| Task {
        what: format!("one sender, PSDU {psdu}, acknowledged"),
        unit: "frames/s",
        ours: Box::new(move || saturated(psdu.into(), true, SECONDS)),
        known: vec![(100_000.0 / period(psdu)).round() / 100.0],
        source: "formula",
        asked: Some(format!("single {psdu} {SECONDS} 1")),
    });
    let latre = [(false, 162.2), (true, 148.8)].map(|(acknowledged, known)| Task {
        what: format!("one sender, {}", if acknowledged { "acknowledged" } else { "unacknowledged" }),
        unit: "kb/s",
        // They leave out the assessment and the turnaround behind it.
        ours: Box::new(move || 0.976 / (1.0 / saturated(127, acknowledged, SECONDS) - 320e-6)),
        known: vec![known],
        source: "Latré et al.",
        asked: None,
    });
    let curve = [(20, 0.17), (40, 0.67), (60, 2.3), (80, 4.7), (100, 8.1), (120, 13.6)];
    let poisson = curve.map(|(rate, known): (u32, f64)| Task {
        what: format!("60 stations, {rate} frames/s, frames lost"),
        unit: "%",
        ours: Box::new(move || poisson(60, Surroundings::Room, rate.into(), FRAMES, 1)),
        known: vec![known],
        source: "ns-3.37",
        asked: Some(format!("poisson 60 {rate} {FRAMES} 1")),
    });
    let spread = [(60, 1.1, 2.4), (20, 4.3, 6.4), (10, 11.5, 12.9), (5, 28.8, 30.8)];
    let trains = spread.map(|(every, least, most)| Task {
        what: format!("64 stations, six frames each {every} s, datagrams lost"),
        unit: "%",
        ours: Box::new(move || {
            let lasting = Duration::from_secs(SECONDS.into());
            trains(64, Surroundings::Room, Duration::from_secs(every), lasting, 1)
        }),
        known: vec![least, most],
        source: "ns-3.37",
        asked: Some(format!("trains 64 {every} {SECONDS} 1")),
    });
    alone.into_iter().chain(latre).chain(poisson).chain(trains).collect()
}

fn ask(peer: &Path, words: &str) -> Result<f64, Failure> {
    let output = Command::new(peer).args(words.split(' ')).output();
    let output = output.with_context(|| format!("cannot run {}", peer.display()))?;
    let said = String::from_utf8_lossy(&output.stdout);
    said.trim().parse().map_err(|_| {
        let why = String::from_utf8_lossy(&output.stderr);
        Failure::failed(format!("{} {words}: {} {}", peer.display(), said.trim(), why.trim()))
    })
}
