//! Whether loops come back at all. Once none did, some that come back do not say that all is well:
//! where a layer has no mix, a few pass by shorter paths all the time.

use std::time::{Duration, Instant};

/// So many loops that do not come back are more than bad luck.
const LOOPS: u64 = 16;
/// A silence is over when of so many loops in a row…
const TRIAL: u64 = 64;
/// …so many came back, or of fewer as large a part: more than by chance where one in five does.
const BACK: u64 = 24;
/// Or sooner, when so many came back, and three of four did: such a chance comes once in ten
/// thousand trials.
const SOON: u64 = 9;

/// What is known of loops while hardly any come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Silence {
    /// None of those that were sent since one came back, for so long.
    Whole { lost: u64, lasts: Duration },
    /// Too few came back since none did.
    Broken,
}

/// What loops did up to now.
#[derive(Debug, Default)]
pub(super) struct LoopReturns {
    returned: u64,
    /// Loops that had been sent when the last one came back, and when that was seen.
    heard: Option<(u64, Instant)>,
    /// Loops that had been sent and that had come back when the trial began that is under way:
    /// with the end of the silence, or of an earlier trial.
    trial: Option<(u64, u64)>,
}

impl LoopReturns {
    /// Looks at what was counted; `longest` is how long a loop may take.
    pub(super) fn see(
        &mut self,
        now: Instant,
        sent: u64,
        returned: u64,
        longest: Duration,
    ) -> Option<Silence> {
        if std::mem::replace(&mut self.returned, returned) != returned {
            self.heard = None;
        }
        let (sent_then, since) = *self.heard.get_or_insert((sent, now));
        let (lost, lasts) = (sent.saturating_sub(sent_then), now.saturating_duration_since(since));
        if lost >= LOOPS && lasts > longest {
            self.trial = Some((sent, returned));
            return Some(Silence::Whole { lost, lasts });
        }
        let (sent_then, returned_then) = self.trial?;
        let back = returned.saturating_sub(returned_then);
        // Those that were under way come back as well.
        let more = sent.saturating_sub(sent_then).max(back);
        if back >= BACK && back * TRIAL >= more * BACK || back >= SOON && back * 4 >= more * 3 {
            self.trial = None;
            return None;
        }
        if more >= TRIAL {
            self.trial = Some((sent, returned));
        }
        Some(Silence::Broken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: Duration = Duration::from_secs(10);

    /// A node that sends a loop a second, of which those come back that `comes` names. Returns the
    /// seconds in which it said something else than before.
    fn changes(seconds: u64, mut comes: impl FnMut(u64) -> bool) -> Vec<(u64, bool)> {
        let (begin, mut returns, mut returned) = (Instant::now(), LoopReturns::default(), 0);
        let mut changes = vec![(0, false)];
        for second in 0..seconds {
            returned += u64::from(comes(second));
            let now = begin + Duration::from_secs(second);
            let silent = returns.see(now, second, returned, LONGEST).is_some();
            if changes.last().is_some_and(|(_, last)| *last != silent) {
                changes.push((second, silent));
            }
        }
        changes.split_off(1)
    }

    #[test]
    fn a_silence_begins_with_sixteen_loops_and_ends_when_loops_come_back_and_not_with_the_first() {
        let said = changes(300, |second| !(100..200).contains(&second));
        assert_eq!(said, [(115, true), (208, false)]);
    }

    #[test]
    fn where_one_loop_in_seven_comes_back_by_other_ways_nothing_ends_and_begins_again() {
        // An hour of chance, by a generator of numbers that is the same each time.
        let mut state = 42_u64;
        let mut chance = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        let said = changes(3600, |second| second < 60 || chance() % 100 < 15);
        assert!(said.len() == 1 && said[0].1, "{said:?}");
    }

    #[test]
    fn a_silence_ends_also_where_many_loops_turn_round_at_nodes_that_are_off() {
        let said = changes(2000, |second| second < 60 || (second > 200 && second % 5 < 2));
        assert!(said.len() == 2 && said[1].0 < 400, "{said:?}");
    }

    #[test]
    fn what_is_told_is_what_was_counted() {
        let (begin, mut returns) = (Instant::now(), LoopReturns::default());
        let mut see = |second, sent, returned| {
            returns.see(begin + Duration::from_secs(second), sent, returned, LONGEST)
        };
        assert_eq!(see(0, 0, 0), None);
        assert_eq!(see(9, 20, 0), None, "a loop may take longer");
        let lasts = Duration::from_secs(20);
        assert_eq!(see(20, 40, 0), Some(Silence::Whole { lost: 40, lasts }));
        assert_eq!(see(21, 42, 1), Some(Silence::Broken));
        assert_eq!(see(30, 120, 2), Some(Silence::Broken));
        assert_eq!(see(31, 144, 26), None);
    }
}
