//! The network of a demonstration: its folder, its sockets and its processes.

use super::figures::Figures;
use crate::commands::inbox::Checked;
use anyhow::Context;
use motemix_directory::ProfileName;
use motemix_host::NodeConfig;
use motemix_host::control::Request;
use motemix_program::cli::{Demo as Args, Traffic};
use motemix_program::failure::Failure;
use motemix_program::network::documents::Calendar;
use motemix_program::network::{
    Blueprint, Duty, Launched, Lifetime, NetworkDir, PlannedNode, RECEIVER, ask, bind, check_paths, hops,
    init, loopback, plan, without_cover,
};
use motemix_program::report::Progress;
use std::net::UdpSocket;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// What the network is called.
pub const NAME: &str = "demo";
/// How long the nodes may take to answer.
const START: Duration = Duration::from_secs(20);
/// How long they may take to end when asked.
const STOP: Duration = Duration::from_secs(3);
/// The keys of a demonstration do not change.
const EPOCH: Duration = Duration::from_hours(7 * 24);

/// All nodes of a demonstration. Dropping it kills the processes that are left.
pub struct DemoNetwork {
    network: NetworkDir,
    nodes: Vec<DemoNode>,
    /// What processes had counted that were killed.
    lost: Figures,
    killed: Option<usize>,
    /// Removes the folder in the end, unless it is to be kept.
    _folder: Option<TempDir>,
}

struct DemoNode {
    plan: PlannedNode,
    /// Held for the case of a restart: nobody else can take the port.
    socket: UdpSocket,
    running: Option<Launched>,
    last: Figures,
}

impl DemoNetwork {
    /// Makes its folder and opens its sockets.
    pub fn make(args: &Args) -> Result<Self, Failure> {
        let plan = plan(&args.size)?;
        check_paths(&args.size, ProfileName::from(args.traffic.profile).max_hops())?;
        let traffic = traffic(args);
        if let Some(words) = without_cover(&args.size, &traffic, hops(args.traffic.profile.into())) {
            eprintln!("{words}");
        }
        let (folder, path) = folder(args)?;
        let bound = bind(loopback(), plan.len())?;
        let addresses: Vec<_> = bound.iter().map(|(address, _)| *address).collect();
        let blueprint = Blueprint {
            network_name: NAME,
            nodes: &plan,
            addresses: &addresses,
            traffic: &traffic,
            calendar: Calendar::new(EPOCH)?,
            epochs: 2,
            rate: None,
            readings: Some(args.mean_interval()),
            unsigned_readings: args.unsigned_readings,
            metrics: &[],
            loss: args.loss,
        };
        let (network, _) = init(&path, &blueprint)?;
        let nodes = plan
            .into_iter()
            .zip(bound)
            .map(|(plan, (_, socket))| DemoNode { plan, socket, running: None, last: Figures::default() })
            .collect();
        Ok(Self { network, nodes, lost: Figures::default(), killed: None, _folder: folder })
    }

    /// Its folder.
    pub fn dir(&self) -> &NetworkDir {
        &self.network
    }

    /// The names of its motes.
    pub fn motes(&self) -> Vec<String> {
        let motes = self.nodes.iter().filter(|node| node.plan.duty == Duty::Mote);
        motes.map(|node| node.plan.name.clone()).collect()
    }

    /// Mixes and receivers before motes: the first reading is to find a network.
    pub fn start(&mut self) -> Result<(), Failure> {
        let mut progress = Progress::new(self.nodes.len() as u64);
        for (position, motes) in [(0, false), (1, true)] {
            progress.at(position, if motes { "starting the motes" } else { "starting mixes and receivers" });
            let wave: Vec<_> = (0..self.nodes.len())
                .filter(|index| (self.nodes[*index].plan.duty == Duty::Mote) == motes)
                .collect();
            for index in &wave {
                self.launch(*index)?;
            }
            for index in wave {
                self.wait_for(index)?;
            }
        }
        progress.finish();
        Ok(())
    }

    fn launch(&mut self, index: usize) -> Result<(), Failure> {
        let node = &mut self.nodes[index];
        let folder = self.network.node(&node.plan.name);
        let config = NodeConfig::load(folder.config()).map_err(Failure::broken)?;
        let launched = Launched::start(folder, config, Some(&node.socket), Lifetime::WithParent, "warn")?;
        node.running = Some(launched);
        Ok(())
    }

