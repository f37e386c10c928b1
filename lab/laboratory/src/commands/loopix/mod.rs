//! `motemix-lab loopix`.

mod advise;
mod anonymity;
mod cost;
mod designs;
mod energy;
mod load;
pub mod measure;
mod policies;
pub mod rows;
mod vectors;

use crate::cli::Loopix;
use crate::failure::Failure;

pub fn run(command: &Loopix) -> Result<(), Failure> {
    match command {
        Loopix::Measure(command) => measure::measure(command),
        Loopix::Load(args) => load::load(args),
        Loopix::Advise(args) => advise::advise(args),
        Loopix::Cost(args) => cost::cost(args),
        Loopix::Anonymity(args) => anonymity::anonymity(args),
        Loopix::Policies(args) => policies::policies(args),
        Loopix::Designs(args) => designs::designs(args),
        Loopix::Vectors(args) => vectors::vectors(args),
    }
}
