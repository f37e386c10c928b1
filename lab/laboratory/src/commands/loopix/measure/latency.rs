//! `motemix-lab loopix measure latency`: how long messages take that nobody delays on purpose
//! (figures 4.4 and 4.5).

use super::dissertation::LATENCIES;
use super::figure::{self, line, stated};
use super::rows::{Point, Row, together};
use super::session::Session;
use super::testbed::{Plan, Testbed};
use super::{Common, size};
use crate::cli::LoopixLatency as Args;
use crate::failure::Failure;
use crate::report::{self, Table};
use anyhow::Result;
use motemix_loopix::files::Role;
use std::time::Duration;

/// Samples after which a point is done: as many as in the dissertation.
const SAMPLES: usize = 500;

pub fn latency(args: &Args) -> Result<(), Failure> {
    let common = Common::new(&args.measuring, Duration::from_secs(60), 1)?;
    let rates = common.rates(&args.rates, &[3.0, 8.0], &[3.0]);
    let clients = match args.clients.as_slice() {
        [] if args.measuring.quick => vec![2],
        [] => vec![2, 10, 20, 50],
        told => told.to_vec(),
    };
    let mut points = Vec::new();
    for repetition in 1..=common.repetitions {
        for nodes in common.nodes() {
            for rate in &rates {
                points.extend(clients.iter().map(|clients| Point {
                    measurement: "latency".into(),
                    nodes: nodes.into(),
                    network: format!("{}+{}", args.providers, args.mixes),
                    clients: (*clients).into(),
                    rate: *rate,
                    repetition,
                    seconds: common.length.as_secs_f64(),
                }));
            }
        }
    }
    let mut session = Session::open(&common.out, "latency", points.len())?;
    session.each(&points, |session, point| run(session, point, &common))?;
    let campaign = session.finish();
    for rate in &rates {
        draw(&common, &campaign.about(&points, "latency"), *rate)?;
    }
    if args.measuring.json {
        return Ok(report::print_json(&campaign.of(&points))?);
    }
    let mut table = Table::new([
        "nodes",
        "λ, 1/s",
        "clients",
        "samples",
        "min, ms",
        "p10",
        "median",
        "mean ± sd",
        "dissertation",
    ]);
    for row in campaign.about(&points, "latency") {
        let known = LATENCIES.iter().find(|known| known.clients == row.clients && is_rate(row, known.rate));
        table.row([
            row.nodes.clone(),
            row.rate.to_string(),
            row.clients.to_string(),
            row.samples.to_string(),
            format!("{:.2}", row.min),
            format!("{:.2}", row.p10),
            format!("{:.2}", row.median),
            format!("{:.2} ± {:.2}", row.mean, row.sd),
            known.map_or_else(String::new, |known| {
                let (java, sd) = known.java;
                let python = known.python.map(|(mean, sd)| format!(", Python {mean} ± {sd}"));
                format!("Java {java} ± {sd}{}", python.unwrap_or_default())
            }),
        ]);
    }
    table.print()?;
    common.say_where("latency")
}

#[allow(clippy::float_cmp, reason = "the same number of a command line, or another one")]
fn is_rate(row: &Row, rate: f64) -> bool {
    row.rate == rate
}

fn draw(common: &Common, rows: &[&Row], rate: f64) -> Result<()> {
    let mut series = Vec::new();
    for (colour, nodes) in common.nodes().into_iter().enumerate() {
        let of: Vec<_> =
            rows.iter().copied().filter(|row| row.nodes == nodes && is_rate(row, rate)).collect();
        let mut mean = together(&of, |row| row.clients.into());
        // A few pauses of the machine deviate far, and no time is below zero.
        for (_, mean, sd) in &mut mean {
            *sd = sd.min(*mean);
        }
        series.push(line(&format!("{nodes}, mean ± sd"), colour, &mean));
        let median: Vec<_> = of.iter().map(|row| (row.clients.into(), row.median, 0.0)).collect();
        series.push(line(&format!("{nodes}, median"), colour + 4, &median));
    }
    let known = || LATENCIES.iter().filter(|known| known.rate.total_cmp(&rate).is_eq());
    let java: Vec<_> = known().map(|known| (known.clients.into(), known.java.0, known.java.1)).collect();
    let python = known().filter_map(|known| Some((known.clients.into(), known.python?.0, known.python?.1)));
    series.push(stated("dissertation, clients in Java", 2, &java));
    series.push(stated("dissertation, clients in Python", 3, &python.collect::<Vec<_>>()));
    figure::write(
        &common.out.join(format!("latency-{rate}.svg")),
        &format!("Figures 4.4 and 4.5: what a message takes, λ = {rate}/s, no delay, push"),
        ["clients", "ms"],
        series,
    )
}

fn run(session: &mut Session, point: &Point, common: &Common) -> Result<Vec<Row>, Failure> {
    let (providers, mixes) = point.network.split_once('+').unwrap_or(("2", "6"));
    let peer = common.peer.clone().filter(|_| point.nodes == "python");
    let mut plan = Plan::new(size(providers, mixes, point.clients)?, point.rate, Duration::ZERO, peer);
    plan.config.providers.push = Some(true);
    let mut testbed = Testbed::start(&plan, &mut |what| session.tell(what))?;
    session.wait(common.warm_up, "settles")?;
    probes(&mut testbed)?;
    let mut took = Vec::new();
    session.watch(common.length, "takes times", || {
        took.extend(probes(&mut testbed)?.into_iter().map(|probe| probe.took * 1e3));
        Ok(took.len() >= SAMPLES)
    })?;
    drop(testbed);
    if took.is_empty() {
        return Err(Failure::failed("no message has come back; give it more --seconds"));
    }
    Ok(vec![point.row("latency", "ms", &took)])
}

/// A message that came back.
#[derive(Debug, Clone, Copy)]
pub struct Probe {
    /// When it left, in seconds since its client's start.
    pub left: f64,
    /// Seconds.
    pub took: f64,
}

/// Those that came back since the last call.
pub fn probes(testbed: &mut Testbed) -> Result<Vec<Probe>> {
    let mut probes = Vec::new();
    for client in testbed.of(Role::Client) {
        let events = client.events()?.into_iter().filter(|event| event["event"] == "probe");
        probes.extend(events.filter_map(|event| {
            Some(Probe { left: event["left"].as_f64()?, took: event["took"].as_f64()? })
        }));
    }
    Ok(probes)
}
