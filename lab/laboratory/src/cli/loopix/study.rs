//! What Loopix costs and what it buys.

use super::amount;
use clap::Args;
use motemix_program::cli::LoopixProfile;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Picks rates and delays within a budget and a latency, and prints what they buy and what they
/// cost.
///
/// The budget is data in both directions: everything that the client sends and pulls, with its
/// headers. The latency is the mean from one application to the other, if users say as much as
/// --messages. If both cannot be met, one line says how much more data, time or users, how much
/// shorter packets, or how many fewer messages, would each be enough; the exit status is then 1.
/// docs/research/loopix-study.md has the formulas.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix-lab loopix advise --budget 1GiB/month --latency 60s
  motemix-lab loopix advise --budget 10GiB/month --latency 20s \\
      --profile hardened
  motemix-lab loopix advise --budget 1GiB/month --latency 10s \\
      || echo 'not like this'
  motemix-lab loopix advise --budget 500MB/day --latency 5s \\
      --messages 60/hour --users 1000 --json | jq .plan")]
pub struct LoopixAdvise {
    /// Data that may be used, such as 1GiB/month or 500MB/day. A month has 30 days.
    #[arg(long, value_name = "DATA/TIME", value_parser = amount::rate)]
    pub budget: f64,
    /// Mean time from the application of the sender to that of the receiver.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub latency: Duration,
    /// Messages of each user, such as 12/hour; by default, a message for each tenth packet of the
    /// payload stream.
    #[arg(long, value_name = "NUMBER/TIME", value_parser = amount::often)]
    pub messages: Option<f64>,
    /// Which Loopix the nodes speak.
    #[arg(long, value_enum, default_value_t = LoopixProfile::Ucl2017)]
    pub profile: LoopixProfile,
    /// Users who are present at a time and send at the same rate.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(2..=10_000_000))]
    pub users: u32,
    /// Bytes of a packet, without the headers of IP and UDP; by default those of the profile, 2079
    /// or 1222. Those of the hardened profile have no other length.
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(64..=65_000))]
    pub packet_length: Option<u32>,
    /// Mean time on one link; six are between two users.
    #[arg(long, value_name = "TIME", default_value = "200ms", value_parser = humantime::parse_duration)]
    pub link: Duration,
    /// The share of packets that are lost on the way to a mailbox.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = amount::part)]
    pub loss: f64,
    /// Mixes in each of the three layers.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub mixes: u32,
    /// The least λ/μ of a mix: packets that it holds on average.
    #[arg(long, value_name = "NUMBER", default_value_t = 2.0, value_parser = amount::not_negative)]
    pub pool: f64,
    /// The least λ/μ of one client's own packets. The dissertation asks for 2, so that each user
    /// may be the sender of any packet.
    #[arg(long, value_name = "NUMBER", default_value_t = 0.0, value_parser = amount::not_negative)]
    pub own: f64,
    /// The share of mixes that work for the observer.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = amount::share)]
    pub corrupt: f64,
    /// Seed of all random numbers.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Prints JSON: one object.
    #[arg(long)]
    pub json: bool,
}

/// Prints table 4.1 of the dissertation for any packet: rates, the delays they need, data and money
/// of a month.
///
/// λ counts packets that are sent and pulled; the delay is that of four nodes with λ_send/μ = 2
/// each; a month has 30 days, and a price is for a million bytes.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix-lab loopix cost
  motemix-lab loopix cost --packet-length 1024 --rate 0.2 --rate 16
  motemix-lab loopix cost --csv table-4.1.csv")]
pub struct LoopixCost {
    /// Packets a second, sent and pulled together; those of the table by default. May be given
    /// several times.
    #[arg(long = "rate", value_name = "NUMBER", value_parser = amount::packets)]
    pub rates: Vec<f64>,
    /// Bytes of a packet.
    #[arg(long, value_name = "BYTES", default_value_t = 2079, value_parser = clap::value_parser!(u32).range(1..))]
    pub packet_length: u32,
    /// Money for a million bytes.
    #[arg(long, value_name = "NUMBER", default_value_t = 0.01, value_parser = amount::not_negative)]
    pub price: f64,
    /// Writes the table to this file.
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Prints JSON: an object for each rate.
    #[arg(long)]
    pub json: bool,
}

/// Computes how much of a telephone's battery a client takes on 3G, LTE and 5G: figure 4.8 of the
/// dissertation.
///
/// The packets are those of a client that sends Poisson streams and pulls 50 packets every 10 s;
/// each radio is a state machine with published powers and timers. The dissertation's figures are
/// printed beside them. With --trace the packets come from a file.
#[derive(Debug, Args)]
#[command(after_long_help = "\
A trace as CSV has lines of TIME_S,BYTES,up|down. A file that ends in .pcap is
read as PCAP and needs --client.

Examples:
  motemix-lab loopix measure energy
  motemix-lab loopix measure energy --rate 0 --rate 1.5 --length 24h
  motemix-lab loopix measure energy --svg figure-4.8.svg --csv figure-4.8.csv
  motemix-lab loopix measure energy --trace client.pcap --client 172.17.0.5")]
