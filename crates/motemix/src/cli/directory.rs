//! `motemix directory`.

use crate::network::documents::parse_authority;
use clap::{Args, Subcommand};
use motemix_directory::AuthorityKey;
use std::path::PathBuf;
use std::time::SystemTime;

#[derive(Debug, Subcommand)]
pub enum Directory {
    Show(DirectoryShow),
    Verify(DirectoryVerify),
}

/// Shows the nodes and parameters of a network document.
///
/// Refuses a document that no trusted authority has signed. By default the command trusts the
/// authority in `authority.pub`, which `motemix net init` puts beside the folder of documents;
/// `--authority` names others. The document need not be valid now.
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
    /// Ed25519 public key of an authority, 64 hex digits; may be repeated.
    #[arg(long = "authority", value_name = "HEX", required = true, value_parser = parse_authority)]
    pub authorities: Vec<AuthorityKey>,
    /// How many different authorities must have signed.
    #[arg(long, value_name = "K", default_value_t = 1)]
    pub threshold: u8,
    /// Time at which the document has to be valid, for example 2030-01-31T12:00:00Z. By default
    /// now.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_rfc3339_weak)]
    pub at: Option<SystemTime>,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}
