//! `motemix loopix`.

mod amount;
mod study;

pub use study::{LoopixAdvise, LoopixAnonymity, LoopixCost, LoopixEnergy, LoopixPolicies};

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub enum Loopix {
    Advise(LoopixAdvise),
    Cost(LoopixCost),
    Anonymity(LoopixAnonymity),
    Policies(LoopixPolicies),
    /// Repeats the measurements of the dissertation.
    #[command(subcommand)]
    Measure(LoopixMeasure),
}

#[derive(Debug, Subcommand)]
pub enum LoopixMeasure {
    Energy(LoopixEnergy),
}
