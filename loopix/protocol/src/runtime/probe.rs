//! Messages that a client sends itself, to learn how long messages take.
//!
//! Each is made when the payload stream has its turn, so that waiting for the turn is not part of
//! the time, and is read by the clock that it was written by: both as in the measurements of the
//! dissertation (its section 4.2.3).

use std::sync::Arc;
use std::time::{Duration, Instant};

use motemix_os::rng::HostRng;
use rand_core::Rng as _;

use crate::role::Draft;

const MARK: &[u8] = b"probe ";
const NONCE_LEN: usize = 8;

/// The probes of one process.
#[derive(Debug, Clone)]
pub(super) struct Probes {
    me: Arc<str>,
    /// Tells this process's probes from an earlier one's, whose clock began elsewhere, and from
    /// what others send.
    nonce: [u8; NONCE_LEN],
    began: Instant,
}

/// How long a probe took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Flight {
    /// When it left, since the node's start.
    pub(super) left: Duration,
    /// From then to its arrival.
    pub(super) took: Duration,
}

impl Probes {
    pub(super) fn new(me: &str, rng: &mut HostRng) -> Self {
        let mut nonce = [0; NONCE_LEN];
        rng.fill_bytes(&mut nonce);
        Self { me: me.into(), nonce, began: Instant::now() }
    }

    /// A probe that leaves now.
    pub(super) fn draft(&self) -> Draft {
        let left = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Draft { to: self.me.to_string(), message: [MARK, &self.nonce, &left.to_be_bytes()].concat() }
    }

    /// The flight of a probe that arrives now; `None` if the message is no probe of ours.
    pub(super) fn flight(&self, message: &[u8]) -> Option<Flight> {
        let left = message.strip_prefix(MARK)?.strip_prefix(&self.nonce)?;
        let left = Duration::from_nanos(u64::from_be_bytes(left.try_into().ok()?));
        Some(Flight { left, took: self.began.elapsed().checked_sub(left)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_knows_its_own_probes() {
        let mut rng = HostRng::new().unwrap();
        let (ours, others) = (Probes::new("Ann", &mut rng), Probes::new("Ann", &mut rng));
        let Draft { to, message } = ours.draft();
        assert_eq!(to, "Ann");
        let flight = ours.flight(&message).unwrap();
        assert!(flight.left + flight.took <= ours.began.elapsed());
        assert_eq!(others.flight(&message), None);
        assert_eq!(ours.flight(&message[..message.len() - 1]), None);
        assert_eq!(ours.flight(b"probe"), None);
    }
}
