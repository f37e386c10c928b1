//! How many requests a peer may make: a bucket of tokens for each, and one for all who found none.

use std::collections::HashMap;

use crate::Moment;
use crate::context::Origin;
use crate::policy::Rates as Limits;

/// Thousandths of a token, so that a second's worth comes in whole milliseconds.
const TOKEN: u64 = 1000;

#[derive(Debug, Clone, Copy)]
struct Bucket {
    tokens: u64,
    filled: Moment,
}

impl Bucket {
    const fn full(limits: &Limits, now: Moment) -> Self {
        Self { tokens: limits.burst as u64 * TOKEN, filled: now }
    }

    fn fill(&mut self, limits: &Limits, now: Moment) {
        // A clock that was set back fills nothing.
        let passed = now.as_millis().saturating_sub(self.filled.as_millis());
        let more = passed.saturating_mul(limits.requests.into());
        self.tokens = self.tokens.saturating_add(more).min(u64::from(limits.burst) * TOKEN);
        self.filled = now;
    }

    /// After how many seconds there is a token, if there is none.
    fn take(&mut self, limits: &Limits, now: Moment, cost: u32) -> Result<(), u32> {
        self.fill(limits, now);
        // A full bucket is enough for everything.
        let cost = u64::from(cost.min(limits.burst)) * TOKEN;
        if let Some(rest) = self.tokens.checked_sub(cost) {
            self.tokens = rest;
            return Ok(());
        }
        let missing = cost - self.tokens;
        let wait = missing.div_ceil(u64::from(limits.requests.max(1)) * 1000);
        Err(u32::try_from(wait).unwrap_or(u32::MAX).max(1))
    }
}

/// Buckets of peers, at most as many as the policy has.
#[derive(Debug)]
pub(super) struct Rates {
    limits: Limits,
    buckets: HashMap<Origin, Bucket>,
    /// For those that come when all places are taken.
    others: Bucket,
    swept: Moment,
}

impl Rates {
    pub(super) fn new(limits: Limits) -> Self {
        let start = Moment::from_millis(0);
        Self { others: Bucket::full(&limits, start), limits, buckets: HashMap::new(), swept: start }
    }

    /// Takes a request that counts as so many, or says after how many seconds the next one may
    /// come.
    pub(super) fn take(&mut self, origin: Origin, now: Moment, cost: u32) -> Result<(), u32> {
        let limits = self.limits;
        if self.is_crowded(origin, now) {
            return self.others.take(&limits, now, cost);
        }
        self.buckets.entry(origin).or_insert_with(|| Bucket::full(&limits, now)).take(&limits, now, cost)
    }

    /// Whether a peer has no bucket, and there is none left for it.
    pub(super) fn is_crowded(&mut self, origin: Origin, now: Moment) -> bool {
        let most = self.limits.peers as usize;
        if self.buckets.len() < most || self.buckets.contains_key(&origin) {
            return false;
        }
        self.sweep(now);
        self.buckets.len() >= most
    }

    /// Whoever has a full bucket is as good as new. At most once a second: it looks at all.
    fn sweep(&mut self, now: Moment) {
        if now.as_millis().abs_diff(self.swept.as_millis()) < 1000 {
            return;
        }
        self.swept = now;
        let limits = self.limits;
        self.buckets.retain(|_, bucket| {
            bucket.fill(&limits, now);
            bucket.tokens < u64::from(limits.burst) * TOKEN
        });
    }

    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.buckets.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { requests: 2, burst: 4, peers: 3 };

    fn at(millis: u64) -> Moment {
        Moment::from_millis(1_000_000 + millis)
    }

    #[test]
    fn a_peer_has_a_burst_and_then_its_rate() {
        let mut rates = Rates::new(LIMITS);
        let peer = Origin::Stream(1);
        for _ in 0..4 {
            assert_eq!(rates.take(peer, at(0), 1), Ok(()));
        }
        assert_eq!(rates.take(peer, at(0), 1), Err(1));
        assert_eq!(rates.take(peer, at(499), 1), Err(1));
        assert_eq!(rates.take(peer, at(500), 1), Ok(()));
        assert_eq!(rates.take(peer, at(500), 1), Err(1));
        // Another one has its own.
        assert_eq!(rates.take(Origin::Stream(2), at(500), 1), Ok(()));
    }

    #[test]
    fn peers_without_number_share_what_is_left_and_take_no_memory() {
        let mut rates = Rates::new(LIMITS);
        let taken = (0..1000).filter(|number| rates.take(Origin::Stream(*number), at(0), 1).is_ok()).count();
        // Three with a bucket of their own, and a burst for all others.
        assert_eq!((taken, rates.held()), (3 + 4, 3));
        // Later the first three are as good as new, and others take their places.
        assert_eq!(rates.take(Origin::Stream(2000), at(5000), 1), Ok(()));
        assert_eq!(rates.held(), 1);
    }

    #[test]
    fn a_clock_that_is_set_back_stops_nobody_for_good() {
        let mut rates = Rates::new(LIMITS);
        let peer = Origin::Stream(1);
        while rates.take(peer, at(10_000), 1).is_ok() {}
        assert!(rates.take(peer, at(0), 1).is_err());
        assert_eq!(rates.take(peer, at(500), 1), Ok(()));
    }

    #[test]
    fn what_is_much_work_counts_as_many_requests() {
        let mut rates = Rates::new(LIMITS);
        let peer = Origin::Stream(1);
        assert_eq!(rates.take(peer, at(0), 3), Ok(()));
        assert_eq!(rates.take(peer, at(0), 3), Err(1));
        assert_eq!(rates.take(peer, at(0), 1), Ok(()));
        // More than there can be is all that there can be.
        assert_eq!(rates.take(peer, at(1000), 100), Err(1));
        assert_eq!(rates.take(peer, at(2000), 100), Ok(()));
    }
}
