//! What all nodes of a Loopix network have in common: whose Loopix it is, and its times.

use super::{mean, time};
use clap::{Args, ValueEnum};
use std::time::Duration;

/// The most packets that a provider answers with, as clap counts.
const MOST: i64 = 1 << 16;

/// All nodes of a network have to have the same of it.
#[derive(Debug, Args)]
pub struct LoopixTraffic {
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
