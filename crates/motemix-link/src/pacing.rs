//! When the next frame may leave: the pauses of [`Pacing`], and those of a frame that was put back.

use core::time::Duration;

use crate::serial::Outcome;
use crate::settings::{LinkSettings, Pacing};

/// Small random numbers that need not be secret: Marsaglia's xorshift with 32 bits (Journal of Statistical
/// Software 8, 2003).
struct Prng(u32);

impl Prng {
    const fn new(seed: u64) -> Self {
        let folded = (seed ^ (seed >> 32)) as u32;
        // Zero would stay zero.
        Self(if folded == 0 { 0x9e37_79b9 } else { folded })
    }

    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }

    /// From half to one and a half of the time, in whole microseconds: a caller whose clock counts them would
    /// come back too early for a fraction, again and again.
    fn about(&mut self, time: Duration) -> Duration {
        let time = (time.saturating_mul(self.next() >> 24) / 256).saturating_add(time / 2);
        time.saturating_sub(Duration::from_nanos(u64::from(time.subsec_nanos() % 1000)))
    }
}

/// A station's patience.
pub(crate) struct Pace {
    pacing: Option<Pacing>,
    requeues: u8,
    requeue_after: Duration,
    prng: Prng,
    /// What the radio's reports add to each pause.
    added: Duration,
    quiet_until: Duration,
}

impl Pace {
    pub(crate) const fn new(settings: &LinkSettings, seed: u64, now: Duration) -> Self {
        Self {
            pacing: settings.pacing,
            requeues: settings.requeues,
            requeue_after: settings.requeue_after,
            prng: Prng::new(seed),
            added: Duration::ZERO,
            quiet_until: now,
        }
    }

    /// Until then only answers leave.
    pub(crate) const fn quiet_until(&self) -> Duration {
        self.quiet_until
    }

    /// A random number, to begin a series with.
    pub(crate) fn draw(&mut self) -> u32 {
        self.prng.next()
    }

    /// Hears how an attempt ended. When the frame may be attempted again, if it may.
    pub(crate) fn attempted(&mut self, now: Duration, outcome: Outcome, requeues: u8) -> Option<Duration> {
        self.learn(outcome, requeues);
        let is_worth_it = matches!(outcome, Outcome::ChannelBusy | Outcome::NoAcknowledgement);
        if !is_worth_it || requeues >= self.requeues {
            return None;
        }
        let again = now.saturating_add(self.backoff(self.requeue_after, requeues));
        if outcome == Outcome::ChannelBusy {
            // It is as busy for all other frames of this station.
            self.quiet_until = self.quiet_until.max(again);
        }
        Some(again)
    }

    /// About a time, doubled for each time that it was waited for before.
    pub(crate) fn backoff(&mut self, time: Duration, times: u8) -> Duration {
        self.prng.about(time.saturating_mul(1 << times.min(10)))
    }

    /// A frame is over with. The next one leaves after a pause.
    pub(crate) fn pause(&mut self, now: Duration, datagram_ended: bool) {
        let Some(pacing) = self.pacing else { return };
        let least = if datagram_ended { pacing.after_datagram } else { pacing.after_frame };
        let pause = self.prng.about(least.saturating_add(self.added));
        self.quiet_until = self.quiet_until.max(now.saturating_add(pause));
    }

    fn learn(&mut self, outcome: Outcome, requeues: u8) {
        let Some(pacing) = self.pacing else { return };
        self.added = match outcome {
            Outcome::Sent if requeues == 0 => self.added.saturating_sub(pacing.step),
            Outcome::Sent | Outcome::Refused => self.added,
            Outcome::ChannelBusy | Outcome::NoAcknowledgement => {
                self.added.saturating_mul(2).max(pacing.step).min(pacing.most)
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(5);

    fn pace(settings: &LinkSettings) -> Pace {
        Pace::new(settings, 7, NOW)
    }

    #[test]
    fn a_frame_waits_for_longer_each_time_it_is_put_back() {
        for seed in 0..100 {
            let mut pace = Pace::new(&LinkSettings::new(), seed, NOW);
            for (requeues, mean) in [(0, 20), (1, 40), (2, 80)] {
                let again = pace.attempted(NOW, Outcome::ChannelBusy, requeues).expect("three times");
                let waited = again.saturating_sub(NOW);
                let mean = Duration::from_millis(mean);
                assert!((mean / 2..mean * 3 / 2).contains(&waited), "{waited:?}");
            }
            assert_eq!(pace.attempted(NOW, Outcome::ChannelBusy, 3), None);
            assert_eq!(pace.attempted(NOW, Outcome::Refused, 0), None, "it may have been sent");
            assert_eq!(pace.attempted(NOW, Outcome::Sent, 0), None);
        }
    }

    #[test]
    fn a_busy_channel_holds_all_frames_a_deaf_neighbour_only_its_own() {
        let mut pace = pace(&LinkSettings::new());
        pace.attempted(NOW, Outcome::NoAcknowledgement, 0);
        assert_eq!(pace.quiet_until(), NOW);
        let again = pace.attempted(NOW, Outcome::ChannelBusy, 0);
        assert_eq!(Some(pace.quiet_until()), again);
    }

    #[test]
    fn pauses_double_with_failures_and_shrink_by_steps() {
        let mut pace = pace(&LinkSettings::new());
        let mut added = std::vec::Vec::new();
        for _ in 0..9 {
            pace.learn(Outcome::ChannelBusy, 0);
            added.push(pace.added.as_millis());
        }
        assert_eq!(added, [2, 4, 8, 16, 32, 64, 128, 200, 200]);
        pace.learn(Outcome::Sent, 1);
        assert_eq!(pace.added, Pacing::new().most, "a later attempt says nothing");
        pace.learn(Outcome::Sent, 0);
        assert_eq!(pace.added.as_millis(), 198);
        (0..1000).for_each(|_| pace.learn(Outcome::Sent, 0));
        assert_eq!(pace.added, Duration::ZERO);
    }

    #[test]
    fn without_pacing_there_are_no_pauses() {
        let mut pace = pace(&LinkSettings { pacing: None, ..LinkSettings::new() });
        pace.learn(Outcome::ChannelBusy, 0);
        pace.pause(NOW, true);
        assert_eq!(pace.quiet_until(), NOW);
    }

    #[test]
    fn pauses_are_whole_microseconds() {
        let mut pace = pace(&LinkSettings::new());
        for _ in 0..100 {
            assert_eq!(pace.backoff(Duration::from_micros(333), 0).subsec_nanos() % 1000, 0);
        }
    }

    #[test]
    fn no_time_is_too_long() {
        let settings = LinkSettings { requeue_after: Duration::MAX, ..LinkSettings::new() };
        let mut pace = pace(&settings);
        assert!(pace.attempted(Duration::MAX, Outcome::ChannelBusy, 2).is_some());
        pace.pause(Duration::MAX, true);
        assert_eq!(pace.quiet_until(), Duration::MAX);
    }
}
