//! `motemix-lab sim`.

use clap::{Args, Subcommand};
use motemix_sim::scenario::Setting;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Subcommand)]
pub enum Sim {
    Run(SimRun),
    Trace(SimTrace),
    Sweep(SimSweep),
    Plot(SimPlot),
    Score(SimScore),
    Validate(SimValidate),
}

/// Which scenario, and what is changed in it.
#[derive(Debug, Args)]
pub struct SimScenario {
    /// The scenario, a TOML file such as those in the folder scenarios. docs/how-to/simulator.md
    /// explains every field.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Another value for a field of the scenario. May be given several times.
    #[arg(long = "set", value_name = "FIELD=VALUE", value_parser = Setting::parse)]
    pub settings: Vec<Setting>,
}

/// Runs a scenario once and prints what became of the messages.
///
/// Time is virtual: an hour of a network of 64 motes takes some seconds. The same scenario with the
/// same seed gives the same outcome on every machine, to the last bit.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix-lab sim run scenarios/mesh-64.toml
  motemix-lab sim run scenarios/mesh-64.toml --seed 7 \\
      --set nodes.mote.count=20 --set load.interval=30s
  motemix-lab sim run scenarios/mesh-64.toml --json \\
      | jq '{acknowledged, rtt_s, drops}'
  motemix-lab sim run scenarios/mesh-64.toml --set run.send_for=1min \\
      --pcap air.pcap
  motemix-lab sim run scenarios/anonymity.toml \\
      --transfers transfers.parquet --posteriors posteriors.parquet")]
pub struct SimRun {
    #[command(flatten)]
    pub scenario: SimScenario,
    /// Seed of all random numbers, in place of the scenario's seed.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub seed: Option<u64>,
    /// One run of the scenario's sweep, by its number. `motemix-lab sim sweep FILE --list` shows
    /// the numbers.
    #[arg(long, value_name = "ID", conflicts_with = "seed")]
    pub run: Option<u32>,
    /// Prints JSON: one object.
    #[arg(long)]
    pub json: bool,
    /// Writes all frames on the air to a file that Wireshark reads. A wrong check sequence marks
    /// collided frames. The times begin in 1970. Keys of protected links go to the folder
    /// FILE.keys.
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    /// Writes how probably each node sent each message, as the scenario's observer sees it: a
    /// Parquet file with a row for each message and node. `motemix-lab sim score` reads it.
    #[arg(long, value_name = "FILE")]
    pub posteriors: Option<PathBuf>,
    /// Writes which node passed a packet to which, and when, as the scenario's observer hears it: a
    /// Parquet file with a row for each.
    #[arg(long, value_name = "FILE")]
    pub transfers: Option<PathBuf>,
}

/// Runs a scenario once and prints what happens: a line for each event.
///
/// Who was given a message for whom; which packets leave to which neighbour; frames on the air and
/// what became of them; what arrived, was acknowledged, given up or dropped, and why. Nodes are
/// numbered in the order of their groups' names.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix-lab sim trace scenarios/mesh-64.toml --to 30s | less
  motemix-lab sim trace scenarios/mesh-64.toml --node 12 --from 1min --to 2min
  motemix-lab sim trace scenarios/mesh-64.toml --to 1min --json \\
      | jq 'select(.event == \"dropped\")'")]
pub struct SimTrace {
    #[command(flatten)]
    pub scenario: SimScenario,
    /// Seed of all random numbers, in place of the scenario's seed.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub seed: Option<u64>,
    /// Only what this node does, or what is done to it. May be given several times.
    #[arg(long = "node", value_name = "N")]
    pub nodes: Vec<u16>,
    /// Only from this time on.
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = humantime::parse_duration)]
    pub from: Duration,
    /// Only until this time; the run ends there.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub to: Option<Duration>,
    /// Prints JSON: an object in each line, with the time in microseconds.
    #[arg(long)]
    pub json: bool,
}

