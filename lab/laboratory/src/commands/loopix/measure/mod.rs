//! `motemix-lab loopix measure`: the measurements of the dissertation's chapter 4, on this machine.
//!
//! ```text
//! points ─ testbed: processes in a temporary folder ─ counters, probes, load ─ rows (CSV) ─ figure (SVG), table
//! ```

#![allow(
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "counts are far below 2⁵³, and rates above zero"
)]

mod dissertation;
mod figure;
mod latency;
pub mod load;
pub mod messages;
mod mixing;
mod peer;
mod pull;
pub mod rows;
mod saturation;
mod session;
mod testbed;
mod traffic;

use super::energy;
use crate::cli::{LoopixMeasure, LoopixMeasuring};
use crate::failure::Failure;
use crate::report;
use motemix_loopix_program::network::Size;
use peer::Peer;
use std::path::PathBuf;
use std::time::Duration;

pub fn measure(command: &LoopixMeasure) -> Result<(), Failure> {
    match command {
        LoopixMeasure::Bandwidth(args) => traffic::bandwidth(args),
        LoopixMeasure::MixThroughput(args) => traffic::throughput(args),
        LoopixMeasure::Latency(args) => latency::latency(args),
        LoopixMeasure::Pull(args) => pull::pull(args),
        LoopixMeasure::Mixing(args) => mixing::mixing(args),
        LoopixMeasure::Messages(args) => messages::messages(args),
        LoopixMeasure::Energy(args) => energy::energy(args),
    }
}

/// The mixes are in three layers, as everywhere in the dissertation.
const LAYERS: u16 = 3;

/// What all measurements are told.
struct Common {
    out: PathBuf,
    length: Duration,
    /// Before anything counts.
    warm_up: Duration,
    repetitions: u32,
    quick: bool,
    peer: Option<Peer>,
    json: bool,
}

impl Common {
    fn new(args: &LoopixMeasuring, length: Duration, repetitions: u32) -> Result<Self, Failure> {
        let quick = args.quick;
        let length = args.seconds.unwrap_or(if quick { Duration::from_secs(3) } else { length });
        if length.is_zero() {
            return Err(Failure::broken("--seconds: more than 0, please"));
        }
        Ok(Self {
            out: args.out.clone(),
            length,
            warm_up: if quick { Duration::from_secs(1) } else { Duration::from_secs(5) },
            repetitions: args.repetitions.unwrap_or(if quick { 1 } else { repetitions }),
            quick,
            peer: args.python.as_deref().map(Peer::find).transpose()?,
            json: args.json,
        })
    }

    fn rates(&self, told: &[f64], usual: &[f64], quick: &[f64]) -> Vec<f64> {
        match told {
            [] if self.quick => quick.to_vec(),
            [] => usual.to_vec(),
            told => told.to_vec(),
        }
    }

    /// Whose programs are measured.
    fn nodes(&self) -> Vec<&'static str> {
        if self.peer.is_some() { vec!["motemix", "python"] } else { vec!["motemix"] }
    }

    fn say_where(&self, name: &str) -> Result<(), Failure> {
        if self.json {
            return Ok(());
        }
        let file = self.out.join(name).with_extension("csv");
        Ok(report::print(format!("\nRows: {}; figures beside it\n", file.display()).as_bytes())?)
    }
}

fn size(providers: &str, mixes: &str, clients: u32) -> Result<Size, Failure> {
    let parsed = || {
        let (mixes, providers) = (mixes.parse().ok()?, providers.parse().ok()?);
        Some(Size { mixes, layers: LAYERS, providers, clients: u16::try_from(clients).ok()? })
    };
    let size = parsed().filter(|size| size.mixes >= LAYERS && size.mixes % LAYERS == 0 && size.providers > 0);
    size.ok_or_else(|| {
        Failure::broken(format!("--mixes {mixes}: a multiple of {LAYERS}, with a provider at least"))
    })
}
