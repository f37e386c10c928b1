//! Makes a network for boards: `provision DIRECTORY NAME=ADDRESS...`, one name for each node.
//!
//! ```text
//! cargo run -p motemix-capi --example provision -- boards a=[fd00::1]:4050 b=[fd00::2]:4050 ...
//! ```
//!
//! writes `boards/a/motemix_network.h` and so on: the network's document, its authority's key and
//! that node's secret as C arrays, for the applications in `boards/ports/`. The same three lie beside
//! it as files of bytes. The secret is in the board's flash then: whoever holds the board can read it.
//! For a network that is to outlive its demonstration, let each board draw its own secret and
//! announce the public key.

#[path = "network.rs"]
mod network;

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use motemix_directory::{Epoch, ProfileName, UnixTime};

use network::{Plan, Planned};

/// How long the document counts.
const DAYS: u64 = 30;
const DAY: u64 = 24 * 60 * 60;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("provision: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let [directory, nodes @ ..] = arguments else {
        return Err("name a directory and the nodes, as in: provision boards a=[fd00::1]:4050 …".into());
    };
    if nodes.len() < 4 {
        return Err("name four nodes at least: two ends, and two mixes between them".into());
    }
    let nodes = nodes.iter().map(|node| planned(node)).collect::<Result<Vec<_>, _>>()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let plan = Plan {
        nodes,
        // The day, so that a later document is of a later epoch.
        epoch: Epoch(u32::try_from(now / DAY)?),
        valid: (UnixTime(now - DAY), UnixTime(now + DAYS * DAY)),
        mean_delay: Duration::from_millis(100),
        hop_allowance: Duration::from_secs(1),
        transmissions: 3,
        profile: ProfileName::Mote,
    };
    let made = plan.provision(random).map_err(|error| error.to_string())?;
    for (node, secret) in plan.nodes.iter().zip(&made.secrets) {
        made.write(&Path::new(directory).join(&node.name), secret)?;
    }
    println!("{} nodes in {directory}, epoch {}, for {DAYS} days", plan.nodes.len(), plan.epoch);
    Ok(())
}

fn planned(node: &str) -> Result<Planned, Box<dyn Error>> {
    let (name, address) = node.split_once('=').ok_or_else(|| format!("{node}: write NAME=ADDRESS"))?;
    let address = address.parse().map_err(|error| format!("{node}: {error}, as in a=[fd00::1]:4050"))?;
    Ok(Planned { name: name.to_owned(), address })
}

fn random() -> [u8; 32] {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).expect("the operating system has random bytes");
    bytes
}
