//! `motemix-lab loopix anonymity`.

use super::rows::{linkability, write_csv};
use crate::chart::{self, Lines, Point, Series, Style};
use crate::cli::LoopixAnonymity as Args;
use crate::failure::Failure;
use crate::report::{self, Progress, Table};
use anyhow::Result;
use motemix_lab::loopix::study::anonymity::measures::Linkability;
use motemix_lab::loopix::study::anonymity::mix::{self, Hidden};
use motemix_lab::loopix::study::anonymity::network::{Network, Providers};
use motemix_lab::loopix::study::anonymity::{entropy, entropy_of_large, entropy_of_layers};
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
/// Providers, where some may be corrupt.
const PROVIDERS: u32 = 4;
const SHARES: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];
/// λ/μ of the packets of one user alone.
const OWN: [f64; 7] = [0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0];
/// Users of all trials of a network: what an observer believes of each is kept.
const MOST_BELIEFS: u64 = 1_000_000_000;
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
    /// Providers that delay; none if the observer sees which user gets which packet.
    providers: u32,
    corrupt_providers: f64,
    users: u32,
    own: f64,
    /// For many packets, in closed form; of honest mixes.
    closed_bits: Option<f64>,
    packet_bits: f64,
    packet_half: f64,
    packet_min_bits: f64,
    user_bits: f64,
    user_half: f64,
    surprise_bits: f64,
    sender_bits: f64,
    sender_min_bits: f64,
    best_guess: f64,
    best_guess_of_two: f64,
    best_guess_half: f64,
    delta_0: f64,
    delta_0_half: f64,
    delta_1: f64,
    delta_2: f64,
    /// Messages to one receiver until half and 95 % of senders are known; nothing if more than the
    /// bound.
    known_half: Option<u32>,
    known_most: Option<u32>,
    known_bound: u32,
}

#[derive(Serialize)]
struct Report {
    mixes: Vec<Mix>,
    linkability: Vec<Layered>,
}

pub fn anonymity(args: &Args) -> Result<(), Failure> {
    if u64::from(args.users) * u64::from(args.trials) > MOST_BELIEFS {
        return Err(Failure::broken(format!(
            "{} users in each of {} trials are more than {MOST_BELIEFS} together; fewer --users or fewer --trials",
            args.users, args.trials
        )));
    }
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
    let usual = Network::honest(LAYERS, args.mixes, POOL, args.users);
    let mut tasks = Vec::new();
    for layers in 1..=MOST_LAYERS {
        tasks.extend(LAYERED.map(|pool| ("pool", Network { layers, pool, ..usual })));
    }
    tasks.extend(CORRUPT.map(|corrupt| ("corrupt", Network { corrupt, ..usual })));
    let providers = |corrupt| Some(Providers { count: PROVIDERS, corrupt });
    tasks.extend(SHARES.map(|share| ("providers", Network { providers: providers(share), ..usual })));
    let both = |share| Network { corrupt: share, providers: providers(share), ..usual };
    tasks.extend(SHARES.map(|share| ("providers and mixes", both(share))));
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
        let Network { layers, width, pool, corrupt, users, providers, .. } = *network;
        let is_closed = corrupt <= 0.0 && providers.is_none();
        Self {
            varies,
            layers,
            width,
            pool,
            corrupt,
            providers: providers.map_or(0, |providers| providers.count),
            corrupt_providers: providers.map_or(0.0, |providers| providers.corrupt),
            users,
            own: pool * f64::from(width) / f64::from(users),
            closed_bits: is_closed.then(|| entropy_of_layers(pool, width, layers)),
            packet_bits: found.packet_bits.mean,
            packet_half: found.packet_bits.half,
            packet_min_bits: found.packet_min_bits.mean,
            user_bits: found.user_bits.mean,
            user_half: found.user_bits.half,
            surprise_bits: found.surprise.mean,
            sender_bits: found.sender_bits.mean,
            sender_min_bits: found.sender_min_bits.mean,
            best_guess: found.best_guess.mean,
            best_guess_of_two: found.best_guess_of_two.mean,
            best_guess_half: found.best_guess_of_two.half,
            delta_0: found.delta[0].mean,
            delta_0_half: found.delta[0].half,
            delta_1: found.delta[1].mean,
            delta_2: found.delta[2].mean,
            known_half: found.known.half,
            known_most: found.known.most,
            known_bound: found.known.bound,
        }
    }
}

/// Messages until a sender is known, as people read it.
pub(super) fn messages(known: Option<u32>, bound: u32) -> String {
    known.map_or_else(|| format!("> {bound}"), |messages| messages.to_string())
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
    let width = report.linkability.first().map_or(0, |row| row.width);
    let title = format!(
        "\nLayers of {width} mixes: bits to know which packet is the target, who gets it and who sent it; how often the best guess at its sender is right, of two users and of all; δ(ε); messages until half and 95 % of senders are known\n",
    );
    report::print(title.as_bytes())?;
    let mut table = Table::new([
        "layers", "λ/μ", "corrupt", "users", "own", "packet", "min", "gets it", "sent it", "min", "of 2",
        "of all", "δ(0)", "δ(1)", "δ(2)", "half", "95 %",
    ]);
    for row in &report.linkability {
        let corrupt = match row.providers {
            0 => row.corrupt.to_string(),
            _ => format!("{} + {} providers", row.corrupt, row.corrupt_providers),
        };
        let bits = |bits: f64| format!("{bits:.2}");
        let share = |share: f64| format!("{share:.3}");
        table.row([
            row.layers.to_string(),
            row.pool.to_string(),
            corrupt,
            row.users.to_string(),
            share(row.own),
            within(row.packet_bits, row.packet_half),
            bits(row.packet_min_bits),
            bits(row.user_bits),
            bits(row.sender_bits),
            bits(row.sender_min_bits),
            within(row.best_guess_of_two, row.best_guess_half),
            share(row.best_guess),
            share(row.delta_0),
            share(row.delta_1),
            share(row.delta_2),
            messages(row.known_half, row.known_bound),
            messages(row.known_most, row.known_bound),
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
    let bits = |of: fn(&Layered) -> f64, varies| {
        rows(varies).map(move |row| (row.corrupt_providers, of(row), 0.0)).collect::<Vec<_>>().into_iter()
    };
    let providers = [
        one("bits to know the user who gets it", 2, bits(|row| row.user_bits, "providers")),
        one("bits to know the sender", 0, bits(|row| row.sender_bits, "providers")),
        Series {
            style: Style::Hollow,
            ..one("who gets it; mixes too", 2, bits(|row| row.user_bits, "providers and mixes"))
        },
        Series {
            style: Style::Hollow,
            ..one("the sender; mixes too", 0, bits(|row| row.sender_bits, "providers and mixes"))
        },
    ];
    let title = "Three layers, λ/μ = 4, when providers work for the observer";
    let chart = lines(title, "share of corrupt providers", "bits", providers.into());
    chart::write(&dir.join("providers.svg"), chart.draw())?;
    let guess = rows("own").map(|row| (row.own, row.best_guess_of_two, row.best_guess_half));
    let candidates = [
        one("best guess, S₀ or S₁, is right", 0, guess),
        one("δ(0)", 1, rows("own").map(|row| (row.own, row.delta_0, row.delta_0_half))),
        one("δ(1)", 2, rows("own").map(|row| (row.own, row.delta_1, 0.0))),
        one("δ(2)", 3, rows("own").map(|row| (row.own, row.delta_2, 0.0))),
    ];
    let title = "Who sent it? Three layers, λ/μ = 4, users who send rarely or often";
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
