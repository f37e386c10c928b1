//! `motemix-lab loopix`.

mod amount;
mod measure;
mod study;
mod vectors;

pub use measure::{
    LoopixBandwidth, LoopixLatency, LoopixLoad, LoopixMeasure, LoopixMeasuring, LoopixMessages,
    LoopixMixThroughput, LoopixMixing, LoopixPull,
};
pub use study::{LoopixAdvise, LoopixAnonymity, LoopixCost, LoopixDesigns, LoopixEnergy, LoopixPolicies};
pub use vectors::LoopixVectors;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub enum Loopix {
    /// Repeats the measurements of the dissertation that this follows, on this machine.
    #[command(subcommand)]
    Measure(LoopixMeasure),
    Load(LoopixLoad),
    Advise(LoopixAdvise),
    Cost(LoopixCost),
    Anonymity(LoopixAnonymity),
    Policies(LoopixPolicies),
    Designs(LoopixDesigns),
    Vectors(LoopixVectors),
}
