//! `motemix backup`, `restore` and `adopt`.

use super::node::ConfigFile;
use clap::Args;
use std::path::PathBuf;

/// Writes what a node needs to be itself again into one file.
///
/// Its configuration with the authorities that it believes, its identity, the key of its device,
/// its network documents and its inbox; whether it runs or not. What it must not have a second time
/// stays out: mix keys, and what it remembers of packets. Whoever has the file can be the node, so
/// it is for its owner alone.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix backup --config mix-1/node.toml mix-1.backup")]
pub struct Backup {
    #[command(flatten)]
    pub config: ConfigFile,
    /// The file, which is made.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// Makes a node of a backup, with new mix keys.
///
/// The node takes part again with the first network document that names the new keys. Until then it
/// waits and says so. The node that the backup is of must not run any more.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix restore mix-1.backup --to mix-1
  motemix --log info node --config mix-1/node.toml")]
pub struct Restore {
    /// The backup.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The node's folder, which is made.
    #[arg(long, value_name = "DIR")]
    pub to: PathBuf,
}

/// Goes on with a store that was put back, or begins it anew.
///
/// Lists of devices, brokers' stores, authorities' stores, mailboxes and letters keep something
/// from being taken twice. So a program refuses one that was emptied, removed, copied or replaced
/// by an older one, and says what is lost. This command is the answer of whoever accepts that: a
/// store that is there is used as it is from then on, and where it is gone or has no bytes the next
/// program makes a new one. Nothing is removed. A store that a program has open is refused (status
/// 1): stop the program first. One that its program left so stays as it is.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix adopt broker/broker.sqlite")]
pub struct Adopt {
    /// The store's file, as the refusal names it.
    #[arg(value_name = "STORE")]
    pub store: PathBuf,
}
