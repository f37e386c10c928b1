//! One module for each command.

mod air;
mod bench;
mod boards;
mod completions;
mod demo;
mod directory;
mod inbox;
mod loopix;
mod net;
mod node;
mod reproduce;
mod send;
mod sim;

use crate::cli::{Boards, Command, Directory, Net, Reproduce, Sim};
use crate::failure::Failure;
use motemix_host::NodeConfig;
use std::path::Path;

pub fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Net(Net::Init(args)) => net::init(&args),
        Command::Net(Net::Up(args)) => net::up(&args),
        Command::Net(Net::Down(args)) => net::down(&args),
        Command::Net(Net::Status(args)) => net::status(&args),
        Command::Net(Net::Renew(args)) => net::renew(&args),
        Command::Node(args) => node::node(&args),
        Command::Send(args) => send::send(&args),
        Command::Inbox(args) => inbox::inbox(&args),
        Command::Directory(Directory::Show(args)) => directory::show(&args),
        Command::Directory(Directory::Verify(args)) => directory::verify(&args),
        Command::Bench(args) => bench::bench(&args),
        Command::Air(args) => air::air(&args),
        Command::Boards(Boards::Cycles(args)) => boards::cycles(&args),
        Command::Boards(Boards::Measure(args)) => boards::measure(&args),
        Command::Boards(Boards::Secrets(args)) => boards::secrets(&args),
        Command::Sim(Sim::Run(args)) => sim::run(&args),
        Command::Sim(Sim::Trace(args)) => sim::trace(&args),
        Command::Sim(Sim::Sweep(args)) => sim::sweep(&args),
        Command::Sim(Sim::Plot(args)) => sim::plot(&args),
        Command::Sim(Sim::Validate(args)) => sim::validate(&args),
        Command::Reproduce(Reproduce::Thesis(args)) => reproduce::thesis(&args),
        Command::Loopix(command) => loopix::run(command),
        Command::Demo(args) => demo::demo(&args),
        Command::Completions(args) => completions::completions(&args),
        Command::Man(args) => completions::man(&args),
    }
}

fn load_config(path: &Path) -> Result<NodeConfig, Failure> {
    NodeConfig::load(path).map_err(Failure::broken)
}
