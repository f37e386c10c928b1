//! `motemix loopix`.

mod advise;
mod anonymity;
mod chat;
mod cost;
mod directory;
mod energy;
mod load;
mod measure;
mod net;
mod node;
mod policies;
mod renew;
mod rows;
mod status;
mod vectors;

use crate::cli::{Loopix, LoopixDirectory, LoopixNet};
use crate::failure::Failure;

pub fn run(command: &Loopix) -> Result<(), Failure> {
    match command {
        Loopix::Net(LoopixNet::Init(args)) => net::init(args),
        Loopix::Net(LoopixNet::Up(args)) => net::up(args),
        Loopix::Net(LoopixNet::Down(args)) => net::down(args),
        Loopix::Net(LoopixNet::Status(args)) => net::status(args),
        Loopix::Directory(LoopixDirectory::Build(args)) => directory::build(args),
        Loopix::Directory(LoopixDirectory::Show(args)) => directory::show(args),
        Loopix::Mix(args) => node::mix(args),
        Loopix::Provider(args) => node::provider(args),
        Loopix::Client(args) => node::client(args),
        Loopix::Chat(args) => chat::chat(args),
        Loopix::Status(args) => status::status(args),
        Loopix::Renew(args) => renew::renew(args),
        Loopix::Load(args) => load::load(args),
        Loopix::Advise(args) => advise::advise(args),
        Loopix::Cost(args) => cost::cost(args),
        Loopix::Anonymity(args) => anonymity::anonymity(args),
        Loopix::Policies(args) => policies::policies(args),
        Loopix::Measure(command) => measure::measure(command),
        Loopix::Vectors(args) => vectors::vectors(args),
    }
}
