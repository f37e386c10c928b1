//! One module for each command that is of this program alone. Those of a node's or an authority's
//! operator are in `motemixd`; a broker and Loopix run in programs of their own.

mod broker;
mod demo;
mod id;
mod inbox;
mod link;
mod net;
mod object;
mod send;

use motemix_program::cli::{Broker, Cli, Command, Link, Net};
use motemix_program::failure::Failure;
use motemix_program::foreground::end_with_parent;
use motemix_program::program;
use motemixd::commands::{authority, backup, directory, node, status};

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
        Command::Directory(command) => directory::run(&command),
        Command::Link(Link::Identity(args)) => link::identity(&args),
        Command::Link(Link::Router(args)) => link::router(&args),
        Command::Link(Link::Sensor(args)) => link::sensor(&args),
        Command::Id(command) => id::run(&command),
        Command::Object(command) => object::run(&command),
        Command::Broker(Broker { client: Some(client), .. }) => broker::run(&client),
        Command::Broker(Broker { server, .. }) => {
            // Before the next program begins: its parent may have ended then.
            if server.with_parent {
                end_with_parent()?;
            }
            Err(program::become_program("motemix-broker"))
        }
        Command::Loopix(_) => Err(program::become_program("motemix-loopix")),
        Command::Demo(args) => demo::demo(&args),
        Command::Completions(args) => program::completions(&mut Cli::words(), args.shell),
        Command::Man(args) => program::man(Cli::words(), &args.dir),
    }
}
