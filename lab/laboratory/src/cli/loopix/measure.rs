//! `motemix-lab loopix measure` and `load`.

use super::LoopixEnergy;
use clap::{Args, Subcommand};
use motemix_program::cli::{LoopixPreset, LoopixProfile, mean};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Subcommand)]
pub enum LoopixMeasure {
    Bandwidth(LoopixBandwidth),
    MixThroughput(LoopixMixThroughput),
    Latency(LoopixLatency),
    Pull(LoopixPull),
    Mixing(LoopixMixing),
    Messages(LoopixMessages),
    Energy(LoopixEnergy),
}

/// The words that all measurements have in common.
#[derive(Debug, Args)]
pub struct LoopixMeasuring {
    /// Folder for rows and figures. An interrupted measurement continues with what it finds there.
    #[arg(long, value_name = "DIR", default_value = "loopix-measurements")]
    pub out: PathBuf,
    /// How long to measure at each point; a number alone is seconds.
    #[arg(long, value_name = "TIME", value_parser = mean)]
    pub seconds: Option<Duration>,
    /// How often to measure each point.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub repetitions: Option<u32>,
    /// Measures few points, and each briefly, to show that everything runs.
    #[arg(long)]
    pub quick: bool,
    /// Measures the Python nodes as well, from the project in this folder, where `scripts/setup
    /// loopix_peer` was run.
    #[arg(long, value_name = "PROJECT")]
    pub python: Option<PathBuf>,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// Counts the packets of a client, by its rate (figure 4.1).
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix-lab loopix measure bandwidth --quick")]
pub struct LoopixBandwidth {
    #[command(flatten)]
    pub measuring: LoopixMeasuring,
    /// Packets that a client is to send in a second, of all three streams.
    #[arg(long, value_name = "RATE,…", value_delimiter = ',', value_parser = rate)]
    pub rates: Vec<f64>,
    /// How many clients, all of which are counted.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub clients: u16,
}

/// Sends messages through a network of processes with the times of a preset, and counts what is
/// acknowledged, how long that takes, and what passes on a client's link.
///
/// Each client writes to one other, at random times.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix-lab loopix measure messages
  motemix-lab loopix measure messages --clients 20 --seconds 5min")]
pub struct LoopixMessages {
    #[command(flatten)]
    pub measuring: LoopixMeasuring,
    /// The times, and the profile.
    #[arg(long, value_enum, default_value_t = LoopixPreset::Patient)]
    pub preset: LoopixPreset,
    /// How many clients.
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u16).range(2..=1000))]
    pub clients: u16,
    /// How many mixes, in three layers.
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u16).range(3..=300))]
    pub mixes: u16,
    /// How many providers.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=100))]
    pub providers: u16,
    /// Mean time between two messages of a client.
    #[arg(long, value_name = "TIME", default_value = "1min", value_parser = mean)]
    pub interval: Duration,
}

/// Counts the packets of a mix, by the rate of clients (figures 4.2 and 4.3), or under load.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix-lab loopix measure mix-throughput --clients 40
  motemix-lab loopix measure mix-throughput --saturation --rates 1000,4000,8000")]
pub struct LoopixMixThroughput {
    #[command(flatten)]
    pub measuring: LoopixMeasuring,
    /// Packets that a client is to send in a second; with --saturation, packets offered to the mix
    /// in a second.
    #[arg(long, value_name = "RATE,…", value_delimiter = ',', value_parser = rate)]
    pub rates: Vec<f64>,
    /// How many clients.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub clients: u16,
    /// Loads one mix process with packets made before, in place of a network with clients.
    #[arg(long)]
    pub saturation: bool,
}

/// Times messages without delays that providers push, by the number of clients (figures 4.4 and
/// 4.5).
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix-lab loopix measure latency --clients 2,20 --rates 3")]
pub struct LoopixLatency {
    #[command(flatten)]
    pub measuring: LoopixMeasuring,
    /// Packets that a client sends in a second, of all three streams.
    #[arg(long, value_name = "RATE,…", value_delimiter = ',', value_parser = rate)]
    pub rates: Vec<f64>,
    /// How many clients; each number makes a network of its own.
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub clients: Vec<u16>,
    /// How many mixes, in three layers.
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u16).range(3..=300))]
    pub mixes: u16,
    /// How many providers.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=100))]
    pub providers: u16,
}

/// Times messages that wait until their client asks for 30 of them, every 5 seconds (figures 4.6
/// and 4.7).
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix-lab loopix measure pull --seconds 180")]
pub struct LoopixPull {
    #[command(flatten)]
    pub measuring: LoopixMeasuring,
    /// Packets that the client sends in a second, of all three streams. More than 9 are more than
    /// it asks for.
    #[arg(long, value_name = "RATE,…", value_delimiter = ',', value_parser = rate)]
    pub rates: Vec<f64>,
}

/// Computes what running mixes hide, from when packets come to them and leave them.
///
/// This program sends packets with exponential delays through mix processes: through one mix, and
/// through three layers of two. It is on every link, notes when each packet passes, and computes
/// from that alone what an observer of the links does not know. Beside it stand the closed form and
/// the simulation of `motemix-lab loopix anonymity`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix-lab loopix measure mixing --delay 1s --seconds 10min")]
pub struct LoopixMixing {
    #[command(flatten)]
    pub measuring: LoopixMeasuring,
    /// The mean delay of a mix.
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = humantime::parse_duration)]
    pub delay: Duration,
    /// Seed of the simulation, and of delays and routes.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

/// Loads a running mix with valid packets at a rate, and counts what it forwards.
///
/// The packets are made before the clock starts. They lead to the node of --sink, whose port this
/// program takes, so that node must not run. Prints one JSON object.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix-lab loopix load --mix loops/nodes/Mix1 \\
      --sink loops/nodes/Provider1 --rate 1000 --seconds 5")]
pub struct LoopixLoad {
    /// The mix's folder; its public key file is enough.
    #[arg(long, value_name = "DIR")]
    pub mix: PathBuf,
    /// The folder of the node to count at, with its keys.
    #[arg(long, value_name = "DIR")]
    pub sink: PathBuf,
    /// Packets in a second.
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub rate: f64,
    /// For how long; a number alone is seconds.
    #[arg(long, value_name = "TIME", value_parser = mean)]
    pub seconds: Duration,
    /// Which Loopix the mix speaks.
    #[arg(long, value_enum, default_value_t = LoopixProfile::Ucl2017)]
    pub profile: LoopixProfile,
    /// The mix's process, to say how much processor time it took.
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,
}

/// More than nothing, and less than any machine can do.
fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse::<f64>().map_err(|error| error.to_string())?;
    if (1e-3..=1e6).contains(&rate) {
        Ok(rate)
    } else {
        Err("a rate is from 0.001 to 1000000 a second".into())
    }
}
