//! What the other authorities say beside what one says. Their operators agree by hand whom they
//! admit and what all nodes agree on, and here they see where they do not.

use super::{Node, Report, ask, role, short};
use motemix_authority::AuthorityConfig;
use motemix_authority::config::Peer;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use tokio::task::JoinSet;

/// Lines that are shown of one authority: a liar must not push those of others off the screen.
const LINES: usize = 20;
/// Characters of what another authority says that are shown.
const CHARACTERS: usize = 64;

/// Another authority that was asked.
pub struct Asked {
    at: String,
    /// Its public key, as this one knows it.
    key: String,
    /// What it says, or why it says nothing.
    said: Result<Report, String>,
}

/// How another authority differs.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Other {
    /// Where it is.
    at: String,
    /// Whether it is there, and is who it should be.
    answers: bool,
    /// Each thing that it says differently.
    differences: Vec<String>,
    /// What it has documents for, if this authority does not answer itself.
    #[serde(flatten)]
    lasts: Option<Lasts>,
}

/// For which epochs an authority has documents.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Lasts {
    /// The one that it is, by its clock.
    epoch: u32,
    /// For so many, from that one on.
    documents_of_epochs: usize,
}

/// Asks all that a configuration names.
pub async fn ask_all(config: &AuthorityConfig) -> Vec<Asked> {
    let mut asked = JoinSet::new();
    for Peer { key, at } in config.authorities.clone() {
        let Some(at) = at else { continue };
        asked.spawn_local(async move {
            let answer = ask(&at).await;
            let said = answer
                .and_then(|answer| serde_json::from_slice(&answer).map_err(|error| makes_no_sense(&error)));
            Asked { at, key, said }
        });
    }
    let mut others = asked.join_all().await;
    others.sort_unstable_by(|one, other| one.at.cmp(&other.at));
    others
}

impl Asked {
    /// How it differs from what an authority says of itself, if that says anything.
    pub fn beside(self, own: Option<&Report>) -> Other {
        let Self { at, key, said } = self;
        let mut lasts = None;
        let (answers, differences) = match said {
            Err(problem) => (false, vec![problem]),
            Ok(said) if said.key != key => {
                let other = cut(&said.key);
                (
                    false,
                    vec![format!(
                        "another authority is there, {other}; correct `at` or the key of one of them"
                    )],
                )
            }
            Ok(said) => {
                lasts = own.is_none().then(|| Lasts { epoch: said.epoch, documents_of_epochs: said.lasts() });
                (true, own.map_or_else(Vec::new, |own| [agreed(own, &said), members(own, &said)].concat()))
            }
        };
        Other { at, answers, differences, lasts }
    }
}

/// What is shown of them.
pub fn lines(others: &[Other]) -> Vec<String> {
    let mut lines = Vec::new();
    for Other { at, differences, lasts, .. } in others {
        // Errors of the network begin with the place.
        let placed =
            |line: &String| if line.starts_with(at) { line.clone() } else { format!("{at}: {line}") };
        lines.extend(differences.iter().take(LINES).map(placed));
        if differences.len() > LINES {
            lines.push(format!("{at}: {} more; --json has all", differences.len() - LINES));
        }
        lines.extend(lasts.as_ref().map(|lasts| match lasts {
            Lasts { epoch, documents_of_epochs: 0 } => format!("{at}: no document for epoch {epoch}"),
            Lasts { epoch, documents_of_epochs: count } => {
                format!("{at}: documents for epoch {epoch} and {} after it", count - 1)
            }
        }));
    }
    let (all, answering) = (others.len(), others.iter().filter(|other| other.answers).count());
    let same = |other: &Other| other.differences.is_empty() && other.lasts.is_none();
    let differ = others.iter().any(|other| other.answers && !same(other));
    let and_same = if differ { "" } else { ", and say the same" };
    lines.push(match answering {
        _ if all == 0 => "there are no other authorities".to_owned(),
        0 => format!("none of the {all} other authorities answers"),
        count => format!("{count} of {all} other authorities answer{and_same}"),
    });
    lines
}

