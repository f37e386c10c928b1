//! `motemix-lab loopix measure bandwidth` and `mix-throughput`: what clients and mixes send, by how
//! often clients want to (figures 4.1 to 4.3).

use super::dissertation::{MIX_BEST, MIX_BEST_LARGE};
use super::figure::{self, line, stated};
use super::load::cpu_seconds;
use super::rows::{Point, Row, together};
use super::session::Session;
use super::testbed::{Plan, Testbed};
use super::{Common, size};
use crate::cli::{LoopixBandwidth, LoopixMixThroughput};
use crate::failure::Failure;
use crate::report::{self, Table};
use anyhow::{Context, Result};
use motemix_loopix::files::Role;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// As in the dissertation.
const DELAY: Duration = Duration::from_millis(1);
/// λ of figure 4.1 where it is not told; the dissertation has more of them.
const RATES: [f64; 8] = [0.3, 0.9, 1.5, 3.0, 4.5, 6.0, 7.5, 9.0];
const QUICK_RATES: [f64; 2] = [3.0, 9.0];

pub fn bandwidth(args: &LoopixBandwidth) -> Result<(), Failure> {
    let common = Common::new(&args.measuring, Duration::from_secs(20), 3)?;
    let rates = common.rates(&args.rates, &RATES, &QUICK_RATES);
    let points = points("bandwidth", &common, &[(4, 6)], args.clients, &rates);
    let mut session = Session::open(&common.out, "bandwidth", points.len())?;
    session.each(&points, |session, point| run(session, point, &common))?;
    let campaign = session.finish();
    let sent = together(&campaign.about(&points, "client sent"), |row| row.rate);
    let real = together(&campaign.about(&points, "client real"), |row| row.rate);
    let expected = |share: f64| rates.iter().map(|rate| (*rate, rate * share, 0.0)).collect::<Vec<_>>();
    figure::write(
        &common.out.join("bandwidth.svg"),
        "Figure 4.1: packets that one client sends",
        ["λ of the client, packets a second", "packets a second"],
        vec![
            line("all, measured", 0, &sent),
            stated("all, as Poisson streams and the dissertation have it: λ", 0, &expected(1.0)),
            line("real, measured", 1, &real),
            stated("real, as Poisson streams and the dissertation have it: λ/3", 1, &expected(1.0 / 3.0)),
        ],
    )?;
    if args.measuring.json {
        return Ok(report::print_json(&campaign.of(&points))?);
    }
    let mut table = Table::new(["λ, 1/s", "all, 1/s", "± sd", "expected", "real, 1/s", "± sd", "expected"]);
    for ((rate, sent, sent_sd), (_, real, real_sd)) in sent.into_iter().zip(real) {
        let cells = [rate, sent, sent_sd, rate, real, real_sd, rate / 3.0];
        table.row(cells.map(|value| format!("{value:.2}")));
    }
    table.print()?;
    common.say_where("bandwidth")
}

pub fn throughput(args: &LoopixMixThroughput) -> Result<(), Failure> {
    if args.saturation {
        return super::saturation::saturation(args);
    }
    let common = Common::new(&args.measuring, Duration::from_secs(15), 1)?;
    let rates = common.rates(&args.rates, &RATES, &QUICK_RATES);
    let points = points("mix-throughput", &common, &[(4, 6), (8, 18)], args.clients, &rates);
    let mut session = Session::open(&common.out, "mix-throughput", points.len())?;
    session.each(&points, |session, point| run(session, point, &common))?;
    let campaign = session.finish();
    let mut series = Vec::new();
    let mut table = Table::new([
        "network",
        "λ, 1/s",
        "a mix sends, 1/s",
        "± sd",
        "of it real",
        "cpu of a mix",
        "dissertation",
    ]);
    for (colour, (network, best)) in [("4+6", MIX_BEST), ("8+18", MIX_BEST_LARGE)].into_iter().enumerate() {
        let of: Vec<_> = points.iter().filter(|point| point.network == network).cloned().collect();
        let about = |quantity| together(&campaign.about(&of, quantity), |row| row.rate);
        let (out, real, cpu) = (about("mix out"), about("mix real"), about("mix cpu"));
        for (((rate, out, sd), (_, real, _)), (_, cpu, _)) in out.iter().zip(&real).zip(&cpu) {
            table.row([
                network.to_owned(),
                format!("{rate:.2}"),
                format!("{out:.1}"),
                format!("{sd:.1}"),
                format!("{real:.1}"),
                format!("{cpu:.1} %"),
                format!("at most {best:.0}"),
            ]);
        }
        series.push(line(&format!("{network} nodes, all"), colour, &out));
        series.push(line(&format!("{network} nodes, real"), colour + 2, &real));
        let ends = [rates.first(), rates.last()].into_iter().flatten();
        let at_most: Vec<_> = ends.map(|rate| (*rate, best, 0.0)).collect();
        series.push(stated(&format!("{network}, most in the dissertation"), colour, &at_most));
    }
    figure::write(
        &common.out.join("mix-throughput.svg"),
        "Figures 4.2 and 4.3: packets that one mix sends",
        ["λ of each client, packets a second", "packets a second"],
        series,
    )?;
    if args.measuring.json {
        return Ok(report::print_json(&campaign.of(&points))?);
    }
    table.print()?;
    common.say_where("mix-throughput")
}

