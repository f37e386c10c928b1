//! Who may begin a handshake now: each costs this side three multiplications.

use std::collections::HashMap;
use std::time::Duration;

use motemix_time::Instant;

use crate::Source;

/// How long what was begun counts.
const PERIOD: Duration = Duration::from_secs(1);

/// Bounds of what handshakes cost, of all peers together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    /// Handshakes that are begun in a second.
    pub(super) begun: u32,
    /// Those of them that are a source's own: it has more only while half of all are free.
    pub(super) of_a_source: u32,
    /// Those of them whose peers have not proved their addresses.
    pub(super) unproven: u32,
}

/// What a request shows of its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shown {
    /// The address was proven a while ago, or by this request.
    pub(super) has_address: bool,
    /// This very request proves it.
    pub(super) has_echo: bool,
}

/// Why a handshake does not begin now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The address is to be proven first, by the request itself.
    Unproven,
    /// The source, or all together, have begun as many as they may.
    Busy,
}

/// Counts what was begun in this second.
#[derive(Debug, Default)]
pub(super) struct Admission {
    since: Instant,
    begun: u32,
    unproven: u32,
    /// As many as handshakes, at most. Requests that have an Echo value themselves have a share
    /// beside that of others with their address, which anybody may have written on those.
    of_sources: HashMap<(Source, bool), u32>,
}

impl Admission {
    /// Counts a handshake, if it may begin.
    pub(super) fn begin(
        &mut self,
        now: Instant,
        source: Source,
        Shown { has_address, has_echo }: Shown,
        bounds: &Bounds,
    ) -> Result<(), Refusal> {
        if now - self.since >= PERIOD {
            *self = Self { since: now, ..Self::default() };
        }
        // Whose address it is nobody knows: all of these are one source.
        if !has_address && self.unproven >= bounds.unproven {
            return Err(Refusal::Unproven);
        }
        let of_source = self.of_sources.get(&(source, has_echo)).copied().unwrap_or_default();
        let has_share = of_source < bounds.of_a_source || self.begun < bounds.begun / 2;
        if self.begun >= bounds.begun {
            return Err(Refusal::Busy);
        }
        if has_address && !has_share {
            return Err(if has_echo { Refusal::Busy } else { Refusal::Unproven });
        }
        self.begun += 1;
        if has_address {
            self.of_sources.insert((source, has_echo), of_source + 1);
        } else {
            self.unproven += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds { begun: 16, of_a_source: 2, unproven: 3 };

    const NOTHING: Shown = Shown { has_address: false, has_echo: false };
    const BEFORE: Shown = Shown { has_address: true, has_echo: false };
    const ECHO: Shown = Shown { has_address: true, has_echo: true };

    fn source(last: u8) -> Source {
        Source::of([192, 0, 2, last].into())
    }

    #[test]
    fn peers_without_proof_are_one_source_with_a_small_share() {
        let (mut admission, now) = (Admission::default(), Instant::from_micros(5_000_000));
        let mut admit = |at, source, shown| admission.begin(at, source, shown, &BOUNDS);
        let begun = (0..100).filter(|last| admit(now, source(*last), NOTHING).is_ok()).count();
        assert_eq!(begun, 3);
        assert_eq!(admit(now, source(1), NOTHING), Err(Refusal::Unproven));
        assert_eq!(admit(now, source(1), BEFORE), Ok(()));
        assert_eq!(admit(now + PERIOD, source(1), NOTHING), Ok(()));
    }

    #[test]
    fn one_source_has_half_and_others_have_their_shares() {
        let (mut admission, now) = (Admission::default(), Instant::from_micros(5_000_000));
        let mut begin = |last| admission.begin(now, source(last), ECHO, &BOUNDS);
        assert_eq!((0..100).filter(|_| begin(1).is_ok()).count(), 8);
        assert_eq!(begin(1), Err(Refusal::Busy));
        // Each of the others has its own, until all are used.
        for last in 2..6 {
            assert_eq!([begin(last), begin(last), begin(last)], [Ok(()), Ok(()), Err(Refusal::Busy)]);
        }
        assert_eq!(begin(6), Err(Refusal::Busy));
    }

    #[test]
    fn who_writes_a_proven_address_on_requests_leaves_the_address_its_share() {
        let (mut admission, now) = (Admission::default(), Instant::from_micros(5_000_000));
        let mut begin = |shown| admission.begin(now, source(1), shown, &BOUNDS);
        assert_eq!((0..100).filter(|_| begin(BEFORE).is_ok()).count(), 8);
        assert_eq!(begin(BEFORE), Err(Refusal::Unproven));
        assert_eq!([begin(ECHO), begin(ECHO), begin(ECHO)], [Ok(()), Ok(()), Err(Refusal::Busy)]);
    }
}
