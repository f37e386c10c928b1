//! `motemix node`, `send` and `inbox`.

use clap::Args;
use std::path::PathBuf;

/// Runs one node in the foreground until SIGINT or SIGTERM.
///
/// `motemix net up` runs this for each node of a network. If a service manager hands over UDP
/// sockets (LISTEN_FDS), the node uses those. Otherwise it opens the addresses in its
/// configuration.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix --log info node --config plant/nodes/mix-1/node.toml")]
pub struct Node {
    #[command(flatten)]
    pub config: ConfigFile,
    /// Stops when the process that started this one ends.
    #[arg(long, hide = true, conflicts_with = "detached")]
    pub with_parent: bool,
    /// Continues when the terminal of the process that started this one is gone.
    #[arg(long, hide = true)]
    pub detached: bool,
}

#[derive(Debug, Args)]
pub struct ConfigFile {
    /// The configuration of a node, DIR/nodes/<name>/node.toml in a network made by `motemix net
    /// init`.
    #[arg(long = "config", value_name = "FILE")]
    pub path: PathBuf,
}

/// Sends one message and waits for its acknowledgement.
///
/// The node of the given configuration sends the message. If that node does not run, it runs inside
/// this command for as long as the message takes. Prints how long the message took, over all tries;
/// with --json, `round_trip_ms` is the time of the acknowledged try alone. Fails if no try is
/// acknowledged.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix send --config plant/nodes/mote-1/node.toml 'all is well'
  vmstat | tail -1 | motemix send --config plant/nodes/mote-1/node.toml \\
      --to receiver -")]
pub struct Send {
    #[command(flatten)]
    pub config: ConfigFile,
    /// Name of the node to send to. By default the node that gets this node's readings, else
    /// `receiver`.
    #[arg(long, value_name = "NAME")]
    pub to: Option<String>,
    /// The message; without it, or with `-`, it is read from stdin.
    #[arg(value_name = "TEXT")]
    pub text: Option<String>,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// Shows what a receiver has received.
///
/// Shows readings in SenML-CBOR (RFC 8428) as values with units, text as text, and everything else
/// in hexadecimal. Works whether the node runs or not. A full inbox takes no more messages; --keep
/// makes room.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix inbox --config plant/nodes/receiver/node.toml --last 5
  motemix inbox --config plant/nodes/receiver/node.toml --verify
  motemix inbox --config plant/nodes/receiver/node.toml --keep 1000")]
pub struct Inbox {
    #[command(flatten)]
    pub config: ConfigFile,
    /// How many of the latest messages to show.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub last: u32,
    /// Checks signed readings, and shows whose each is; those that are not believed are shown with
    /// the reason. Notes in the list of devices which it has believed, so that none is believed
    /// again.
    #[arg(long)]
    pub verify: bool,
    /// The list of devices, by default that in the node's folder (state/devices.db).
    #[arg(long, value_name = "FILE", requires = "verify")]
    pub devices: Option<PathBuf>,
    /// Shows nothing, and removes all messages but the newest N.
    #[arg(long, value_name = "N", conflicts_with_all = ["last", "verify"])]
    pub keep: Option<u32>,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}
