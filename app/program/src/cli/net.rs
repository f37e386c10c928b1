//! `motemix net`.

use super::{Size, Traffic};
use clap::{Args, Subcommand, ValueEnum};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  motemix net init plant                  keys and documents for 30 days
  motemix net up plant                    one process a node
  motemix net status plant                how they are
  motemix send --config plant/nodes/mote-1/node.toml 'all is well'
  motemix net renew plant                 documents for 30 days; no node stops
  motemix net down plant

Times are numbers with units, as 50ms, 2s, 1h 30m or 1d.")]
pub enum Net {
    Init(NetInit),
    Up(NetUp),
    Down(NetDown),
    Status(NetStatus),
    Renew(NetRenew),
}

/// Makes the keys, the configurations and the signed documents of a network.
///
/// Writes DIR/authority.key, DIR/documents/<epoch>.cbor, and node.toml and node.key in
/// DIR/nodes/<name>. Starts nothing and overwrites nothing. If DIR is not empty, or a port is in
/// use, the command fails and writes nothing.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix net init plant --mixes 9 --motes 20 --mean-delay 100ms --base-port 0")]
pub struct NetInit {
    /// Where to put the network; made if it does not exist.
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    #[command(flatten)]
    pub size: Size,
    #[command(flatten)]
    pub traffic: Traffic,
    /// How long an epoch lasts, and with it a mix key; in whole seconds.
    #[arg(long, value_name = "TIME", default_value = "1d", value_parser = humantime::parse_duration)]
    pub epoch_length: Duration,
    /// The most packets a second that a mix takes in; its replay filter is made for this rate. By
    /// default three times what cover alone makes, and at least ten.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub rate: Option<u32>,
    /// How many epochs to sign documents for, the present one included.
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub epochs: u64,
    /// Name of the network, as its documents have it.
    #[arg(long, value_name = "NAME", default_value = "motemix")]
    pub name: String,
    /// Mean time between two readings that a mote sends by itself. Without it, motes send only when
    /// told to.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub readings: Option<Duration>,
    /// Readings are not signed, so the receiver does not learn whose they are. By default each mote
    /// signs them, and the receiver has a list of the motes' identities.
    #[arg(long, requires = "readings")]
    pub unsigned_readings: bool,
    /// Address that every node listens on. By default ::1, or 127.0.0.1 where there is no IPv6.
    #[arg(long, value_name = "IP")]
    pub host: Option<IpAddr>,
    /// Serves coarse metrics of each node over TCP on 127.0.0.1, to every user of this machine. The
    /// TCP port has the number of the node's UDP port.
    /// Without this option, metrics are only on the socket DIR/nodes/<name>/state/metrics.sock, for
    /// the node's user.
    #[arg(long)]
    pub metrics: bool,
    /// UDP port of the first node; the others follow. 0 lets the system choose ports that are free
    /// now. Networks that run at the same time need different ports.
    #[arg(long, value_name = "PORT", default_value_t = 21_000)]
    pub base_port: u16,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// Starts a process for each node that does not run, and waits until all nodes answer.
///
/// Nodes that run are left alone, so the command restarts only nodes that ended. The processes
/// continue when the command ends; `motemix net down` stops them. Each writes its log to
/// DIR/nodes/<name>/node.log. If another program has a node's port, nothing is started.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix net up plant")]
pub struct NetUp {
    #[command(flatten)]
    pub dir: NetworkFolder,
    /// How long to wait for the nodes.
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = humantime::parse_duration)]
    pub timeout: Duration,
}

/// Stops the processes that `motemix net up` started, and no others.
///
/// Asks each node to stop, then sends SIGTERM. It sends the signal only to the process that is
/// recorded in the node's pid file, with the same number and the same time of start.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix net down plant")]
pub struct NetDown {
    #[command(flatten)]
    pub dir: NetworkFolder,
    /// How long to wait for a node to end, after asking and again after SIGTERM.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = humantime::parse_duration)]
    pub timeout: Duration,
}

/// Shows which nodes of a network are running and how they are; with --json also what each has
/// counted.
///
/// A node is `down` if it has no process, and shows `no answer` if its process does not answer.
/// Health is `ok`, `starting` (it does not do all of its work yet, and nobody has to act),
/// `warning` (it works, and something has to be done) or `failing`. Each reason is a line below the
/// table, with a remedy. The exit status is 1 if a node is down, does not answer or is failing.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix net status plant --json")]
pub struct NetStatus {
    #[command(flatten)]
    pub dir: NetworkFolder,
}

/// Signs documents for further epochs. Without one for the present epoch, nodes send nothing.
///
/// The mix keys of later epochs follow from the node keys in DIR/nodes, so no node has to run or to
/// stop. Each node reads the next document when its epoch begins.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix net renew plant --epochs 30
  motemix net renew plant --links protected   from the next epoch on
  motemix net renew plant --links protected --early      at once")]
pub struct NetRenew {
    #[command(flatten)]
    pub dir: NetworkFolder,
    /// For how many epochs there are to be documents, the present epoch included. Documents that
    /// exist are kept.
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub epochs: u64,
    /// Lets another epoch begin in 15 seconds, in place of the rest of the present one. Use it when
    /// replay filters are full, or keys have to change. Signs only this document, and none if an
    /// early epoch is about to begin anyway.
    #[arg(long, conflicts_with = "epochs")]
    pub early: bool,
    /// Has links protected, or not, from the next epoch on: signs the documents of all epochs that
    /// have not begun once more. What is under way when that epoch begins is sent again.
    #[arg(long, value_enum, value_name = "HOW")]
    pub links: Option<Links>,
}

/// What passes between nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Links {
    /// Datagrams under a key that each two neighbours make.
    Protected,
    /// Packets as they are.
    Plain,
}

#[derive(Debug, Args)]
pub struct NetworkFolder {
    /// Folder made by `motemix net init`.
    #[arg(value_name = "DIR")]
    pub path: PathBuf,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}
