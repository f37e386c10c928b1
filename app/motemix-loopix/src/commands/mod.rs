//! `motemix loopix`.

mod chat;
mod directory;
mod init;
mod net;
mod node;
mod renew;
mod send;
mod status;

use motemix_program::cli::{Loopix, LoopixDirectory, LoopixNet};
use motemix_program::failure::Failure;

pub fn run(command: &Loopix) -> Result<(), Failure> {
    match command {
        Loopix::Net(LoopixNet::Init(args)) => net::init(args),
        Loopix::Net(LoopixNet::Up(args)) => net::up(args),
        Loopix::Net(LoopixNet::Down(args)) => net::down(args),
        Loopix::Net(LoopixNet::Status(args)) => net::status(args),
        Loopix::Directory(LoopixDirectory::Build(args)) => directory::build(args),
        Loopix::Directory(LoopixDirectory::Show(args)) => directory::show(args),
        Loopix::Directory(LoopixDirectory::Install(args)) => directory::install(args),
        Loopix::Init(command) => init::init(command),
        Loopix::Mix(args) => node::mix(args),
        Loopix::Provider(args) => node::provider(args),
        Loopix::Client(args) => node::client(args),
        Loopix::Chat(args) => chat::chat(args),
        Loopix::Send(args) => send::send(args),
        Loopix::Status(args) => status::status(args),
        Loopix::Renew(args) => renew::renew(args),
    }
}
