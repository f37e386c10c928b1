//! `motemix net`: a network of processes on this machine.

use super::load_config;
use crate::cli::{NetDown, NetInit, NetRenew, NetStatus, NetUp};
use crate::failure::Failure;
use crate::network::documents::Calendar;
use crate::network::{
    Blueprint, Launched, Lifetime, NetworkDir, NodeDir, Process, Stopped, bind, check_paths, consecutive,
    plan,
};
use crate::report::{self, Progress, Table};
use motemix_directory::ProfileName;
use motemix_host::NodeConfig;
use motemix_host::control::NodeStatus;
use serde::Serialize;
use serde_json::json;
use std::time::Instant;

pub fn init(args: &NetInit) -> Result<(), Failure> {
    let nodes = plan(&args.size)?;
    check_paths(&args.size, ProfileName::from(args.traffic.profile).max_hops())?;
    let addresses = if args.base_port == 0 {
        bind(args.host, nodes.len())?.into_iter().map(|(address, _)| address).collect()
    } else {
        consecutive(args.host, args.base_port, nodes.len())?
    };
    let blueprint = Blueprint {
        network_name: &args.name,
        nodes: &nodes,
        addresses: &addresses,
        traffic: &args.traffic,
        calendar: Calendar::new(args.epoch_length)?,
        epochs: args.epochs,
        rate: args.rate,
        readings: args.readings,
        metrics: args.metrics,
        loss: 0.0,
    };
    let (network, capacity) = crate::network::init(&args.dir, &blueprint)?;
    if args.json {
        let names: Vec<_> = nodes.iter().map(|node| &node.name).collect();
        return Ok(report::print_json(&json!({
            "dir": network.path(), "nodes": names, "epochs": args.epochs,
            "packets_a_second": capacity.rate, "memory_bytes": capacity.memory, "disk_bytes": capacity.disk
        }))?);
    }
    let folder = network.path().display();
    Ok(report::print(
        format!(
            "{} nodes in {folder}, documents for {}; start them with `motemix net up {folder}`\n{}\n",
            nodes.len(),
            epochs(args.epochs),
            capacity.words()
        )
        .as_bytes(),
    )?)
}

/// The nodes of a network with their configurations.
fn nodes_of(network: &NetworkDir) -> Result<Vec<(NodeDir, NodeConfig)>, Failure> {
    let folders = network.list().map_err(|error| {
        let folder = network.nodes();
        Failure::broken(format!("{}: {error}; make a network with `motemix net init`", folder.display()))
    })?;
    if folders.is_empty() {
        let folder = network.nodes();
        return Err(Failure::broken(format!(
            "{}: no nodes; make a network with `motemix net init`",
            folder.display()
        )));
    }
    folders.into_iter().map(|node| load_config(&node.config()).map(|config| (node, config))).collect()
}

pub fn up(args: &NetUp) -> Result<(), Failure> {
    let network = NetworkDir::new(&args.dir.path);
    let nodes = nodes_of(&network)?;
    for (node, _) in &nodes {
        if let Some(process) = Process::load(&node.pid())?
            && process.is_running()?
        {
            let name = node.name();
            return Err(Failure::failed(format!(
                "{name} is running already (process {}); stop the network with `motemix net down`",
                process.pid()
            )));
        }
    }
    let mut progress = Progress::new(nodes.len() as u64);
    let mut launched = Vec::new();
    for (node, config) in nodes {
        let mut started = Launched::start(node, config, None, Lifetime::Detached, "info")?;
        started.record()?;
        launched.push(started);
    }
    let until = Instant::now() + args.timeout;
    let mut table = Table::new(["node", "pid", "address"]);
    let mut running = Vec::new();
    for (position, node) in launched.iter_mut().enumerate() {
        progress.at(position as u64, &format!("waiting for {}", node.name()));
        let status = node.wait_until_it_answers(until).map_err(|error| {
            anyhow::anyhow!("{error:#}; stop the others with `motemix net down {}`", args.dir.path.display())
        })?;
        let pid = node.process()?.pid();
        table.row([status.name.clone(), pid.to_string(), status.listen.join(" ")]);
        running.push(json!({ "name": status.name, "pid": pid, "listen": status.listen }));
    }
    progress.finish();
    print(args.dir.json, &running, &table)
}

