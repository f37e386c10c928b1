//! Compares the model of the thesis' experiment with what the thesis measured, for any values of the model's fields.
//!
//! ```text
//! cargo run --release -p motemix-sim --example fit -- 1..=5 'load.interval="14 s"' riot.frame='"2 ms"'
//! cargo run --release -p motemix-sim --example fit -- 101..=110 ablation
//! ```

#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^52")]

use motemix_sim::reproduce::{Case, ablation, figure7, figure8};
use motemix_sim::scenario::Scenario;
use motemix_sim::{Outcome, run};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let mut seeds = 1..=5;
    let mut fields = Vec::new();
    let mut groups = vec![("figure 7", figure7()), ("figure 8", figure8())];
    for argument in std::env::args().skip(1) {
        if let Some((from, to)) = argument.split_once("..=") {
            seeds = from.parse()?..=to.parse()?;
        } else if let Some((field, value)) = argument.split_once('=') {
            let value: toml::Table = toml::from_str(&format!("value = {value}"))?;
            fields.push((field.to_owned(), value["value"].clone()));
        } else if argument == "ablation" {
            groups = vec![("ablation", ablation())];
        } else {
            return Err(format!("{argument:?} is neither seeds, FIELD=VALUE nor ablation").into());
        }
    }
    println!(
        "% of messages sent: acknowledged (measured), retransmitted (measured); messages sent by a sender"
    );
    for (title, cases) in groups {
        println!("{title}");
        let mut squares = (0.0, 0.0, 0.0);
        for Case { label, scenario, measured } in cases {
            let mut scenario = with(&scenario, &fields)?;
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
            let (acknowledged, retransmitted) =
                (percent(|one| one.acknowledged), percent(|one| one.retransmitted));
            let senders: f64 =
                scenario.nodes.values().filter(|group| group.sends).map(|group| f64::from(group.count)).sum();
            let sent = sent / senders / outcomes.len() as f64;
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
            if label.ends_with("60 nodes") || title != "figure 7" && label == "client-mix-server" {
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
fn with(scenario: &Scenario, fields: &[(String, toml::Value)]) -> Result<Scenario, Box<dyn Error>> {
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