    fn wait_for(&mut self, index: usize) -> Result<(), Failure> {
        if let Some(running) = &mut self.nodes[index].running {
            running.wait_until_it_answers(Instant::now() + START)?;
        }
        Ok(())
    }

    /// What all nodes have counted, those included that were killed.
    pub fn figures(&mut self) -> Result<Figures, Failure> {
        let mut sum = self.lost.clone();
        for node in &mut self.nodes {
            if let Some(running) = &mut node.running {
                if let Some(exit) = running.has_ended()? {
                    let (name, words) = (running.name(), running.last_words());
                    return Err(Failure::failed(format!("{name} ended by itself ({exit}): {words}")));
                }
                // A node that is too busy to answer has counted at least what it said last time.
                if let Ok(status) = motemix_program::network::status(&running.config) {
                    node.last = Figures::default();
                    node.last.add(&status);
                }
            }
            sum.join(&node.last);
        }
        Ok(sum)
    }

    /// The motes take no more readings.
    pub fn quiet(&mut self) -> Result<(), Failure> {
        for node in self.nodes.iter().filter(|node| node.plan.duty == Duty::Mote) {
            if let Some(running) = &node.running {
                ask(&running.config, &Request::Quiet {})?;
            }
        }
        Ok(())
    }

    /// Kills the first mix, as a power failure would, and returns its name.
    pub fn kill_a_mix(&mut self) -> Result<String, Failure> {
        // Mixes come first in the plan.
        let node = self.nodes.first_mut().context("a network without nodes")?;
        if let Some(mut running) = node.running.take() {
            running.kill()?;
        }
        self.lost.join(&std::mem::take(&mut node.last));
        self.killed = Some(0);
        Ok(node.plan.name.clone())
    }

    /// The last messages may need the mix to come back.
    pub fn restart_if_killed(&mut self) -> Result<(), Failure> {
        if self.killed.is_some() { self.restart_the_mix().map(drop) } else { Ok(()) }
    }

    /// Starts it again on the same port, and returns its name.
    pub fn restart_the_mix(&mut self) -> Result<String, Failure> {
        let index = self.killed.take().context("no mix was killed")?;
        drain(&self.nodes[index].socket)?;
        self.launch(index)?;
        self.wait_for(index)?;
        Ok(self.nodes[index].plan.name.clone())
    }

    /// How many messages the receiver believes, and why it does not believe the others.
    pub fn believed(&self) -> Result<(u64, Vec<String>), Failure> {
        let config = NodeConfig::load(self.network.node(RECEIVER).config()).map_err(Failure::broken)?;
        Ok(Checked::new(&config, None)?.count())
    }

    /// How many nodes, each in a process of its own.
    pub fn size(&self) -> usize {
        self.nodes.len()
    }

    /// Asks all nodes to stop, and kills those that do not.
    pub fn stop(&mut self) {
        for running in self.nodes.iter().filter_map(|node| node.running.as_ref()) {
            // Whoever does not listen is killed below.
            let _ = ask(&running.config, &Request::Stop {});
        }
        let until = Instant::now() + STOP;
        let still_running = |node: &mut DemoNode| {
            node.running.as_mut().is_some_and(|running| matches!(running.has_ended(), Ok(None)))
        };
        while self.nodes.iter_mut().any(still_running) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
        self.kill_all();
    }

    fn kill_all(&mut self) {
        for mut running in self.nodes.iter_mut().filter_map(|node| node.running.take()) {
            // One that has ended cannot be killed, which is as well.
            let _ = running.kill();
        }
    }
}

impl Drop for DemoNetwork {
    fn drop(&mut self) {
        self.kill_all();
    }
}

fn folder(args: &Args) -> Result<(Option<TempDir>, PathBuf), Failure> {
    if let Some(keep) = &args.keep {
        return Ok((None, keep.clone()));
    }
    let folder =
        tempfile::Builder::new().prefix("motemix-").tempdir().context("cannot make a temporary folder")?;
    let path = folder.path().join("net");
    Ok((Some(folder), path))
}

fn traffic(args: &Args) -> Traffic {
    let off = Duration::ZERO;
    if args.no_cover {
        Traffic { loop_cover: off, drop_cover: off, ..args.traffic.clone() }
    } else {
        args.traffic.clone()
    }
}

/// What came for a mix while it was away is lost, as if its socket had been closed.
fn drain(socket: &UdpSocket) -> Result<(), Failure> {
    socket.set_nonblocking(true).context("cannot drain a killed mix's socket")?;
    while socket.recv(&mut []).is_ok() {}
    Ok(())
}