pub fn down(args: &NetDown) -> Result<(), Failure> {
    #[derive(Serialize)]
    struct Row {
        name: String,
        stopped: Stopped,
    }
    let nodes = nodes_of(&NetworkDir::new(&args.dir.path))?;
    let mut table = Table::new(["node", "how"]);
    let mut rows = Vec::new();
    let mut failed = None;
    for (node, config) in &nodes {
        match crate::network::stop(node, config, args.timeout) {
            Ok(stopped) => {
                table.row([config.name.clone(), stopped.words().to_owned()]);
                rows.push(Row { name: config.name.clone(), stopped });
            }
            // The others are to be stopped nevertheless.
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    print(args.dir.json, &rows, &table)?;
    failed.map_or(Ok(()), |error| Err(error.into()))
}

pub fn status(args: &NetStatus) -> Result<(), Failure> {
    #[derive(Serialize)]
    struct Row {
        name: String,
        pid: Option<u32>,
        status: Option<NodeStatus>,
    }
    let mut table = Table::new(["node", "pid", "epoch", "up", "inbox", "address", "health"]);
    let mut reasons = String::new();
    let mut rows = Vec::new();
    for (node, config) in nodes_of(&NetworkDir::new(&args.dir.path))? {
        let process = Process::load(&node.pid())?;
        let process = process.filter(|process| process.is_running().unwrap_or(false));
        let status = crate::network::status(&config).ok();
        let pid = process.as_ref().map(Process::pid);
        table.row(match &status {
            None => [
                config.name.clone(),
                text(pid),
                "-".into(),
                "down".into(),
                "-".into(),
                "-".into(),
                "-".into(),
            ],
            Some(status) => [
                config.name.clone(),
                text(pid),
                status.epoch.to_string(),
                format!("{}s", status.uptime_s),
                status.inbox.to_string(),
                status.listen.join(" "),
                status.health.state.name().to_owned(),
            ],
        });
        for reason in status.iter().flat_map(|status| &status.health.reasons) {
            reasons.extend([config.name.as_str(), ": ", &reason.to_string(), "\n"]);
        }
        rows.push(Row { name: config.name, pid, status });
    }
    print(args.dir.json, &rows, &table)?;
    if !args.dir.json && !reasons.is_empty() {
        report::print(format!("\n{reasons}").as_bytes())?;
    }
    Ok(())
}

fn text(number: Option<u32>) -> String {
    number.map_or_else(|| "-".to_owned(), |number| number.to_string())
}

pub fn renew(args: &NetRenew) -> Result<(), Failure> {
    let network = NetworkDir::new(&args.dir.path);
    if args.early {
        let (epoch, begins) = crate::network::renew_early(&network)?;
        if args.dir.json {
            return Ok(report::print_json(&json!({ "signed": [epoch.0], "begins": begins.0 }))?);
        }
        let seconds = begins.0.saturating_sub(motemix_host::clock::unix_time().as_secs());
        return Ok(report::print(format!("signed epoch {epoch}, which begins in {seconds} s\n").as_bytes())?);
    }
    let signed: Vec<_> =
        crate::network::renew(&network, args.epochs)?.into_iter().map(|epoch| epoch.0).collect();
    if args.dir.json {
        return Ok(report::print_json(&json!({ "signed": signed }))?);
    }
    let text = match (signed.first(), signed.last()) {
        (Some(first), Some(last)) => format!("signed {}, {first} to {last}\n", epochs(signed.len() as u64)),
        _ => format!("{} from now on: all documents are there already\n", epochs(args.epochs)),
    };
    Ok(report::print(text.as_bytes())?)
}

fn epochs(count: u64) -> String {
    if count == 1 { "1 epoch".to_owned() } else { format!("{count} epochs") }
}

fn print(json: bool, value: &impl Serialize, table: &Table) -> Result<(), Failure> {
    Ok(if json { report::print_json(value) } else { table.print() }?)
}