/// What has to be the same everywhere.
fn agreed(own: &Report, said: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    let mut compare = |what: &str, theirs: Option<String>, ours: Option<String>| {
        // Earlier builds do not say all.
        if let (Some(theirs), Some(ours)) = (theirs, ours)
            && theirs != ours
        {
            lines.push(format!("{what} is {}, and {ours} here; it has to be the same", cut(&theirs)));
        }
    };
    compare("network", Some(said.network.clone()), Some(own.network.clone()));
    compare("threshold", Some(said.threshold.to_string()), Some(own.threshold.to_string()));
    compare("epoch_length", said.epoch_length_s.map(seconds), own.epoch_length_s.map(seconds));
    compare("phase", said.phase_ms.map(milliseconds), own.phase_ms.map(milliseconds));
    compare("ahead", said.ahead.map(|epochs| epochs.to_string()), own.ahead.map(|epochs| epochs.to_string()));
    for (name, ours) in &own.parameters {
        compare(name, said.parameters.get(name).map(Value::to_string), Some(ours.to_string()));
    }
    if let (Some(theirs), Some(ours)) = (&said.keys, &own.keys) {
        let [theirs, ours] = [theirs, ours].map(|keys| keys.iter().collect::<BTreeSet<_>>());
        lines.extend(
            theirs
                .difference(&ours)
                .map(|key| format!("it counts an authority that is none here: {}", cut(key))),
        );
        lines.extend(ours.difference(&theirs).map(|key| format!("it does not count the authority {key}")));
    }
    lines
}

/// Whom it admits: a node has to be admitted by as many as sign, in the same role.
fn members(own: &Report, said: &Report) -> Vec<String> {
    let [ours, theirs] = [own, said].map(by_identity);
    let mut lines = Vec::new();
    for (identity, node) in &ours {
        let name = &node.name;
        let Some(there) = theirs.get(identity) else {
            lines.push(format!("{name} ({}) is not admitted", short(identity)));
            continue;
        };
        if there.layer != node.layer {
            lines.push(format!("{name} is {} there, and {} here", role(there.layer), role(node.layer)));
        }
        if there.epochs_ahead == 0 && node.epochs_ahead > 0 {
            lines.push(format!("no keys of {name} for this epoch have come there"));
        }
    }
    let strangers = theirs.iter().filter(|(identity, _)| !ours.contains_key(*identity));
    lines.extend(strangers.map(|(identity, node)| {
        format!("{} ({}) is admitted, and not here", cut(&node.name), short(identity))
    }));
    lines
}

fn by_identity(report: &Report) -> BTreeMap<&str, &Node> {
    report.nodes.iter().map(|node| (&*node.identity, node)).collect()
}

/// What is not JSON, or another's. Such an error has in it what was said, however long that is.
pub fn makes_no_sense(error: &serde_json::Error) -> String {
    format!("what it says makes no sense: {}", cut(&error.to_string()))
}

/// The beginning of what somebody else said.
fn cut(text: &str) -> String {
    text.chars().take(CHARACTERS).collect()
}

fn seconds(count: u64) -> String {
    format!("{count} s")
}