/// Runs a scenario with every combination of the values that its section `[sweep]` lists, and every
/// seed.
///
/// Each finished run is written to DIR/journal.jsonl. To continue an interrupted sweep, give the
/// same command again. At the end there are three tables. runs.csv and runs.parquet have a row for
/// each run. summary.csv has a row for each combination, with means over the seeds and confidence
/// intervals of 95 % (Student's t). The tables depend only on the scenario and the version of this
/// program.
#[derive(Debug, Args)]
#[command(after_long_help = "\
In the scenario:
  [sweep]
  seeds = 10
  vary = { \"nodes.mote.count\" = [10, 20, 30], protocol = [\"motes\", \"udp\"] }

Other programs can run the runs, as scripts/sim/ray_sweep.py does: they take
numbers from --list, give each to `motemix-lab sim run FILE --run ID --json`,
and hand what that prints to --take.

Examples:
  motemix-lab sim sweep scenarios/anonymity.toml --out results
  motemix-lab sim sweep scenarios/anonymity.toml --out results \\
      --set run.send_for=10min --jobs 1
  motemix-lab sim sweep scenarios/anonymity.toml --list | head -3")]
pub struct SimSweep {
    #[command(flatten)]
    pub scenario: SimScenario,
    /// Folder for the results; made if it does not exist.
    #[arg(long, value_name = "DIR", required_unless_present = "list")]
    pub out: Option<PathBuf>,
    /// How many runs at a time. By default as many as there are cores.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
    /// Only these runs, by number.
    #[arg(long, value_name = "ID", num_args = 1..)]
    pub only: Option<Vec<u32>>,
    /// Throws away all runs in DIR, even of another scenario, and begins anew.
    #[arg(long)]
    pub restart: bool,
    /// Runs nothing; prints a line of JSON for each run that is still to be done: its number, seed
    /// and settings.
    #[arg(long, conflicts_with_all = ["restart", "jobs"])]
    pub list: bool,
    /// Runs nothing; reads runs that others did from stdin, each as {"run": ID, "outcome": {…}},
    /// and writes them down.
    #[arg(long, conflicts_with_all = ["list", "jobs", "only"])]
    pub take: bool,
}

/// Draws the results of a sweep as SVG: means with bands of 95 % confidence.
///
/// Every column of DIR/runs.csv can be an axis. By default there is a line for each combination of
/// the other varied fields. --by chooses the columns that make lines, --where leaves runs out.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix-lab sim plot results --x nodes.mote.count \\
      --y acknowledged_percent --by protocol --svg delivery.svg
  motemix-lab sim plot results --x nodes.mote.count \\
      --y acknowledged_percent --y retransmitted_percent --svg all.svg
  motemix-lab sim plot results --x motes.mean_delay --y rtt_s.p50 \\
      --where protocol=motes --log-y --svg delay.svg")]
pub struct SimPlot {
    /// The results of a sweep.
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// The column of the horizontal axis: numbers or durations.
    #[arg(long, value_name = "COLUMN")]
    pub x: String,
    /// The column of the vertical axis. May be given several times.
    #[arg(long, value_name = "COLUMN", required = true)]
    pub y: Vec<String>,
    /// A line for each value of this column. May be given several times.
    #[arg(long, value_name = "COLUMN")]
    pub by: Vec<String>,
    /// Only runs with this value. May be given several times.
    #[arg(long = "where", value_name = "COLUMN=VALUE")]
    pub only: Vec<String>,
    /// Makes the horizontal axis logarithmic.
    #[arg(long)]
    pub log_x: bool,
    /// Makes the vertical axis logarithmic.
    #[arg(long)]
    pub log_y: bool,
    /// Title of the chart. By default the scenario's name.
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// The picture.
    #[arg(long, value_name = "FILE")]
    pub svg: PathBuf,
}

/// Scores an observer's distributions over the senders of messages.
///
/// Reads a Parquet file with a row for each message and node: message, receiver, true_sender and
/// sender as INT64, and a column of probabilities as DOUBLE. Those of a message add up to one.
/// `motemix-lab sim run --posteriors FILE` writes such files. Other observers can work from what
/// --transfers writes, and be scored by the same measures.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix-lab sim score posteriors.parquet
  motemix-lab sim score posteriors.parquet --column there --json")]
pub struct SimScore {
    /// The distributions.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The column of the probabilities.
    #[arg(long, value_name = "COLUMN", default_value = "round_trip_with_habits")]
    pub column: String,
    /// Prints JSON: one object.
    #[arg(long)]
    pub json: bool,
}

/// Compares the channel with what others have calculated and measured.
///
/// Sends frames alone, without nodes. Compares the rate of one saturated sender with the standard's
/// formula and the figures of Latré and others, and the loss of frames and datagrams under growing
/// load with ns-3.37. With --peer, ns-3 runs again on this machine; scripts/compare-ns3 builds the
/// program for it.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix-lab sim validate
  scripts/compare-ns3")]
pub struct SimValidate {
    /// A program that runs ns-3. Its source is lab/ns3/peer.cc.
    #[arg(long, value_name = "PROGRAM")]
    pub peer: Option<PathBuf>,
    /// Prints JSON: an array of checks.
    #[arg(long)]
    pub json: bool,
}
