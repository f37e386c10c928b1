//! `motemix loopix net`: a Loopix network of processes on this machine.

use super::directory::address;
use crate::cli::{LoopixNetDown, LoopixNetInit, LoopixNetStatus, LoopixNetUp, LoopixProfile};
use crate::failure::Failure;
use crate::network::loopix::{self, Blueprint, Size};
use crate::network::{NetworkDir, Process, Stopped, bind_below, consecutive, terminate};
use crate::program;
use crate::report::{self, Progress, Table};
use anyhow::Context;
use motemix_host::rng::HostRng;
use motemix_loopix::files::{Config, NodeEntry, Profile, Settings, names};
use serde::Serialize;
use serde_json::json;
use std::time::Instant;

/// The Java client keeps ports in signed 16 bits.
const HIGHEST_PORT: u16 = 32_767;

pub fn init(args: &LoopixNetInit) -> Result<(), Failure> {
    if args.push && args.profile != LoopixProfile::Fork2018 {
        return Err(Failure::broken(
            "--push: only nodes of fork-2018 know it; leave it out, or choose --profile fork-2018",
        ));
    }
    let size =
        Size { mixes: args.mixes, layers: args.layers, providers: args.providers, clients: args.clients };
    let mut rng = HostRng::new().context("the system has no random numbers")?;
    let addresses: Vec<_> = if args.base_port == 0 {
        let bound = bind_below(args.host, size.nodes(), HIGHEST_PORT, &mut rng)?;
        bound.into_iter().map(|(address, _)| address).collect()
    } else {
        consecutive(args.host, args.base_port, size.nodes())?
    };
    let mut config = config(args);
    let profile = Profile::from(args.profile);
    // Only the fork knows the word, and whoever finds it takes the network for one of the fork.
    config.providers.push = (profile == Profile::Fork2018).then_some(args.push);
    let blueprint =
        Blueprint { size, addresses: &addresses, config: &config, settings: Settings::of(profile) };
    let network = loopix::init(&args.dir, &blueprint, &mut rng)?;
    if args.json {
        let nodes: Vec<_> = loopix::nodes_of(&network)?.iter().map(|(node, _)| node.name()).collect();
        return Ok(report::print_json(&json!({
            "dir": network.path(), "nodes": nodes, "profile": profile
        }))?);
    }
    let folder = network.path().display();
    let text = format!(
        "{} nodes of {profile} in {folder}; start them with `motemix loopix net up {folder}`\n",
        size.nodes()
    );
    Ok(report::print(text.as_bytes())?)
}

fn config(args: &LoopixNetInit) -> Config {
    let mut config = Config::default();
    let (clients, mixes) = (&mut config.clients, &mut config.mixes);
    clients.loops = args.loops;
    clients.drop = args.drop;
    clients.payload = args.payload;
    clients.delay = args.delay;
    clients.pull = args.pull;
    mixes.loops = args.loops;
    mixes.delay = args.delay;
    config.providers.max_retrieve = args.retrieve;
    config
}

pub fn up(args: &LoopixNetUp) -> Result<(), Failure> {
    let nodes = loopix::nodes_of(&NetworkDir::new(&args.dir.path))?;
    loopix::refuse_running(&nodes)?;
    let program = program::of_nodes()?;
    let mut progress = Progress::new(nodes.len() as u64);
    let mut launched = Vec::new();
    for (node, entry) in nodes {
        let events = node.events();
        launched.push((loopix::launch(&program, node, entry)?, events));
    }
    let until = Instant::now() + args.timeout;
    let mut table = Table::new(["node", "role", "pid", "address"]);
    let mut rows = Vec::new();
    for (position, (node, events)) in launched.iter_mut().enumerate() {
        progress.at(position as u64, &format!("waiting for {}", node.name()));
        let ready = loopix::wait_until_ready(node, events, until).map_err(|error| {
            let folder = args.dir.path.display();
            anyhow::anyhow!("{error:#}; stop the others with `motemix loopix net down {folder}`")
        })?;
        let (pid, entry) = (node.process()?.pid(), &node.config);
        let (name, role, address) = (entry.name(), entry.role().name(), address_of(entry));
        table.row([name.to_owned(), role.to_owned(), pid.to_string(), address.clone()]);
        rows.push(json!({ "name": name, "role": role, "pid": pid, "address": address, "ready": ready }));
    }
    progress.finish();
    print(args.dir.json, &rows, &table)
}

pub fn down(args: &LoopixNetDown) -> Result<(), Failure> {
    #[derive(Serialize)]
    struct Row {
        name: String,
        stopped: Stopped,
    }
    let mut table = Table::new(["node", "how"]);
    let mut rows = Vec::new();
    let mut failed = None;
    for (node, entry) in loopix::nodes_of(&NetworkDir::new(&args.dir.path))? {
        match terminate(&node, args.timeout) {
            Ok(stopped) => {
                table.row([entry.name().to_owned(), stopped.words().to_owned()]);
                rows.push(Row { name: entry.name().to_owned(), stopped });
            }
            // The others are to be stopped nevertheless.
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    print(args.dir.json, &rows, &table)?;
    failed.map_or(Ok(()), |error| Err(error.into()))
}

pub fn status(args: &LoopixNetStatus) -> Result<(), Failure> {
    let mut table = Table::new(["node", "role", "pid", "address", "profile"]);
    let mut rows = Vec::new();
    for (node, entry) in loopix::nodes_of(&NetworkDir::new(&args.dir.path))? {
        let config = Config::load(&node.path().join(names::CONFIG)).map_err(Failure::broken)?;
        let settings = Settings::of_node(node.path(), &config).map_err(Failure::broken)?;
        let process = Process::load(&node.pid())?;
        let process = process.filter(|process| process.is_running().unwrap_or(false));
        let pid = process.as_ref().map(Process::pid);
        let (name, role, address) = (entry.name(), entry.role().name(), address_of(&entry));
        table.row([
            name.to_owned(),
            role.to_owned(),
            pid.map_or_else(|| "down".to_owned(), |pid| pid.to_string()),
            address.clone(),
            settings.profile.to_string(),
        ]);
        rows.push(json!({
            "name": name, "role": role, "pid": pid, "address": address, "profile": settings.profile
        }));
    }
    print(args.dir.json, &rows, &table)
}

fn address_of(entry: &NodeEntry) -> String {
    address(entry.host(), entry.port())
}

fn print(json: bool, value: &impl Serialize, table: &Table) -> Result<(), Failure> {
    Ok(if json { report::print_json(value) } else { table.print() }?)
}
