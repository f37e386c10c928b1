//! The words of the command line of `motemix-loopix`.

use clap::{CommandFactory, Parser, Subcommand};
use motemix_program::cli::{Completions, Logs, Loopix, Man};
use motemix_program::failure::Failure;
use motemix_program::program;

/// Runs the Loopix of 2017 and 2018, in the files of its Python nodes.
#[derive(Debug, Parser)]
#[command(
    name = "motemix-loopix",
    version,
    args_override_self = true,
    max_term_width = 110,
    after_long_help = "\
First steps:
  motemix-loopix net init loops
  motemix-loopix net up loops
  motemix-loopix chat --dir loops/nodes/Client1"
)]
pub struct Words {
    #[command(flatten)]
    pub logs: Logs,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    #[command(flatten)]
    Loopix(Loopix),
    Completions(Completions),
    Man(Man),
}

/// Does what the words of the command line ask for.
///
/// # Errors
/// Why it was not done.
pub fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Loopix(command) => crate::commands::run(&command),
        Command::Completions(args) => program::completions(&mut Words::command(), args.shell),
        Command::Man(args) => program::man(Words::command(), &args.dir),
    }
}
