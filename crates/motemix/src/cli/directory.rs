//! `motemix directory`.

use clap::{Args, Subcommand};
use std::path::PathBuf;
use std::time::SystemTime;

#[derive(Debug, Subcommand)]
pub enum Directory {
    Show(DirectoryShow),
    Verify(DirectoryVerify),
}

/// Shows the nodes and parameters of a network document, without checking its signatures.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix directory show plant/documents")]
pub struct DirectoryShow {
    /// A document, or a folder of them: then that of the present epoch.
    #[arg(value_name = "FILE|DIR")]
    pub path: PathBuf,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// Checks that enough authorities signed a network document and that it is valid now.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix directory verify plant/documents/20413.cbor --authority \"$(cat plant/authority.pub)\"")]
pub struct DirectoryVerify {
    /// A network document.
    #[arg(value_name = "FILE")]
    pub path: PathBuf,
    /// Ed25519 public key of an authority, 64 hex digits; may be repeated.
    #[arg(long = "authority", value_name = "HEX", required = true)]
    pub authorities: Vec<AuthorityKey>,
    /// How many different authorities must have signed.
    #[arg(long, value_name = "K", default_value_t = 1)]
    pub threshold: usize,
    /// Time at which the document has to be valid, for example 2030-01-31T12:00:00Z; now by default.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_rfc3339_weak)]
    pub at: Option<SystemTime>,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// An Ed25519 public key as 64 hexadecimal digits.
#[derive(Debug, Clone, Copy)]
pub struct AuthorityKey(pub [u8; 32]);

impl std::str::FromStr for AuthorityKey {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut key = [0; 32];
        hex::decode_to_slice(text.trim(), &mut key).map_err(|_| "not 64 hex digits")?;
        Ok(Self(key))
    }
}
