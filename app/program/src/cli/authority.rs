//! `motemix authority`.

use super::address::of_host;
use super::shape::Traffic;
use crate::network::documents::parse_authority;
use clap::{Args, Subcommand};
use motemix_directory::AuthorityKey;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Subcommand)]
pub enum Authority {
    Init(AuthorityInit),
    Peers(AuthorityPeers),
    Serve(AuthorityServe),
    Add(AuthorityAdd),
    Remove(AuthorityRemove),
    Status(AuthorityStatus),
}

/// Makes the key and the configuration of an authority.
///
/// Prints the public key, which the other authorities and all nodes need. Nothing secret leaves the
/// folder. What all nodes agree on has to be the same at all authorities.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix authority init north --network orchard --listen '[::]:7000'")]
pub struct AuthorityInit {
    /// The authority's folder, which is made.
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// The network's name: 1 to 32 of a-z, 0-9 and '-'.
    #[arg(long, value_name = "NAME")]
    pub network: String,
    /// Where it takes descriptors and gives out documents, over HTTP.
    #[arg(long, value_name = "ADDRESS", value_parser = of_host)]
    pub listen: SocketAddr,
    /// How long an epoch is.
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = humantime::parse_duration)]
    pub epoch_length: Duration,
    /// How many epochs ahead documents are signed.
    #[arg(long, value_name = "N", default_value_t = 6)]
    pub ahead: u32,
    /// How long each of the five phases of a vote is; the authorities' clocks have to agree within
    /// one. By default 15 seconds, or a tenth of an epoch if that is less.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub phase: Option<Duration>,
    #[command(flatten)]
    pub traffic: Traffic,
}

/// Names the other authorities of the network.
///
/// Each authority has to know all others, and all have the same threshold. Takes the place of those
/// that were named before. A running authority has to be started again.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example, with keys in two files:
  motemix authority peers north --threshold 2 \\
      $(cat south.pub)@192.0.2.2:7000 $(cat east.pub)@192.0.2.3:7000")]
pub struct AuthorityPeers {
    /// The authority's folder.
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Each other authority: its public key, 64 hex digits, and host and port of its HTTP service.
    #[arg(value_name = "KEY@HOST:PORT", required = true, value_parser = parse_peer)]
    pub peers: Vec<NamedPeer>,
    /// How many authorities have to sign a document: more than half of all.
    #[arg(long, value_name = "K")]
    pub threshold: u8,
}

/// Another authority on the command line.
#[derive(Debug, Clone)]
pub struct NamedPeer {
    pub key: AuthorityKey,
    pub at: String,
}

fn parse_peer(text: &str) -> Result<NamedPeer, String> {
    let (key, at) = text.split_once('@').ok_or("not a key, '@', a host and a port")?;
    let named = at.rsplit_once(':').filter(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
    let (host, port) = named.ok_or_else(|| format!("{at:?} is not a host and a port"))?;
    // Whether the last number of `::1:7002` is a port, nobody knows.
    if host.contains(':') && !(host.starts_with('[') && host.ends_with(']')) {
        return Err(format!("an IPv6 address stands in brackets: [{host}]:{port}"));
    }
    Ok(NamedPeer { key: parse_authority(key)?, at: at.to_owned() })
}

/// Runs an authority in the foreground until SIGINT or SIGTERM.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix --log info authority serve north")]
pub struct AuthorityServe {
    /// The authority's folder.
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Stops when the process that started this one ends.
    #[arg(long, hide = true)]
    pub with_parent: bool,
}

/// Admits a node to the network, or changes what an admitted node does there.
///
/// The node is in the documents of later epochs when as many authorities have admitted it as have
/// to sign, in the same role. Its operator has its descriptor from `motemix node init`. A running
/// authority need not be started again.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix authority add north mix-1.descriptor --layer 0")]
pub struct AuthorityAdd {
    /// The authority's folder.
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// What the node says of itself, signed.
    #[arg(value_name = "DESCRIPTOR")]
    pub descriptor: PathBuf,
    /// Makes it a mix of this layer, counted from 0. By default it is an endpoint, which sends and
    /// receives.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(..16))]
    pub layer: Option<u8>,
}

/// Takes a node out of the network.
///
/// It is in no document of later epochs when so many authorities have removed it that too few are
/// left to keep it. Documents that are signed already still have it.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix authority remove north mix-1")]
pub struct AuthorityRemove {
    /// The authority's folder.
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// The node's name.
    #[arg(value_name = "NAME")]
    pub name: String,
}

/// Shows how an authority and its network are: documents, admitted nodes, other authorities.
///
/// With a folder, asks the other authorities as well, and shows where they differ: whom they admit,
/// in which layer, and what all nodes agree on.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix authority status north
  motemix authority status 192.0.2.1:7000")]
pub struct AuthorityStatus {
    /// Host and port of a running authority, or the folder of one on this machine.
    #[arg(value_name = "HOST:PORT|DIR")]
    pub of: String,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}
