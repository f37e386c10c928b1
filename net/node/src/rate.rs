//! How much of its own a node lets under way: what a full channel asks of those who share it.
//!
//! A network of motes has no router that could signal congestion; what a sender sees are its own
//! round trips. From those it measures what a round trip takes besides the delays that it chose
//! itself, for the retransmission timer (RFC 6298, with a try's own sending time, so that Karn's
//! ambiguity does not arise), and adapts how many messages may be under way: one more for each
//! window that was acknowledged at the first try, half after a try that was lost (Chiu and
//! Jain, "Analysis of the increase and decrease algorithms for congestion avoidance", 1989).

use core::time::Duration;

use crate::Instant;
use crate::config::Window;

/// A message in the window's unit.
const MESSAGE: u32 = 256;

pub(crate) struct Rate {
    /// Round trips without their delays; none was measured while it is `None`.
    measured: Option<Measured>,
    /// In [`MESSAGE`]s; `None`: not limited.
    window: Option<u32>,
    /// Tries that were lost before this moment say nothing new.
    heeded_until: Instant,
}

#[derive(Clone, Copy)]
struct Measured {
    smoothed: Duration,
    deviation: Duration,
}

impl Rate {
    pub(crate) fn new(window: Window) -> Self {
        let window = match window {
            Window::Open => None,
            Window::Adaptive { first } => Some(u32::from(first).max(1) * MESSAGE),
        };
        Self { measured: None, window, heeded_until: Instant::default() }
    }

    /// Whether one more message may be under way beside `flying` others.
    pub(crate) fn admits(&self, flying: usize) -> bool {
        self.window.is_none_or(|window| flying < (window / MESSAGE) as usize)
    }

    /// Whether own packets wait while those of others do.
    pub(crate) const fn yields(&self) -> bool {
        self.window.is_some()
    }

    /// What a round trip takes besides its delays, with room for how much that varies; `None`
    /// before one came back.
    pub(crate) fn allowance(&self) -> Option<Duration> {
        let measured = self.measured?;
        self.window.map(|_| measured.smoothed.saturating_add(measured.deviation.saturating_mul(4)))
    }

    /// A try came back, after `took` without its delays. `most` is how many messages can be under
    /// way.
    pub(crate) fn came_back(&mut self, took: Duration, tries: u8, most: usize) {
        self.measured = Some(match self.measured {
            None => Measured { smoothed: took, deviation: took / 2 },
            Some(Measured { smoothed, deviation }) => Measured {
                smoothed: smoothed * 7 / 8 + took / 8,
                deviation: deviation * 3 / 4 + smoothed.abs_diff(took) / 4,
            },
        });
        if let Some(window) = &mut self.window
            && tries == 1
        {
            let most = u32::try_from(most).unwrap_or(u32::MAX).saturating_mul(MESSAGE).max(MESSAGE);
            *window = window.saturating_add(MESSAGE * MESSAGE / *window).min(most);
        }
    }

    /// Tries were lost. Those that left before the last loss was noticed are not held against the
    /// network again.
    pub(crate) fn lost(&mut self, now: Instant, pause: Duration) {
        let Some(window) = &mut self.window else { return };
        if now >= self.heeded_until {
            *window = (*window / 2).max(MESSAGE);
            self.heeded_until = now + pause;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn rate() -> Rate {
        Rate::new(Window::Adaptive { first: 2 })
    }

    #[test]
    fn the_window_opens_by_one_for_each_window_that_came_back() {
        let mut rate = rate();
        assert!(rate.admits(1) && !rate.admits(2));
        for _ in 0..3 {
            rate.came_back(SECOND, 1, 8);
        }
        assert!(rate.admits(2) && !rate.admits(3));
        for _ in 0..1000 {
            rate.came_back(SECOND, 1, 8);
        }
        assert!(rate.admits(7) && !rate.admits(8), "no further than there is room");
    }

    #[test]
    fn many_losses_at_once_halve_it_once_and_one_message_may_always_go() {
        let mut rate = Rate::new(Window::Adaptive { first: 8 });
        let now = Instant::default() + SECOND;
        for _ in 0..5 {
            rate.lost(now, SECOND);
        }
        assert!(rate.admits(3) && !rate.admits(4));
        for after in 1..20 {
            rate.lost(now + SECOND * after, SECOND);
        }
        assert!(rate.admits(0) && !rate.admits(1));
    }

    #[test]
    fn the_allowance_follows_what_round_trips_take() {
        let mut rate = rate();
        assert_eq!(rate.allowance(), None);
        rate.came_back(SECOND, 1, 8);
        assert_eq!(rate.allowance(), Some(SECOND * 3));
        for _ in 0..100 {
            rate.came_back(SECOND * 5, 1, 8);
        }
        let allowance = rate.allowance().expect("measured");
        assert!((4..6).contains(&allowance.as_secs()), "{allowance:?}");
    }

    #[test]
    fn without_a_window_nothing_is_held_back() {
        let mut rate = Rate::new(Window::Open);
        rate.lost(Instant::default(), SECOND);
        rate.came_back(SECOND, 1, 8);
        assert!(rate.admits(usize::MAX - 1));
        assert_eq!(rate.allowance(), None);
    }
}
