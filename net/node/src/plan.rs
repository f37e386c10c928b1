//! Whether rate, epoch and replay filter fit together: to be asked when a network or a scenario is
//! made.

use core::fmt;
use core::time::Duration;

use motemix_directory::Parameters;

use crate::replay::FingerprintBits;

const HOUR: Duration = Duration::from_hours(1);

/// What a node's replay filter has to hold, and its memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReplayPlan {
    /// Packets that the node takes in an hour.
    pub packets_an_hour: u64,
    /// How long a mix key is in use.
    pub epoch: Duration,
    /// Memory lent to the filter, in bytes.
    pub replay_bytes: usize,
    /// Length of a fingerprint.
    pub fingerprint: FingerprintBits,
}

/// The filter would be full before its epoch ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReplayFilterTooSmall {
    /// Packets of an epoch.
    pub packets: u64,
    /// For how many there is memory.
    pub room: u64,
    /// The least memory that is enough, in bytes; `None` if fingerprints of this length do not
    /// reach so far.
    pub bytes_needed: Option<usize>,
    /// The longest epoch for which the memory is enough.
    pub longest_epoch: Duration,
}

impl ReplayPlan {
    /// Packets of an epoch.
    pub fn packets(&self) -> u64 {
        let micros = u128::from(self.packets_an_hour).saturating_mul(self.epoch.as_micros());
        u64::try_from(micros.div_ceil(HOUR.as_micros())).unwrap_or(u64::MAX)
    }

    /// Whether the filter lasts for the epoch, with an eighth left for bursts and for the overlap
    /// with its neighbours.
    ///
    /// # Errors
    /// What is too small, and what would be enough.
    pub fn check(&self) -> Result<(), ReplayFilterTooSmall> {
        let (packets, room) = (self.packets(), self.fingerprint.packets_of(self.replay_bytes) as u64);
        if packets <= room {
            return Ok(());
        }
        let bytes_needed =
            usize::try_from(packets).ok().and_then(|packets| self.fingerprint.bytes_for(packets));
        let hours = u128::from(room) * HOUR.as_micros();
        let longest = hours.checked_div(u128::from(self.packets_an_hour)).unwrap_or(0);
        let longest_epoch = Duration::from_micros(u64::try_from(longest).unwrap_or(u64::MAX));
        Err(ReplayFilterTooSmall { packets, room, bytes_needed, longest_epoch })
    }
}

impl fmt::Display for ReplayFilterTooSmall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { packets, room, bytes_needed, longest_epoch } = self;
        write!(f, "the replay filter has room for {room} packets and an epoch has {packets}; ")?;
        match bytes_needed {
            Some(bytes) => write!(f, "lend it {bytes} bytes, or use epochs of ")?,
            None => f.write_str("use longer fingerprints, or epochs of ")?,
        }
        write!(f, "{} s at most", longest_epoch.as_secs())
    }
}

impl core::error::Error for ReplayFilterTooSmall {}

/// Packets that cover alone makes a mix take in an hour, if all mixes of a network of `nodes` get
/// the same share: loops, drop cover, and the ticks of the payload stream, which are loops or
/// messages. A node's own loops need no place in its filter.
pub fn cover_an_hour(parameters: &Parameters, nodes: usize, mixes: usize) -> u64 {
    let hops = u64::from(parameters.max_hops);
    let streams = [
        (parameters.loop_mean, (2 * hops).saturating_sub(1)),
        (parameters.payload_mean, 2 * hops),
        // A hop more than its mixes: it ends at a node like any other.
        (parameters.drop_mean, hops),
    ];
    let packets = |(mean, places): (Option<Duration>, u64)| {
        let micros = mean.map_or(u128::MAX, |mean| mean.as_micros().max(1));
        (HOUR.as_micros() * u128::from(places)).saturating_mul(nodes as u128) / micros
    };
    let all = streams.into_iter().map(packets).fold(0, u128::saturating_add);
    u64::try_from(all.div_ceil(mixes.max(1) as u128)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::string::ToString as _;

    use crate::Config;

    #[test]
    fn a_host_holds_twenty_thousand_packets_a_second_for_an_hour_in_300_mib_and_not_for_a_day() {
        let plan = ReplayPlan {
            packets_an_hour: 20_000 * 3600,
            epoch: HOUR,
            replay_bytes: 300 << 20,
            fingerprint: FingerprintBits::HOST,
        };
        assert_eq!(plan.check(), Ok(()));
        let refused = ReplayPlan { epoch: 24 * HOUR, ..plan }.check().unwrap_err();
        assert_eq!(refused.packets, 1_728_000_000);
        assert!(refused.room >= 72_000_000, "{refused}");
        assert!((3600..4200).contains(&refused.longest_epoch.as_secs()), "{refused}");
        let needed = refused.bytes_needed.unwrap();
        assert_eq!(ReplayPlan { epoch: 24 * HOUR, replay_bytes: needed, ..plan }.check(), Ok(()));
        assert!(refused.to_string().contains(&std::format!("lend it {needed} bytes")), "{refused}");
    }

    #[test]
    fn a_board_lasts_an_hour_in_eight_kibibytes_at_what_a_full_channel_carries() {
        let plan = ReplayPlan {
            packets_an_hour: 2000,
            epoch: HOUR,
            replay_bytes: 8 << 10,
            fingerprint: FingerprintBits::BOARD,
        };
        assert_eq!(plan.check(), Ok(()));
        let refused = ReplayPlan { packets_an_hour: 12_000, ..plan }.check().unwrap_err();
        assert!(refused.longest_epoch >= Duration::from_mins(10), "{refused}");
    }

    #[test]
    fn cover_of_a_network_is_shared_among_its_mixes() {
        let mut parameters = Config::thesis().parameters;
        parameters.loop_mean = Some(Duration::from_secs(2));
        parameters.drop_mean = Some(Duration::from_secs(2));
        // 11 nodes, half a loop and half a drop a second each: 5 and 3 places, on 6 mixes.
        assert_eq!(cover_an_hour(&parameters, 11, 6), (11 * (5 + 3) * 1800_u64).div_ceil(6));
        assert_eq!(cover_an_hour(&Config::thesis().parameters, 64, 64), 0);
    }

    #[test]
    fn nothing_overflows() {
        let plan = ReplayPlan {
            packets_an_hour: u64::MAX,
            epoch: Duration::MAX,
            replay_bytes: 0,
            fingerprint: FingerprintBits::HOST,
        };
        assert!(plan.check().is_err());
        let mut parameters = Config::thesis().parameters;
        parameters.max_hops = u8::MAX;
        parameters.loop_mean = Some(Duration::ZERO);
        parameters.payload_mean = Some(Duration::MAX);
        assert!(cover_an_hour(&parameters, usize::MAX >> 16, 0) > 0);
    }
}
