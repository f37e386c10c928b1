//! `motemix-lab loopix vectors`.

use clap::Args;
use std::path::PathBuf;

/// Checks known answers of the Python programs against this implementation.
///
/// Every value of the file is compared with what is computed here, and each that differs is named. Packets are
/// made anew from what was drawn, and followed from hop to hop. Exits with 1 if a check fails, and with 2 if the
/// file cannot be read or is of another form.
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
