//! What a network is made of: used by each command that makes one.

use clap::{Args, ValueEnum};
use motemix_directory::ProfileName;
use std::time::Duration;

/// How many nodes of which kind.
#[derive(Debug, Clone, Args)]
pub struct Size {
    /// How many mixes, spread evenly over the layers. A mix that is alone in its layer sends no
    /// cover.
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub mixes: u16,
    /// How many layers of mixes. A packet passes them in order; a path with fewer mixes than layers
    /// leaves some out.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=15))]
    pub layers: u8,
    /// How many motes, which send messages.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub motes: u16,
    /// How many receivers, which keep and acknowledge messages.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub receivers: u16,
}

/// What every node of a network agrees on.
#[derive(Debug, Clone, Args)]
pub struct Traffic {
    /// Packet format: all packets of a network have its length. The last hop of each way is the
    /// receiver or the sender; the other hops are mixes.
    #[arg(long, value_enum, default_value_t = Profile::Mote)]
    pub profile: Profile,
    /// Mean delay of a packet at each hop.
    #[arg(long, value_name = "TIME", default_value = "50ms", value_parser = humantime::parse_duration)]
    pub mean_delay: Duration,
    /// The longest time that a hop takes besides its delay. The retransmission timer allows for it.
    #[arg(long, value_name = "TIME", default_value = "20ms", value_parser = humantime::parse_duration)]
    pub hop_allowance: Duration,
    /// How many times a message is sent, at most, before it is discarded.
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u8).range(1..))]
    pub transmissions: u8,
    /// Mean time between two cover packets that a node sends through mixes to itself; 0s for none.
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = humantime::parse_duration)]
    pub loop_cover: Duration,
    /// Mean time between two cover packets that a node sends to another, which drops them; 0s for
    /// none.
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = humantime::parse_duration)]
    pub drop_cover: Duration,
    /// Mean time between two packets for messages and replies: a packet leaves whether anything
    /// waits or not. Choose less than half of the time between messages to the busiest receiver.
    /// With 0s, messages and replies leave at once, and no cover takes their place.
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = humantime::parse_duration)]
    pub payload_rate: Duration,
    /// Has packets pass between nodes as they are, and not under a key that each two neighbours
    /// make. Then whoever forges a node's address uses up that node's share. For measurements, and
    /// for networks below a tunnel of their own.
    #[arg(long)]
    pub plain_links: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Profile {
    /// 280 bytes, three hops each way, 103 for the application.
    Mote,
    /// 376 bytes, three to five hops each way, 127 for the application.
    Mote5,
    /// 1273 bytes, three to five hops each way, 1024 for the application.
    Host1k,
    /// 2297 bytes, three to five hops each way, 2048 for the application.
    Host2k,
}

impl From<Profile> for ProfileName {
    fn from(profile: Profile) -> Self {
        match profile {
            Profile::Mote => Self::Mote,
            Profile::Mote5 => Self::Mote5,
            Profile::Host1k => Self::Host1k,
            Profile::Host2k => Self::Host2k,
        }
    }
}
