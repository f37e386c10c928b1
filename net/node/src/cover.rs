//! Cover streams: when loop cover, drop cover and ticks of the payload stream are due.

use core::time::Duration;

use motemix_sphinx::HopDelay;
use rand_core::CryptoRng;

use crate::Instant;

/// A Poisson stream: the times between its ticks are exponential and independent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stream {
    mean: Option<Duration>,
    next: Instant,
}

impl Stream {
    pub(crate) const fn off() -> Self {
        Self { mean: None, next: Instant::NEVER }
    }

    /// Begins, or stops if there is no mean.
    pub(crate) fn set<R: CryptoRng>(&mut self, now: Instant, mean: Option<Duration>, rng: &mut R) {
        if self.mean != mean {
            self.mean = mean;
            self.schedule(now, rng);
        }
    }

    pub(crate) const fn is_on(&self) -> bool {
        self.mean.is_some()
    }

    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        self.mean.map(|_| self.next)
    }

    /// Whether a tick is due; the next one is drawn from now, so that a node that slept does not
    /// send what it missed in one burst.
    pub(crate) fn tick<R: CryptoRng>(&mut self, now: Instant, rng: &mut R) -> bool {
        let due = self.mean.is_some() && self.next <= now;
        if due {
            self.schedule(now, rng);
        }
        due
    }

    fn schedule<R: CryptoRng>(&mut self, now: Instant, rng: &mut R) {
        self.next = match self.mean {
            Some(mean) => now + HopDelay::from_seed(rng.next_u64()).of_mean(mean),
            None => Instant::NEVER,
        };
    }
}

/// The three streams of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Streams {
    pub(crate) loops: Stream,
    pub(crate) drops: Stream,
    pub(crate) payload: Stream,
}

impl Streams {
    pub(crate) const fn off() -> Self {
        Self { loops: Stream::off(), drops: Stream::off(), payload: Stream::off() }
    }

    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        [self.loops, self.drops, self.payload].iter().filter_map(Stream::next_timeout).min()
    }
}
