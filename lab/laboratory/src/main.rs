//! The laboratory: simulations, boards and their stopwatch, evaluations and studies.

mod boards;
mod chart;
mod cli;
mod commands;
mod firmware;

use clap::Parser;
// What this program shares with that of those who run networks.
use motemix_program::{failure, network, program, report};
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    program::run("motemix-lab", &cli.log, || commands::run(cli.command))
}
