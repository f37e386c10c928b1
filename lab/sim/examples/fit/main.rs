//! Compares the model of the thesis' experiment with what the thesis measured, for any values of
//! the model's fields.
//!
//! ```text
//! cargo run --release -p motemix-sim --example fit -- 1..=5 'load.interval="14 s"' riot.frame='"2 ms"'
//! cargo run --release -p motemix-sim --example fit -- 101..=110 ablation
//! cargo run --release -p motemix-sim --example fit -- 1..=3 search=200 spread=0.3
//! ```
//!
//! `search` draws so many sets of values for what nobody has measured, a few anywhere in the bounds
//! of [`search::UNKNOWNS`], most near the best so far, and prints each that is better. What is set
//! as `FIELD=VALUE` stays.

#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^52")]

mod search;

use motemix_sim::reproduce::{Case, ablation, figure7, figure8};
use motemix_sim::scenario::Scenario;
use motemix_sim::{Outcome, run};
use std::error::Error;
use std::ops::RangeInclusive;

/// Fields by their dotted names, and what they are set to.
type Fields = Vec<(String, toml::Value)>;
type Failure = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let mut seeds = 1..=5;
    let mut fields = Fields::new();
    let mut groups = vec![("figure 7", figure7()), ("figure 8", figure8())];
    let mut searches = None;
    for argument in std::env::args().skip(1) {
        if let Some((from, to)) = argument.split_once("..=") {
            seeds = from.parse()?..=to.parse()?;
        } else if let Some(sets) = argument.strip_prefix("search=") {
            searches = Some(sets.parse()?);
        } else if let Some((field, value)) = argument.split_once('=') {
            let value: toml::Table = toml::from_str(&format!("value = {value}"))?;
            fields.push((field.to_owned(), value["value"].clone()));
        } else if argument == "ablation" {
            groups = vec![("ablation", ablation())];
        } else {
            return Err(
                format!("{argument:?} is neither seeds, FIELD=VALUE, search=SETS nor ablation").into()
            );
        }
    }
    match searches {
        Some(sets) => search::search(sets, &seeds, &fields),
        None => print(&groups, &seeds, &fields),
    }
}

fn print(
    groups: &[(&str, Vec<Case>)],
    seeds: &RangeInclusive<u64>,
    fields: &[(String, toml::Value)],
) -> Result<(), Failure> {
    println!(
        "% of messages sent: acknowledged (measured), retransmitted (measured); messages sent by a sender"
    );
    for (title, cases) in groups {
        println!("{title}");
        let mut squares = (0.0, 0.0, 0.0);
        for case in cases {
            let Case { label, measured, .. } = case;
            let Ran { outcomes, acknowledged, retransmitted, sent } = ran(case, seeds, fields)?;
            print!("  {label:42} {acknowledged:6.2}");
            if let Some(measured) = measured {
                print!(
                    " ({:5.2})  {retransmitted:5.1} ({:3.0})",
                    measured.acknowledged, measured.retransmitted
                );
                squares.0 += (acknowledged - measured.acknowledged).powi(2);
                squares.1 += (retransmitted - measured.retransmitted).powi(2);
                squares.2 += 1.0;
            } else {
                print!("          {retransmitted:5.1}      ");
            }
            println!("  {sent:5.1}  {}", lost(&outcomes));
            if label.ends_with("60 nodes") || *title != "figure 7" && label == "client-mix-server" {
                let (acknowledged, retransmitted) =
                    ((squares.0 / squares.2).sqrt(), (squares.1 / squares.2).sqrt());
                println!(
                    "  root mean square: acknowledged {acknowledged:.2}, retransmitted {retransmitted:.2}"
                );
                squares = (0.0, 0.0, 0.0);
            }
        }
    }
    Ok(())
}

/// What all seeds of a case gave together.
struct Ran {
    outcomes: Vec<Outcome>,
    /// Percent of the messages sent.
    acknowledged: f64,
    /// Percent of the messages sent.
    retransmitted: f64,
    /// Messages of one sender in one run.
    sent: f64,
}

fn ran(case: &Case, seeds: &RangeInclusive<u64>, fields: &[(String, toml::Value)]) -> Result<Ran, Failure> {
    let mut scenario = with(&case.scenario, fields)?;
    let outcomes: Vec<Outcome> = seeds
        .clone()
        .map(|seed| {
            scenario.seed = seed;
            run(&scenario)
        })
        .collect::<Result<_, _>>()?;
    let sum = |of: fn(&Outcome) -> u64| outcomes.iter().map(|one| of(one) as f64).sum::<f64>();
    let sent = sum(|one| one.sent);
    let percent = |of| 100.0 * sum(of) / sent;
    let (acknowledged, retransmitted) = (percent(|one| one.acknowledged), percent(|one| one.retransmitted));
    let senders: f64 =
        scenario.nodes.values().filter(|group| group.sends).map(|group| f64::from(group.count)).sum();
    let sent = sent / senders / outcomes.len() as f64;
    Ok(Ran { outcomes, acknowledged, retransmitted, sent })
}

/// The commonest reasons of loss, each for one message sent.
fn lost(outcomes: &[Outcome]) -> String {
    let sent: u64 = outcomes.iter().map(|one| one.sent).sum();
    let mut reasons: Vec<(f64, &str)> = Vec::new();
    for (reason, count) in outcomes.iter().flat_map(|one| &one.drops) {
        let part = *count as f64 / sent as f64;
        match reasons.iter_mut().find(|(_, known)| known == reason) {
            Some((sum, _)) => *sum += part,
            None => reasons.push((part, reason)),
        }
    }
    reasons.retain(|(part, reason)| *part >= 0.02 && *reason != "frame: collided");
    reasons.sort_by(|one, other| other.0.total_cmp(&one.0));
    let reasons: Vec<_> = reasons.iter().map(|(part, reason)| format!("{reason} {part:.2}")).collect();
    reasons.join("; ")
}

/// The scenario with other values of the fields of these dotted names.
fn with(scenario: &Scenario, fields: &[(String, toml::Value)]) -> Result<Scenario, Failure> {
    let mut table = toml::Table::try_from(scenario)?;
    for (name, value) in fields {
        let (path, last) = name.rsplit_once('.').unwrap_or(("", name));
        let mut place = &mut table;
        for part in path.split('.').filter(|part| !part.is_empty()) {
            let inner = place.entry(part).or_insert_with(|| toml::Value::Table(toml::Table::new()));
            place = inner.as_table_mut().ok_or_else(|| format!("{part:?} has no fields"))?;
        }
        place.insert(last.to_owned(), value.clone());
    }
    Ok(table.try_into()?)
}
