//! Which sequence numbers are accepted (RFC 8387, 8.2).

use core::fmt;

use crate::identity::Identity;
use crate::key_id::{KeyId, Rotating};
use crate::reading::Verified;

/// How many numbers below the highest a window remembers.
pub const WINDOW: u64 = 64;
/// The largest threshold: further ahead, low bits do not tell the number.
pub const MAX_THRESHOLD: u16 = 0x7fff;

/// What happens to numbers that are not above all before.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Order {
    /// Each number has to be above all before, as the RFC has it. For paths that keep the order:
    /// behind mixes, with a reading every mean delay, this drops about 38 % of them.
    Strict,
    /// A number may be up to [`WINDOW`] below the highest, and arrive once.
    Window,
}

/// Which sequence numbers are accepted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Policy {
    /// What happens to earlier numbers.
    pub order: Order,
    /// How far above the highest a number may be, at most [`MAX_THRESHOLD`].
    pub threshold: u16,
}

impl Policy {
    /// For direct paths.
    pub const STRICT: Self = Self { order: Order::Strict, threshold: 1024 };
    /// For anonymous paths.
    pub const WINDOW: Self = Self { order: Order::Window, threshold: 1024 };
}

/// Why a number is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stale {
    /// It arrived before.
    Replayed,
    /// It is below the highest by too much, or at all with [`Order::Strict`].
    Late,
    /// It is above the highest by more than the threshold: the device has to register again.
    FarAhead,
}

impl fmt::Display for Stale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Replayed => "it arrived before",
            Self::Late => "its number is below one that arrived before",
            Self::FarAhead => "its number is too far ahead; the device has to register again",
        })
    }
}

impl core::error::Error for Stale {}

/// Which numbers of one device have been accepted. Keep it ([`to_words`](Self::to_words)) before
/// what was accepted is used: a verifier that forgets accepts everything again.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Freshness {
    /// One above the highest number that was accepted, or the one that the device registered with.
    next: u64,
    /// Bit i: number `next − 1 − i` was accepted.
    seen: u64,
}

impl Freshness {
    /// Nothing below `next` is accepted.
    pub const fn starting_at(next: u64) -> Self {
        Self { next, seen: u64::MAX }
    }

    /// What was kept.
    pub const fn from_words([next, seen]: [u64; 2]) -> Self {
        Self { next, seen }
    }

    /// To be kept.
    pub const fn to_words(self) -> [u64; 2] {
        [self.next, self.seen]
    }

    /// One above the highest number that was accepted.
    pub const fn next(&self) -> u64 {
        self.next
    }

    /// The number with these low bits that is nearest to the one that comes next.
    pub fn nearest(&self, low: u16) -> u64 {
        let [.., high, next_low] = self.next.to_be_bytes();
        let ahead = low.wrapping_sub(u16::from_be_bytes([high, next_low]));
        let up = self.next.saturating_add(u64::from(ahead));
        // Half of all numbers are taken for earlier ones, if there were so many.
        match up.checked_sub(0x1_0000) {
            Some(down) if ahead > MAX_THRESHOLD => down,
            _ => up,
        }
    }

    /// Which number a key id stands for: on a direct path the nearest with its low bits, on an
    /// anonymous one the first whose key id it is, among those that would be accepted. Takes up to
    /// `threshold` + 64 hashes of a block then.
    pub fn sequence_of(&self, identity: &Identity, key_id: KeyId, policy: Policy) -> Option<u64> {
        let (from, to) = self.span(policy);
        let mut ids = Rotating::of(identity);
        (from..to).find(|number| ids.at(*number) == key_id)
    }

    /// The numbers that could be accepted: from one to before another.
    pub fn span(&self, policy: Policy) -> (u64, u64) {
        let from = self.next.saturating_sub(if policy.order == Order::Window { WINDOW } else { 0 });
        (from, self.next.saturating_add(policy.threshold.into()).saturating_add(1))
    }

    /// Whether this number would be accepted. Says so before the signature is checked, so that
    /// what was replayed costs no check.
    ///
    /// # Errors
    /// See [`Stale`].
    pub fn check(&self, sequence: u64, policy: Policy) -> Result<(), Stale> {
        if let Some(ahead) = sequence.checked_sub(self.next) {
            // The last number of all has none above it that could come next.
            return if sequence == u64::MAX || ahead > policy.threshold.into() {
                Err(Stale::FarAhead)
            } else {
                Ok(())
            };
        }
        let behind = self.next.saturating_sub(sequence).saturating_sub(1);
        match (behind < WINDOW, self.seen.checked_shr(u32::try_from(behind).unwrap_or(u32::MAX))) {
            (true, Some(bits)) if bits & 1 == 1 => Err(Stale::Replayed),
            (true, Some(_)) if policy.order == Order::Window => Ok(()),
            _ => Err(Stale::Late),
        }
    }

    /// Notes a reading whose signature was checked.
    ///
    /// # Errors
    /// As for [`check`](Self::check); nothing is noted then.
    pub fn admit(&mut self, verified: &Verified<'_>, policy: Policy) -> Result<(), Stale> {
        let sequence = verified.sequence();
        self.check(sequence, policy)?;
        if let Some(skipped) = sequence.checked_sub(self.next) {
            let shift = u32::try_from(skipped.saturating_add(1)).unwrap_or(u32::MAX);
            self.seen = self.seen.checked_shl(shift).unwrap_or(0) | 1;
            self.next = sequence.saturating_add(1);
        } else {
            let behind = self.next.saturating_sub(sequence).saturating_sub(1);
            self.seen |= 1_u64.checked_shl(u32::try_from(behind).unwrap_or(u32::MAX)).unwrap_or(0);
        }
        Ok(())
    }

    /// Moves on to the number that a device registered with: never back, or a registration that
    /// was recorded would let its readings in again. Up to [`WINDOW`] numbers on, those that have
    /// not arrived may still: on a path that changes the order the registration was faster.
    ///
    /// # Errors
    /// [`Stale::Late`] if it is below what comes next.
    pub const fn register(&mut self, sequence: u64) -> Result<(), Stale> {
        let Some(skipped) = sequence.checked_sub(self.next) else { return Err(Stale::Late) };
        if skipped < WINDOW {
            // Below 64, so that it fits a shift of 64 bits.
            self.seen = self.seen.wrapping_shl(skipped as u32);
            self.next = sequence;
        } else {
            *self = Self::starting_at(sequence);
        }
        Ok(())
    }
}
