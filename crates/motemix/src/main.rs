//! The motemix command-line program.

mod boards;
mod chart;
mod cli;
mod commands;
mod failure;
mod network;
mod reading;
mod report;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    match log_to_stderr(&cli.log).and_then(|()| commands::run(cli.command)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("motemix: {failure}");
            failure.exit_code()
        }
    }
}

fn log_to_stderr(filter: &str) -> Result<(), failure::Failure> {
    let filter = tracing_subscriber::EnvFilter::try_new(filter)
        .map_err(|error| failure::Failure::broken(format!("--log {filter}: {error}; try `info`")))?;
    // A line that a full disk refuses is lost. To say that on stderr would fail as well, and end the program.
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .log_internal_errors(false)
        .init();
    Ok(())
}
