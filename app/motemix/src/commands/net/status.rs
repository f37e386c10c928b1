//! `motemix net status`: which nodes run, how they are, and whether they make a network.

use super::{nodes_of, print, text};
use motemix_directory::{Epoch, Role};
use motemix_host::NodeConfig;
use motemix_host::control::NodeStatus;
use motemix_host::documents::{Documents, DocumentsError, Network};
use motemix_host::health::State;
use motemix_os::store::file;
use motemix_program::cli::NetStatus;
use motemix_program::failure::Failure;
use motemix_program::network::documents::now;
use motemix_program::network::{NetworkDir, Presence, presence, process_of};
use motemix_program::report::{self, Table};
use motemixd::commands::status::through;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
struct Row {
    name: String,
    pid: Option<u32>,
    /// `running`, `no_answer` or `down`; `unknown` if its configuration cannot be read.
    state: &'static str,
    /// Why it does not answer, and what to do.
    problem: Option<String>,
    status: Option<NodeStatus>,
}

/// Shows the nodes of a network. Fails if not all of them run and do their work.
pub fn status(args: &NetStatus) -> Result<(), Failure> {
    let mut table = Table::new(["node", "pid", "epoch", "up", "inbox", "address", "health"]);
    let mut said = Vec::new();
    let mut rows = Vec::new();
    let mut unreadable = None;
    let mut document = None;
    let up = format!("`motemix net up {}`", file::typed(&args.dir.path));
    for (node, config) in nodes_of(&NetworkDir::new(&args.dir.path))? {
        let without = |pid, up: &str| {
            let none = || "-".to_owned();
            [node.name(), text(pid), none(), up.to_owned(), none(), none(), none()]
        };
        let config = match config {
            Ok(config) => config,
            Err(error) => {
                let pid = process_of(&node)?.map(|process| process.pid());
                table.row(without(pid, "unknown"));
                let (name, problem) = (node.name(), Some(error.to_string()));
                rows.push(Row { name, pid, state: "unknown", problem, status: None });
                unreadable = unreadable.or(Some(error));
                continue;
            }
        };
        let found = match presence(&node, &config) {
            Ok(found) => found,
            Err(error) => {
                table.row(without(None, "unknown"));
                let (name, problem) = (node.name(), Some(format!("{error:#}")));
                rows.push(Row { name, pid: None, state: "unknown", problem, status: None });
                unreadable = unreadable.or(Some(error.into()));
                continue;
            }
        };
        document = document.or_else(|| in_force(&config));
        let pid = found.pid();
        table.row(match &found {
            Presence::Down => without(pid, "down"),
            Presence::NoAnswer { .. } => without(pid, "no answer"),
            Presence::Running { status, .. } => [
                config.name.clone(),
                text(pid),
                epoch_of(status).map_or_else(|| "-".to_owned(), |epoch| epoch.to_string()),
                report::length(status.uptime_s),
                status.inbox.to_string(),
                status.listen.join(" "),
                status.health.state.name().to_owned(),
            ],
        });
        let state = found.name();
        if matches!(found, Presence::Down) {
            said.push((config.name.clone(), format!("does not run; {up} starts what is missing")));
        }
        let (status, problem) = match found {
            Presence::Running { status, .. } => (Some(status), None),
            Presence::NoAnswer { problem, .. } => (None, Some(problem)),
            Presence::Down => (None, None),
        };
        let health = status.iter().flat_map(|status| &status.health.reasons).map(ToString::to_string);
        let silence = problem.iter().map(|problem| format!("no answer: {problem}"));
        said.extend(health.chain(silence).map(|reason| (config.name.clone(), reason)));
        rows.push(Row { name: config.name, pid, state, problem, status });
    }
    print(args.dir.json, &rows, &table)?;
    if !args.dir.json {
        let details = rows.iter().filter_map(|row| row.status.as_ref()?.detail.as_ref());
        let loops = details.filter_map(|detail| detail.loops.as_ref());
        through(&loops.flat_map(|loops| &loops.through).collect())?;
        let running =
            rows.iter().filter_map(|row| Some((row.name.as_str(), epoch_of(row.status.as_ref()?)?)));
        let others = in_another_epoch(&running.collect::<Vec<_>>());
        let runs = |name: &str| {
            rows.iter().any(|row| row.name == name && (row.status.is_some() || row.state == "unknown"))
        };
        let without_mix = document.iter().flat_map(|document| layers_without_a_mix(mixes(document), runs));
        let without_mix = without_mix.map(|words| format!("{words}; {up}\n"));
        let reasons = report::by_words(&said, "nodes").into_iter().map(|line| line + "\n");
        let lines: String = without_mix.chain(reasons).chain(others).collect();
        if !lines.is_empty() {
            report::print(format!("\n{lines}").as_bytes())?;
        }
    }
    unreadable.map_or_else(|| verdict(&rows), Err)
}

/// The epoch in whose document the node takes part; `None` while it waits for one.
fn epoch_of(status: &NodeStatus) -> Option<u64> {
    let document = status.detail.as_ref()?.document.as_ref()?;
    document.in_force.then_some(status.epoch)
}

/// The document that is in force, as this node would read it.
fn in_force(config: &NodeConfig) -> Option<Network> {
    let any = |_: &Network| Ok::<_, DocumentsError>(());
    Documents::open(config).ok()?.current(now(), Epoch(0), any).ok()
}

/// The mixes of a document, and in which layer they are.
fn mixes(document: &Network) -> impl Iterator<Item = (u8, &str)> {
    document.nodes().filter_map(|node| match node.role {
        Role::Mix { layer } => Some((layer, node.name.as_str())),
        Role::Endpoint => None,
    })
}

