//! `motemix directory`.

use super::address::for_others;
use crate::network::documents::parse_authority;
use clap::{Args, Subcommand};
use motemix_directory::AuthorityKey;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

#[derive(Debug, Subcommand)]
pub enum Directory {
    Show(DirectoryShow),
    Verify(DirectoryVerify),
    Sign(DirectorySign),
}

/// Shows the nodes and parameters of a network document.
///
/// Refuses a document that no trusted authority has signed. By default the command trusts those
/// that the configuration beside the folder of documents names: a node's, an authority's, or that
/// of `motemix net init`; `--authority` names others. The document need not be valid now.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix directory show plant/documents")]
pub struct DirectoryShow {
    /// A document; or a network's folder or its folder of documents, for the document of the
    /// present epoch.
    #[arg(value_name = "FILE|DIR")]
    pub path: PathBuf,
    /// Ed25519 public key of an authority, 64 hex digits. May be repeated; the signature of one of
    /// them is enough.
    #[arg(long = "authority", value_name = "HEX", value_parser = parse_authority)]
    pub authorities: Vec<AuthorityKey>,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// Checks that enough authorities signed a network document and that it is valid now.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix directory verify plant/documents/20413.cbor \\
      --authority \"$(cat plant/authority.pub)\"")]
pub struct DirectoryVerify {
    /// A network document.
    #[arg(value_name = "FILE")]
    pub path: PathBuf,
    /// Ed25519 public key of an authority, 64 hex digits; may be repeated. By default those that
    /// the configuration beside the folder of documents names.
    #[arg(long = "authority", value_name = "HEX", value_parser = parse_authority)]
    pub authorities: Vec<AuthorityKey>,
    /// How many different authorities must have signed; by default one, or as many as the
    /// configuration says.
    #[arg(long, value_name = "K")]
    pub threshold: Option<u8>,
    /// Time at which the document has to be valid, for example 2030-01-31T12:00:00Z. By default
    /// now.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_rfc3339_weak)]
    pub at: Option<SystemTime>,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// Signs a document for nodes that made their keys themselves, as motes do.
///
/// A mote tells its address and its key of an epoch at its console, with `key EPOCH`. Makes
/// DIR/authority.key, which signs, at the first time. Writes DIR/documents/<epoch>.cbor, and beside
/// it a text file with what is to be typed at each mote. Overwrites no document.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example, with what four motes answered to `key`:
  motemix directory sign motes \\
      a=[fe80::1]:61616,671ab5… b=[fe80::2]:61616,09bc3d… \\
      c=[fe80::3]:61616,f0a1c2… d=[fe80::4]:61616,8838a9…")]
pub struct DirectorySign {
    /// The folder of the network; made if it does not exist.
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// A node: its name, its address, and its key of the epoch as 64 hex digits. Four at least: two
    /// ends, and two mixes between them.
    #[arg(value_name = "NAME=ADDRESS,KEY", required = true, num_args = 4.., value_parser = signed_node)]
    pub nodes: Vec<SignedNode>,
    /// A node that forwards nothing for others; may be repeated. All others are mixes.
    #[arg(long = "endpoint", value_name = "NAME")]
    pub endpoints: Vec<String>,
    /// The epoch; by default the present one. Epoch N begins N times --epoch-length after 1970.
    #[arg(long, value_name = "N")]
    pub epoch: Option<u32>,
    /// How long an epoch lasts. A mote takes so many packets of others in one.
    #[arg(long, value_name = "TIME", default_value = "1d", value_parser = humantime::parse_duration)]
    pub epoch_length: Duration,
    /// The network's name; a mote takes documents of no other.
    #[arg(long, value_name = "NAME", default_value = "motes")]
    pub name: String,
    /// Mean delay of a packet at each hop.
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = humantime::parse_duration)]
    pub mean_delay: Duration,
    /// The longest time that a hop takes besides its delay. The retransmission timer allows for it.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = humantime::parse_duration)]
    pub hop_allowance: Duration,
    /// How many times a message is sent, at most, before it is discarded.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u8).range(1..))]
    pub transmissions: u8,
    /// Has packets pass between nodes as they are, and not under a key that each two neighbours
    /// make. Boards without memory for such keys need it.
    #[arg(long)]
    pub plain_links: bool,
}

/// A node as it is named on the command line.
#[derive(Debug, Clone)]
pub struct SignedNode {
    pub name: String,
    pub address: SocketAddr,
    pub key: [u8; 32],
}

fn signed_node(text: &str) -> Result<SignedNode, String> {
    const FORM: &str = "write NAME=ADDRESS,KEY, as in a=[fe80::1]:61616,671a…";
    let (name, rest) = text.split_once('=').ok_or(FORM)?;
    let (address, digits) = rest.rsplit_once(',').ok_or(FORM)?;
    let address = for_others(address).map_err(|error| format!("{error}; {FORM}"))?;
    let mut key = [0; 32];
    hex::decode_to_slice(digits, &mut key).map_err(|_| format!("the key is not 64 hex digits; {FORM}"))?;
    Ok(SignedNode { name: name.to_owned(), address, key })
}
