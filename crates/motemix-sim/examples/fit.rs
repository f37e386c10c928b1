//! Compares the model of the thesis' experiment with what the thesis measured, for any values of the model's fields.
//!
//! ```text
//! cargo run --release -p motemix-sim --example fit -- 1..=5 load.interval="17 s" radio.loss=0.002
//! ```

use motemix_sim::scenario::Scenario;
use motemix_sim::{Outcome, run};
use std::collections::BTreeMap;

fn main() {
    let mut seeds = 1..=3;
    let mut fields = Vec::new();
    let mut only = None;
    for argument in std::env::args().skip(1) {
        if let Some((from, to)) = argument.split_once("..=") {
            seeds = from.parse().expect("a seed")..=to.parse().expect("a seed");
        } else if let Some((field, value)) = argument.split_once('=') {
            fields.push((field.to_owned(), value.to_owned()));
        } else {
            only = Some(argument);
        }
    }
    let mut cases: Vec<(String, &str, String, [f64; 3])> = Vec::new();
    let nodes = [10, 20, 30, 40, 50, 60];
    let sphinx = [(65., 91.), (71., 88.), (80., 83.), (107., 69.), (115., 65.), (122., 62.)];
    let udp = [(4., 99.95), (11., 99.7), (16., 99.2), (33., 95.), (41., 94.), (51., 92.)];
    for (protocol, table) in [("thesis", sphinx), ("udp", udp)] {
        for (count, (retransmitted, acknowledged)) in nodes.into_iter().zip(table) {
            let groups = format!("[nodes.mote]\ncount = {count}\n");
            cases.push((format!("{protocol} {count}"), protocol, groups, [retransmitted, acknowledged, 0.]));
        }
    }
    let client = "[nodes.client]\ncount = 18\nforwards = false\nreceives = false\n";
    let both = format!("{client}[nodes.server]\ncount = 45\nsends = false\n");
    let apart = format!(
        "{client}[nodes.mix]\ncount = 36\nsends = false\nreceives = false\n[nodes.server]\ncount = 9\nsends = false\nforwards = false\n"
    );
    cases.push(("client-server".into(), "thesis", both, [56., 94., 0.]));
    cases.push(("client-mix-server".into(), "thesis", apart, [48., 96., 0.]));
    let mut squares: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for (name, protocol, groups, measured) in cases {
        if only.as_ref().is_some_and(|only| !name.contains(only.as_str())) {
            continue;
        }
        let mut text = format!("version = 1\nname = \"{name}\"\nprotocol = \"{protocol}\"\n{groups}");
        text += &inline(&fields);
        let mut scenario: Scenario = toml::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let outcomes: Vec<Outcome> = seeds
            .clone()
            .map(|seed| {
                scenario.seed = seed;
                run(&scenario).expect("possible")
            })
            .collect();
        let sum = |of: fn(&Outcome) -> u64| outcomes.iter().map(of).sum::<u64>() as f64;
        let sent = sum(|o| o.sent);
        let percent = |of: fn(&Outcome) -> u64| 100. * sum(of) / sent;
        let (retransmitted, acknowledged) = (percent(|o| o.retransmitted), percent(|o| o.acknowledged));
        if std::env::var_os("BRIEF").is_none() { println!(
            "{name:18} {retransmitted:6.1} ({:5.1})  {acknowledged:6.2} ({:5.2})  sent {:6.1} refused {:5.1}  rtt {:5.1} {:5.1}",
            measured[0], measured[1],
            sent / outcomes.iter().map(|o| o.nodes as f64).sum::<f64>(), percent(|o| o.refused),
            outcomes[0].rtt_s.p50, outcomes[0].rtt_s.p99,
        ); } else { print!("{acknowledged:.0}/{retransmitted:.0} "); }
        if std::env::var_os("DROPS").is_some() {
            let mut drops: BTreeMap<&str, u64> = BTreeMap::new();
            for outcome in &outcomes {
                for (reason, count) in &outcome.drops {
                    *drops.entry(reason).or_default() += count;
                }
            }
            for (reason, count) in drops {
                println!("      {reason:45} {:8.3} a message", count as f64 / sent);
            }
        }
        let entry = squares.entry(if name.starts_with("client") { "topologies" } else { protocol }).or_default();
        entry.0 += (acknowledged - measured[1]).powi(2);
        entry.1 += (retransmitted - measured[0]).powi(2);
        if name.starts_with("client") {
            continue;
        }
    }
    for (what, (acknowledged, retransmitted)) in squares {
        let count = if what == "topologies" { 2. } else { 6. };
        print!(" | {what} {:.2} {:.2}", (acknowledged / count).sqrt(), (retransmitted / count).sqrt());
    }
    println!();
}

fn inline(fields: &[(String, String)]) -> String {
    let mut tables: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (field, value) in fields {
        let (table, field) = field.rsplit_once('.').expect("a field of a table");
        let plain = value.parse::<f64>().is_ok() || ["true", "false"].contains(&value.as_str()) || value.starts_with('[');
        let value = if plain { value.clone() } else { format!("{value:?}") };
        tables.entry(table).or_default().push(format!("{field} = {value}"));
    }
    tables.iter().map(|(table, lines)| format!("[{table}]\n{}\n", lines.join("\n"))).collect()
}
