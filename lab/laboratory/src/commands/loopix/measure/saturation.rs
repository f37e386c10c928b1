//! `motemix-lab loopix measure mix-throughput --saturation`: what one mix process forwards when
//! more and more is offered.

use super::Common;
use super::dissertation::MIX_BEST;
use super::figure::{self, line, stated};
use super::load::{Course, Outcome};
use super::rows::{Point, Row, together};
use super::session::Session;
use super::testbed::{Plan, Running, Testbed};
use crate::cli::LoopixMixThroughput as Args;
use crate::failure::Failure;
use crate::report::{self, Table};
use anyhow::{Context, Result};
use motemix_loopix::files::{NodeFiles, Role};
use motemix_loopix_program::network::Size;
use std::time::{Duration, Instant};

/// Packets offered in a second.
const RATES: [f64; 9] = [250.0, 500.0, 1000.0, 2000.0, 3000.0, 4000.0, 6000.0, 8000.0, 12000.0];
const QUICK_RATES: [f64; 3] = [500.0, 2000.0, 6000.0];
/// So rarely does the mix send loops that none falls into the measurement.
const RATE_OF_LOOPS: f64 = 0.000_1;
/// The mix has one core to itself as far as this machine is idle; whoever sends and counts is where
/// the system puts it.
const MIX_CORE: u32 = 0;
const START: Duration = Duration::from_mins(3);

pub fn saturation(args: &Args) -> Result<(), Failure> {
    let common = Common::new(&args.measuring, Duration::from_secs(5), 1)?;
    let rates = common.rates(&args.rates, &RATES, &QUICK_RATES);
    let mut points = Vec::new();
    for repetition in 1..=common.repetitions {
        for nodes in common.nodes() {
            points.extend(rates.iter().map(|rate| Point {
                measurement: "saturation".into(),
                nodes: nodes.into(),
                network: "1+6".into(),
                clients: 0,
                rate: *rate,
                repetition,
                seconds: common.length.as_secs_f64(),
            }));
        }
    }
    let mut session = Session::open(&common.out, "saturation", points.len())?;
    session.each(&points, |session, point| run(session, point, &common))?;
    let campaign = session.finish();
    let mut series = Vec::new();
    let mut table = Table::new(["nodes", "offered, 1/s", "out, 1/s", "lost", "packets per cpu second"]);
    for (colour, nodes) in common.nodes().into_iter().enumerate() {
        let of: Vec<_> = points.iter().filter(|point| point.nodes == nodes).cloned().collect();
        let about = |quantity| together(&campaign.about(&of, quantity), |row| row.rate);
        let (out, lost, per_cpu) = (about("out"), about("lost"), about("out per cpu second"));
        series.push(line(&format!("{nodes}, measured"), colour, &out));
        for (place, (rate, out, _)) in out.iter().enumerate() {
            let at = |values: &[(f64, f64, f64)]| values.get(place).map_or(f64::NAN, |value| value.1);
            table.row([
                nodes.to_owned(),
                format!("{rate:.0}"),
                format!("{out:.0}"),
                format!("{:.2} %", at(&lost)),
                format!("{:.0}", at(&per_cpu)),
            ]);
        }
    }
    let ends = [rates.first(), rates.last()].into_iter().flatten();
    let most: Vec<_> = ends.map(|rate| (*rate, MIX_BEST, 0.0)).collect();
    series.push(stated("Python, most in the dissertation", 3, &most));
    figure::write(
        &common.out.join("saturation.svg"),
        "One mix process under load",
        ["packets offered in a second", "packets out in a second"],
        series,
    )?;
    if args.measuring.json {
        return Ok(report::print_json(&campaign.of(&points))?);
    }
    table.print()?;
    common.say_where("saturation")
}

fn run(session: &mut Session, point: &Point, common: &Common) -> Result<Vec<Row>, Failure> {
    let outcome = load_one(session, &point.nodes, point.rate, common)?;
    let Outcome { sent, sent_per_second, out_per_second, lost, .. } = outcome;
    let mut rows = vec![
        point.row("offered", "1/s", &[sent_per_second]),
        point.row("out", "1/s", &[out_per_second]),
        point.row("lost", "%", &[100.0 * lost as f64 / sent as f64]),
        point.row("lost in the mix's socket", "1", &[outcome.mix_drops as f64]),
        point.row("lost in the sink's socket", "1", &[outcome.sink_drops as f64]),
        point.row("wrong", "1", &[outcome.wrong as f64]),
    ];
    rows.extend(outcome.out_per_cpu_second.map(|rate| point.row("out per cpu second", "1/s", &[rate])));
    Ok(rows)
}

/// Loads a mix process of its own.
fn load_one(session: &mut Session, nodes: &str, rate: f64, common: &Common) -> Result<Outcome, Failure> {
    let size = Size { mixes: 6, layers: 3, providers: 1, clients: 1 };
    let peer = common.peer.clone().filter(|_| nodes == "python");
    let mut plan = Plan::new(size, RATE_OF_LOOPS, Duration::ZERO, peer);
    plan.core = Some(MIX_CORE);
    let (folder, members) = Testbed::make(&plan)?;
    let find = |role| members.iter().find(|(_, entry)| entry.role() == role).cloned();
    let (mix, mix_entry) = find(Role::Mix).context("a network without mixes")?;
    let (sink, sink_entry) = find(Role::Provider).context("a network without providers")?;
    let mut running = Running::start(mix, mix_entry.clone(), &plan)?;
    running.wait_until_ready(Instant::now() + START, &mut |what| session.tell(what))?;
    session.tell("makes packets, and sends them")?;
    let secret = *NodeFiles::open(sink.path()).map_err(Failure::failed)?.secret;
    let course = Course::new(mix_entry, sink_entry, secret, plan.profile);
    let outcome = course.drive(rate, common.length, Some(running.pid()), &session.stopped);
    drop((running, folder));
    session.tell("has ended")?;
    outcome
}
