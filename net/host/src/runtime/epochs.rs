//! What is due about the epochs of a node: which begin, overlap, end, and are erased.

use std::time::Duration;

use motemix_directory::{Epoch, UnixTime};

use crate::documents::{Later, Network};

/// What is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    /// Accept packets for this epoch from now on.
    Prepare(Epoch),
    /// The document of a later epoch is in force: begin it.
    Begin(Epoch),
    /// The document's time is over, and no other is in force: send nothing.
    Expired,
    /// Nor may packets of the last epoch be under way any more: wipe its key in memory.
    End,
    /// Erase the keys and replay logs of the epochs before this one.
    Erase(Epoch),
    /// The clock was ahead: this epoch has not begun, or has not ended.
    TooEarly,
}

/// The epoch in force, and what has been done about it and its neighbours.
#[derive(Debug)]
pub(super) struct Epochs {
    epoch: Epoch,
    valid_after: UnixTime,
    valid_until: UnixTime,
    overlap: u64,
    prepared: Option<Epoch>,
    /// All keys before this epoch are erased.
    erased: Epoch,
    expired: bool,
    ended: bool,
    told_too_early: bool,
}

impl Epochs {
    /// `erased` is the earliest epoch whose key the node still has.
    pub(super) fn of(network: &Network, erased: Epoch) -> Self {
        // A second of grace, because documents count whole ones.
        let overlap = network.parameters.overlap.as_secs() + 1;
        Self {
            epoch: network.epoch,
            valid_after: network.valid_after,
            valid_until: network.valid_until,
            overlap,
            prepared: None,
            erased,
            expired: false,
            ended: false,
            told_too_early: false,
        }
    }

    pub(super) fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The first second in which the document may no longer be used.
    pub(super) fn valid_until(&self) -> UnixTime {
        self.valid_until
    }

    /// Whether nothing is sent any more.
    pub(super) fn has_expired(&self) -> bool {
        self.expired
    }

    /// Lets [`Due::TooEarly`] be told again.
    pub(super) fn look_again(&mut self) {
        self.told_too_early = false;
    }

    /// Whether packets of this later epoch are accepted already.
    pub(super) fn is_prepared(&self, epoch: Epoch) -> bool {
        self.prepared == Some(epoch)
    }

    /// How long packets of the epoch before are still accepted.
    pub(super) fn overlap_left(&self, now: UnixTime) -> Duration {
        Duration::from_secs(self.end_of_overlap().0.saturating_sub(now.0))
    }

    /// How far a clock may be wrong without harm.
    pub(super) fn overlap(&self) -> Duration {
        Duration::from_secs(self.overlap)
    }

    /// How long the epoch lasts from now on.
    pub(super) fn left(&self, now: UnixTime) -> Duration {
        Duration::from_secs(self.valid_until.0.saturating_sub(now.0))
    }

    /// What other nodes prove by using this epoch's keys: that it is not earlier than this.
    pub(super) fn earliest_use(&self) -> UnixTime {
        UnixTime(self.valid_after.0.saturating_sub(self.overlap))
    }

    /// Whether [`Epochs::due`] needs news of the folder of documents.
    pub(super) fn needs_news(&self, now: UnixTime, known: &Later) -> bool {
        known.next.is_some_and(|(_, begins)| now >= begins) || (now >= self.valid_until && !self.expired)
    }

    /// The next thing that is due at `now`, once; [`Due::Begin`] until it has begun. `passed` tells
    /// whether a time has passed for sure: for what cannot be undone.
    pub(super) fn due(
        &mut self,
        now: UnixTime,
        later: &Later,
        passed: impl Fn(UnixTime) -> bool,
    ) -> Option<Due> {
        if self.erased < self.epoch && passed(self.end_of_overlap()) {
            self.erased = self.epoch;
            return Some(Due::Erase(self.epoch));
        }
        if let Some(epoch) = later.in_force.filter(|epoch| *epoch > self.epoch) {
            return Some(Due::Begin(epoch));
        }
        if now < self.earliest_use() || (self.expired && now < self.valid_until) {
            return (!std::mem::replace(&mut self.told_too_early, true)).then_some(Due::TooEarly);
        }
        if let Some((epoch, begins)) = later.next
            // A node has two keys at a time: the next epoch's takes the place of the one before.
            && now > self.end_of_overlap()
            && now.0 >= begins.0.saturating_sub(self.overlap)
            && self.prepared != Some(epoch)
        {
            self.prepared = Some(epoch);
            return Some(Due::Prepare(epoch));
        }
        if now >= self.valid_until && !self.expired {
            self.expired = true;
            return Some(Due::Expired);
        }
        let gone = UnixTime(self.valid_until.0.saturating_add(self.overlap));
        if self.expired && !self.ended && now >= gone {
            (self.ended, self.prepared) = (true, None);
            return Some(Due::End);
        }
        let next = Epoch(self.epoch.0.saturating_add(1));
        if self.ended && self.erased < next && passed(gone) {
            self.erased = next;
            return Some(Due::Erase(next));
        }
        None
    }

    fn end_of_overlap(&self) -> UnixTime {
        UnixTime(self.valid_after.0.saturating_add(self.overlap))
    }
}

#[cfg(test)]
mod tests {
    use motemix_directory::{Parameters, ProfileName};

    use super::*;

