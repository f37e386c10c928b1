//! `motemix-lab loopix measure pull`: how long messages take that wait for a request (figures 4.6
//! and 4.7).

use super::dissertation::{PULL, PULL_OVERLOADED};
use super::figure::{self, line, stated};
use super::latency::{Probe, probes};
use super::rows::{Point, Row};
use super::session::Session;
use super::testbed::{Plan, Testbed};
use super::{Common, size};
use crate::cli::LoopixPull as Args;
use crate::failure::Failure;
use crate::report::{self, Table};
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// As in the dissertation: 30 messages every 5 seconds, and 3 minutes.
const EVERY: Duration = Duration::from_secs(5);
const AT_ONCE: u32 = 30;
/// λ with which mailboxes empty, and one with which more is put into them than is asked for: two of
/// three packets come back.
const RATES: [f64; 2] = [3.0, 12.0];
/// The figures are of one client, and its mailbox does not depend on others.
const CLIENTS: u16 = 1;

/// One message.
#[derive(Serialize, Deserialize)]
struct Sample {
    rate: f64,
    /// Seconds since the client's start.
    sent_s: f64,
    received_s: f64,
    took_s: f64,
}

pub fn pull(args: &Args) -> Result<(), Failure> {
    let mut common = Common::new(&args.measuring, Duration::from_secs(60), 1)?;
    if args.measuring.seconds.is_none() {
        // The first request may come at once, when there is no mail yet.
        common.length = common.length.max(2 * EVERY + Duration::from_secs(1));
    }
    let rates = common.rates(&args.rates, &RATES, &[3.0]);
    let points = rates.iter().map(|rate| Point {
        measurement: "pull".into(),
        nodes: "motemix".into(),
        network: "2+6".into(),
        clients: CLIENTS.into(),
        rate: *rate,
        repetition: 1,
        seconds: common.length.as_secs_f64(),
    });
    let points: Vec<_> = points.collect();
    let mut session = Session::open(&common.out, "pull", points.len())?;
    session.each(&points, |session, point| run(session, point, &common))?;
    let campaign = session.finish();
    for point in &points {
        draw(&common.out, point)?;
    }
    if args.measuring.json {
        return Ok(report::print_json(&campaign.of(&points))?);
    }
    let mut table =
        Table::new(["λ, 1/s", "messages", "min, s", "median", "mean ± sd", "max", "dissertation, most"]);
    for row in campaign.about(&points, "took") {
        table.row([
            row.rate.to_string(),
            row.samples.to_string(),
            format!("{:.3}", row.min),
            format!("{:.3}", row.median),
            format!("{:.3} ± {:.3}", row.mean, row.sd),
            format!("{:.3}", row.max),
            most(row.rate).to_string(),
        ]);
    }
    table.print()?;
    common.say_where("pull")
}

/// Whether mailboxes fill: loops and messages come back, a third of λ each.
fn is_overload(rate: f64) -> bool {
    rate * 2.0 / 3.0 > f64::from(AT_ONCE) / EVERY.as_secs_f64()
}

fn most(rate: f64) -> f64 {
    if is_overload(rate) { PULL_OVERLOADED } else { PULL }
}

fn run(session: &mut Session, point: &Point, common: &Common) -> Result<Vec<Row>, Failure> {
    let mut plan = Plan::new(size("2", "6", point.clients)?, point.rate, Duration::ZERO, None);
    plan.config.clients.pull = EVERY;
    plan.config.providers.max_retrieve = AT_ONCE;
    let mut testbed = Testbed::start(&plan, &mut |what| session.tell(what))?;
    let mut found: Vec<Probe> = Vec::new();
    session.watch(common.length, "takes times", || {
        found.extend(probes(&mut testbed)?);
        Ok(false)
    })?;
    drop(testbed);
    let file = samples_file(&common.out, point);
    let mut writer =
        csv::Writer::from_path(&file).with_context(|| format!("cannot write {}", file.display()))?;
    for Probe { left, took } in &found {
        let sample = Sample { rate: point.rate, sent_s: *left, received_s: left + took, took_s: *took };
        writer.serialize(sample).with_context(|| format!("cannot write {}", file.display()))?;
    }
    writer.flush().with_context(|| format!("cannot write {}", file.display()))?;
    if found.is_empty() {
        return Err(Failure::failed(
            "no message has come back: mail is asked for every 5 s, so --seconds has to be more than that",
        ));
    }
    let took: Vec<_> = found.iter().map(|probe| probe.took).collect();
    Ok(vec![point.row("took", "s", &took)])
}

fn samples_file(out: &Path, point: &Point) -> PathBuf {
    out.join(format!("pull-{}.csv", point.rate))
}

fn draw(out: &Path, point: &Point) -> Result<()> {
    let file = samples_file(out, point);
    let read = || csv::Reader::from_path(&file)?.deserialize().collect::<Result<Vec<Sample>, _>>();
    let mut samples = read().with_context(|| format!("cannot read {}", file.display()))?;
    samples.sort_by(|one, other| one.sent_s.total_cmp(&other.sent_s));
    let took: Vec<_> = samples.iter().map(|sample| (sample.sent_s, sample.took_s, 0.0)).collect();
    let bound = most(point.rate);
    let ends = [samples.first(), samples.last()].into_iter().flatten();
    let bound: Vec<_> = ends.map(|sample| (sample.sent_s, bound, 0.0)).collect();
    let number =
        if is_overload(point.rate) { "4.7: more is put into the mailbox than asked for" } else { "4.6" };
    figure::write(
        &out.join(format!("pull-{}.svg", point.rate)),
        &format!("Figure {number}, λ = {}/s, 30 messages every 5 s", point.rate),
        ["when the message was sent, seconds", "seconds until it was received"],
        vec![line("took", 0, &took), stated("the most in the dissertation", 1, &bound)],
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_comes_back_decides_whether_a_mailbox_fills() {
        assert!(!super::is_overload(3.0) && !super::is_overload(9.0) && super::is_overload(9.1));
    }
}
