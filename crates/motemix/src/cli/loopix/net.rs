//! `motemix loopix net`.

use super::{mean, time};
use crate::network::loopix::Preset;
use clap::{Args, Subcommand, ValueEnum};
use motemix_loopix::files::Profile;
use motemix_loopix::files::config::MOST_RETRIEVED;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

/// As clap counts.
const MOST: i64 = MOST_RETRIEVED as i64;

#[derive(Debug, Subcommand)]
pub enum LoopixNet {
    Init(LoopixNetInit),
    Up(LoopixNetUp),
    Down(LoopixNetDown),
    Status(LoopixNetStatus),
}

/// Makes a folder for each node, with the files that the original Loopix reads.
///
/// Writes DIR/example.db, and into DIR/nodes/<name> the node's keys, config.json, example.db and
/// motemix.toml. The Python nodes can run in these folders, too; they need two mixes in each layer.
/// Nothing is overwritten.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix loopix net init loops --mixes 6 --clients 3 --delay 0.05
  motemix loopix net init calm --preset patient --clients 20")]
pub struct LoopixNetInit {
    /// Where to put the network; made if it does not exist.
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// How many mixes; they are spread evenly over the layers.
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub mixes: u16,
    /// How many layers of mixes; a packet passes one mix of each, and its header has room for
    /// eight.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=8))]
    pub layers: u16,
    /// How many providers; each keeps the messages of some clients.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub providers: u16,
    /// How many clients; they are spread evenly over the providers.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub clients: u16,
    /// Which Loopix the nodes speak.
    #[arg(long, value_enum, default_value_t = LoopixProfile::Ucl2017)]
    pub profile: LoopixProfile,
    /// Times and a profile that were chosen and measured together.
    #[arg(
        long,
        value_enum,
        conflicts_with_all = ["profile", "push", "delay", "loops", "drop", "payload", "pull", "retrieve"]
    )]
    pub preset: Option<LoopixPreset>,
    /// Lets providers forward messages as they arrive, instead of on request.
    #[arg(long)]
    pub push: bool,
    /// Mean delay of a packet at each hop; a number alone is seconds.
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = time)]
    pub delay: Duration,
    /// Mean time between two loop cover packets of a node.
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = mean)]
    pub loops: Duration,
    /// Mean time between two drop cover packets of a client.
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = mean)]
    pub drop: Duration,
    /// Mean time between two packets for messages of a client: one leaves whether a message waits
    /// or not.
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = mean)]
    pub payload: Duration,
    /// Time between two requests of a client for its messages.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = mean)]
    pub pull: Duration,
    /// How many packets a provider answers such a request with.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(0..=MOST))]
    pub retrieve: u32,
    /// Address that every node receives on.
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    pub host: IpAddr,
    /// UDP port of the first node; the others follow. 0 chooses free ports, up to 32767 while there
    /// are such, because the Java client cannot use higher ones.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub base_port: u16,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// Which Loopix a network speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LoopixProfile {
    /// The Python nodes of 2017.
    #[value(name = "ucl-2017")]
    Ucl2017,
    /// Their fork of 2018, which the dissertation measured.
    #[value(name = "fork-2018")]
    Fork2018,
    /// Not compatible with the originals: repairs the weaknesses of their format.
    Hardened,
}

/// Times and a profile that go together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LoopixPreset {
    /// Hardened nodes for users who have a minute and a half: a client sends two packets a second,
    /// each of which waits 18 s at each hop. An observer of all links needs 442 messages
    /// to one receiver to name half of the senders, and 1,589 to name 95 %.
    Patient,
}

impl From<LoopixPreset> for Preset {
    fn from(preset: LoopixPreset) -> Self {
        match preset {
            LoopixPreset::Patient => Self::patient(),
        }
    }
}

impl From<LoopixProfile> for Profile {
    fn from(profile: LoopixProfile) -> Self {
        match profile {
            LoopixProfile::Ucl2017 => Self::Ucl2017,
            LoopixProfile::Fork2018 => Self::Fork2018,
            LoopixProfile::Hardened => Self::Hardened,
        }
    }
}

/// Starts one process for each node of a network and waits until all of them are ready.
///
/// The processes continue when this command ends; `motemix loopix net down` stops them. The output
/// of a node is in DIR/nodes/<name>/node.events, its log in node.log. A client reads commands from
/// its node.input.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix loopix net up loops
  echo 'send Client2 hello' > loops/nodes/Client1/node.input")]
pub struct LoopixNetUp {
    #[command(flatten)]
    pub dir: LoopixFolder,
    /// How long to wait for the nodes.
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = humantime::parse_duration)]
    pub timeout: Duration,
}

/// Stops the processes that `motemix loopix net up` started, and no others.
///
/// Sends SIGTERM only to the process that is recorded in the node's pid file, with the same number
/// and the same time of start.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix loopix net down loops")]
pub struct LoopixNetDown {
    #[command(flatten)]
    pub dir: LoopixFolder,
    /// How long to wait for a node to end.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = humantime::parse_duration)]
    pub timeout: Duration,
}

/// Shows which nodes of a Loopix network are running.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix loopix net status loops")]
pub struct LoopixNetStatus {
    #[command(flatten)]
    pub dir: LoopixFolder,
}

#[derive(Debug, Args)]
pub struct LoopixFolder {
    /// Folder made by `motemix loopix net init`.
    #[arg(value_name = "DIR")]
    pub path: PathBuf,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}
