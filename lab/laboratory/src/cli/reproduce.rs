//! `motemix-lab reproduce`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub enum Reproduce {
    Thesis(ReproduceThesis),
}

/// Repeats the network experiments of "Implementing and analysing Sphinx on low-end IoT devices".
///
/// Figure 7: a mesh of 10 to 60 nodes, Sphinx on RIOT and plain datagrams. Figure 8: clients, mixes
/// and servers apart. Both are simulated on a model of RIOT's network stack, beside the
/// measurements of the thesis, and beside motes as they ship under the same load. Then the command
/// takes away one cause of loss after the other, and then simulates 64 motes with one remedy
/// against loss after the other left out.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix-lab reproduce thesis
  motemix-lab reproduce thesis --seeds 10 --svg docs/thesis
  motemix-lab reproduce thesis --json \\
      | jq '.[] | {figure, label, measured, simulated}'")]
pub struct ReproduceThesis {
    /// Runs of each point; their seeds are 101, 102, ….
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub seeds: u32,
    /// Draws the figures into this folder: figure-7.svg, figure-8.svg, ablation.svg.
    #[arg(long, value_name = "DIR")]
    pub svg: Option<PathBuf>,
    /// Prints JSON: an object for each point.
    #[arg(long)]
    pub json: bool,
}
