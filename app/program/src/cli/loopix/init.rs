//! `motemix loopix init`.

use super::LoopixTraffic;
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub enum LoopixInit {
    Mix(LoopixInitMix),
    Provider(LoopixInitProvider),
    Client(LoopixInitClient),
}

/// Makes the keys and the configuration of a mix.
///
/// All nodes of a network need the same profile and times. Hand publicMixnode.bin in to whoever
/// builds the directory.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix loopix init mix /srv/loopix --name Mix4 --layer 1 \\
      --host 192.0.2.4 --port 9904")]
pub struct LoopixInitMix {
    #[command(flatten)]
    pub node: LoopixInitNode,
    /// Its layer, from 0 on. Packets pass the layers of a network in the order of their numbers,
    /// and one mix of each.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8))]
    pub layer: u8,
}

/// Makes the keys and the configuration of a provider.
///
/// All nodes of a network need the same profile and times. Hand publicProvider.bin in to whoever
/// builds the directory.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix loopix init provider /srv/loopix --name Provider3 \\
      --host mail.example --port 9903")]
pub struct LoopixInitProvider {
    #[command(flatten)]
    pub node: LoopixInitNode,
}

/// Makes the keys and the configuration of a client.
///
/// All nodes of a network need the same profile and times. Hand publicClient.bin in to whoever
/// builds the directory.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix loopix init client ~/loopix --name Alice --provider Provider3 \\
      --host 192.0.2.77 --port 9977")]
pub struct LoopixInitClient {
    #[command(flatten)]
    pub node: LoopixInitNode,
    /// The provider that keeps its messages.
    #[arg(long, value_name = "NAME")]
    pub provider: String,
}

#[derive(Debug, Args)]
pub struct LoopixInitNode {
    /// The node's folder, which is made.
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Its name: no other node of its role may have it.
    #[arg(long, value_name = "NAME")]
    pub name: String,
    /// Where others send to: an IP address, or a name that they can look up.
    #[arg(long, value_name = "HOST")]
    pub host: String,
    /// The UDP port there.
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: u16,
    #[command(flatten)]
    pub traffic: LoopixTraffic,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}
