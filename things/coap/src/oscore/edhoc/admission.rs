//! Who may begin a handshake now: each costs this side three multiplications.

use std::collections::HashMap;
use std::time::Duration;

use motemix_time::Instant;

use crate::{Account, Standing};

/// How long what was begun counts.
const PERIOD: Duration = Duration::from_secs(1);

/// Bounds of what handshakes cost, of all peers together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Handshakes that are begun in a second. Half of them is for those who have an Echo value in
    /// this very request.
    pub begun: u32,
    /// Those of them that are an account's own: it has more only while half of all are free and
    /// nobody else can have begun them.
    pub of_an_account: u32,
    /// Those of them whose peers have not proved their addresses.
    pub unproven: u32,
}

/// Why a handshake does not begin now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The address is to be proven first, by the request itself.
    Unproven,
    /// The source, or all together, have begun as many as they may.
    Busy,
}

/// Counts what was begun in this second.
#[derive(Debug, Default)]
pub struct Admission {
    since: Instant,
    begun: u32,
    /// Without an Echo value in the request: anybody can have written any address on it, also one
    /// that was proven.
    begun_without_echo: u32,
    unproven: u32,
    /// As many as handshakes, at most.
    of_accounts: HashMap<Account, u32>,
}

impl Admission {
    /// Counts a handshake, if it may begin.
    ///
    /// # Errors
    /// It may not begin now.
    pub fn begin(&mut self, now: Instant, account: Account, bounds: &Bounds) -> Result<(), Refusal> {
        self.check(now, account, bounds)?;
        self.count(account);
        Ok(())
    }

    /// Whether a handshake may begin, which is not counted yet: it may turn out that nothing has to
    /// be computed.
    ///
    /// # Errors
    /// It may not begin now.
    pub fn check(&mut self, now: Instant, account: Account, bounds: &Bounds) -> Result<(), Refusal> {
        if now - self.since >= PERIOD {
            *self = Self { since: now, ..Self::default() };
        }
        let of_account = self.of_accounts.get(&account).copied().unwrap_or_default();
        let has_share = of_account < bounds.of_an_account;
        let (may_begin, refusal) = match account.standing {
            // Whose address it is nobody knows: all of these are one.
            Standing::Unproven => (self.unproven < bounds.unproven, Refusal::Unproven),
            Standing::Proven => (has_share, Refusal::Unproven),
            Standing::Certain => (has_share || self.begun < bounds.begun / 2, Refusal::Busy),
        };
        let is_certain = account.standing == Standing::Certain;
        if !may_begin || (!is_certain && self.begun_without_echo >= bounds.begun / 2) {
            return Err(refusal);
        }
        if self.begun >= bounds.begun {
            return Err(Refusal::Busy);
        }
        Ok(())
    }

    /// Counts a handshake that began.
    pub fn count(&mut self, account: Account) {
        let is_certain = account.standing == Standing::Certain;
        *self.of_accounts.entry(account).or_default() += 1;
        self.begun += 1;
        self.begun_without_echo += u32::from(!is_certain);
        self.unproven += u32::from(account.standing == Standing::Unproven);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Source;

    const BOUNDS: Bounds = Bounds { begun: 16, of_an_account: 2, unproven: 3 };

    fn account(last: u8, standing: Standing) -> Account {
        Account { source: Source::of([192, 0, 2, last].into()), standing }
    }

    #[test]
    fn peers_without_proof_are_one_source_with_a_small_share() {
        let (mut admission, now) = (Admission::default(), Instant::from_micros(5_000_000));
        let mut admit = |at, last, standing| admission.begin(at, account(last, standing), &BOUNDS);
        let begun = (0..100).filter(|last| admit(now, *last, Standing::Unproven).is_ok()).count();
        assert_eq!(begun, 3);
        assert_eq!(admit(now, 1, Standing::Unproven), Err(Refusal::Unproven));
        assert_eq!(admit(now, 1, Standing::Proven), Ok(()));
        // Those that were refused are not remembered.
        assert_eq!(admission.of_accounts.len(), 4);
        assert_eq!(admission.begin(now + PERIOD, account(1, Standing::Unproven), &BOUNDS), Ok(()));
    }

    #[test]
    fn one_source_has_half_and_others_have_their_shares() {
        let (mut admission, now) = (Admission::default(), Instant::from_micros(5_000_000));
        let mut begin = |last| admission.begin(now, account(last, Standing::Certain), &BOUNDS);
        assert_eq!((0..100).filter(|_| begin(1).is_ok()).count(), 8);
        assert_eq!(begin(1), Err(Refusal::Busy));
        // Each of the others has its own, until all are used.
        for last in 2..6 {
            assert_eq!([begin(last), begin(last), begin(last)], [Ok(()), Ok(()), Err(Refusal::Busy)]);
        }
        assert_eq!(begin(6), Err(Refusal::Busy));
    }

    #[test]
    fn who_writes_proven_addresses_on_requests_leaves_half_to_those_whose_they_are() {
        let (mut admission, now) = (Admission::default(), Instant::from_micros(5_000_000));
        let mut begin = |last, standing| admission.begin(now, account(last, standing), &BOUNDS);
        let forged = (0..100).map(|number| begin(number % 10, Standing::Proven));
        let forged: Vec<_> = forged.filter(|begun| *begun != Err(Refusal::Unproven)).collect();
        assert_eq!(forged, [Ok(()); 8]);
        for last in 0..4 {
            assert_eq!([begin(last, Standing::Certain), begin(last, Standing::Certain)], [Ok(()), Ok(())]);
        }
        assert_eq!(begin(5, Standing::Certain), Err(Refusal::Busy));
    }
}
