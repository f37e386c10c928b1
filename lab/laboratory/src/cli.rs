//! The words of the command line.

mod air;
mod bench;
mod boards;
mod configurations;
mod loopix;
mod reproduce;
mod sim;

pub use air::Air;
pub use bench::Bench;
pub use boards::{
    Boards, BoardsBuild, BoardsCycles, BoardsFiles, BoardsLink, BoardsList, BoardsMeasure, BoardsNeighbours,
    BoardsNetwork, BoardsObjects, BoardsSecrets, FirmwareFiles,
};
pub use configurations::Configurations;
pub use loopix::{
    Loopix, LoopixAdvise, LoopixAnonymity, LoopixBandwidth, LoopixCost, LoopixDesigns, LoopixEnergy,
    LoopixLatency, LoopixLoad, LoopixMeasure, LoopixMeasuring, LoopixMessages, LoopixMixThroughput,
    LoopixMixing, LoopixPolicies, LoopixPull, LoopixVectors,
};
pub use reproduce::{Reproduce, ReproduceThesis};
pub use sim::{Sim, SimPlot, SimRun, SimScenario, SimScore, SimSweep, SimTrace, SimValidate};

use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// The laboratory of motemix: simulations, boards, evaluations and studies.
#[derive(Debug, Parser)]
#[command(name = "motemix-lab", version, max_term_width = 110, long_about = FIRST_STEPS)]
pub struct Cli {
    /// What to log to stderr: a level, or levels of parts, for example `info` or
    /// `motemix_sim=debug`.
    #[arg(
        long,
        global = true,
        display_order = 900,
        env = "MOTEMIX_LOG",
        default_value = "warn",
        value_name = "FILTER"
    )]
    pub log: String,
    #[command(subcommand)]
    pub command: Command,
}

/// What the program is, and where to begin.
const FIRST_STEPS: &str = "\
The laboratory of motemix: simulations, boards, evaluations and studies.

Networks that people use are made and run by the program motemix. This one measures: what a network of \
motes delivers on a simulated radio channel, what the code costs on a microcontroller, what Loopix costs \
and what it buys. Nodes that it starts run in the program motemix beside it.

First steps, in the source tree:
  motemix-lab sim run scenarios/mesh-64.toml   simulates 64 motes on one radio channel
  motemix-lab boards measure                   counts what the packet costs on three cores
  motemix-lab reproduce thesis                 repeats the experiment that motemix comes from";

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Simulates networks of motes on one radio channel, in virtual time.
    #[command(subcommand)]
    Sim(Sim),
    /// Repeats the experiments of others, beside what they measured.
    #[command(subcommand)]
    Reproduce(Reproduce),
    /// Counts what our code costs on a microcontroller, and runs emulated boards in one network.
    #[command(subcommand)]
    Boards(Boards),
    Configurations(Configurations),
    Air(Air),
    Bench(Bench),
    /// Measures Loopix, and computes what it costs and buys.
    #[command(subcommand)]
    Loopix(Loopix),
    Completions(Completions),
    Man(Man),
}

/// Prints the script with which a shell completes the words of this program.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix-lab completions bash \\
      > ~/.local/share/bash-completion/completions/motemix-lab")]
pub struct Completions {
    /// The shell that is to run the script.
    pub shell: clap_complete::Shell,
}

/// Writes a manual page for each command.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix-lab man ~/.local/share/man/man1")]
pub struct Man {
    /// Where to put the pages; made if it does not exist.
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
}

#[cfg(test)]
mod tests {
    use super::Cli;
    use clap::{Command, CommandFactory};

    fn check(command: &Command) {
        assert!(command.get_about().is_some(), "{} is not explained", command.get_name());
        for argument in command.get_arguments() {
            let explained = argument.get_help().is_some();
            assert!(explained, "{} of {} is not explained", argument.get_id(), command.get_name());
        }
        for examples in [command.get_after_help(), command.get_after_long_help()].into_iter().flatten() {
            for line in examples.to_string().lines() {
                // A terminal would break it where the shell sees its end.
                assert!(line.chars().count() <= 80, "{}: too wide: {line}", command.get_name());
            }
        }
        command.get_subcommands().for_each(check);
    }

    #[test]
    fn boards_and_hosts_protect_messages_alike_unless_they_are_told_otherwise() {
        let default_of = |mut command: Command, path: &[&str]| {
            for name in path {
                command = command.find_subcommand(name).expect("a command").clone();
            }
            let modes = command.get_arguments().find(|it| it.get_id() == "mode").expect("--mode");
            modes.get_default_values().to_vec()
        };
        let of_boards = default_of(Cli::command(), &["boards", "link"]);
        assert_eq!(of_boards, default_of(motemix_program::cli::Cli::command(), &["link", "sensor"]));
    }

    #[test]
    fn every_word_is_sound_and_explained() {
        Cli::command().debug_assert();
        check(&Cli::command());
    }
}
