//! One module for each command.

mod air;
mod bench;
mod boards;
mod configurations;
mod link_keys;
mod loopix;
mod reproduce;
mod sim;

use crate::cli::{Boards, Cli, Command, Reproduce, Sim};
use crate::failure::Failure;
use crate::program;
use clap::CommandFactory;

pub fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Sim(Sim::Run(args)) => sim::run(&args),
        Command::Sim(Sim::Trace(args)) => sim::trace(&args),
        Command::Sim(Sim::Sweep(args)) => sim::sweep(&args),
        Command::Sim(Sim::Plot(args)) => sim::plot(&args),
        Command::Sim(Sim::Score(args)) => sim::score(&args),
        Command::Sim(Sim::Validate(args)) => sim::validate(&args),
        Command::Reproduce(Reproduce::Thesis(args)) => reproduce::thesis(&args),
        Command::Boards(Boards::Build(args)) => boards::build(&args),
        Command::Boards(Boards::List(args)) => boards::list(&args),
        Command::Boards(Boards::Cycles(args)) => boards::cycles(&args),
        Command::Boards(Boards::Link(args)) => boards::link(&args),
        Command::Boards(Boards::Measure(args)) => boards::measure(&args),
        Command::Boards(Boards::Neighbours(args)) => boards::neighbours(&args),
        Command::Boards(Boards::Network(args)) => boards::network(&args),
        Command::Boards(Boards::Objects(args)) => boards::objects(&args),
        Command::Boards(Boards::Secrets(args)) => boards::secrets(&args),
        Command::Configurations(args) => configurations::configurations(&args),
        Command::Air(args) => air::air(&args),
        Command::Bench(args) => bench::bench(&args),
        Command::Loopix(command) => loopix::run(&command),
        Command::Completions(args) => program::completions(&mut Cli::command(), args.shell),
        Command::Man(args) => program::man(Cli::command(), &args.dir),
    }
}
