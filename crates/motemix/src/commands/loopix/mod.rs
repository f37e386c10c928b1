//! `motemix loopix`.

mod directory;
mod net;

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
    }
}
