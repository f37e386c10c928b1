//! `motemix-lab loopix policies`.

use super::anonymity::messages;
use super::rows::{Day, brief, mib, targets, write_csv};
use crate::chart::{self, Lines, Point, Series, Style};
use crate::cli::LoopixPolicies as Args;
use crate::failure::Failure;
use crate::report::{self, Progress, Table};
use anyhow::Result;
use motemix_lab::loopix::study::anonymity::entropy;
use motemix_lab::loopix::study::anonymity::measures::{Known, Linkability};
use motemix_lab::loopix::study::anonymity::network::{Network, Trial};
use motemix_lab::loopix::study::cost::STRONG;
use motemix_lab::loopix::study::energy::traffic::{Client, Pull};
use motemix_lab::loopix::study::policy::{Adaptive, Foreground, expected_until_known};
use serde::Serialize;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(86_400);
const LAYERS: u32 = 3;
/// Users for whom constant and adaptive cover are compared.
const USERS: [u32; 7] = [10, 20, 50, 100, 200, 500, 1000];
/// λ/μ of a mix that adaptive cover keeps.
const KEPT_POOL: f64 = 16.0;
/// Packets a second that a client sends at least.
const LEAST: f64 = 0.03;
/// The share of users that an adversary makes up.
const FAKE: f64 = 0.5;
/// Between two packets for one receiver that an observer puts together.
const APART: Duration = Duration::from_secs(6 * 3600);
const MOST_PACKETS: u32 = 1000;

/// Constant or adaptive cover with so many users.
#[derive(Serialize)]
struct Cover {
    policy: &'static str,
    users: u32,
    announced: u32,
    sent: f64,
    bytes_per_day: f64,
    umts_j: f64,
    lte_j: f64,
    nr_j: f64,
    pool: f64,
    /// If half of the users are made up.
    pool_despite_fakes: f64,
    mix_bits: f64,
    packet_bits: f64,
    sender_min_bits: f64,
    best_guess_of_two: f64,
    best_guess: f64,
    delta_0: f64,
    delta_1: f64,
    delta_2: f64,
    known_half: Option<u32>,
    known_most: Option<u32>,
    known_bound: u32,
}

/// A client always or in the foreground.
#[derive(Serialize)]
struct Presence {
    policy: &'static str,
    present: f64,
    sent: f64,
    bytes_per_day: f64,
    umts_j: f64,
    lte_j: f64,
    nr_j: f64,
    pool: f64,
    mix_bits: f64,
    packet_bits: f64,
    sender_min_bits: f64,
    /// Whoever is absent did not send it.
    best_guess_of_two: f64,
    best_guess: f64,
    delta_0: f64,
    delta_1: f64,
    delta_2: f64,
    /// Messages to one receiver until half and 95 % of senders are known; nothing if more than the
    /// bound.
    known_half: Option<u32>,
    known_most: Option<u32>,
    known_bound: u32,
    /// From who was present alone, if presences were independent: the mean, in closed form.
    known_by_presence: Option<f64>,
}

#[derive(Serialize)]
struct Report {
    adaptive: Vec<Cover>,
    foreground: Vec<Presence>,
}

pub fn policies(args: &Args) -> Result<(), Failure> {
    check(args)?;
    let mut progress = Progress::new((2 * USERS.len() + 3) as u64);
    let mut done = 0;
    let mut step = |what: &str| {
        done += 1;
        progress.at(done, what);
    };
    let mut adaptive = Vec::new();
    for users in USERS {
        for policy in ["constant", "adaptive"] {
            adaptive.push(cover(args, policy, users));
            step(&format!("{policy} cover, {users} users"));
        }
    }
    let foreground = presences(args, &mut step);
    progress.finish();
    let report = Report { adaptive, foreground };
    if let Some(dir) = &args.csv {
        write_csv(&dir.join("adaptive.csv"), &report.adaptive)?;
        write_csv(&dir.join("foreground.csv"), &report.foreground)?;
    }
    if let Some(dir) = &args.svg {
        chart::write(&dir.join("adaptive.svg"), figure(&report.adaptive).draw())?;
    }
    if args.json { Ok(report::print_json(&report)?) } else { Ok(print(args, &report)?) }
}

fn check(args: &Args) -> Result<(), Failure> {
    let (hour, day) = (Duration::from_secs(3600), 86_400.0);
    if !(Duration::from_millis(10)..=hour).contains(&args.delay) {
        return Err(Failure::broken("--delay: from 10ms to 1h"));
    }
    if args.session.is_zero() || args.sessions > 1440.0 {
        return Err(Failure::broken(
            "at most 1440 --sessions a day, of a --session that is more than nothing",
        ));
    }
    if args.background_pull < Duration::from_secs(1) {
        return Err(Failure::broken("--background-pull: a second at least"));
    }
    let open_s = args.sessions * args.session.as_secs_f64();
    if open_s >= day {
        return Err(Failure::broken(
            "the sessions fill more than a day; fewer --sessions or a shorter --session",
        ));
    }
    if f64::from(args.users) * open_s < 2.0 * day {
        return Err(Failure::broken(
            "hardly anybody is present at a time: fewer than two users; more --users, more --sessions or longer ones",
        ));
    }
    Ok(())
}

