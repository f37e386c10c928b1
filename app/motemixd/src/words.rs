//! The words of the command line of `motemixd`.

use clap::{CommandFactory, Parser, Subcommand};
use motemix_program::cli::{
    Adopt, Authority, Backup, Completions, Directory, Logs, Man, Node, Restore, Status,
};
use motemix_program::failure::Failure;
use motemix_program::program;

use crate::commands::{authority, backup, directory, node, status};

/// Runs a node or an authority of a motemix network.
#[derive(Debug, Parser)]
#[command(
    name = "motemixd",
    version,
    max_term_width = 110,
    after_long_help = "\
First steps:
  motemixd node init mix-1 --network orchard --listen 192.0.2.7:41001 --mix
  motemixd node --config mix-1/node.toml
  motemixd status --config mix-1/node.toml

`motemixd help COMMAND` explains a command. The program motemix has the same
commands, and texts name it: where one says motemix, motemixd does the same."
)]
pub struct Daemon {
    #[command(flatten)]
    pub logs: Logs,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Node(Node),
    /// Makes and runs an authority; k of n sign a network's documents.
    #[command(subcommand)]
    Authority(Authority),
    /// Reads and checks signed network documents.
    #[command(subcommand)]
    Directory(Directory),
    Status(Status),
    Backup(Backup),
    Restore(Restore),
    Adopt(Adopt),
    Completions(Completions),
    Man(Man),
}

/// Does what the words of the command line ask for.
///
/// # Errors
/// Why it was not done.
pub fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Node(args) => node::node(&args),
        Command::Authority(command) => authority::run(&command),
        Command::Directory(command) => directory::run(&command),
        Command::Status(args) => status::status(&args),
        Command::Backup(args) => backup::backup(&args),
        Command::Restore(args) => backup::restore(&args),
        Command::Adopt(args) => backup::adopt(&args),
        Command::Completions(args) => program::completions(&mut Daemon::command(), args.shell),
        Command::Man(args) => program::man(Daemon::command(), &args.dir),
    }
}