/// A line for each layer of which no mix runs. None if no mix runs at all: that is told of each.
fn layers_without_a_mix<'m>(
    mixes: impl Iterator<Item = (u8, &'m str)>,
    runs: impl Fn(&str) -> bool,
) -> Vec<String> {
    let mut layers = BTreeMap::<u8, Vec<&str>>::new();
    for (layer, name) in mixes {
        layers.entry(layer).or_default().push(name);
    }
    let count = layers.len();
    layers.retain(|_, mixes| !mixes.iter().any(|name| runs(name)));
    if layers.len() == count {
        return Vec::new();
    }
    let line = |(layer, mixes): (u8, Vec<&str>)| {
        format!("no mix of layer {layer} runs ({}), so no message passes", mixes.join(", "))
    };
    layers.into_iter().map(line).collect()
}

/// Fails if a node does not run, or not as it should, for whoever does not read the table.
fn verdict(rows: &[Row]) -> Result<(), Failure> {
    let is_failing = |row: &&Row| row.status.as_ref().is_some_and(|it| it.health.state == State::Failing);
    let of_state = |state| rows.iter().filter(|row| row.state == state).count();
    let counts = [
        (of_state("down"), "down"),
        (of_state("no_answer"), "without an answer"),
        (rows.iter().filter(is_failing).count(), "failing"),
    ];
    let found: Vec<_> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, how)| format!("{count} {how}")).collect();
    if found.is_empty() {
        return Ok(());
    }
    let nodes = report::counted(rows.len() as u64, "node", "nodes");
    Err(Failure::failed(format!("of {nodes}: {}", found.join(", "))))
}

/// A line for each node that is in another epoch than most are. Such a node may be well by its own
/// measure, and packets between it and the others are lost.
fn in_another_epoch(nodes: &[(&str, u64)]) -> Vec<String> {
    let mut in_epoch = BTreeMap::<u64, usize>::new();
    for (_, epoch) in nodes {
        *in_epoch.entry(*epoch).or_default() += 1;
    }
    // Of two that have as many nodes it is the later one.
    let Some((most, count)) = in_epoch.into_iter().max_by_key(|(epoch, count)| (*count, *epoch)) else {
        return Vec::new();
    };
    let others = nodes.iter().filter(|(_, epoch)| *epoch != most);
    let line = |(name, epoch): &(&str, u64)| {
        format!(
            "{name}: in epoch {epoch}, and {count} of {} nodes are in {most}: if that stays for more than some \
             seconds, its clock is wrong, or it has other documents (`documents` in its node.toml)\n",
            nodes.len()
        )
    };
    others.map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use motemix_host::control::{DocumentDetail, NodeDetail};
    use motemix_host::health::{Concern, Health, Reason};

    #[test]
    fn whoever_is_in_another_epoch_than_most_is_named() {
        assert!(in_another_epoch(&[]).is_empty());
        assert!(in_another_epoch(&[("mix-1", 7), ("mix-2", 7)]).is_empty());
        let said = in_another_epoch(&[("mix-1", 7), ("mix-2", 6), ("mix-3", 7)]);
        assert_eq!(said.len(), 1);
        assert!(said[0].starts_with("mix-2: in epoch 6, and 2 of 3 nodes are in 7: "), "{said:?}");
        let said = in_another_epoch(&[("mix-1", 8), ("mix-2", 7)]);
        assert!(said.len() == 1 && said[0].starts_with("mix-2: in epoch 7"), "{said:?}");
    }

    #[test]
    fn a_layer_of_which_no_mix_runs_is_told_once() {
        let mixes = [(0, "mix-1"), (1, "mix-2"), (2, "mix-3"), (0, "mix-4"), (1, "mix-5")];
        let said = |down: &[&str]| layers_without_a_mix(mixes.into_iter(), |name| !down.contains(&name));
        assert_eq!(said(&["mix-1", "mix-2"]), ["no mix of layer 2 runs (mix-3), so no message passes"; 0]);
        assert_eq!(
            said(&["mix-2", "mix-5", "mix-4"]),
            ["no mix of layer 1 runs (mix-2, mix-5), so no message passes"]
        );
        let all = mixes.map(|(_, name)| name);
        assert!(said(&all).is_empty(), "a network that was stopped");
    }

    #[test]
    fn whoever_waits_for_a_document_is_in_no_epoch() {
        let status = |document| NodeStatus {
            epoch: 7,
            detail: Some(Box::new(NodeDetail { document, ..NodeDetail::default() })),
            ..NodeStatus::default()
        };
        let document = |in_force| Some(DocumentDetail { in_force, ..DocumentDetail::default() });
        assert_eq!(epoch_of(&status(document(true))), Some(7));
        assert_eq!(epoch_of(&status(document(false))), None);
        assert_eq!(epoch_of(&status(None)), None);
    }

    #[test]
    fn whoever_does_not_read_the_table_is_told_by_the_status_that_not_all_is_well() {
        let row = |state, health| {
            let health = Health::of(Vec::from_iter(health));
            let status = (state == "running").then(|| NodeStatus { health, ..NodeStatus::default() });
            Row { name: "mix-1".to_owned(), pid: None, state, problem: None, status }
        };
        let well = || row("running", None);
        let warned = row("running", Some(Reason::warning(Concern::Disk, "it is nearly full")));
        verdict(&[well(), warned]).unwrap();
        let failing = row("running", Some(Reason::failing(Concern::Disk, "it is full")));
        let rows = [well(), row("down", None), row("down", None), row("no_answer", None), failing];
        let said = verdict(&rows).unwrap_err().to_string();
        assert_eq!(said, "of 5 nodes: 2 down, 1 without an answer, 1 failing");
    }
}