/// Packets a second with which a client's own λ/μ is what the authors of Loopix call strong:
/// constant cover.
fn constant(args: &Args) -> f64 {
    STRONG / args.delay.as_secs_f64()
}

/// Sends at a rate and pulls as much, ten packets at a time but at least once a minute.
fn client(rate: f64) -> Client {
    #[allow(clippy::cast_sign_loss, reason = "at least one")]
    let packets = libm::ceil((rate * 60.0).clamp(1.0, 10.0)) as u32;
    let every = Duration::try_from_secs_f64(f64::from(packets) / rate).unwrap_or(DAY);
    let pull = Pull { every, packets, ..Client::of_dissertation(rate).pull };
    Client { pull, ..Client::of_dissertation(rate) }
}

fn followed(args: &Args, pool: f64, users: u32) -> Vec<Trial> {
    let network = Network::honest(LAYERS, args.mixes, pool, users.max(2));
    targets(network, args.trials, args.seed)
}

fn cover(args: &Args, policy: &'static str, users: u32) -> Cover {
    let delay_s = args.delay.as_secs_f64();
    let most = constant(args);
    let adaptive = Adaptive { pool: KEPT_POOL, width: args.mixes, delay_s, least: LEAST.min(most), most };
    let sent = if policy == "adaptive" { adaptive.rate(users) } else { most };
    let pool = adaptive.pool_at(sent, users);
    let found = Linkability::of(&followed(args, pool, users), args.seed);
    let Day { joules: [umts_j, lte_j, nr_j], bytes } = Day::of(client(sent).seeded(DAY, args.seed), DAY);
    Cover {
        policy,
        users,
        announced: Adaptive::announced(users),
        sent,
        bytes_per_day: bytes,
        umts_j,
        lte_j,
        nr_j,
        pool,
        pool_despite_fakes: pool * (1.0 - FAKE),
        mix_bits: entropy(pool),
        packet_bits: found.packet_bits.mean,
        sender_min_bits: found.sender_min_bits.mean,
        best_guess_of_two: found.best_guess_of_two.mean,
        best_guess: found.best_guess.mean,
        delta_0: found.delta[0].mean,
        delta_1: found.delta[1].mean,
        delta_2: found.delta[2].mean,
        known_half: found.known.half,
        known_most: found.known.most,
        known_bound: found.known.bound,
    }
}

fn presences(args: &Args, step: &mut impl FnMut(&str)) -> Vec<Presence> {
    let rate = constant(args);
    let background = Pull { every: args.background_pull, packets: 10, ..Client::of_dissertation(0.0).pull };
    let policy = Foreground {
        sessions: args.sessions,
        session: args.session,
        foreground: client(rate),
        background: Client { pull: background, ..client(rate) },
    };
    let share = policy.share();
    let always = {
        let day = Day::of(client(rate).seeded(DAY, args.seed), DAY);
        presence(args, "always", (1.0, rate), day, None)
    };
    step("always");
    // As much data as the foreground takes, spread over the day.
    let in_foreground = Day::of(policy.traffic(10 * DAY, args.seed), 10 * DAY);
    let spread = rate * in_foreground.bytes / always.bytes_per_day;
    let thin = {
        let day = Day::of(client(spread).seeded(DAY, args.seed), DAY);
        presence(args, "always, as much data", (1.0, spread), day, None)
    };
    step("always, as much data");
    let only = presence(args, "foreground", (share, rate), in_foreground, Some(&policy));
    step("foreground");
    vec![always, thin, only]
}

fn presence(
    args: &Args,
    policy: &'static str,
    (share, sent): (f64, f64),
    day: Day,
    absences: Option<&Foreground>,
) -> Presence {
    let present = f64::from(args.users) * share;
    let pool = present * sent * args.delay.as_secs_f64() / f64::from(args.mixes);
    #[allow(clippy::cast_sign_loss, reason = "a number of users")]
    let trials = followed(args, pool, libm::round(present) as u32);
    let found = Linkability::of(&trials, args.seed);
    let known = absences.map_or(found.known, |policy| {
        let presence = |seed| policy.seen(args.users, APART, MOST_PACKETS, seed);
        Known::despite_absence(&trials, args.users, MOST_PACKETS, args.seed, presence)
    });
    let despite_absence = |mean: f64| share * mean + 1.0 - share;
    let [umts_j, lte_j, nr_j] = day.joules;
    Presence {
        policy,
        present,
        sent,
        bytes_per_day: day.bytes,
        umts_j,
        lte_j,
        nr_j,
        pool,
        mix_bits: entropy(pool),
        packet_bits: found.packet_bits.mean,
        sender_min_bits: found.sender_min_bits.mean,
        best_guess_of_two: despite_absence(found.best_guess_of_two.mean),
        best_guess: found.best_guess.mean,
        delta_0: despite_absence(found.delta[0].mean),
        delta_1: despite_absence(found.delta[1].mean),
        delta_2: despite_absence(found.delta[2].mean),
        known_half: known.half,
        known_most: known.most,
        known_bound: known.bound,
        known_by_presence: absences.map(|_| expected_until_known(args.users, share)),
    }
}

