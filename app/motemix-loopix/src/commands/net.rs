//! `motemix loopix net`: a Loopix network of processes on this machine.

use super::directory::address;
use crate::chosen;
use crate::network::{self, Blueprint, Preset, Size};
use anyhow::Context;
use motemix_loopix::files::{Config, NodeEntry, Profile, Settings, names};
use motemix_os::rng::HostRng;
use motemix_os::store::file;
use motemix_program::cli::{LoopixNetDown, LoopixNetInit, LoopixNetStatus, LoopixNetUp};
use motemix_program::failure::Failure;
use motemix_program::network::{DownRows, How};
use motemix_program::network::{
    NetworkDir, NodeDir, bind_below, check_empty, consecutive, process_of, terminate, udp_taken,
};
use motemix_program::owner::{refuse_others, refuse_root};
use motemix_program::program;
use motemix_program::report::{self, Progress, Table};
use serde::Serialize;
use serde_json::{Value, json};
use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

/// The Java client keeps ports in signed 16 bits.
const HIGHEST_PORT: u16 = 32_767;

pub fn init(args: &LoopixNetInit) -> Result<(), Failure> {
    let Preset { profile, config } = chosen::preset_of(&args.traffic)?;
    let size =
        Size { mixes: args.mixes, layers: args.layers, providers: args.providers, clients: args.clients };
    let mut rng = HostRng::new().context("the system has no random numbers")?;
    check_empty(&args.dir)?;
    let addresses: Vec<_> = if args.base_port == 0 {
        let bound = bind_below(args.host, size.nodes(), HIGHEST_PORT, &mut rng)?;
        bound.into_iter().map(|(address, _)| address).collect()
    } else {
        consecutive(args.host, args.base_port, size.nodes())?
    };
    let mut settings = Settings::of(profile);
    // All nodes are ours, and look at once at what comes.
    settings.originals.start_s = 0;
    let blueprint = Blueprint { size, addresses: &addresses, config: &config, settings };
    let network = network::init(&args.dir, &blueprint, &mut rng)?;
    if args.json {
        let nodes: Vec<_> = network::nodes_of(&network)?.iter().map(|(node, _)| node.name()).collect();
        return Ok(report::print_json(&json!({
            "dir": network.path(), "nodes": nodes, "profile": profile
        }))?);
    }
    let folder = network.path().display();
    let text = format!(
        "{} nodes of {profile} in {folder}; start them with `motemix loopix net up {}`\n",
        size.nodes(),
        file::typed(network.path())
    );
    Ok(report::print(text.as_bytes())?)
}

pub fn up(args: &LoopixNetUp) -> Result<(), Failure> {
    let folder = file::typed(&args.dir.path);
    let (mut rows, mut missing) = (Vec::new(), Vec::new());
    let network = NetworkDir::new(&args.dir.path);
    let nodes = network::nodes_of(&network)?;
    refuse_root(network.path())?;
    refuse_others(network.path())?;
    let _lock = network.lock().map_err(Failure::failed)?;
    for (node, entry) in nodes {
        let mut row = Up::of(&entry);
        match process_of(&node)? {
            Some(process) => (row.pid, row.how) = (Some(process.pid()), How::Ran),
            None => missing.push((rows.len(), node, entry)),
        }
        rows.push(row);
    }
    // Before anything is started: half a network is no use to anybody.
    for (_, _, entry) in &missing {
        let address = entry.host().parse().map(|host: IpAddr| SocketAddr::new(host, entry.port()));
        if let Some(taken) = address.ok().and_then(udp_taken) {
            return Err(Failure::failed(format!(
                "{}: {taken}; nothing was started; stop that one, or make the network with another --base-port",
                entry.name()
            )));
        }
    }
    let program = program::beside("motemix-loopix")?;
    let mut progress = Progress::new(missing.len() as u64);
    let mut launched = Vec::new();
    for (row, node, entry) in missing {
        let events = node.events();
        launched.push((row, network::launch(&program, node, entry)?, events));
    }
    let until = Instant::now() + args.timeout;
    for (position, (row, node, events)) in launched.iter_mut().enumerate() {
        progress.at(position as u64, &format!("waiting for {}", node.name()));
        let ready = network::wait_until_ready(node, events, until).map_err(|error| {
            anyhow::anyhow!(
                "{error:#}; the others go on: once it is mended, `motemix loopix net up {folder}` starts what is \
                 missing, and `motemix loopix net down {folder}` stops all"
            )
        })?;
        let row = &mut rows[*row];
        (row.pid, row.ready) = (Some(node.process()?.pid()), Some(ready));
    }
    progress.finish();
    let mut table = Table::new(["node", "role", "pid", "address", "how"]);
    for row in &rows {
        let pid = row.pid.map_or_else(|| "-".to_owned(), |pid| pid.to_string());
        table.row([
            row.name.clone(),
            row.role.to_owned(),
            pid,
            row.address.clone(),
            row.how.words().to_owned(),
        ]);
    }
    print(args.dir.json, &rows, &table)
}

