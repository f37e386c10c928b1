//! `motemix node`, `send` and `inbox`.

use clap::Args;
use std::path::PathBuf;

/// Runs one node in the foreground until SIGINT or SIGTERM.
///
/// Takes its UDP sockets from the service manager if there are any (LISTEN_FDS), else binds them itself.
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
    /// Goes on when the terminal of the process that started this one is gone.
    #[arg(long, hide = true)]
    pub detached: bool,
}

#[derive(Debug, Args)]
pub struct ConfigFile {
    /// The node's configuration, node.toml.
    #[arg(long = "config", value_name = "FILE")]
    pub path: PathBuf,
}

/// Sends one message and waits for its acknowledgement.
///
/// Asks the running node of the configuration to send it. If none runs, the node runs inside this command
/// for as long as it takes.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix send --config plant/nodes/mote-1/node.toml 'all is well'
  vmstat | tail -1 | motemix send --config plant/nodes/mote-1/node.toml --to receiver -")]
pub struct Send {
    #[command(flatten)]
    pub config: ConfigFile,
    /// Name of the node to send to; by default that of the readings, or the only receiver.
    #[arg(long, value_name = "NAME")]
    pub to: Option<String>,
    /// The message; `-` or nothing reads it from stdin.
    #[arg(value_name = "TEXT")]
    pub text: Option<String>,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// Shows what a receiver has received.
///
/// Readings in SenML-CBOR (RFC 8428) are shown as values with units, text as text, all else in hexadecimal.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix inbox --config plant/nodes/receiver/node.toml --last 5")]
pub struct Inbox {
    #[command(flatten)]
    pub config: ConfigFile,
    /// How many messages, counted from the latest.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub last: u32,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}
