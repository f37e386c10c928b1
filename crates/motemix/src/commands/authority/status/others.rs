//! What the other authorities say beside what one says. Their operators agree by hand whom they
//! admit and what all nodes agree on, and here they see where they do not.

use super::{Node, Report, ask, role, short};
use crate::report::counted;
use motemix_authority::AuthorityConfig;
use std::collections::BTreeMap;
use tokio::task::JoinSet;

/// Lines that are shown.
const LINES: usize = 50;

/// Another authority.
pub struct Other {
    /// Where it is.
    at: String,
    /// What it says, or why it says nothing.
    said: Result<Report, String>,
}

/// Asks all that a configuration names.
pub async fn ask_all(config: &AuthorityConfig) -> Vec<Other> {
    let mut asked = JoinSet::new();
    for at in config.authorities.iter().filter_map(|peer| peer.at.clone()) {
        asked.spawn_local(async move {
            let answer = ask(&at).await;
            let said = answer.and_then(|answer| {
                serde_json::from_slice(&answer)
                    .map_err(|error| format!("{at}: what it says makes no sense: {error}"))
            });
            Other { at, said }
        });
    }
    let mut others = asked.join_all().await;
    others.sort_unstable_by(|one, other| one.at.cmp(&other.at));
    others
}

/// A line for each thing that they say differently.
pub fn differences(own: &Report, others: &[Other]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut answering = Vec::new();
    for Other { at, said } in others {
        match said {
            Ok(said) if said.network == own.network => answering.push((at.as_str(), said)),
            Ok(said) => lines.push(format!(
                "{at}: it is of the network {:?}; correct its address with `motemix authority peers`",
                said.network
            )),
            // What the authority says itself is not said again.
            Err(_) if own.silent.iter().any(|silent| silent.starts_with(at)) => {}
            Err(problem) => lines.push(format!("no answer: {problem}")),
        }
    }
    for (at, said) in &answering {
        lines.extend(agreed(own, said).into_iter().map(|difference| format!("{at}: {difference}")));
    }
    lines.extend(members(own, &answering));
    let more = lines.len().saturating_sub(LINES);
    if more > 0 {
        lines.truncate(LINES);
        lines.push(format!("and {} more", counted(more as u64, "difference", "differences")));
    }
    lines
}

/// What goes into documents, and has to be the same everywhere.
fn agreed(own: &Report, said: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    let mut compare = |what: &str, theirs: Option<String>, ours: Option<String>| {
        if let (Some(theirs), Some(ours)) = (theirs, ours)
            && theirs != ours
        {
            lines.push(format!("{what} is {theirs}, and {ours} here; it has to be the same"));
        }
    };
    compare("threshold", Some(said.threshold.to_string()), Some(own.threshold.to_string()));
    compare(
        "the number of authorities",
        Some(said.authorities.to_string()),
        Some(own.authorities.to_string()),
    );
    let seconds = |report: &Report| report.epoch_length_s.map(|length| format!("{length} s"));
    compare("epoch_length", seconds(said), seconds(own));
    for (name, ours) in &own.parameters {
        let theirs = said.parameters.get(name).map(ToString::to_string);
        compare(name, theirs, Some(ours.to_string()));
    }
    lines
}

/// Whom they admit: a node has to be admitted by as many as sign, in the same role.
fn members(own: &Report, others: &[(&str, &Report)]) -> Vec<String> {
    let ours = by_identity(own);
    let theirs: Vec<_> = others.iter().map(|(at, said)| (*at, by_identity(said))).collect();
    let mut lines = Vec::new();
    for node in &own.nodes {
        let name = &node.name;
        let absent: Vec<_> =
            theirs.iter().filter(|(_, admitted)| !admitted.contains_key(&*node.identity)).collect();
        if !absent.is_empty() {
            let places: Vec<_> = absent.iter().map(|(at, _)| *at).collect();
            lines.push(format!("{name} ({}): not admitted by {}", short(&node.identity), places.join(", ")));
        }
        for (at, admitted) in &theirs {
            let Some(there) = admitted.get(&*node.identity) else { continue };
            if there.layer != node.layer {
                lines.push(format!("{name}: {} at {at}, and {} here", role(there.layer), role(node.layer)));
            }
            if there.epochs_ahead == 0 && node.epochs_ahead > 0 {
                lines.push(format!("{name}: {at} has no keys of it for this epoch"));
            }
        }
    }
    let mut strangers: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for (at, said) in others {
        for node in said.nodes.iter().filter(|node| !ours.contains_key(&*node.identity)) {
            strangers.entry((&node.name, &node.identity)).or_default().push(at);
        }
    }
    lines.extend(strangers.into_iter().map(|((name, identity), places)| {
        format!("{name} ({}): admitted by {}, and not here", short(identity), places.join(", "))
    }));
    lines
}

