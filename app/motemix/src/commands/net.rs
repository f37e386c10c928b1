//! `motemix net`: a network of processes on this machine.

mod status;

use motemix_directory::ProfileName;
use motemix_host::NodeConfig;
use motemix_os::store::file;
use motemix_program::cli::{Links, NetDown, NetInit, NetRenew, NetUp};
use motemix_program::failure::Failure;
use motemix_program::network::documents::Calendar;
use motemix_program::network::{
    Blueprint, DownRows, Early, How, Launched, Lifetime, NetworkDir, NodeDir, Presence, bind, check_empty,
    check_name, check_paths, consecutive, hops, loopback, metrics_addresses, no_nodes, plan, port_is_taken,
    presence, tcp_taken, udp_taken, without_cover,
};
use motemix_program::options::load_config;
use motemix_program::owner::{refuse_others, refuse_root};
use motemix_program::report::{self, Progress, Table};
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Instant;

pub use status::status;

pub fn init(args: &NetInit) -> Result<(), Failure> {
    check_name("--name", &args.name)?;
    let nodes = plan(&args.size)?;
    let profile = ProfileName::from(args.traffic.profile);
    check_paths(&args.size, profile.max_hops())?;
    let host = args.host.unwrap_or_else(loopback);
    check_empty(&args.dir)?;
    let addresses: Vec<_> = if args.base_port == 0 {
        bind(host, nodes.len())?.into_iter().map(|(address, _)| address).collect()
    } else {
        consecutive(host, args.base_port, nodes.len())?
    };
    let metrics = if args.metrics { metrics_addresses(args.base_port, &addresses)? } else { Vec::new() };
    if let Some(taken) = metrics.iter().find_map(|address| tcp_taken(*address)) {
        return Err(port_is_taken(args.base_port, &taken));
    }
    let blueprint = Blueprint {
        network_name: &args.name,
        nodes: &nodes,
        addresses: &addresses,
        traffic: &args.traffic,
        calendar: Calendar::new(args.epoch_length)?,
        epochs: args.epochs,
        rate: args.rate,
        readings: args.readings,
        unsigned_readings: args.unsigned_readings,
        metrics: &metrics,
        loss: 0.0,
    };
    let (network, capacity) = motemix_program::network::init(&args.dir, &blueprint)?;
    let warning = without_cover(&args.size, &args.traffic, hops(profile));
    if args.json {
        let names: Vec<_> = nodes.iter().map(|node| &node.name).collect();
        let metrics: BTreeMap<_, _> = names.iter().zip(&metrics).collect();
        return Ok(report::print_json(&json!({
            "dir": network.path(), "nodes": names, "epochs": args.epochs, "addresses": addresses,
            "metrics": metrics, "warnings": warning.as_slice(),
            "packets_a_second": capacity.rate, "memory_bytes": capacity.memory, "disk_bytes": capacity.disk
        }))?);
    }
    let folder = network.path().display();
    let text = format!(
        "{} nodes in {folder}, documents for {}; start them with `motemix net up {}`\n{}\n",
        nodes.len(),
        epochs(args.epochs),
        file::typed(network.path()),
        capacity.words()
    );
    let warning = warning.map_or_else(String::new, |words| format!("warning: {words}\n"));
    report::print((text + &warning).as_bytes())?;
    if metrics.is_empty() {
        return Ok(());
    }
    let mut table = Table::new(["node", "address", "metrics"]);
    for ((node, address), metrics) in nodes.iter().zip(&addresses).zip(&metrics) {
        table.row([node.name.clone(), address.to_string(), format!("http://{metrics}/metrics")]);
    }
    Ok(table.print()?)
}

/// A node's folder, and its configuration or what is wrong with it.
type Configured = (NodeDir, Result<NodeConfig, Failure>);

/// The nodes of a network. If the configuration of one is broken, the others can be shown and
/// stopped.
fn nodes_of(network: &NetworkDir) -> Result<Vec<Configured>, Failure> {
    if network.path().join(LOOPIX_DIRECTORY).exists() && !network.authority_public_key().exists() {
        let folder = network.path().display();
        return Err(Failure::broken(format!("{folder}: is a Loopix network; use `motemix loopix net`")));
    }
    let folders = network.list().map_err(|error| no_nodes(&network.nodes(), &error, "motemix net init"))?;
    if folders.is_empty() {
        let folder = network.nodes();
        return Err(Failure::broken(format!(
            "{}: no nodes; make a network with `motemix net init`",
            folder.display()
        )));
    }
    let with_config = |node: NodeDir| {
        let config = load_config(&node.config());
        (node, config)
    };
    Ok(folders.into_iter().map(with_config).collect())
}

