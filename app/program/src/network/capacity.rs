//! How many packets each node of a new network has to hold, and whether it can.

use super::{Blueprint, Duty};
use crate::failure::Failure;
use motemix_directory::Parameters;
use motemix_node::{FingerprintBits, ReplayPlan, cover_an_hour};

/// Memory of a replay filter, at most: 20,000 packets a second for an hour.
const MOST_MEMORY: usize = 300 << 20;
/// Packets of an epoch, at least: it costs 230 KiB.
const LEAST_PACKETS: u64 = 1 << 16;
/// Without `--rate`: cover, and twice as many messages.
const OF_COVER: u64 = 3;
/// Without `--rate` and nearly without cover, in packets a second.
const LEAST_RATE: u64 = 10;
/// What a replay log has for each packet, in bytes.
const LOGGED: u64 = 8;

/// What the replay filters of a network are made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// Packets a second, for a whole epoch.
    pub rate: u64,
    /// Packets of an epoch: `limits.replay_tags`.
    pub packets: u32,
    /// Memory of the replay filter in bytes; it is taken when it is needed.
    pub memory: usize,
    /// Bytes of the replay logs of two epochs.
    pub disk: u64,
}

impl Capacity {
    /// For the rate that is asked for, or for three times what cover makes.
    ///
    /// # Errors
    /// A filter for a whole epoch would be too large.
    pub fn of(blueprint: &Blueprint<'_>, parameters: &Parameters) -> Result<Self, Failure> {
        let mixes = blueprint.nodes.iter().filter(|node| matches!(node.duty, Duty::Mix { .. })).count();
        let cover = cover_an_hour(parameters, blueprint.nodes.len(), mixes);
        let an_hour = match blueprint.rate {
            Some(rate) => u64::from(rate) * 3600,
            None => cover.saturating_mul(OF_COVER).max(LEAST_RATE * 3600),
        };
        let rate = an_hour.div_ceil(3600);
        if blueprint.rate.is_some() && an_hour < cover {
            return Err(Failure::broken(format!(
                "--rate {rate}: cover alone makes {} packets a second at a mix; choose as many at least",
                cover.div_ceil(3600)
            )));
        }
        let plan = ReplayPlan {
            packets_an_hour: an_hour,
            epoch: blueprint.calendar.length(),
            replay_bytes: MOST_MEMORY,
            fingerprint: FingerprintBits::HOST,
        };
        plan.check().map_err(|small| {
            let needed = small.bytes_needed.map_or("too much".to_owned(), |bytes| mebibytes(bytes as u64));
            Failure::broken(format!(
                "--epoch-length {}: at {rate} packets a second a replay filter needs {needed} of memory and may have {}; \
                 use epochs of {}s at most, or expect fewer packets (--rate)",
                humantime::format_duration(plan.epoch),
                mebibytes(MOST_MEMORY as u64),
                small.longest_epoch.as_secs(),
            ))
        })?;
        let packets = plan.packets().max(LEAST_PACKETS);
        let memory = FingerprintBits::HOST.bytes_for(packets as usize).unwrap_or(MOST_MEMORY);
        // The check bounds it well below 2^32.
        let packets = u32::try_from(packets).unwrap_or(u32::MAX);
        Ok(Self { rate, packets, memory, disk: 2 * LOGGED * u64::from(packets) })
    }

    /// One line for people.
    pub fn words(&self) -> String {
        format!(
            "each node takes in {} packets a second for a whole epoch, with up to {} of memory and {} of disk",
            self.rate,
            mebibytes(self.memory as u64),
            mebibytes(self.disk)
        )
    }
}

fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes.div_ceil(1 << 20))
}
