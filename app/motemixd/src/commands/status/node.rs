//! How a node is, as it says over its control socket.

use motemix_directory::UnixTime;
use motemix_host::NodeConfig;
use motemix_host::control::{DocumentDetail, NodeDetail, NodeStatus, ToldAuthority};
use motemix_program::failure::Failure;
use motemix_program::network::Layers;
use motemix_program::report::{self, Table, counted, length};

pub fn show(config: &NodeConfig, json: bool) -> Result<(), Failure> {
    let status = motemix_program::network::status(config)?;
    if json {
        return Ok(report::print_json(&status)?);
    }
    table(&status).print()?;
    let detail = status.detail.as_ref();
    let loops = detail.and_then(|detail| detail.loops.as_ref());
    through(&loops.iter().flat_map(|loops| &loops.through).collect())?;
    if status.health.reasons.is_empty() {
        return Ok(());
    }
    Ok(report::print(format!("\n{}", status.health.text()).as_bytes())?)
}

/// What became of loops by the nodes that they passed, which mixes lose them, and which endpoints
/// are switched off.
pub fn through(layers: &Layers) -> Result<(), Failure> {
    if layers.is_empty() {
        return Ok(());
    }
    report::print(b"\nloops of this epoch and the one before, by the nodes that they passed:\n\n")?;
    layers.table().print()?;
    let lossy: String = layers.lossy().into_iter().map(|line| report::printable(&line) + "\n").collect();
    if !lossy.is_empty() {
        report::print(format!("\n{lossy}").as_bytes())?;
    }
    Ok(())
}

fn table(status: &NodeStatus) -> Table {
    let mut table = Table::without_heading();
    let mut row = |name: &str, value: String| table.row([name.to_owned(), value]);
    row("node", status.name.clone());
    if let Some(detail) = &status.detail {
        row("network", detail.network.clone());
    }
    row("health", status.health.state.name().to_owned());
    row("listens", status.listen.join(" "));
    row("runs for", length(status.uptime_s));
    let Some(detail) = &status.detail else { return table };
    let now = detail.clock.time;
    match &detail.document {
        Some(document) => {
            row("role", role(status.id, document));
            row("epoch", epoch(document, now));
            row("documents", documents(document, now));
        }
        None => row("documents", "none for now; the node waits for one".to_owned()),
    }
    row("keys", format!("from epoch {} on", detail.keys_from));
    let epoch = detail.document.as_ref().map_or(detail.keys_from, |document| document.epoch);
    for authority in &detail.authorities {
        row("keys told", told(authority, epoch));
    }
    fills(detail, status, &mut row);
    row("clock", format!("{}, {}", UnixTime(now), detail.clock.words));
    table
}

/// What can be full, and the loops.
fn fills(detail: &NodeDetail, status: &NodeStatus, row: &mut impl FnMut(&str, String)) {
    if let Some(fill) = &detail.replay_filter {
        let full = fill.full_in_s.map_or_else(String::new, |time| format!(", full in {}", length(time)));
        row("replay filter", format!("{}{full}", share(fill.tags, fill.most)));
    }
    if let Some(queue) = &detail.queue {
        row("queue", share(queue.packets, queue.most));
    }
    if let Some(loops) = &detail.loops {
        let alarm = if loops.alarm { "the alarm sounds" } else { "no alarm" };
        row(
            "loops",
            format!(
                "{} sent, {} came back, {} lost; {alarm}, at {} % of the evidence for one",
                loops.sent, loops.returned, loops.lost, loops.evidence_percent
            ),
        );
    }
    if let Some(disk) = &detail.disk {
        row("disk", format!("{} MiB free, an epoch may need {}", disk.free >> 20, disk.needed >> 20));
    }
    if let Some(percent) = detail.inbox_percent {
        let messages = counted(status.inbox, "message", "messages");
        row("inbox", format!("{messages}, {percent} % of its quota"));
    }
}

fn role(id: u16, document: &DocumentDetail) -> String {
    let role = document.layer.map_or_else(|| "endpoint".to_owned(), |layer| format!("mix, layer {layer}"));
    format!("{role}, id {id} of {}", counted(document.nodes, "node", "nodes"))
}

fn epoch(document: &DocumentDetail, now: u64) -> String {
    let (epoch, until) = (document.epoch, UnixTime(document.valid_until));
    if !document.in_force {
        return format!("{epoch}, over since {until}: nothing is sent");
    }
    format!("{epoch}, for {} from now on, until {until}", length(document.valid_until.saturating_sub(now)))
}

fn documents(document: &DocumentDetail, now: u64) -> String {
    format!(
        "for this epoch and {} after it: for {} from now on, until {}",
        document.later,
        length(document.covered_until.saturating_sub(now)),
        UnixTime(document.covered_until)
    )
}

fn told(authority: &ToldAuthority, epoch: u64) -> String {
    let ahead = |until: u64| counted(until.saturating_sub(epoch), "epoch", "epochs");
    let knows = authority.keys_until.map(|until| format!("those of {} from now on", ahead(until)));
    // What is wrong with a place begins with it.
    let problem = authority.problem.as_ref().map(|words| {
        let own = words.strip_prefix(&authority.at).and_then(|words| words.strip_prefix(": "));
        own.unwrap_or(words).to_owned()
    });
    let words: Vec<_> = knows.into_iter().chain(problem).collect();
    format!("{}: {}", authority.at, words.join("; "))
}

fn share(part: u64, of: u64) -> String {
    format!("{part} of {of}, {} %", part.saturating_mul(100) / of.max(1))
}
