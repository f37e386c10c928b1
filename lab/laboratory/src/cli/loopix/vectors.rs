//! `motemix-lab loopix vectors`.

use clap::Args;
use std::path::PathBuf;

/// Checks known answers of the Python programs against this implementation.
///
/// Compares every value of the file with the value that is computed here, and names each that
/// differs. Packets are made anew from the recorded random values, and followed from hop to hop.
/// Exits with 1 if a check fails, and with 2 if the file cannot be read or is of another form.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix-lab loopix vectors vectors/sphinxmix.json")]
pub struct LoopixVectors {
    /// The file of known answers.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}
