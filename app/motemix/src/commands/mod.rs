//! One module for each command.

mod authority;
mod backup;
mod broker;
mod demo;
mod directory;
mod id;
mod inbox;
mod link;
mod loopix;
mod net;
mod node;
mod object;
mod send;
mod status;

use crate::cli::{Cli, Command, Directory, Link, Net};
use crate::failure::Failure;
use crate::program;
use clap::CommandFactory;
use motemix_host::NodeConfig;
use motemix_host::config::ConfigError as FileError;
use motemix_os::supervisor::Supervisor;
use std::future::Future;
use std::path::Path;
use std::time::Duration;

/// Does what the words of the command line ask for.
///
/// # Errors
/// Why it was not done.
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
        Command::Backup(args) => backup::backup(&args),
        Command::Restore(args) => backup::restore(&args),
        Command::Adopt(args) => backup::adopt(&args),
        Command::Status(args) => status::status(&args),
        Command::Authority(command) => authority::run(&command),
        Command::Directory(Directory::Show(args)) => directory::show(&args),
        Command::Directory(Directory::Verify(args)) => directory::verify(&args),
        Command::Directory(Directory::Sign(args)) => directory::sign(&args),
        Command::Link(Link::Identity(args)) => link::identity(&args),
        Command::Link(Link::Router(args)) => link::router(&args),
        Command::Link(Link::Sensor(args)) => link::sensor(&args),
        Command::Id(command) => id::run(&command),
        Command::Object(command) => object::run(&command),
        Command::Loopix(command) => loopix::run(&command),
        Command::Demo(args) => demo::demo(&args),
        Command::Broker(args) => broker::broker(&args),
        Command::Completions(args) => program::completions(&mut Cli::command(), args.shell),
        Command::Man(args) => program::man(Cli::command(), &args.dir),
    }
}

/// What is wrong with a file that is being made, as what was typed: its fields have the names of
/// these options. The file is not there for anybody to look at.
fn of_option(error: FileError, options: &[&str]) -> Result<Failure, FileError> {
    let option = error.field.replace('_', "-");
    if options.contains(&&*option) {
        return Ok(Failure::broken(format!("--{option}: {}; {}", error.problem, error.remedy)));
    }
    Err(error)
}

/// Ends when `stop` does. Until then the supervisor hears that the thread is not stuck on which the
/// work is done.
async fn alive_until(supervisor: &Supervisor, stop: impl Future<Output = ()>) {
    // Nobody waits for a word that is not asked for.
    let every = supervisor.every().unwrap_or(Duration::from_hours(1));
    let mut stop = std::pin::pin!(stop);
    loop {
        supervisor.alive();
        tokio::select! {
            () = &mut stop => break,
            () = tokio::time::sleep(every) => {}
        }
    }
    supervisor.stopping();
}

/// Refuses root in the folder of another user, for whatever writes there.
fn refuse_root(folder: &Path) -> Result<(), Failure> {
    motemix_os::store::refuse_root(folder).map_err(Failure::broken)
}

/// Refuses everybody but root and the owner of the folder of a network whose processes are stopped.
fn refuse_others(folder: &Path) -> Result<(), Failure> {
    motemix_os::store::refuse_others(folder).map_err(Failure::broken)
}

/// As [`refuse_root`] for what a node writes: its state folder, or the one in which that is to be
/// made.
fn refuse_root_as_node(config: &NodeConfig) -> Result<(), Failure> {
    let state = &config.state;
    match state.parent() {
        Some(folder) if !state.exists() => refuse_root(folder),
        _ => refuse_root(state),
    }
}

fn load_config(path: &Path) -> Result<NodeConfig, Failure> {
    NodeConfig::load(path).map_err(Failure::broken)
}
