//! `motemix-lab loopix anonymity`.

use super::rows::{linkability, write_csv};
use crate::chart::{self, Lines, Point, Series, Style};
use crate::cli::LoopixAnonymity as Args;
use crate::failure::Failure;
use crate::report::{self, Progress, Table};
use anyhow::Result;
use motemix_lab::loopix::study::anonymity::mix::{self, Hidden};
use motemix_lab::loopix::study::anonymity::network::{Linkability, Network};
use motemix_lab::loopix::study::anonymity::{entropy, entropy_of_large};
use motemix_lab::loopix::study::estimate::Estimate;
use serde::Serialize;
use std::path::Path;

/// λ/μ of one mix.
const POOLS: [f64; 9] = [0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
/// λ/μ of mixes in layers.
const LAYERED: [f64; 6] = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0];
/// Layers of Loopix.
const LAYERS: u32 = 3;
/// Where λ/μ is not what varies.
const POOL: f64 = 4.0;
const MOST_LAYERS: u32 = 5;
const CORRUPT: [f64; 7] = [0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9];
/// λ/μ of the packets of one user alone.
const OWN: [f64; 7] = [0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0];
/// Packets that leave a mix in a run.
const DEPARTURES: u32 = 400;

/// One mix.
#[derive(Serialize)]
struct Mix {
    pool: f64,
    closed_bits: f64,
    large_bits: f64,
    simulated_bits: f64,
    simulated_half: f64,
    surprise_bits: f64,
    surprise_half: f64,
}

/// Layers of mixes.
#[derive(Clone, Copy, Serialize)]
struct Layered {
    /// What varies within these rows.
    varies: &'static str,
    layers: u32,
    width: u32,
    pool: f64,
    corrupt: f64,
    users: u32,
    own: f64,
    packet_bits: f64,
    packet_half: f64,
    user_bits: f64,
    surprise_bits: f64,
    guess: f64,
    guess_half: f64,
    epsilon: f64,
    certain: f64,
    certain_half: f64,
}

#[derive(Serialize)]
struct Report {
    mixes: Vec<Mix>,
    linkability: Vec<Layered>,
}

pub fn anonymity(args: &Args) -> Result<(), Failure> {
    let tasks = tasks(args);
    let mut progress = Progress::new((POOLS.len() + tasks.len()) as u64);
    let mut done = 0;
    let mut step = |what: &str| {
        done += 1;
        progress.at(done, what);
    };
    let mixes = POOLS.map(|pool| {
        let mix = Mix::new(pool, mix::simulate(pool, args.trials, DEPARTURES, args.seed));
        step(&format!("one mix, λ/μ = {pool}"));
        mix
    });
    let layered = tasks.into_iter().map(|(varies, network)| {
        let row = Layered::new(varies, &network, &linkability(network, args.trials, args.seed));
        step(&format!("{} layers, λ/μ = {}", network.layers, network.pool));
        row
    });
    let report = Report { linkability: layered.collect(), mixes: mixes.into() };
    progress.finish();
    if let Some(dir) = &args.csv {
        write_csv(&dir.join("entropy.csv"), &report.mixes)?;
        write_csv(&dir.join("linkability.csv"), &report.linkability)?;
    }
    if let Some(dir) = &args.svg {
        draw(&report, dir)?;
    }
    if args.json { Ok(report::print_json(&report)?) } else { Ok(print(&report)?) }
}

/// What varies, and the networks.
fn tasks(args: &Args) -> Vec<(&'static str, Network)> {
    let usual = Network { layers: LAYERS, width: args.mixes, pool: POOL, corrupt: 0.0, users: args.users };
    let mut tasks = Vec::new();
    for layers in 1..=MOST_LAYERS {
        tasks.extend(LAYERED.map(|pool| ("pool", Network { layers, pool, ..usual })));
    }
    tasks.extend(CORRUPT.map(|corrupt| ("corrupt", Network { corrupt, ..usual })));
    // As many users as give each its λ/μ while the mixes stay as full.
    tasks.extend(OWN.map(|own| {
        let users = POOL * f64::from(args.mixes) / own;
        #[allow(clippy::cast_sign_loss, reason = "at least two")]
        ("own", Network { users: libm::round(users).max(2.0) as u32, ..usual })
    }));
    tasks
}

impl Mix {
    fn new(pool: f64, hidden: Hidden) -> Self {
        Self {
            pool,
            closed_bits: entropy(pool),
            large_bits: entropy_of_large(pool),
            simulated_bits: hidden.entropy.mean,
            simulated_half: hidden.entropy.half,
            surprise_bits: hidden.surprise.mean,
            surprise_half: hidden.surprise.half,
        }
    }
}

impl Layered {
    fn new(varies: &'static str, network: &Network, found: &Linkability) -> Self {
        let Network { layers, width, pool, corrupt, users } = *network;
        Self {
            varies,
            layers,
            width,
            pool,
            corrupt,
            users,
            own: pool * f64::from(width) / f64::from(users),
            packet_bits: found.packet_bits.mean,
            packet_half: found.packet_bits.half,
            user_bits: found.user_bits.mean,
            surprise_bits: found.surprise.mean,
            guess: found.guess.mean,
            guess_half: found.guess.half,
            epsilon: found.epsilon.mean,
            certain: found.certain.mean,
            certain_half: found.certain.half,
        }
    }
}

