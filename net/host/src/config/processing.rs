//! How a node uses its processor.

use std::time::Duration;

use motemix_toml::Fault;
use serde::{Deserialize, Serialize};

/// The section `[processing]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Processing {
    /// Threads that process packets, the one that sends and receives among them. By default as many
    /// as the process may use cores, and never more: batches that wait for a core have left the
    /// queue that is fair to neighbours. Those besides the first start when there is work for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u16>,
    /// How long the packets of a batch may take together: for no longer is one packet held back by
    /// others of its batch, unless they are as few as the lanes of the processor. `"0s"` switches
    /// batches off.
    #[serde(with = "jiff::fmt::serde::unsigned_duration::friendly::compact::required")]
    pub batch_time: Duration,
}

impl Default for Processing {
    fn default() -> Self {
        Self { threads: None, batch_time: Self::BATCH_TIME }
    }
}

impl Processing {
    /// The most threads that one may ask for.
    const MOST_THREADS: u16 = 1024;
    /// Four lanes of AVX2 do sixteen packets in it. Mean delays of mixes are ten times as long and
    /// more.
    const BATCH_TIME: Duration = Duration::from_millis(1);
    /// A batch that takes longer holds up timers as well.
    const LONGEST_BATCH: Duration = Duration::from_millis(100);

    pub(super) fn is_usual(&self) -> bool {
        *self == Self::default()
    }

    /// How many threads there may be.
    pub fn threads(&self) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        self.threads.map_or(cores, usize::from).clamp(1, cores.min(Self::MOST_THREADS.into()))
    }

    pub(super) fn check(&self) -> Result<(), Fault> {
        if let Some(threads) = self.threads.filter(|threads| !(1..=Self::MOST_THREADS).contains(threads)) {
            let remedy = format!("choose 1 to {}, or leave it out for all cores", Self::MOST_THREADS);
            return Err(Fault::new("processing.threads", format!("is {threads}"), remedy));
        }
        if self.batch_time > Self::LONGEST_BATCH {
            let problem = "is longer than 100ms";
            return Err(Fault::new("processing.batch_time", problem, "for example \"1ms\""));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_no_more_threads_than_cores() {
        let threads = |asked| Processing { threads: asked, ..Processing::default() }.threads();
        let cores = threads(None);
        assert_eq!((threads(Some(1)), threads(Some(Processing::MOST_THREADS))), (1, cores));
    }
}
