//! Work for requests whose addresses nobody has proved: whoever writes others' addresses on its
//! datagrams is a new peer with each, so all of these have one share.

use motemix_coap::{Request, Ticket};
use motemix_time::Instant;

use super::Server;
use crate::clock;
use crate::{Caller, Store};

/// Requests a second that make the broker check a signature, or look at many registrations.
const A_SECOND: u64 = 64;
/// As many at once.
const AT_ONCE: u64 = 128;
/// Parts of a request, so that a second's worth comes in whole microseconds.
const REQUEST: u64 = 1_000_000;

/// The share of requests without proof.
#[derive(Debug)]
pub(super) struct Unproven {
    left: u64,
    counted: Instant,
}

impl Default for Unproven {
    fn default() -> Self {
        Self { left: AT_ONCE * REQUEST, counted: Instant::default() }
    }
}

impl Unproven {
    /// Takes a request, or says that its address has to be proved first.
    pub(super) fn take(&mut self, now: Instant) -> bool {
        let passed = now.as_micros().saturating_sub(self.counted.as_micros());
        self.left = self.left.saturating_add(passed.saturating_mul(A_SECOND)).min(AT_ONCE * REQUEST);
        self.counted = now;
        let rest = self.left.checked_sub(REQUEST);
        self.left = rest.unwrap_or(self.left);
        rest.is_some()
    }
}

impl<S: Store> Server<S> {
    /// Whether a request has to come again with a proof of its address, because those without proof
    /// have used up their share.
    pub(super) fn has_to_prove(&mut self, ticket: &Ticket, caller: &Caller, request: &Request) -> bool {
        let now = self.clock.now();
        if caller.local || caller.device.is_some() || self.datagrams.is_proven(now, ticket) {
            return false;
        }
        self.broker.is_crowded(clock::moment(), caller)
            || (self.broker.is_costly(request) && !self.unproven.take(now))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn signed_requests_of_forged_addresses_cost_a_bounded_number_of_checks() {
        let (mut unproven, start) = (Unproven::default(), Instant::from_micros(1));
        let taken = |unproven: &mut Unproven, from: Instant| {
            (0..5000).filter(|number| unproven.take(from + Duration::from_micros(200) * *number)).count()
        };
        assert_eq!(taken(&mut unproven, start), 128 + 63);
        assert_eq!(taken(&mut unproven, start + Duration::from_secs(1)), 64);
        // Whoever comes when nobody floods is served at once.
        assert!(unproven.take(start + Duration::from_secs(60)));
    }
}
