//! Loops under way: which of them come back, and which have not in their time.

use motemix_sphinx::HeaderId;

use crate::Instant;
use crate::alarm::{LoopAlarm, LoopTest};
use crate::paths::LoopPaths;

/// A loop's place is its name with the second at which its time is over; zero if it is over.
const SECOND_BITS: u32 = 16;
const SECONDS: u64 = (1 << SECOND_BITS) - 1;
/// Half of what is told apart, less a while in which nobody looked.
const LONGEST: u64 = SECONDS / 2 - 3600;

/// The loops of a node, in lent memory.
///
/// A loop that finds no place, because those before it may still come back, is not watched: were
/// it to take the place of an older one, loops that are late would be forgotten before they are
/// lost, and the alarm would hear of those alone that return.
pub(crate) struct Loops<'s> {
    places: &'s mut [u64],
    next: usize,
    alarm: LoopAlarm,
}

/// What a loop that has come back was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Back {
    InTime,
    /// It was lost, for all that its sender knew.
    Late,
}

impl<'s> Loops<'s> {
    pub(crate) fn new(places: &'s mut [u64]) -> Self {
        places.fill(0);
        Self { places, next: 0, alarm: LoopAlarm::new() }
    }

    pub(crate) const fn alarm(&self) -> &LoopAlarm {
        &self.alarm
    }

    pub(crate) const fn alarm_mut(&mut self) -> &mut LoopAlarm {
        &mut self.alarm
    }

    pub(crate) fn is_under_way(&self, id: &HeaderId) -> bool {
        self.find(id).is_some()
    }

    fn find(&self, id: &HeaderId) -> Option<usize> {
        let name = name(id);
        self.places.iter().position(|place| place & !SECONDS == name)
    }

    /// A loop leaves. Its time is over at `deadline`.
    pub(crate) fn sent(
        &mut self,
        id: &HeaderId,
        now: Instant,
        deadline: Instant,
        paths: &mut impl LoopPaths,
    ) {
        let len = self.places.len();
        let order = (self.next..len).chain(0..self.next);
        let Some(at) = order.into_iter().find(|at| self.places[*at] & SECONDS == 0) else { return };
        let latest = seconds(now).saturating_add(LONGEST);
        self.places[at] = name(id) | (seconds(deadline).saturating_add(1).min(latest) & SECONDS).max(1);
        self.next = (at + 1) % len;
        paths.sent(at);
    }

    /// Looks for loops whose time is over; how many, and whether the alarm begins.
    pub(crate) fn look(&mut self, now: Instant, test: &LoopTest, paths: &mut impl LoopPaths) -> (u64, bool) {
        let (mut lost, mut begins) = (0, false);
        let places = self.places.iter_mut().enumerate();
        for (at, place) in places.filter(|(_, place)| **place & SECONDS != 0) {
            let since = seconds(now).wrapping_sub(*place & SECONDS) & SECONDS;
            if since <= SECONDS / 2 {
                *place &= !SECONDS;
                lost += 1;
                // Before a loop has come back nobody is blamed.
                if self.alarm.has_heard() && paths.lost(at) {
                    begins |= self.alarm.lost(test);
                }
            }
        }
        (lost, begins)
    }

    /// A loop has come back.
    pub(crate) fn returned(
        &mut self,
        id: &HeaderId,
        test: &LoopTest,
        paths: &mut impl LoopPaths,
    ) -> Option<Back> {
        let at = self.find(id)?;
        let in_time = self.places[at] & SECONDS != 0;
        self.places[at] = 0;
        if !in_time {
            return Some(Back::Late);
        }
        self.alarm.returned(test);
        paths.returned(at);
        Some(Back::InTime)
    }

    /// Keys change: what is under way may come back, and nothing follows from it if it does not.
    pub(crate) fn excuse(&mut self) {
        self.places.iter_mut().for_each(|place| *place &= !SECONDS);
    }
}

/// Six bytes of a header id tell loops under way apart; zero is no loop.
fn name(id: &HeaderId) -> u64 {
    let name = id.0.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes)) & !SECONDS;
    if name == 0 { 1 << SECOND_BITS } else { name }
}