fn milliseconds(count: u64) -> String {
    format!("{count} ms")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
            "epoch_length_s": 3600, "phase_ms": 15000, "ahead": 6, "keys": ["aa", "bb", "cc"],
            "parameters": { "profile": "host1k", "mean_delay": "500ms" },
            "trouble": null, "liars": [], "silent": [], "left_out": [], "nodes": nodes,
        });
        for (name, value) in changes {
            said[name] = value.clone();
        }
        serde_json::from_value(said).unwrap()
    }

    fn asked(at: &str, said: Result<Report, String>) -> Asked {
        Asked { at: at.to_owned(), key: "aa".to_owned(), said }
    }

    fn shown(own: &Report, others: Vec<Asked>) -> Vec<String> {
        lines(&others.into_iter().map(|asked| asked.beside(Some(own))).collect::<Vec<_>>())
    }

    #[test]
    fn whoever_says_the_same_is_not_named() {
        let nodes = [("mix-1", "11", Some(0), 6), ("mote", "22", None, 0)];
        let own = report(&nodes, &[]);
        let same = || Ok(report(&nodes, &[]));
        assert_eq!(
            shown(&own, vec![asked("a:1", same()), asked("b:1", same())]),
            ["2 of 2 other authorities answer, and say the same"]
        );
        // Earlier builds do not say all.
        let unsaid = ["epoch_length_s", "phase_ms", "ahead", "keys"].map(|name| (name, Value::Null));
        let earlier = report(&nodes, &[&unsaid[..], &[("parameters", json!({}))]].concat());
        assert!(asked("a:1", Ok(earlier)).beside(Some(&own)).differences.is_empty());
    }

    #[test]
    fn silence_is_no_agreement() {
        let own = report(&[], &[]);
        let gone = |at: &str| asked(at, Err(format!("{at}: refused")));
        assert_eq!(
            shown(&own, vec![gone("a:1"), gone("b:1")]),
            ["a:1: refused", "b:1: refused", "none of the 2 other authorities answers"]
        );
        let same = asked("c:1", Ok(report(&[], &[])));
        assert_eq!(
            shown(&own, vec![gone("a:1"), same])[1],
            "1 of 2 other authorities answer, and say the same"
        );
        assert_eq!(shown(&own, Vec::new()), ["there are no other authorities"]);
    }

    #[test]
    fn the_others_are_asked_when_the_own_one_is_gone() {
        let here = asked("a:1", Ok(report(&[], &[("documents", json!([6, 7, 8, 9]))])));
        let others = [here, asked("b:1", Err("b:1: refused".to_owned()))].map(|asked| asked.beside(None));
        let expected =
            ["a:1: documents for epoch 7 and 2 after it", "b:1: refused", "1 of 2 other authorities answer"];
        assert_eq!(lines(&others), expected);
        let shown = serde_json::to_value(&others).unwrap();
        assert_eq!((&shown[0]["epoch"], &shown[0]["documents_of_epochs"]), (&json!(7), &json!(3)));
        assert_eq!(shown[1], json!({ "at": "b:1", "answers": false, "differences": ["b:1: refused"] }));
    }

    #[test]
    fn the_last_epoch_of_all_is_one_too() {
        let last = [("epoch", json!(u32::MAX)), ("documents", json!([u32::MAX, u32::MAX]))];
        assert_eq!(report(&[], &last).lasts(), 1);
        assert_eq!(report(&[], &[("documents", json!([6]))]).lasts(), 0);
    }

    #[test]
    fn what_makes_no_sense_is_cut() {
        let long = json!({ "network": "orchard", "key": "aa", "epoch": "x".repeat(100_000) }).to_string();
        let error = serde_json::from_str::<Report>(&long).err().unwrap();
        assert!(makes_no_sense(&error).len() < 120);
    }

    #[test]
    fn who_answers_has_to_be_who_was_asked() {
        let own = report(&[], &[]);
        let other = asked("a:1", Ok(report(&[], &[("key", json!("dd"))]))).beside(Some(&own));
        assert!(
            !other.answers && other.differences[0].starts_with("another authority is there, dd"),
            "{other:?}"
        );
    }

    #[test]
    fn each_difference_says_whose_it_is() {
        let own = report(&[("mix-1", "11", Some(0), 6), ("mix-2", "22", Some(1), 6)], &[]);
        let changes = [
            ("parameters", json!({ "profile": "host1k", "mean_delay": "1s" })),
            ("epoch_length_s", json!(60)),
            ("phase_ms", json!(3000)),
            ("keys", json!(["aa", "bb", "dd"])),
        ];
        let said = report(&[("mix-1", "11", Some(2), 0), ("mix-2", "33", Some(1), 6)], &changes);
        let expected = [
            "a:1: epoch_length is 60 s, and 3600 s here; it has to be the same",
            "a:1: phase is 3000 ms, and 15000 ms here; it has to be the same",
            "a:1: mean_delay is \"1s\", and \"500ms\" here; it has to be the same",
            "a:1: it counts an authority that is none here: dd",
            "a:1: it does not count the authority cc",
            "a:1: mix-1 is mix, layer 2 there, and mix, layer 0 here",
            "a:1: no keys of mix-1 for this epoch have come there",
            "a:1: mix-2 (22) is not admitted",
            "a:1: mix-2 (33) is admitted, and not here",
            "1 of 1 other authorities answer",
        ];
        assert_eq!(shown(&own, vec![asked("a:1", Ok(said))]), expected);
    }

    /// A liar may say whatever it likes, and hides nothing that others say.
    #[test]
    fn a_liar_has_its_own_lines_and_no_more() {
        let own = report(&[], &[]);
        let long = "x".repeat(100_000);
        let names: Vec<_> = (0..100).map(|number| format!("{number:02}{long}")).collect();
        let nodes: Vec<_> = names.iter().map(|name| (&name[..], &name[..], None, 1)).collect();
        let differs = asked("b:1", Ok(report(&[("mote", "22", None, 1)], &[])));
        let lines = shown(&own, vec![asked("a:1", Ok(report(&nodes, &[]))), differs]);
        assert_eq!(lines.len(), LINES + 3);
        assert_eq!(
            lines[LINES..],
            [
                "a:1: 80 more; --json has all",
                "b:1: mote (22) is admitted, and not here",
                "2 of 2 other authorities answer"
            ]
        );
        assert!(lines.iter().all(|line| line.len() < 150), "what is long is cut");
    }
}