fn print(args: &Args, report: &Report) -> Result<()> {
    let intro = format!(
        "Cover: constant (λ_send/μ = {STRONG} of each client), or adaptive (λ/μ = {KEPT_POOL} of each mix); 1/μ = {} s\n",
        brief(args.delay.as_secs_f64())
    );
    report::print(intro.as_bytes())?;
    let mut table = Table::new([
        "users",
        "cover",
        "sent, 1/s",
        "MiB/day",
        "3G, J",
        "LTE, J",
        "5G, J",
        "λ/μ",
        "half fake",
        "mix, bits",
        "packet, bits",
        "of 2",
        "of all",
        "δ(0)",
        "δ(1)",
        "δ(2)",
        "half known",
        "95 %",
    ]);
    for row in &report.adaptive {
        let [umts, lte, nr] = [row.umts_j, row.lte_j, row.nr_j].map(|joules| format!("{joules:.0}"));
        table.row([
            row.users.to_string(),
            row.policy.into(),
            brief(row.sent),
            mib(row.bytes_per_day),
            umts,
            lte,
            nr,
            brief(row.pool),
            brief(row.pool_despite_fakes),
            format!("{:.2}", row.mix_bits),
            format!("{:.2}", row.packet_bits),
            format!("{:.3}", row.best_guess_of_two),
            format!("{:.3}", row.best_guess),
            format!("{:.3}", row.delta_0),
            format!("{:.3}", row.delta_1),
            format!("{:.3}", row.delta_2),
            messages(row.known_half, row.known_bound),
            messages(row.known_most, row.known_bound),
        ]);
    }
    table.print()?;
    let intro = format!(
        "\n{} users: sending always, or in {} sessions a day of {} on average\n",
        args.users,
        args.sessions,
        humantime::format_duration(args.session)
    );
    report::print(intro.as_bytes())?;
    let mut table = Table::new([
        "sends",
        "present",
        "sent, 1/s",
        "MiB/day",
        "3G, J",
        "LTE, J",
        "5G, J",
        "λ/μ",
        "packet, bits",
        "of 2",
        "of all",
        "δ(0)",
        "δ(1)",
        "δ(2)",
        "half known",
        "95 %",
    ]);
    for row in &report.foreground {
        let [umts, lte, nr] = [row.umts_j, row.lte_j, row.nr_j].map(|joules| format!("{joules:.0}"));
        table.row([
            row.policy.into(),
            brief(row.present),
            brief(row.sent),
            mib(row.bytes_per_day),
            umts,
            lte,
            nr,
            brief(row.pool),
            format!("{:.2}", row.packet_bits),
            format!("{:.3}", row.best_guess_of_two),
            format!("{:.3}", row.best_guess),
            format!("{:.3}", row.delta_0),
            format!("{:.3}", row.delta_1),
            format!("{:.3}", row.delta_2),
            messages(row.known_half, row.known_bound),
            messages(row.known_most, row.known_bound),
        ]);
    }
    table.print()
}

fn figure(rows: &[Cover]) -> Lines {
    let series = |name: &str, policy, colour, style, of: fn(&Cover) -> f64| {
        let points = rows.iter().filter(|row| row.policy == policy);
        let points = points.map(|row| Point { x: f64::from(row.users), y: of(row), half: None });
        Series { name: name.into(), colour, style, points: points.collect() }
    };
    Lines {
        title: "Cover that follows the number of users".into(),
        x: "users".into(),
        y: "a day".into(),
        log_x: true,
        log_y: true,
        series: vec![
            series("constant cover: MB", "constant", 0, Style::Hollow, |row| row.bytes_per_day / 1e6),
            series("adaptive cover: MB", "adaptive", 0, Style::Solid, |row| row.bytes_per_day / 1e6),
            series("constant cover: joules, LTE", "constant", 1, Style::Hollow, |row| row.lte_j),
            series("adaptive cover: joules, LTE", "adaptive", 1, Style::Solid, |row| row.lte_j),
            series("constant cover: joules, 5G", "constant", 2, Style::Hollow, |row| row.nr_j),
            series("adaptive cover: joules, 5G", "adaptive", 2, Style::Solid, |row| row.nr_j),
        ],
    }
}