/// A node after `net up`.
#[derive(Serialize)]
struct Up {
    name: String,
    role: &'static str,
    pid: Option<u32>,
    address: String,
    how: How,
    /// What it said when it had started; of one that ran already, nothing.
    ready: Option<Value>,
}

impl Up {
    fn of(entry: &NodeEntry) -> Self {
        let (name, role, address) = (entry.name().to_owned(), entry.role().name(), address_of(entry));
        Self { name, role, pid: None, address, how: How::Started, ready: None }
    }
}

pub fn down(args: &LoopixNetDown) -> Result<(), Failure> {
    let network = NetworkDir::new(&args.dir.path);
    let nodes = network::folders(&network)?;
    refuse_others(network.path())?;
    let _lock = network.lock().map_err(Failure::failed)?;
    let mut rows = DownRows::default();
    for node in nodes {
        let stopped = terminate(&node, args.timeout);
        rows.add(&node, stopped);
    }
    rows.finish(args.dir.json)
}

pub fn status(args: &LoopixNetStatus) -> Result<(), Failure> {
    #[derive(Serialize)]
    struct Row {
        name: String,
        role: Option<&'static str>,
        pid: Option<u32>,
        address: Option<String>,
        profile: Option<Profile>,
        /// Why nothing more is known, or why it does not answer.
        problem: Option<String>,
    }
    let mut table = Table::new(["node", "role", "pid", "address", "profile"]);
    let (mut rows, mut said, mut down, mut unreadable) = (Vec::new(), Vec::new(), 0, None);
    let known = |node: &NodeDir| {
        let entry = network::entry_of(node)?;
        let config = Config::load(&node.path().join(names::CONFIG)).map_err(Failure::broken)?;
        let settings = Settings::of_node(node.path(), &config).map_err(Failure::broken)?;
        Ok::<_, Failure>((entry, settings.profile))
    };
    for node in network::folders(&NetworkDir::new(&args.dir.path))? {
        let (known, found) = (known(&node), process_of(&node));
        let mut row =
            Row { name: node.name(), role: None, pid: None, address: None, profile: None, problem: None };
        let mut state = "down".to_owned();
        match (&known, &found) {
            (Err(error), _) => row.problem = Some(error.to_string()),
            (_, Err(error)) => row.problem = Some(format!("{error:#}")),
            _ => {}
        }
        if row.problem.is_some() {
            "unknown".clone_into(&mut state);
        } else if matches!(found, Ok(None)) {
            down += 1;
            let up = format!("`motemix loopix net up {}`", file::typed(&args.dir.path));
            said.push((row.name.clone(), format!("does not run; {up} starts what is missing")));
        }
        if let Ok((entry, profile)) = &known {
            (row.role, row.address) = (Some(entry.role().name()), Some(address_of(entry)));
            row.profile = Some(*profile);
        }
        if let Ok(Some(process)) = &found {
            row.pid = Some(process.pid());
            state = process.pid().to_string();
            if process.is_stopped() {
                state += ", stands still";
                let problem = format!("stands still; let it go on with `kill -CONT {}`", process.pid());
                said.push((row.name.clone(), problem.clone()));
                row.problem = Some(problem);
            }
        }
        let cell = |text: Option<&str>| text.unwrap_or("-").to_owned();
        table.row([
            row.name.clone(),
            cell(row.role),
            state,
            cell(row.address.as_deref()),
            row.profile.map_or_else(|| "-".to_owned(), |profile| profile.to_string()),
        ]);
        rows.push(row);
        unreadable = unreadable.or(known.err()).or(found.err().map(Failure::from));
    }
    print(args.dir.json, &rows, &table)?;
    if !args.dir.json && !said.is_empty() {
        let lines: String = report::by_words(&said, "nodes").into_iter().map(|line| line + "\n").collect();
        report::print(format!("\n{lines}").as_bytes())?;
    }
    match unreadable {
        Some(error) => Err(error),
        None if down > 0 => {
            let nodes = report::counted(rows.len() as u64, "node", "nodes");
            Err(Failure::failed(format!("of {nodes}: {down} down")))
        }
        None => Ok(()),
    }
}

fn address_of(entry: &NodeEntry) -> String {
    address(entry.host(), entry.port())
}

fn print(json: bool, value: &impl Serialize, table: &Table) -> Result<(), Failure> {
    Ok(if json { report::print_json(value) } else { table.print() }?)
}
