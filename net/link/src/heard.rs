//! Whom this station is to call because of what it heard, which may be a lie.
//!
//! A frame under a key that is not there may come from a neighbour that does not know that this
//! station was restarted, or from a stranger. Nothing tells these apart but a handshake, so there
//! is a least time between such calls: a token bucket, whatever the rate of forgeries is. Stations
//! take turns in the order of their addresses, so that whoever was named once is called in a time
//! that depends on how many others were named, and not on how often.

use core::time::Duration;

use motemix_time::Instant;

use crate::serial::ExtendedAddress;
use crate::settings::HeardCalls;

/// Who was heard, and when somebody may be called for it.
pub(crate) struct Heard {
    /// The time for one more call, and how long the bucket takes to fill. In milliseconds, because
    /// small boards have little memory.
    every: u32,
    kept: u32,
    /// When all tokens are there again (the theoretical arrival time of a leaky bucket).
    full_at: Instant,
    /// Who was called last.
    last: u64,
    /// Who is next.
    next: Option<ExtendedAddress>,
}

const fn number(ExtendedAddress(station): ExtendedAddress) -> u64 {
    u64::from_be_bytes(station)
}

impl Heard {
    pub(crate) const fn new(calls: HeardCalls) -> Self {
        let every = calls.every.as_millis();
        let every = if every > u32::MAX as u128 { u32::MAX } else { every as u32 };
        let more = if calls.at_once == 0 { 0 } else { calls.at_once as u32 - 1 };
        let kept = every.saturating_mul(more);
        Self { every, kept, full_at: Instant::from_micros(0), last: 0, next: None }
    }

    /// This station was heard, or somebody in its name.
    pub(crate) fn note(&mut self, station: ExtendedAddress) {
        let turn = |station| number(station).wrapping_sub(self.last).wrapping_sub(1);
        if self.next.is_none_or(|next| turn(station) < turn(next)) {
            self.next = Some(station);
        }
    }

    /// There is nothing to call this station for any more.
    pub(crate) fn settled(&mut self, station: ExtendedAddress) {
        self.next = self.next.filter(|next| *next != station);
    }

    /// When somebody is to be called, if somebody is.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.next.map(|_| self.full_at - Duration::from_millis(self.kept.into()))
    }

    /// Whoever is to be called now.
    pub(crate) fn poll(&mut self, now: Instant) -> Option<ExtendedAddress> {
        let station = self.next.filter(|_| self.due().is_some_and(|due| due <= now))?;
        (self.next, self.last) = (None, number(station));
        Some(station)
    }

    /// Somebody is called for what was heard.
    pub(crate) fn spend(&mut self, now: Instant) {
        self.full_at = self.full_at.max(now) + Duration::from_millis(self.every.into());
    }
}
