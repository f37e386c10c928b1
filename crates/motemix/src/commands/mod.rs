//! One module for each command.

mod completions;

use crate::cli::Command;
use crate::failure::Failure;

pub fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Completions(args) => completions::completions(&args),
        Command::Man(args) => completions::man(&args),
        _ => Ok(()),
    }
}
