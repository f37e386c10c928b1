//! `motemix-lab bench`.

use clap::Args;

/// Measures what packets cost on this machine.
///
/// One core does each piece of work many times, a few times in turn with the others, and each time
/// is measured by itself. The minimum is the cost of the work when nothing disturbs it; the median
/// is what to expect. A hop is everything that a mix does to a packet, except sockets, delays and
/// the replay filter.
#[derive(Debug, Args)]
#[command(after_long_help = "\
What to compare with:
  Only figures of one run on one machine compare. In the source tree,
  `make bench` measures other implementations of Sphinx in turns with this one,
  and nodes that forward datagrams. Build with --release; other builds warn that
  they are slow.

Examples:
  motemix-lab bench
  motemix-lab bench --seconds 30 --json | jq '.rows[] | select(.work == \"hop\")'")]
pub struct Bench {
    /// How long to measure, all rows together.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub seconds: u64,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}
