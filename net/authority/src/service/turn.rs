//! Whose turn it is: of which epoch a round makes the document.

use motemix_directory::Epoch;

/// The epoch that the round of this attempt is about: one of those from the present one on, as many
/// as are signed `ahead`, that have no document. `None` if all have one.
///
/// It is the first of them: ids of nodes come from the document before. But if authorities have
/// promised different documents of it they may not agree before it is over, and the lead of the
/// others would be used up meanwhile. While it `is_stuck`, they have each second round, in turns.
///
/// The attempt alone says whose turn it is. Who has another document than the others for a moment
/// chooses as they do, unless it is that document's turn.
pub(super) fn epoch_of_round(
    attempt: u64,
    present: Epoch,
    ahead: u32,
    has_document: impl Fn(Epoch) -> bool,
    is_stuck: impl Fn(Epoch) -> bool,
) -> Option<Epoch> {
    let last = present.0.saturating_add(ahead);
    let missing: Vec<_> = (present.0..=last).map(Epoch).filter(|epoch| !has_document(*epoch)).collect();
    let (first, others) = missing.split_first()?;
    if attempt.is_multiple_of(2) || !is_stuck(*first) {
        return Some(*first);
    }
    // By the epoch's own number: turns do not shift when an epoch ends, or has its document.
    let turns = u64::from(ahead) + 1;
    let turn = attempt / 2 % turns;
    let next = others.iter().min_by_key(|epoch| (u64::from(epoch.0) + turns - turn) % turns);
    Some(*next.unwrap_or(first))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const AHEAD: u32 = 6;

    /// While the first missing epoch is stuck.
    fn chosen(attempt: u64, present: u32, have: &BTreeSet<u32>) -> Option<u32> {
        chosen_if(true, attempt, present, have)
    }

    fn chosen_if(is_stuck: bool, attempt: u64, present: u32, have: &BTreeSet<u32>) -> Option<u32> {
        let has_document = |epoch: Epoch| have.contains(&epoch.0);
        let epoch = epoch_of_round(attempt, Epoch(present), AHEAD, has_document, |_| is_stuck);
        epoch.map(|epoch| epoch.0)
    }

    #[test]
    fn the_only_one_that_is_missing_has_all_rounds() {
        for missing in 40..=40 + AHEAD {
            let have = (40..=40 + AHEAD).filter(|epoch| *epoch != missing).collect();
            for attempt in 0..100 {
                assert_eq!(chosen(attempt, 40, &have), Some(missing), "attempt {attempt}");
            }
        }
        assert_eq!(chosen(7, 40, &(40..=40 + AHEAD).collect()), None);
    }

    /// One round after the other makes a document, in the order of their epochs: nodes that join
    /// meanwhile keep the ids that they get.
    #[test]
    fn a_new_network_has_its_documents_in_their_order() {
        for begin in 0..100 {
            let mut have = BTreeSet::new();
            for (attempt, epoch) in (begin..).zip(40..=40 + AHEAD) {
                assert_eq!(chosen_if(false, attempt, 40, &have), Some(epoch));
                have.insert(epoch);
            }
            assert_eq!(chosen_if(false, 0, 40, &have), None);
        }
    }

    /// Nobody agrees on one epoch before it is over. All later ones have their documents long
    /// before they begin, also if the network had none.
    #[test]
    fn an_epoch_that_has_no_document_holds_up_no_other() {
        for (begin, stuck) in (0..50).flat_map(|begin| [40, 43, 46].map(|stuck| (begin, stuck))) {
            // Ten rounds an epoch.
            let (mut have, mut tried) = (BTreeSet::new(), 0);
            for attempt in begin..begin + 200 {
                let present = 40 + u32::try_from((attempt - begin) / 10).unwrap();
                let epoch = chosen_if(tried >= 4, attempt, present, &have);
                tried += u32::from(epoch == Some(stuck));
                have.extend(epoch.filter(|epoch| *epoch != stuck));
                let due = attempt - begin > 35;
                let lead = (present + 1..=present + AHEAD)
                    .take_while(|epoch| have.contains(epoch) || *epoch == stuck)
                    .count();
                assert!(!due || lead >= 5, "{lead} epochs ahead in attempt {attempt}, epoch {present}");
            }
        }
    }

    #[test]
    fn who_has_one_document_more_chooses_as_the_others_unless_it_is_that_one_s_turn() {
        for bits in 0..1_u32 << (AHEAD + 1) {
            let have: BTreeSet<_> =
                (0..=AHEAD).filter(|bit| bits >> bit & 1 == 1).map(|bit| 40 + bit).collect();
            let Some(first) = (40..=40 + AHEAD).find(|epoch| !have.contains(epoch)) else { continue };
            for more in (first + 1..=40 + AHEAD).filter(|epoch| !have.contains(epoch)) {
                let mut other = have.clone();
                other.insert(more);
                for attempt in 0..64 {
                    let one = chosen(attempt, 40, &have);
                    assert!(one == chosen(attempt, 40, &other) || one == Some(more));
                }
            }
        }
    }

    #[test]
    fn the_turn_goes_round_and_does_not_shift_when_an_epoch_ends() {
        let have = BTreeSet::from([40]);
        let turns: BTreeSet<_> = (0..14).filter_map(|attempt| chosen(attempt, 40, &have)).collect();
        assert_eq!(turns, (41..=46).collect(), "all have one");
        // Epoch 41 begins. Where nothing is missing at the ends, all goes on as it was.
        let have: BTreeSet<_> = [40, 41, 47].into();
        for attempt in 0..64 {
            assert_eq!(chosen(attempt, 40, &have), chosen(attempt, 41, &have));
        }
    }

    #[test]
    fn the_last_epochs_there_are_have_their_turns() {
        let have = BTreeSet::new();
        let turns: BTreeSet<_> = (0..64).filter_map(|attempt| chosen(attempt, u32::MAX - 2, &have)).collect();
        assert_eq!(turns, (u32::MAX - 2..=u32::MAX).collect());
        assert!(chosen(u64::MAX, u32::MAX, &have).is_some());
    }
}
