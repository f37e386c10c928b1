//! The motemix command-line program.

use clap::Parser;
use motemix::cli::Cli;
use motemix::program;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    program::run_in_format("motemix", &cli.log, cli.log_format, || motemix::run(cli.command))
}
