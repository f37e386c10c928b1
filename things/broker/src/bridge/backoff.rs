//! Pauses between attempts to connect.

use std::time::Duration;

/// Doubles from the least pause to the most; each is drawn from its upper half, so that bridges
/// which lost one broker do not come back at once.
#[derive(Debug, Clone)]
pub(super) struct Backoff {
    least: Duration,
    most: Duration,
    next: Duration,
}

impl Backoff {
    pub(super) fn new(least: Duration, most: Duration) -> Self {
        let most = most.max(least);
        Self { least, most, next: least }
    }

    /// It worked: the next failure begins anew.
    pub(super) fn reset(&mut self) {
        self.next = self.least;
    }

    /// Somebody must do something first: there is no hurry.
    pub(super) fn be_patient(&mut self) {
        self.next = self.most;
    }

    /// How long to wait now. The draw is any number.
    pub(super) fn pause(&mut self, draw: u64) -> Duration {
        let whole = u64::try_from(self.next.as_millis()).unwrap_or(u64::MAX);
        let half = whole / 2;
        self.next = self.next.saturating_mul(2).min(self.most);
        let above = draw % half.saturating_add(1);
        Duration::from_millis(whole.saturating_sub(half).saturating_add(above))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_most_and_begin_anew_after_a_success() {
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(5));
        let longest: Vec<_> = (0..4).map(|_| backoff.clone().next_of_all(500)).collect();
        assert_eq!(longest, vec![Duration::from_secs(1); 4]);
        let pauses: Vec<_> = [500, 1000, 2000, 2500, 2500].map(|draw| backoff.pause(draw)).to_vec();
        assert_eq!(pauses, [1, 2, 4, 5, 5].map(Duration::from_secs));
        assert_eq!(backoff.pause(0), Duration::from_millis(2500));
        backoff.reset();
        assert_eq!(backoff.pause(0), Duration::from_millis(500));
        backoff.be_patient();
        assert_eq!(backoff.pause(2500), Duration::from_secs(5));
    }

    impl Backoff {
        fn next_of_all(mut self, draw: u64) -> Duration {
            self.pause(draw)
        }
    }
}
