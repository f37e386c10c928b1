//! `motemix status`.

use clap::Args;
use std::path::PathBuf;

/// Shows how a running node is.
///
/// The node says it over its control socket, to its own user alone: the document in use and how far
/// documents reach, who was told its keys, how full replay filter, queue, disk and inbox are,
/// whether its loops come back, what its clocks say, and what is wrong.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix status --config mix-1/node.toml")]
pub struct Status {
    /// The configuration of a node.
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}
