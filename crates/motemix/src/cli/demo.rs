//! `motemix demo`.

use super::{Size, Traffic};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// Runs a whole network on this machine and measures it.
///
/// Starts mixes, motes and a receiver as separate processes on loopback. Each mote sends readings of this
/// machine until the time is up; then the command waits for every message to be acknowledged or discarded, for twenty
/// seconds at most, and prints what happened to all of them. It fails (status 1) if a message was given up or is undecided.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix demo
  motemix demo --motes 10 --seconds 60 --loss 0.05
  motemix demo --boards --seconds 60 --pcap boards.pcap
  motemix demo --kill-mix-after 5s --json | jq .elapsed_ms.p99")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct Demo {
    #[command(flatten)]
    pub size: Size,
    #[command(flatten)]
    pub traffic: Traffic,
    /// How long the motes send.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub seconds: u64,
    /// Mean time between two messages of a mote. By default 500ms; with --boards 6s, and longer in a demonstration of
    /// more than a minute, because the replay filter of a micro:bit takes 183 packets.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub interval: Option<Duration>,
    /// Has six emulated boards and two hosts share a radio channel: two Cortex-M0, two M3 and two M4 mix and
    /// send, a host receives, another one sends. Needs qemu-system-arm and the source tree.
    #[arg(long, conflicts_with_all = ["Size", "Traffic", "cover", "no_cover", "kill_mix_after"])]
    pub boards: bool,
    /// With --boards: writes everything on the air to a file that Wireshark reads.
    #[arg(long, value_name = "FILE", requires = "boards")]
    pub pcap: Option<PathBuf>,
    /// Probability with which each node drops a datagram that arrives; with --boards, a frame.
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

fn parse_probability(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.0..=1.0).contains(&value) { Ok(value) } else { Err("not between 0 and 1".to_owned()) }
}
