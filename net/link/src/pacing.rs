//! When the next frame may leave: after the pauses of [`Pacing`], after those of a frame that was
//! put back, and after the time that a receiver has to answer.

use core::time::Duration;

use motemix_time::Instant;

use crate::counters::LinkDrop;
use crate::radio::Ending;
use crate::settings::{LinkSettings, Pacing};

/// A receiver is waited for at most four times as long as at first, or it would have forgotten the
/// datagram.
const MOST_DOUBLINGS: u8 = 2;

/// Small random numbers that need not be secret: Marsaglia's xorshift with 32 bits (Journal of
/// Statistical Software 8, 2003).
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

    /// From half to one and a half of the time.
    fn jittered(&mut self, time: Duration) -> Duration {
        (time.saturating_mul(self.next() >> 24) / 256).saturating_add(time / 2)
    }

    /// A jittered time, doubled for each time that it was waited for before.
    fn backoff(&mut self, time: Duration, times: u8) -> Duration {
        self.jittered(time.saturating_mul(1 << times.min(10)))
    }
}

/// What follows for a frame from how its attempt ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Attempt {
    Sent,
    /// It may be tried again at this time.
    Requeued(Instant),
    GivenUp(LinkDrop),
}

/// The pace at which a station sends, what it has learnt of the channel, and the time that it is.
pub(crate) struct Pace {
    pacing: Option<Pacing>,
    requeues: u8,
    requeue_after: Duration,
    ack_timeout: Duration,
    prng: Prng,
    now: Instant,
    /// What the radio's reports add to each pause.
    added: Duration,
    quiet_until: Instant,
}

impl Pace {
    pub(crate) const fn new(settings: &LinkSettings, seed: u64) -> Self {
        Self {
            pacing: settings.pacing,
            requeues: settings.requeues,
            requeue_after: settings.requeue_after,
            ack_timeout: settings.acknowledged_within,
            prng: Prng::new(seed),
            now: Instant::from_micros(0),
            added: Duration::ZERO,
            quiet_until: Instant::from_micros(0),
        }
    }

    /// From now on it is this time.
    pub(crate) const fn advance(&mut self, now: Instant) {
        self.now = now;
    }

    pub(crate) const fn now(&self) -> Instant {
        self.now
    }

    /// Until then only answers leave.
    pub(crate) const fn quiet_until(&self) -> Instant {
        self.quiet_until
    }