    /// Epoch 7 from 1000 to 1100, while the key of epoch 6 is still there.
    fn epochs(overlap: u64) -> Epochs {
        let mut parameters = Parameters::new(3, 3);
        parameters.overlap = Duration::from_secs(overlap);
        let network = Network {
            epoch: Epoch(7),
            valid_after: UnixTime(1000),
            valid_until: UnixTime(1100),
            name: "field".into(),
            profile: ProfileName::Mote,
            parameters,
            ids: Vec::new(),
        };
        Epochs::of(&network, Epoch(6))
    }

    /// Which epoch begins at which second.
    fn folder(documents: &[(u32, u64)], now: u64) -> Later {
        let mut later = Later::default();
        for (epoch, begins) in documents {
            if now >= *begins {
                later.in_force = Some(Epoch(*epoch));
            } else if later.next.is_none() {
                later.next = Some((Epoch(*epoch), UnixTime(*begins)));
            }
        }
        later
    }

    fn story(epochs: &mut Epochs, documents: &[(u32, u64)], clock_is_late: u64) -> Vec<(u64, Due)> {
        let mut told = Vec::new();
        for now in 1000..=1200 {
            let passed = |time: UnixTime| time.0 + clock_is_late <= now;
            while let Some(due) = epochs.due(UnixTime(now), &folder(documents, now), passed) {
                told.push((now, due));
                if matches!(due, Due::Begin(_)) {
                    return told;
                }
            }
        }
        told
    }

    #[test]
    fn an_epoch_erases_the_earlier_and_prepares_the_next() {
        let told = story(&mut epochs(10), &[(8, 1100), (9, 1200)], 0);
        let expected =
            [(1011, Due::Erase(Epoch(7))), (1089, Due::Prepare(Epoch(8))), (1100, Due::Begin(Epoch(8)))];
        assert_eq!(told, expected);
    }

    #[test]
    fn an_epoch_that_begins_early_is_prepared_early() {
        let told = story(&mut epochs(10), &[(8, 1050), (12, 1100)], 0);
        let expected =
            [(1011, Due::Erase(Epoch(7))), (1039, Due::Prepare(Epoch(8))), (1050, Due::Begin(Epoch(8)))];
        assert_eq!(told, expected);
    }

    #[test]
    fn without_a_further_document_all_stops_and_the_key_goes() {
        let expected = [
            (1011, Due::Erase(Epoch(7))),
            (1100, Due::Expired),
            (1111, Due::End),
            (1111, Due::Erase(Epoch(8))),
        ];
        assert_eq!(story(&mut epochs(10), &[], 0), expected);
    }

    #[test]
    fn what_is_not_known_to_have_passed_is_not_erased_and_holds_nothing_else_up() {
        let told = story(&mut epochs(10), &[(8, 1100)], 1000);
        assert_eq!(told, [(1089, Due::Prepare(Epoch(8))), (1100, Due::Begin(Epoch(8)))]);
        let told = story(&mut epochs(10), &[], 60);
        let expected = [
            (1071, Due::Erase(Epoch(7))),
            (1100, Due::Expired),
            (1111, Due::End),
            (1171, Due::Erase(Epoch(8))),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn with_a_long_overlap_the_next_key_waits_until_the_earlier_is_gone() {
        let told = story(&mut epochs(90), &[(8, 1100)], 0);
        assert_eq!(told[..2], [(1091, Due::Erase(Epoch(7))), (1092, Due::Prepare(Epoch(8)))]);
    }

    #[test]
    fn a_gap_between_two_documents_wipes_the_key_and_prepares_again() {
        let told = story(&mut epochs(10), &[(8, 1150)], 0);
        let expected = [
            (1100, Due::Expired),
            (1111, Due::End),
            (1111, Due::Erase(Epoch(8))),
            (1139, Due::Prepare(Epoch(8))),
            (1150, Due::Begin(Epoch(8))),
        ];
        assert_eq!(told[1..], expected);
    }

    #[test]
    fn a_start_in_the_middle_catches_up() {
        let mut epochs = epochs(10);
        assert_eq!(epochs.overlap_left(UnixTime(1005)), Duration::from_secs(6));
        assert_eq!(epochs.overlap_left(UnixTime(1050)), Duration::ZERO);
        let mut due = || epochs.due(UnixTime(1095), &folder(&[(8, 1100)], 1095), |_| true);
        assert_eq!(due(), Some(Due::Erase(Epoch(7))));
        assert_eq!(due(), Some(Due::Prepare(Epoch(8))));
        assert_eq!(due(), None);
    }

    #[test]
    fn an_epoch_that_has_not_begun_is_told_once() {
        let mut epochs = epochs(10);
        assert_eq!(epochs.due(UnixTime(990), &Later::default(), |_| false), None, "within the overlap");
        assert_eq!(epochs.due(UnixTime(988), &Later::default(), |_| false), Some(Due::TooEarly));
        assert_eq!(epochs.due(UnixTime(988), &Later::default(), |_| false), None);
        epochs.look_again();
        assert_eq!(epochs.due(UnixTime(988), &Later::default(), |_| false), Some(Due::TooEarly));
    }

    #[test]
    fn an_epoch_that_a_wrong_clock_ended_comes_back() {
        let mut epochs = epochs(10);
        let mut due = |now| epochs.due(UnixTime(now), &Later::default(), |_| false);
        assert_eq!((due(2000), due(2000)), (Some(Due::Expired), Some(Due::End)));
        assert_eq!((due(1050), due(1050)), (Some(Due::TooEarly), None));
    }
}