fn points(
    measurement: &str,
    common: &Common,
    networks: &[(u16, u16)],
    clients: u16,
    rates: &[f64],
) -> Vec<Point> {
    let mut points = Vec::new();
    for repetition in 1..=common.repetitions {
        for (providers, mixes) in networks {
            for rate in rates {
                points.push(Point {
                    measurement: measurement.into(),
                    nodes: "motemix".into(),
                    network: format!("{providers}+{mixes}"),
                    clients: clients.into(),
                    rate: *rate,
                    repetition,
                    seconds: common.length.as_secs_f64(),
                });
            }
        }
    }
    points
}

/// What a node had counted at a time.
struct Snapshot {
    at: Instant,
    role: Role,
    counters: BTreeMap<String, u64>,
    cpu: f64,
}

fn run(session: &mut Session, point: &Point, common: &Common) -> Result<Vec<Row>, Failure> {
    let (providers, mixes) = point.network.split_once('+').context("a network is named 4+6")?;
    let size = size(providers, mixes, point.clients)?;
    let plan = Plan::new(size, point.rate, DELAY, None);
    let mut testbed = Testbed::start(&plan, &mut |what| session.tell(what))?;
    session.wait(common.warm_up, "settles")?;
    let before = snapshots(&mut testbed)?;
    session.wait(common.length, "counts")?;
    let after = snapshots(&mut testbed)?;
    drop(testbed);
    let rate = |role: Role, names: &[&str]| -> Vec<f64> {
        let pairs = before.iter().zip(&after).filter(|(before, _)| before.role == role);
        let rate = |(before, after): (&Snapshot, &Snapshot)| {
            let count = |name: &&str| {
                let of = |snapshot: &Snapshot| snapshot.counters.get(*name).copied().unwrap_or(0);
                of(after).saturating_sub(of(before))
            };
            names.iter().map(count).sum::<u64>() as f64 / after.at.duration_since(before.at).as_secs_f64()
        };
        pairs.map(rate).collect()
    };
    let real = rate(Role::Client, &["messages_sent"]);
    let mix_pairs = before.iter().zip(&after).filter(|(before, _)| before.role == Role::Mix);
    let cpu: Vec<f64> = mix_pairs
        .map(|(before, after)| {
            100.0 * (after.cpu - before.cpu) / after.at.duration_since(before.at).as_secs_f64()
        })
        .collect();
    // Each message passes one mix of each layer.
    let at_a_mix = real.iter().sum::<f64>() / f64::from(size.mixes / size.layers);
    Ok(vec![
        point.row("client sent", "1/s", &rate(Role::Client, &["loops_sent", "drops_sent", "messages_sent"])),
        point.row("client real", "1/s", &real),
        point.row("client received", "1/s", &rate(Role::Client, &["messages"])),
        point.row("mix out", "1/s", &rate(Role::Mix, &["forwarded", "loops_sent"])),
        point.row("mix real", "1/s", &[at_a_mix]),
        point.row("mix cpu", "%", &cpu),
        point.row("provider out", "1/s", &rate(Role::Provider, &["sent"])),
    ])
}

fn snapshots(testbed: &mut Testbed) -> Result<Vec<Snapshot>> {
    let mut snapshots = Vec::new();
    for role in [Role::Mix, Role::Provider, Role::Client] {
        for node in testbed.of(role) {
            let counters = node.counters()?;
            snapshots.push(Snapshot { at: Instant::now(), role, counters, cpu: cpu_seconds(node.pid())? });
        }
    }
    Ok(snapshots)
}
