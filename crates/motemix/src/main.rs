//! The motemix command-line program.

use clap::Parser;
use motemix::cli::Cli;
use motemix::program;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    program::run("motemix", &cli.log, || motemix::run(cli.command))
}