fn print(report: &Report) -> Result<()> {
    let within = |mean: f64, half: f64| format!("{mean:.3} ± {half:.3}");
    report::print("One mix: bits that an observer lacks to know which packet just left\n".as_bytes())?;
    let mut table = Table::new(["λ/μ", "closed form", "log₂(eλ/μ)", "simulated", "surprise"]);
    for mix in &report.mixes {
        table.row([
            mix.pool.to_string(),
            format!("{:.3}", mix.closed_bits),
            format!("{:.3}", mix.large_bits),
            within(mix.simulated_bits, mix.simulated_half),
            within(mix.surprise_bits, mix.surprise_half),
        ]);
    }
    table.print()?;
    let title = format!(
        "\nLayers: bits to know which packet leaves the last layer, and whether it was S₀ or S₁ who sent one ({} mixes a layer)\n",
        report.linkability.first().map_or(0, |row| row.width)
    );
    report::print(title.as_bytes())?;
    let mut table = Table::new([
        "layers",
        "λ/μ",
        "corrupt",
        "users",
        "own λ/μ",
        "packets, bits",
        "users, bits",
        "guess S₀",
        "certain δ",
        "E ε",
    ]);
    for row in &report.linkability {
        table.row([
            row.layers.to_string(),
            row.pool.to_string(),
            row.corrupt.to_string(),
            row.users.to_string(),
            format!("{:.3}", row.own),
            format!("{:.2} ± {:.2}", row.packet_bits, row.packet_half),
            format!("{:.2}", row.user_bits),
            format!("{:.3} ± {:.3}", row.guess, row.guess_half),
            format!("{:.3}", row.certain),
            if row.epsilon > 0.0 { format!("{:.2}", row.epsilon) } else { "-".into() },
        ]);
    }
    table.print()
}

fn draw(report: &Report, dir: &Path) -> Result<()> {
    chart::write(&dir.join("entropy.svg"), of_one(&report.mixes).draw())?;
    let rows = |varies| report.linkability.iter().filter(move |row| row.varies == varies);
    let layers = (1..=MOST_LAYERS).zip(0..).map(|(layers, colour)| Series {
        name: if layers == 1 { "one layer".into() } else { format!("{layers} layers") },
        colour,
        style: Style::Solid,
        points: rows("pool")
            .filter(|row| row.layers == layers)
            .map(|row| Point { x: row.pool, y: row.packet_bits, half: half(row.packet_half) })
            .collect(),
    });
    let x_pool = "λ/μ of each mix";
    let chart = lines("Bits that hide a packet behind layers of mixes", x_pool, "bits", layers.collect());
    chart::write(&dir.join("layers.svg"), Lines { log_x: true, ..chart }.draw())?;
    let corrupt = [
        one(
            "bits to know the packet",
            0,
            rows("corrupt").map(|row| (row.corrupt, row.packet_bits, row.packet_half)),
        ),
        one(
            "bits to know the user who gets it",
            2,
            rows("corrupt").map(|row| (row.corrupt, row.user_bits, 0.0)),
        ),
    ];
    let title = "Three layers, λ/μ = 4, when mixes work for the observer";
    let chart = lines(title, "share of corrupt mixes", "bits", corrupt.into());
    chart::write(&dir.join("corrupt.svg"), chart.draw())?;
    let candidates = [
        one(
            "the observer says S₀ and not S₁",
            0,
            rows("own").map(|row| (row.own, row.guess, row.guess_half)),
        ),
        one("it is certain", 1, rows("own").map(|row| (row.own, row.certain, row.certain_half))),
    ];
    let title = "S₀ sent it: three layers, λ/μ = 4, users who send rarely or often";
    let chart = lines(title, "λ/μ of the packets of one user", "probability", candidates.into());
    chart::write(&dir.join("candidates.svg"), Lines { log_x: true, ..chart }.draw())
}

fn of_one(mixes: &[Mix]) -> Lines {
    let series = vec![
        one("closed form", 1, mixes.iter().map(|mix| (mix.pool, mix.closed_bits, 0.0))),
        one("simulated", 0, mixes.iter().map(|mix| (mix.pool, mix.simulated_bits, mix.simulated_half))),
        Series {
            style: Style::Hollow,
            // Below, it is less than nothing.
            ..one("log₂(eλ/μ)", 6, mixes.iter().skip(3).map(|mix| (mix.pool, mix.large_bits, 0.0)))
        },
    ];
    let chart = lines("Bits that hide a packet in one mix", "λ/μ", "bits", series);
    Lines { log_x: true, ..chart }
}

fn one(name: &str, colour: usize, points: impl Iterator<Item = (f64, f64, f64)>) -> Series {
    let points = points.map(|(x, y, within)| Point { x, y, half: half(within) }).collect();
    Series { name: name.into(), colour, style: Style::Solid, points }
}

fn half(half: f64) -> Option<f64> {
    Some(half).filter(|half| half.is_finite() && *half > 0.0)
}

fn lines(title: &str, x: &str, y: &str, series: Vec<Series>) -> Lines {
    Lines { title: title.into(), x: x.into(), y: y.into(), log_x: false, log_y: false, series }
}

/// An estimate as people read it.
pub(super) fn text(estimate: Estimate, decimals: usize) -> String {
    format!("{:.decimals$} ± {:.decimals$}", estimate.mean, estimate.half)
}
