//! `motemix loopix directory`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub enum LoopixDirectory {
    Build(LoopixDirectoryBuild),
    Show(LoopixDirectoryShow),
}

/// Collects the public keys of a network's nodes into its directory.
///
/// Reads public*.bin in each folder of NET/nodes, and writes NET/example.db and the database that
/// each node's config.json names. Run it after a node was added, moved or given another key, then
/// start the nodes again.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix loopix directory build --dir loops")]
pub struct LoopixDirectoryBuild {
    /// The network's folder.
    #[arg(long, value_name = "NET")]
    pub dir: PathBuf,
    /// Writes this file alone.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// Shows the mixes, providers and users of a directory.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix loopix directory show loops")]
pub struct LoopixDirectoryShow {
    /// An SQLite file of the originals; or a network's or node's folder, for the example.db in it.
    #[arg(value_name = "FILE|DIR")]
    pub path: PathBuf,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}
