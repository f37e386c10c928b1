//! `motemix demo`.

use super::{Size, Traffic};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// Runs a whole network on this machine and measures it.
///
/// Starts mixes, motes and a receiver as separate processes on loopback. Each mote sends readings
/// of this machine until the time is up. Then the command waits until every message is acknowledged
/// or discarded, for at most twenty seconds, and prints what happened to all messages. It fails
/// (status 1) if a message was given up, is undecided, or is not believed by the receiver.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a word of its own on the command line")]
#[command(after_long_help = "\
Examples:
  motemix demo
  motemix demo --smart
  motemix demo --motes 10 --seconds 60 --loss 0.05
  motemix demo --kill-mix-after 5s --json | jq .elapsed_ms.p99")]
pub struct Demo {
    #[command(flatten)]
    pub size: Size,
    #[command(flatten)]
    pub traffic: Traffic,
    /// How long the motes send; with --smart until a command was obeyed as well, for at most ten
    /// seconds more.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub seconds: u64,
    /// Mean time between two messages of a mote; 500ms by default, and 2s with --smart, so that
    /// people can read along.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub interval: Option<Duration>,
    /// With a broker, which the receiver hands the readings to, and an application that looks the
    /// motes up there, observes, verifies and shows each reading with its check. A server commands
    /// the first mote by way of the broker.
    #[arg(long, conflicts_with = "unsigned_readings")]
    pub smart: bool,
    /// Readings are not signed, and hold more.
    #[arg(long)]
    pub unsigned_readings: bool,
    /// Probability with which each node drops a datagram that arrives.
    #[arg(long, value_name = "P", default_value_t = 0.0, value_parser = parse_probability)]
    pub loss: f64,
    /// Sends cover traffic; this is the default.
    #[arg(long, overrides_with = "no_cover")]
    pub cover: bool,
    /// Sends no cover traffic.
    #[arg(long)]
    pub no_cover: bool,
    /// Kills a mix with SIGKILL after this time, to start it again later.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub kill_mix_after: Option<Duration>,
    /// How long the killed mix stays away.
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = humantime::parse_duration)]
    pub restart_mix_after: Duration,
    /// Makes the network in this folder, and keeps it; by default it is in a temporary one.
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

impl Demo {
    /// Mean time between two messages of a mote.
    pub fn mean_interval(&self) -> Duration {
        self.interval.unwrap_or(Duration::from_millis(if self.smart { 2000 } else { 500 }))
    }
}

/// A number between 0 and 1.
///
/// # Errors
/// What is wrong with the text.
pub fn parse_probability(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.0..=1.0).contains(&value) { Ok(value) } else { Err("not between 0 and 1".to_owned()) }
}
