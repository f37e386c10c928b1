//! `motemix loopix net`.

use super::LoopixTraffic;
use clap::{Args, Subcommand};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Subcommand)]
pub enum LoopixNet {
    Init(LoopixNetInit),
    Up(LoopixNetUp),
    Down(LoopixNetDown),
    Status(LoopixNetStatus),
}

/// Makes a folder for each node, with the files that the original Loopix reads.
///
/// Writes DIR/example.db, and into DIR/nodes/<name> the node's keys, config.json, example.db and
/// motemix.toml. The Python nodes can run in these folders, too; they need two mixes in each layer.
/// Nothing is overwritten.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix loopix net init loops --mixes 6 --clients 3 --delay 0.05
  motemix loopix net init calm --preset patient --clients 20")]
pub struct LoopixNetInit {
    /// Where to put the network; made if it does not exist.
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// How many mixes; they are spread evenly over the layers.
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub mixes: u16,
    /// How many layers of mixes; a packet passes one mix of each, and its header has room for
    /// eight.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=8))]
    pub layers: u16,
    /// How many providers; each keeps the messages of some clients.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub providers: u16,
    /// How many clients; they are spread evenly over the providers.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub clients: u16,
    #[command(flatten)]
    pub traffic: LoopixTraffic,
    /// Address that every node receives on.
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    pub host: IpAddr,
    /// UDP port of the first node; the others follow. 0 chooses free ports, up to 32767 while there
    /// are such, because the Java client cannot use higher ones.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub base_port: u16,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// Starts one process for each node of a network and waits until all of them are ready.
///
/// The processes continue when this command ends; `motemix loopix net down` stops them. The output
/// of a node is in DIR/nodes/<name>/node.events, its log in node.log. A client reads commands from
/// its node.input.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix loopix net up loops
  echo 'send Client2 hello' > loops/nodes/Client1/node.input")]
pub struct LoopixNetUp {
    #[command(flatten)]
    pub dir: LoopixFolder,
    /// How long to wait for the nodes.
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = humantime::parse_duration)]
    pub timeout: Duration,
}

/// Stops the processes that `motemix loopix net up` started, and no others.
///
/// Sends SIGTERM only to the process that is recorded in the node's pid file, with the same number
/// and the same time of start.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix loopix net down loops")]
pub struct LoopixNetDown {
    #[command(flatten)]
    pub dir: LoopixFolder,
    /// How long to wait for a node to end.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = humantime::parse_duration)]
    pub timeout: Duration,
}

/// Shows which nodes of a Loopix network are running. The exit status is 1 if one is not.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix loopix net status loops")]
pub struct LoopixNetStatus {
    #[command(flatten)]
    pub dir: LoopixFolder,
}

#[derive(Debug, Args)]
pub struct LoopixFolder {
    /// Folder made by `motemix loopix net init`.
    #[arg(value_name = "DIR")]
    pub path: PathBuf,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}