    /// Whether only answers leave.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet_until > self.now
    }

    /// A random number, to begin a series with.
    pub(crate) fn draw(&mut self) -> u32 {
        self.prng.next()
    }

    /// The attempt of a frame that was put back so often has ended.
    pub(crate) fn attempted(&mut self, ending: Ending, requeues: u8) -> Attempt {
        self.learn(ending, requeues);
        let reason = match ending {
            Ending::Sent => return Attempt::Sent,
            Ending::ChannelBusy => LinkDrop::ChannelBusy,
            Ending::NoAcknowledgement => LinkDrop::Unacknowledged,
            Ending::Refused => return Attempt::GivenUp(LinkDrop::Refused),
            // It may have been sent.
            Ending::Unknown => return Attempt::GivenUp(LinkDrop::NoOutcome),
        };
        if requeues >= self.requeues {
            return Attempt::GivenUp(reason);
        }
        let again = self.now + self.prng.backoff(self.requeue_after, requeues);
        if ending == Ending::ChannelBusy {
            // It is as busy for all other frames of this station.
            self.quiet_until = self.quiet_until.max(again);
        }
        Attempt::Requeued(again)
    }

    /// The attempt of an answer that was put back so often has ended. Whoever asked may be nobody,
    /// so the outcome says nothing about the channel, and what was sent in vain is not sent again:
    /// a neighbour that is there asks again.
    pub(crate) fn answer_attempted(&mut self, ending: Ending, requeues: u8) -> Attempt {
        match ending {
            Ending::Sent => Attempt::Sent,
            Ending::ChannelBusy if requeues < self.requeues => {
                Attempt::Requeued(self.now + self.prng.backoff(self.requeue_after, requeues))
            }
            Ending::ChannelBusy => Attempt::GivenUp(LinkDrop::ChannelBusy),
            Ending::NoAcknowledgement => Attempt::GivenUp(LinkDrop::Unacknowledged),
            Ending::Refused => Attempt::GivenUp(LinkDrop::Refused),
            Ending::Unknown => Attempt::GivenUp(LinkDrop::NoOutcome),
        }
    }

    /// Until when the receiver of a datagram that was taken up again so often is waited for.
    pub(crate) fn ack_timeout(&mut self, retries: u8) -> Instant {
        self.now + self.prng.backoff(self.ack_timeout, retries.min(MOST_DOUBLINGS))
    }

    /// A frame is over with. The next one leaves after a pause.
    pub(crate) fn pause(&mut self, datagram_ended: bool) {
        let Some(pacing) = self.pacing else { return };
        let least = if datagram_ended { pacing.after_datagram } else { pacing.after_frame };
        let pause = self.prng.jittered(least.saturating_add(self.added));
        self.quiet_until = self.quiet_until.max(self.now + pause);
    }

    fn learn(&mut self, ending: Ending, requeues: u8) {
        let Some(pacing) = self.pacing else { return };
        self.added = match ending {
            Ending::Sent if requeues == 0 => self.added.saturating_sub(pacing.step),
            Ending::Sent | Ending::Refused | Ending::Unknown => self.added,
            Ending::ChannelBusy | Ending::NoAcknowledgement => {
                self.added.saturating_mul(2).max(pacing.step).min(pacing.most)
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant::from_micros(5_000_000);

    fn pace(settings: &LinkSettings) -> Pace {
        seeded(settings, 7)
    }

    fn seeded(settings: &LinkSettings, seed: u64) -> Pace {
        let mut pace = Pace::new(settings, seed);
        pace.advance(NOW);
        pace
    }

    #[test]
    fn a_frame_waits_for_longer_each_time_it_is_put_back() {
        for seed in 0..100 {
            let mut pace = seeded(&LinkSettings::new(), seed);
            for (requeues, mean) in [(0, 20), (1, 40), (2, 80)] {
                let Attempt::Requeued(again) = pace.attempted(Ending::ChannelBusy, requeues) else {
                    panic!("it is put back three times")
                };
                let waited = again - NOW;
                let mean = Duration::from_millis(mean);
                assert!((mean / 2..mean * 3 / 2).contains(&waited), "{waited:?}");
            }
            for (ending, requeues, attempt) in [
                (Ending::ChannelBusy, 3, Attempt::GivenUp(LinkDrop::ChannelBusy)),
                (Ending::NoAcknowledgement, 3, Attempt::GivenUp(LinkDrop::Unacknowledged)),
                (Ending::Refused, 0, Attempt::GivenUp(LinkDrop::Refused)),
                // It may have been sent.
                (Ending::Unknown, 0, Attempt::GivenUp(LinkDrop::NoOutcome)),
                (Ending::Sent, 0, Attempt::Sent),
            ] {
                assert_eq!(pace.attempted(ending, requeues), attempt);
            }
        }
    }

    #[test]
    fn a_busy_channel_holds_all_frames_a_deaf_neighbour_only_its_own() {
        let mut pace = pace(&LinkSettings::new());
        let _ = pace.attempted(Ending::NoAcknowledgement, 0);
        assert!(!pace.is_quiet());
        let again = pace.attempted(Ending::ChannelBusy, 0);
        assert!(pace.is_quiet());
        assert_eq!(again, Attempt::Requeued(pace.quiet_until()));
    }

    #[test]
    fn pauses_double_with_failures_and_shrink_by_steps() {
        let mut pace = pace(&LinkSettings::new());
        let mut added = std::vec::Vec::new();
        for _ in 0..9 {
            pace.learn(Ending::ChannelBusy, 0);
            added.push(pace.added.as_millis());
        }
        assert_eq!(added, [2, 4, 8, 16, 32, 64, 128, 200, 200]);
        pace.learn(Ending::Sent, 1);
        assert_eq!(pace.added, Pacing::new().most, "a later attempt says nothing");
        pace.learn(Ending::Sent, 0);
        assert_eq!(pace.added.as_millis(), 198);
        (0..1000).for_each(|_| pace.learn(Ending::Sent, 0));
        assert_eq!(pace.added, Duration::ZERO);
    }

    #[test]
    fn without_pacing_there_are_no_pauses() {
        let mut pace = pace(&LinkSettings { pacing: None, ..LinkSettings::new() });
        pace.learn(Ending::ChannelBusy, 0);
        pace.pause(true);
        assert!(!pace.is_quiet());
    }

    #[test]
    fn a_receiver_is_waited_for_at_most_four_times_as_long() {
        let mut pace = pace(&LinkSettings::new());
        for (retries, factor) in [(0, 1), (1, 2), (2, 4), (3, 4), (255, 4)] {
            let mean = LinkSettings::new().acknowledged_within * factor;
            for _ in 0..100 {
                let waited = pace.ack_timeout(retries) - NOW;
                assert!((mean / 2..mean * 3 / 2).contains(&waited), "{waited:?}");
            }
        }
    }

    #[test]
    fn no_time_is_too_long() {
        let settings = LinkSettings { requeue_after: Duration::MAX, ..LinkSettings::new() };
        let mut pace = pace(&settings);
        pace.advance(Instant::NEVER);
        assert_eq!(pace.attempted(Ending::ChannelBusy, 2), Attempt::Requeued(Instant::NEVER));
        pace.pause(true);
        assert_eq!(pace.quiet_until(), Instant::NEVER);
    }
}
