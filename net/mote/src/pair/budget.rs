//! How many handshakes a node answers: each costs seconds of a small board's time, and whoever asks
//! may be invented.

use core::time::Duration;

use motemix_node::Instant;

/// Answers that can be given at once.
const MOST: u8 = 10;
/// One more may be given after this time.
const EVERY: Duration = Duration::from_secs(6);

pub(super) struct Budget {
    left: u8,
    since: Instant,
}

impl Budget {
    pub(super) const fn new(now: Instant) -> Self {
        Self { left: MOST, since: now }
    }

    pub(super) fn may_spend(&mut self, now: Instant) -> bool {
        while self.left < MOST && now >= self.since + EVERY {
            self.left += 1;
            self.since = self.since + EVERY;
        }
        if self.left == MOST {
            self.since = now;
        }
        self.left > 0
    }

    pub(super) const fn spend(&mut self) {
        self.left = self.left.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_at_once_and_then_ten_a_minute() {
        let start = Instant::default();
        let mut budget = Budget::new(start);
        let spend = |budget: &mut Budget, now| {
            let may = budget.may_spend(now);
            if may {
                budget.spend();
            }
            may
        };
        assert_eq!((0..100).filter(|_| spend(&mut budget, start)).count(), 10);
        let minute = (0..6_000).filter(|step| spend(&mut budget, start + Duration::from_millis(10 * step)));
        assert_eq!(minute.count(), 9, "the last one is due when the minute ends");
        assert!(spend(&mut budget, start + Duration::from_mins(1)));
    }
}
