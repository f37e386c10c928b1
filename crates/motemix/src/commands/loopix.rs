//! `motemix loopix`.

mod advise;
mod anonymity;
mod cost;
mod energy;
mod policies;
mod rows;

use crate::cli::{Loopix, LoopixMeasure};
use crate::failure::Failure;

pub fn run(command: Loopix) -> Result<(), Failure> {
    match command {
        Loopix::Advise(args) => advise::advise(&args),
        Loopix::Cost(args) => cost::cost(&args),
        Loopix::Anonymity(args) => anonymity::anonymity(&args),
        Loopix::Policies(args) => policies::policies(&args),
        Loopix::Measure(LoopixMeasure::Energy(args)) => energy::energy(&args),
    }
}