fn seconds(at: Instant) -> u64 {
    at.as_micros() / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::private::Remember as _;
    use crate::paths::{LoopPath, LoopTally, NoPaths, Paths};
    use core::time::Duration;
    use motemix_crypto::PublicKey;
    use motemix_directory::{Entry, Role, Topology};
    use motemix_sphinx::NodeId;

    const TEST: LoopTest = LoopTest::USUAL;

    fn id(number: u8) -> HeaderId {
        HeaderId([number; 16])
    }

    fn at(seconds: u64) -> Instant {
        Instant::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn a_loop_is_lost_once_and_may_come_back_late() {
        let mut places = [0; 2];
        let mut loops = Loops::new(&mut places);
        loops.sent(&id(1), at(0), at(10), &mut NoPaths);
        assert_eq!(loops.look(at(10), &TEST, &mut NoPaths), (0, false));
        assert_eq!(loops.look(at(11), &TEST, &mut NoPaths), (1, false));
        assert_eq!(loops.look(at(70_000), &TEST, &mut NoPaths), (0, false));
        assert_eq!(loops.returned(&id(1), &TEST, &mut NoPaths), Some(Back::Late));
        assert_eq!(loops.returned(&id(1), &TEST, &mut NoPaths), None);
    }

    #[test]
    fn a_loop_takes_the_place_of_none_that_may_come_back_in_time() {
        let mut places = [0; 2];
        let mut loops = Loops::new(&mut places);
        for number in 1..=3 {
            loops.sent(&id(number), at(0), at(10), &mut NoPaths);
        }
        assert!(!loops.is_under_way(&id(3)));
        assert_eq!(loops.returned(&id(2), &TEST, &mut NoPaths), Some(Back::InTime));
        loops.sent(&id(4), at(5), at(15), &mut NoPaths);
        assert_eq!(loops.look(at(12), &TEST, &mut NoPaths).0, 1);
        // The place of the first is free now, though it may yet come back until then.
        assert!(loops.is_under_way(&id(1)));
        loops.sent(&id(5), at(12), at(20), &mut NoPaths);
        assert!(!loops.is_under_way(&id(1)) && loops.is_under_way(&id(4)));
    }

    #[test]
    fn seconds_go_round_and_nothing_is_lost_before_its_time() {
        let mut places = [0; 1];
        let mut loops = Loops::new(&mut places);
        for start in (0..400_000).step_by(7919) {
            loops.sent(&id(1), at(start), at(start + 60), &mut NoPaths);
            assert_eq!(loops.look(at(start + 59), &TEST, &mut NoPaths).0, 0, "at {start}");
            assert_eq!(loops.look(at(start + 62), &TEST, &mut NoPaths).0, 1, "at {start}");
        }
        loops.sent(&id(2), at(5), at(5) + Duration::MAX, &mut NoPaths);
        assert_eq!(loops.look(at(5), &TEST, &mut NoPaths).0, 0);
    }

    #[test]
    fn a_change_of_keys_excuses_what_is_under_way() {
        let mut places = [0; 1];
        let mut loops = Loops::new(&mut places);
        loops.sent(&id(1), at(0), at(10), &mut NoPaths);
        loops.excuse();
        assert_eq!(loops.look(at(100), &TEST, &mut NoPaths).0, 0);
        assert_eq!(loops.returned(&id(1), &TEST, &mut NoPaths), Some(Back::Late));
    }

    /// What became of two loops through one node, one of which was under way when keys changed.
    #[test]
    fn what_is_excused_counts_for_no_node_on_its_path() {
        let node = NodeId::new(3).unwrap();
        for (excused, lost) in [(false, 1), (true, 0)] {
            let (mut headers, mut of_loops, mut tallies) =
                ([LoopPath::NONE; 1], [LoopPath::NONE; 2], [LoopTally::NONE; 4]);
            let mut paths = Paths::new(&mut headers, &mut of_loops, &mut tallies);
            let mix = Entry { mix_key: PublicKey([1; 32]), role: Role::Mix { layer: 0 } };
            let topology = [mix; 4];
            let topology = Topology::new(&topology).unwrap();
            paths.drawn(Some(0), NodeId::MIN, &[node, NodeId::MIN], &topology);
            paths.taken(0);
            let mut places = [0; 2];
            let mut loops = Loops::new(&mut places);
            loops.sent(&id(1), at(0), at(10), &mut paths);
            loops.sent(&id(2), at(0), at(10), &mut paths);
            assert_eq!(loops.returned(&id(1), &TEST, &mut paths), Some(Back::InTime));
            if excused {
                loops.excuse();
            }
            assert_eq!(loops.look(at(100), &TEST, &mut paths).0, lost);
            assert_eq!(loops.returned(&id(2), &TEST, &mut paths), Some(Back::Late));
            let lost = u32::try_from(lost).unwrap();
            let tally = LoopTally { returned: 1, lost, missing: lost };
            assert_eq!(paths.through(node), Some(tally), "late is lost");
        }
    }

    #[test]
    fn without_memory_there_is_no_alarm() {
        let mut loops = Loops::new(&mut []);
        loops.sent(&id(1), at(0), at(10), &mut NoPaths);
        assert_eq!(loops.look(at(100), &TEST, &mut NoPaths), (0, false));
    }
}
