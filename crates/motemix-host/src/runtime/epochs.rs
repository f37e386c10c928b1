//! When the epochs of a node begin, overlap and end, by the clock on the wall.

use std::time::Duration;

use motemix_directory::{Epoch, UnixTime};

use crate::documents::Network;

/// What is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    /// The document's time is over: look for the next one.
    Next,
    /// Accept packets for this epoch from now on.
    Prepare(Epoch),
    /// Erase the keys and replay logs of the epochs before this one.
    Erase(Epoch),
}

/// The epoch in force, and what has been done about its neighbours.
#[derive(Debug)]
pub(super) struct Epochs {
    epoch: Epoch,
    valid_after: UnixTime,
    valid_until: UnixTime,
    overlap: u64,
    prepared_next: bool,
    erased_earlier: bool,
}

impl Epochs {
    pub(super) fn of(network: &Network) -> Self {
        // A second of grace, because documents count whole ones.
        let overlap = network.parameters.overlap.as_secs() + 1;
        Self {
            epoch: network.epoch,
            valid_after: network.valid_after,
            valid_until: network.valid_until,
            overlap,
            prepared_next: false,
            erased_earlier: false,
        }
    }

    pub(super) fn epoch(&self) -> Epoch {
        self.epoch
    }

    pub(super) fn next_epoch(&self) -> Epoch {
        Epoch(self.epoch.0.saturating_add(1))
    }

    /// How long packets of the epoch before are still accepted.
    pub(super) fn overlap_left(&self, now: UnixTime) -> Duration {
        Duration::from_secs(self.end_of_overlap().saturating_sub(now.0))
    }

    /// The next thing that is due at `now`, once.
    pub(super) fn due(&mut self, now: UnixTime) -> Option<Due> {
        // A node has two keys at a time: the next epoch's takes the place of the one before.
        if !self.erased_earlier && now.0 > self.end_of_overlap() {
            self.erased_earlier = true;
            return Some(Due::Erase(self.epoch));
        }
        if !self.prepared_next
            && self.erased_earlier
            && now.0 >= self.valid_until.0.saturating_sub(self.overlap)
        {
            self.prepared_next = true;
            return Some(Due::Prepare(self.next_epoch()));
        }
        (now >= self.valid_until).then_some(Due::Next)
    }

    fn end_of_overlap(&self) -> u64 {
        self.valid_after.0.saturating_add(self.overlap)
    }
}

#[cfg(test)]
mod tests {
    use motemix_directory::{Parameters, ProfileName};

    use super::*;

    fn epochs(overlap: u64) -> Epochs {
        let parameters = Parameters {
            min_hops: 3,
            max_hops: 3,
            mean_delay: Duration::ZERO,
            hop_allowance: Duration::ZERO,
            transmissions: 1,
            loop_mean: None,
            drop_mean: None,
            payload_mean: None,
            overlap: Duration::from_secs(overlap),
        };
        Epochs::of(&Network {
            epoch: Epoch(7),
            valid_after: UnixTime(1000),
            valid_until: UnixTime(1100),
            name: "field".into(),
            profile: ProfileName::Mote,
            parameters,
            nodes: Vec::new(),
        })
    }

    fn story(epochs: &mut Epochs) -> Vec<(u64, Due)> {
        (1000..=1101).filter_map(|now| Some((now, epochs.due(UnixTime(now))?))).collect()
    }

    #[test]
    fn an_epoch_erases_the_earlier_and_prepares_the_next() {
        let told = story(&mut epochs(10));
        let expected = [
            (1012, Due::Erase(Epoch(7))),
            (1089, Due::Prepare(Epoch(8))),
            (1100, Due::Next),
            (1101, Due::Next),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn with_a_long_overlap_the_next_key_waits_until_the_earlier_is_gone() {
        let told = story(&mut epochs(90));
        assert_eq!(told[..2], [(1092, Due::Erase(Epoch(7))), (1093, Due::Prepare(Epoch(8)))]);
    }

    #[test]
    fn a_start_in_the_middle_catches_up() {
        let mut epochs = epochs(10);
        assert_eq!(epochs.overlap_left(UnixTime(1005)), Duration::from_secs(6));
        assert_eq!(epochs.overlap_left(UnixTime(1050)), Duration::ZERO);
        assert_eq!(epochs.due(UnixTime(1095)), Some(Due::Erase(Epoch(7))));
        assert_eq!(epochs.due(UnixTime(1095)), Some(Due::Prepare(Epoch(8))));
        assert_eq!(epochs.due(UnixTime(1095)), None);
    }
}