pub fn up(args: &NetUp) -> Result<(), Failure> {
    let network = NetworkDir::new(&args.dir.path);
    let folder = file::typed(&args.dir.path);
    let (mut rows, mut missing, mut silent) = (Vec::new(), Vec::new(), None);
    let nodes = nodes_of(&network)?;
    refuse_root(network.path())?;
    refuse_others(network.path())?;
    let _lock = network.lock().map_err(Failure::failed)?;
    for (node, config) in nodes {
        let config = config?;
        let mut row = Up { name: config.name.clone(), pid: None, listen: Vec::new(), how: How::Started };
        match presence(&node, &config)? {
            Presence::Down => missing.push((rows.len(), node, config)),
            found => {
                row.pid = found.pid();
                row.listen = found.status().map(|status| status.listen.clone()).unwrap_or_default();
                row.how = How::Ran;
                if let Presence::NoAnswer { problem, .. } = found {
                    row.how = How::Silent;
                    silent = silent.or(Some(format!("{}: {problem}", row.name)));
                }
            }
        }
        rows.push(row);
    }
    // Before anything is started: half a network is no use to anybody.
    for (_, _, config) in &missing {
        let taken = config.listen.iter().find_map(|address| udp_taken(*address));
        let metrics = config.metrics.as_ref().and_then(|metrics| tcp_taken(metrics.listen));
        if let Some(taken) = taken.or(metrics) {
            let name = &config.name;
            return Err(Failure::failed(format!(
                "{name}: {taken}; nothing was started; stop that one, or make the network with another --base-port"
            )));
        }
    }
    let mut progress = Progress::new(missing.len() as u64);
    let mut launched = Vec::new();
    for (row, node, config) in missing {
        let mut started = Launched::start(node, config, None, Lifetime::Detached, "info")?;
        started.record()?;
        launched.push((row, started));
    }
    let until = Instant::now() + args.timeout;
    for (position, (row, node)) in launched.iter_mut().enumerate() {
        progress.at(position as u64, &format!("waiting for {}", node.name()));
        let status = node.wait_until_it_answers(until).map_err(|error| {
            anyhow::anyhow!(
                "{error:#}; the others go on: once it is mended, `motemix net up {folder}` starts what is missing, \
                 and `motemix net down {folder}` stops all"
            )
        })?;
        let pid = node.process()?.pid();
        rows[*row] = Up { name: status.name, pid: Some(pid), listen: status.listen, how: How::Started };
    }
    progress.finish();
    let mut table = Table::new(["node", "pid", "address", "how"]);
    for row in &rows {
        let listen = if row.listen.is_empty() { "-".to_owned() } else { row.listen.join(" ") };
        table.row([row.name.clone(), text(row.pid), listen, row.how.words().to_owned()]);
    }
    print(args.dir.json, &rows, &table)?;
    silent.map_or(Ok(()), |words| Err(Failure::failed(words)))
}

/// A node after `net up`.
#[derive(Serialize)]
struct Up {
    name: String,
    pid: Option<u32>,
    listen: Vec<String>,
    how: How,
}

/// What a network of Loopix has and one of motemix has not.
const LOOPIX_DIRECTORY: &str = "example.db";

pub fn down(args: &NetDown) -> Result<(), Failure> {
    let network = NetworkDir::new(&args.dir.path);
    let nodes = nodes_of(&network)?;
    refuse_others(network.path())?;
    let _lock = network.lock().map_err(Failure::failed)?;
    let (mut rows, mut broken) = (DownRows::default(), None);
    for (node, config) in nodes {
        let stopped = match config {
            Ok(config) => motemix_program::network::stop(&node, &config, args.timeout),
            // It cannot be asked, and its process is known.
            Err(error) => {
                broken = broken.or(Some(error));
                motemix_program::network::terminate(&node, args.timeout)
            }
        };
        rows.add(&node, stopped);
    }
    rows.finish(args.dir.json)?;
    broken.map_or(Ok(()), Err)
}

fn text(number: Option<u32>) -> String {
    number.map_or_else(|| "-".to_owned(), |number| number.to_string())
}

pub fn renew(args: &NetRenew) -> Result<(), Failure> {
    let network = NetworkDir::new(&args.dir.path);
    refuse_root(network.path())?;
    if args.early {
        // The early epoch is like the latest document, and those after it go on as it does.
        motemix_program::network::renew(&network, 1, args.links)?;
        let Early { epoch, begins, is_new } = motemix_program::network::renew_early(&network)?;
        if args.dir.json {
            let signed: Vec<_> = is_new.then_some(epoch.0).into_iter().collect();
            return Ok(report::print_json(
                &json!({ "signed": signed, "epoch": epoch.0, "begins": begins.0 }),
            )?);
        }
        let seconds = begins.0.saturating_sub(motemix_os::clock::unix_time().as_secs());
        let text = if is_new {
            format!("signed epoch {epoch}, which begins in {seconds} s\n")
        } else {
            format!("epoch {epoch} begins in {seconds} s already; nothing was signed\n")
        };
        return Ok(report::print(text.as_bytes())?);
    }
    let signed = motemix_program::network::renew(&network, args.epochs, args.links)?;
    let signed: Vec<_> = signed.into_iter().map(|epoch| epoch.0).collect();
    if args.dir.json {
        return Ok(report::print_json(&json!({ "signed": signed }))?);
    }
    let text = match (signed.first(), signed.last()) {
        (Some(first), Some(last)) => {
            let links = match args.links {
                Some(Links::Protected) => format!("; links are protected from epoch {first} on"),
                Some(Links::Plain) => format!("; links are plain from epoch {first} on"),
                None => String::new(),
            };
            format!("signed {}, {first} to {last}{links}\n", epochs(signed.len() as u64))
        }
        _ => format!("{} from now on: all documents are there already\n", epochs(args.epochs)),
    };
    Ok(report::print(text.as_bytes())?)
}

fn epochs(count: u64) -> String {
    report::counted(count, "epoch", "epochs")
}

fn print(json: bool, value: &impl Serialize, table: &Table) -> Result<(), Failure> {
    Ok(if json { report::print_json(value) } else { table.print() }?)
}
