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
use std::io::IsTerminal;
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
    let for_people =
        std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty());
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(for_people)
        .log_internal_errors(false)
        .init();
    Ok(())
}