fn by_identity(report: &Report) -> BTreeMap<&str, &Node> {
    report.nodes.iter().map(|node| (&*node.identity, node)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// What an authority says that has admitted these: name, identity, layer, epochs ahead.
    fn report(nodes: &[(&str, &str, Option<u8>, u32)], changes: &[(&str, Value)]) -> Report {
        let nodes: Vec<_> = nodes
            .iter()
            .map(|(name, identity, layer, ahead)| {
                json!({ "name": name, "identity": identity, "layer": layer, "epochs_ahead": ahead, "addresses": [] })
            })
            .collect();
        let mut said = json!({
            "network": "orchard", "key": "aa", "epoch": 7, "documents": [], "threshold": 2, "authorities": 3,
            "epoch_length_s": 3600, "parameters": { "profile": "host1k", "mean_delay": "500ms" },
            "trouble": null, "liars": [], "silent": ["b:1: refused"], "left_out": [], "nodes": nodes,
        });
        for (name, value) in changes {
            said[name] = value.clone();
        }
        serde_json::from_value(said).unwrap()
    }

    fn says(at: &str, report: Report) -> Other {
        Other { at: at.to_owned(), said: Ok(report) }
    }

    #[test]
    fn whoever_says_the_same_is_not_named() {
        let nodes = [("mix-1", "11", Some(0), 6), ("mote", "22", None, 0)];
        let own = report(&nodes, &[]);
        assert!(
            differences(&own, &[says("a:1", report(&nodes, &[])), says("b:1", report(&nodes, &[]))])
                .is_empty()
        );
        // Earlier builds do not say all.
        let earlier = report(&nodes, &[("epoch_length_s", Value::Null), ("parameters", json!({}))]);
        assert!(differences(&own, &[says("a:1", earlier)]).is_empty());
    }

    #[test]
    fn each_difference_says_whose_it_is() {
        let own = report(&[("mix-1", "11", Some(0), 6), ("mix-2", "22", Some(1), 6)], &[]);
        let a = report(
            &[("mix-1", "11", Some(2), 0), ("mix-2", "33", Some(1), 6)],
            &[
                ("parameters", json!({ "profile": "host1k", "mean_delay": "1s" })),
                ("epoch_length_s", json!(60)),
            ],
        );
        let other = says("c:1", report(&[], &[("network", json!("meadow"))]));
        let silent =
            ["b:1", "d:1"].map(|at| Other { at: at.to_owned(), said: Err(format!("{at}: refused")) });
        let said: Vec<_> = [says("a:1", a), other].into_iter().chain(silent).collect();
        let expected = [
            "c:1: it is of the network \"meadow\"; correct its address with `motemix authority peers`",
            "no answer: d:1: refused",
            "a:1: epoch_length is 60 s, and 3600 s here; it has to be the same",
            "a:1: mean_delay is \"1s\", and \"500ms\" here; it has to be the same",
            "mix-1: mix, layer 2 at a:1, and mix, layer 0 here",
            "mix-1: a:1 has no keys of it for this epoch",
            "mix-2 (22): not admitted by a:1",
            "mix-2 (33): admitted by a:1, and not here",
        ];
        assert_eq!(differences(&own, &said), expected);
    }

    /// A liar may say whatever it likes.
    #[test]
    fn a_screen_has_room_for_all_of_them() {
        let own = report(&[], &[]);
        let names: Vec<_> = (0..100).map(|number| format!("{number:02}")).collect();
        let nodes: Vec<_> = names.iter().map(|name| (&name[..], &name[..], None, 1)).collect();
        let lines = differences(&own, &[says("a:1", report(&nodes, &[]))]);
        assert_eq!((lines.len(), &*lines[LINES]), (LINES + 1, "and 50 differences more"));
    }
}
