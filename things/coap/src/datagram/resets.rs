//! Resets that fit nothing. An id has 16 bits: whoever sends many resets in another's name finds
//! the id of a message that was sent to it.

use std::net::SocketAddr;
use std::time::Duration;

use motemix_time::Instant;

use crate::source::{Account, FairTable, Standing};

/// Addresses that are remembered.
const MOST: usize = 1 << 14;
/// So many resets of an address that fit nothing are a client's that rejects notifications faster
/// than it is heard; beyond these, none is believed.
const BELIEVED: u32 = 8;
/// How long they count: EXCHANGE_LIFETIME (RFC 7252 §4.8.2).
const LIFETIME: Duration = Duration::from_secs(247);

#[derive(Debug)]
pub(super) struct Resets {
    /// Since when, and how many.
    unexpected: FairTable<SocketAddr, (Instant, u32)>,
}

impl Resets {
    pub(super) fn new() -> Self {
        Self { unexpected: FairTable::new(MOST) }
    }

    /// Counts one that fits nothing. What is counted of an observer's address has places that
    /// resets of other addresses do not take.
    pub(super) fn count(&mut self, now: Instant, from: SocketAddr, observes: bool) {
        let counted = self.unexpected.get_mut(&from).filter(|(since, _)| now - *since < LIFETIME);
        if let Some((_, count)) = counted {
            *count = count.saturating_add(1);
            return;
        }
        let standing = if observes { Standing::Proven } else { Standing::Unproven };
        let account = Account { source: from.into(), standing };
        self.unexpected.insert(from, account, (now, 1));
    }

    /// Whether an address has sent so many that others are guessing in its name.
    pub(super) fn are_doubted(&self, now: Instant, from: SocketAddr) -> bool {
        let counted = self.unexpected.get(&from).filter(|(since, _)| now - *since < LIFETIME);
        counted.is_some_and(|(_, count)| *count > BELIEVED)
    }
}