pub struct LoopixEnergy {
    /// Packets a second of the three streams together; a row of figure 4.1's rates by default. May
    /// be given several times.
    #[arg(long = "rate", value_name = "NUMBER", value_parser = amount::packets_or_none)]
    pub rates: Vec<f64>,
    /// How long each client is simulated; the figures for a day follow from it.
    #[arg(long, value_name = "TIME", default_value = "6h", value_parser = humantime::parse_duration)]
    pub length: Duration,
    /// How often the client asks for its mail.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = humantime::parse_duration)]
    pub pull_every: Duration,
    /// Packets that it gets each time.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(..=100_000))]
    pub pull_packets: u32,
    /// Bytes of a packet, without the headers of IP and UDP.
    #[arg(long, value_name = "BYTES", default_value_t = 2079, value_parser = clap::value_parser!(u32).range(1..=65_000))]
    pub packet_length: u32,
    /// Reads the packets from this file instead.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rates", "length", "pull_every", "pull_packets", "packet_length", "svg"])]
    pub trace: Option<PathBuf>,
    /// Whose packets of a PCAP file count.
    #[arg(long, value_name = "ADDRESS", requires = "trace")]
    pub client: Option<IpAddr>,
    /// Seed of all random numbers.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Draws energy over rate.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Writes the table to this file.
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// Computes what Poisson mixes hide: the entropy of one, and whether sender and receiver can be
/// linked through layers of them.
///
/// The entropy of one mix stands in closed form beside a simulation. For layers, an observer of all
/// links follows probability through the network, mix by mix; some mixes and providers may tell it
/// everything. For each network: entropy and min-entropy, how often the best guess at the sender is
/// right, δ(ε), and how many messages it takes until the sender is known.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix-lab loopix anonymity
  motemix-lab loopix anonymity --trials 1000 \\
      --svg docs/research/loopix --csv docs/research/loopix
  motemix-lab loopix anonymity --users 1000 --mixes 10 --json | jq .mixes")]
pub struct LoopixAnonymity {
    /// Mixes in each layer.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub mixes: u32,
    /// Users who send at the same rate.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    pub users: u32,
    /// Packets that are followed, for each figure.
    #[arg(long, value_name = "N", default_value_t = 400, value_parser = clap::value_parser!(u32).range(24..=1_000_000))]
    pub trials: u32,
    /// Seed of all random numbers.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Draws into this folder: entropy.svg, layers.svg, corrupt.svg, providers.svg,
    /// candidates.svg.
    #[arg(long, value_name = "DIR")]
    pub svg: Option<PathBuf>,
    /// Writes into this folder: entropy.csv and linkability.csv.
    #[arg(long, value_name = "DIR")]
    pub csv: Option<PathBuf>,
    /// Prints JSON: one object.
    #[arg(long)]
    pub json: bool,
}

/// Compares constant cover with two ways to spend less: cover that follows the number of users, and
/// sending in the foreground alone.
///
/// Each with its data, its energy on three radios, and what it costs in anonymity.
/// docs/research/loopix-study.md defines the policies and says what an observer learns from each.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix-lab loopix policies
  motemix-lab loopix policies --delay 5s --sessions 20 --session 2min
  motemix-lab loopix policies --json \\
      | jq '.foreground[] | {policy, known_half}'")]
pub struct LoopixPolicies {
    /// The mean delay of a mix: 1/μ.
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = humantime::parse_duration)]
    pub delay: Duration,
    /// Mixes in each of the three layers.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub mixes: u32,
    /// Users who have the application.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub users: u32,
    /// Times a day that a user opens the application.
    #[arg(long, value_name = "NUMBER", default_value_t = 12.0, value_parser = amount::positive)]
    pub sessions: f64,
    /// How long it stays open, on average.
    #[arg(long, value_name = "TIME", default_value = "6min", value_parser = humantime::parse_duration)]
    pub session: Duration,
    /// How often the application asks for mail in the background.
    #[arg(long, value_name = "TIME", default_value = "15min", value_parser = humantime::parse_duration)]
    pub background_pull: Duration,
    /// Packets that are followed, for each figure.
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u32).range(24..=1_000_000))]
    pub trials: u32,
    /// Seed of all random numbers.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Draws data and energy over the number of users into this folder: adaptive.svg.
    #[arg(long, value_name = "DIR")]
    pub svg: Option<PathBuf>,
    /// Writes into this folder: adaptive.csv and foreground.csv.
    #[arg(long, value_name = "DIR")]
    pub csv: Option<PathBuf>,
    /// Prints JSON: one object.
    #[arg(long)]
    pub json: bool,
}

/// Compares designs of anonymous networks that send as many packets and take as long: Poisson
/// mixes, threshold mixes, timed pool mixes, rounds with noise.
///
/// Three layers of mixes, or three servers. All clients send alike. An observer of all links sees
/// where a message ends and looks for its sender.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix-lab loopix designs
  motemix-lab loopix designs --latency 6s --latency 1min --rate 0.5
  motemix-lab loopix designs \\
      --svg docs/research/loopix --csv docs/research/loopix")]
pub struct LoopixDesigns {
    /// Mean time on the way; 3, 6, 12 and 24 s by default. May be given several times.
    #[arg(long = "latency", value_name = "TIME", value_parser = humantime::parse_duration)]
    pub latencies: Vec<Duration>,
    /// Packets that each client sends in a second.
    #[arg(long, value_name = "NUMBER", default_value_t = 1.0, value_parser = amount::packets)]
    pub rate: f64,
    /// Users who send at the same rate.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub users: u32,
    /// Mixes in each layer.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub mixes: u32,
    /// Packets that are followed, for each figure.
    #[arg(long, value_name = "N", default_value_t = 400, value_parser = clap::value_parser!(u32).range(24..=1_000_000))]
    pub trials: u32,
    /// Seed of all random numbers.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Draws messages until a sender is known into this folder: designs.svg.
    #[arg(long, value_name = "DIR")]
    pub svg: Option<PathBuf>,
    /// Writes into this folder: designs.csv.
    #[arg(long, value_name = "DIR")]
    pub csv: Option<PathBuf>,
    /// Prints JSON: an object for each design and latency.
    #[arg(long)]
    pub json: bool,
}
