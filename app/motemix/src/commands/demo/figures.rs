//! What all nodes together have counted.
//!
//! Counters arrive by name from the nodes' control sockets; the names are those of
//! `motemix_node::Counters`, `dropped_<reason>` for each reason, and `round_trip_us_<bound>` for
//! the number of round trips up to that many microseconds and above the next lower bound;
//! `elapsed_us_<bound>` the same from taking a message until its acknowledgement, over all tries.

use motemix_host::control::NodeStatus;
use std::collections::BTreeMap;

const DROPPED: &str = "dropped_";
/// The round trip of the try that was acknowledged.
pub const ROUND_TRIP: &str = "round_trip_us_";
/// The time of all tries.
pub const ELAPSED: &str = "elapsed_us_";

/// Sums over nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Figures {
    counters: BTreeMap<String, u64>,
}

impl Figures {
    /// Adds what a node has counted.
    pub fn add(&mut self, status: &NodeStatus) {
        for (name, value) in &status.counters {
            *self.counters.entry(name.clone()).or_default() += value;
        }
    }

    /// Adds what other nodes have counted.
    pub fn join(&mut self, other: &Self) {
        for (name, value) in &other.counters {
            *self.counters.entry(name.clone()).or_default() += value;
        }
    }

    pub fn get(&self, name: &str) -> u64 {
        self.counters.get(name).copied().unwrap_or(0)
    }

    /// Messages whose outcome is not known yet.
    pub fn under_way(&self) -> u64 {
        self.get("sent").saturating_sub(self.get("acknowledged") + self.get("discarded"))
    }

    /// Packets dropped, by reason; those without any are left out.
    pub fn dropped(&self) -> BTreeMap<&str, u64> {
        let reasons = self.counters.iter().filter_map(|(name, n)| Some((name.strip_prefix(DROPPED)?, *n)));
        reasons.filter(|(_, n)| *n > 0).collect()
    }

    /// The time that a share of all times of a kind is not longer than, in microseconds; `None` if
    /// there were none.
    ///
    /// `kind` is [`ROUND_TRIP`] or [`ELAPSED`], `share` in percent.
    pub fn micros(&self, kind: &str, share: u64) -> Option<u64> {
        let bounds = self
            .counters
            .iter()
            .filter_map(|(name, n)| Some((name.strip_prefix(kind)?.parse::<u64>().ok()?, *n)));
        let bounds: BTreeMap<_, _> = bounds.collect();
        let total: u64 = bounds.values().sum();
        let rank = (total * share).div_ceil(100).max(1);
        let mut seen = 0;
        bounds.into_iter().find_map(|(bound, n)| {
            seen += n;
            (seen >= rank).then_some(bound)
        })
    }

    /// How it stands, in one line.
    pub fn line(&self) -> String {
        format!(
            "sent {}, delivered {}, acknowledged {}, retransmitted {}, discarded {}",
            self.get("sent"),
            self.get("delivered"),
            self.get("acknowledged"),
            self.get("retransmitted"),
            self.get("discarded"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(counters: &[(&str, u64)]) -> Figures {
        Figures { counters: counters.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect() }
    }

    #[test]
    fn sums_over_nodes() {
        let mut sum = figures(&[("sent", 3), ("acknowledged", 1)]);
        sum.join(&figures(&[
            ("sent", 2),
            ("discarded", 1),
            ("dropped_replayed", 1),
            ("dropped_no-epoch", 0),
        ]));
        assert_eq!(sum.get("sent"), 5);
        assert_eq!(sum.under_way(), 3);
        assert_eq!(sum.dropped(), BTreeMap::from([("replayed", 1)]));
    }

    #[test]
    fn finds_quantiles_in_numerical_order_of_bounds() {
        let counted =
            figures(&[("round_trip_us_900", 50), ("round_trip_us_10000", 48), ("round_trip_us_20000", 2)]);
        assert_eq!(counted.micros(ROUND_TRIP, 50), Some(900));
        assert_eq!(counted.micros(ROUND_TRIP, 51), Some(10_000));
        assert_eq!(counted.micros(ROUND_TRIP, 99), Some(20_000));
        assert_eq!(figures(&[]).micros(ROUND_TRIP, 50), None);
    }
}
