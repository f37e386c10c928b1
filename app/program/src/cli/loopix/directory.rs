//! `motemix loopix directory`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub enum LoopixDirectory {
    Build(LoopixDirectoryBuild),
    Show(LoopixDirectoryShow),
    Install(LoopixDirectoryInstall),
}

/// Collects the public keys of a network's nodes into its directory.
///
/// Of a network on this machine, reads public*.bin in each folder of NET/nodes, and writes
/// NET/example.db and the database that each node's config.json names. Of nodes on other machines,
/// reads the public*.bin that their operators handed in, and writes example.db here for `motemix
/// loopix directory install`. Run it after a node was added, moved or given another key.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix loopix directory build --dir loops
  motemix loopix directory build handed-in/*.bin")]
pub struct LoopixDirectoryBuild {
    /// The public key files of nodes.
    #[arg(value_name = "FILE", required_unless_present = "dir")]
    pub files: Vec<PathBuf>,
    /// The folder of a network on this machine.
    #[arg(long, value_name = "NET", conflicts_with = "files")]
    pub dir: Option<PathBuf>,
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

/// Puts a directory into the folder of a node, in place of the one before.
///
/// Says who is new, gone or another: nobody signs a directory, so compare new keys with those whose
/// they are. A directory in which the node itself is missing, or is another, is refused. A node
/// that runs takes it over by itself.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix loopix directory install example.db --dir /srv/loopix")]
pub struct LoopixDirectoryInstall {
    /// The directory.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The folder of a node.
    #[arg(long, value_name = "DIR")]
    pub dir: PathBuf,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}
