//! `motemix-lab configurations`.

use super::{LoopixMeasuring, LoopixMessages};
use clap::Args;
use motemix_program::cli::{LoopixPreset, mean};
use std::path::PathBuf;
use std::time::Duration;

/// Measures two configurations that hide to whom somebody writes: the table of
/// docs/explanation/anonymity.md.
///
/// The building is a scenario: motes on one radio channel, in virtual time. The hosts are clients
/// of Loopix with the times of `motemix loopix net init --preset patient`. A network of processes
/// is measured, and packets are followed through simulated mixes to say what an observer of all
/// links learns. Both observers follow acknowledgements as well, and remember. The first run takes
/// about an hour on two cores.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix-lab configurations
  motemix-lab configurations --clients 20 --seconds 5min --json")]
pub struct Configurations {
    /// The building: a scenario of motes with an observer.
    #[arg(long, value_name = "FILE", default_value = "scenarios/building.toml")]
    pub scenario: PathBuf,
    /// Folder for what was measured. An interrupted measurement continues with what it finds there.
    #[arg(long, value_name = "DIR", default_value = "target/configurations")]
    pub out: PathBuf,
    /// How long clients send messages; a number alone is seconds.
    #[arg(long, value_name = "TIME", default_value = "20min", value_parser = mean)]
    pub seconds: Duration,
    /// How many clients.
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u16).range(2..=1000))]
    pub clients: u16,
    /// How many mixes, in three layers.
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u16).range(3..=300))]
    pub mixes: u16,
    /// After how many messages of a client the observer's guess is quoted.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub habits: u32,
    /// Prints JSON: an object for each configuration.
    #[arg(long)]
    pub json: bool,
}

impl Configurations {
    /// What the measurement of the network of processes is told.
    pub fn messages(&self) -> LoopixMessages {
        let measuring = LoopixMeasuring {
            out: self.out.clone(),
            seconds: Some(self.seconds),
            repetitions: None,
            quick: false,
            python: None,
            json: self.json,
        };
        LoopixMessages {
            measuring,
            preset: LoopixPreset::Patient,
            clients: self.clients,
            mixes: self.mixes,
            providers: 2,
            interval: Duration::from_secs(60),
        }
    }
}
