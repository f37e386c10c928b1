//! `motemix status`.

use crate::network::documents::parse_authority;
use clap::Args;
use motemix_directory::AuthorityKey;
use std::path::PathBuf;

/// Shows how a running node is, or how all nodes of a network are.
///
/// With --config alone the node is asked over its control socket, which is open to its own user:
/// the document in use and how far documents reach, who was told its keys, how full replay filter,
/// queue, disk and inbox are, whether its loops come back, what its clocks say, and what is wrong.
///
/// With --network the present document is got from one of the places named, and each of them and
/// each node of the document is asked over HTTP which documents it has and what time it is. A node
/// that gives out no documents (`serve = false`) does not answer.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix status --config mix-1/node.toml
  motemix status --network north.example:7000 south.example:7000
  motemix status --network 192.0.2.1:7000 --config mix-1/node.toml")]
pub struct Status {
    /// The configuration of a node. With --network it says which authorities' signatures count.
    #[arg(long, value_name = "FILE", required_unless_present = "network")]
    pub config: Option<PathBuf>,
    /// Host and port of authorities, or of nodes that give out documents.
    #[arg(long, value_name = "HOST:PORT", num_args = 1..)]
    pub network: Vec<String>,
    /// Ed25519 public key of an authority, 64 hex digits; may be repeated. Without it and without
    /// --config, the keys are those that the first authority among the places tells, unproven.
    #[arg(
        long = "authority", value_name = "HEX", requires = "network", conflicts_with = "config",
        value_parser = parse_authority
    )]
    pub authorities: Vec<AuthorityKey>,
    /// How many of them have to have signed a document; by default more than half.
    #[arg(long, value_name = "K", requires = "authorities")]
    pub threshold: Option<u8>,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}
