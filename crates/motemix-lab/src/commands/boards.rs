//! `motemix-lab boards`: what boards do with our code.

mod cycles;
mod measure;
mod network;
mod secrets;

pub use cycles::cycles;
pub use measure::measure;
pub use network::network;
pub use secrets::secrets;

use crate::boards::board::{BOARDS, Board};
use crate::boards::elves::Origin;
use crate::cli::BoardsFiles;
use crate::failure::Failure;
use std::thread;

impl BoardsFiles {
    fn boards(&self) -> Result<Vec<&'static Board>, Failure> {
        let names = || BOARDS.iter().map(|board| board.name);
        if let Some(unknown) = self.board.iter().find(|name| !names().any(|known| known == name.as_str())) {
            let known = names().collect::<Vec<_>>().join(", ");
            return Err(Failure::broken(format!("there is no board {unknown}; the boards are {known}")));
        }
        let is_chosen =
            |board: &&Board| self.board.is_empty() || self.board.iter().any(|name| name == board.name);
        Ok(BOARDS.iter().filter(is_chosen).collect())
    }

    fn origin(&self) -> Result<Origin, Failure> {
        Origin::of(self.elf.as_deref(), &self.firmware)
    }
}

/// One thread for each piece of work; results in the order of the works.
fn at_once<W: Send, R: Send>(
    works: Vec<W>,
    work: impl Fn(W) -> Result<R, Failure> + Sync,
) -> Result<Vec<R>, Failure> {
    thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = works.into_iter().map(|item| scope.spawn(move || work(item))).collect();
        threads
            .into_iter()
            .map(|thread| {
                thread.join().unwrap_or_else(|_| Err(Failure::failed("a thread of the stopwatch panicked")))
            })
            .collect()
    })
}
