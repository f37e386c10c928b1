//! Sender Sequence Numbers (RFC 8613, section 7.2): each one once, restarts included (appendix
//! B.1.1).

use std::fmt;

use super::keys::MAX_NUMBER;

/// Where a context with a name notes down how far its numbers may have gone.
pub trait NumberStore {
    /// Notes that the named context uses numbers below `below`. It is on the disk when this
    /// returns, and after a restart the context begins there ([`Numbers::restored`]).
    ///
    /// # Errors
    /// It could not be noted down. Nothing is sent then.
    fn reserve(&mut self, name: &str, below: u64) -> Result<(), NotStored>;
}

/// The store did not take a reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotStored;

/// For a caller whose contexts are all made by EDHOC: these have no name, and are never noted down.
#[derive(Debug, Clone, Copy, Default)]
pub struct NothingStored;

impl NumberStore for NothingStored {
    fn reserve(&mut self, _: &str, _: u64) -> Result<(), NotStored> {
        Err(NotStored)
    }
}

/// Why no number was given out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoNumber {
    /// All below 2^40 are used: the context is at its end.
    Exhausted,
    /// The next ones could not be reserved.
    NotStored,
}

/// How many numbers a reservation takes by default: one write for each so many messages.
pub const BLOCK: u64 = 256;

/// The numbers of one sender.
pub struct Numbers {
    next: u64,
    /// The first number that is not reserved.
    reserved: u64,
    block: u64,
}

impl Numbers {
    /// Those of a context that lives as long as this process: nothing is reserved.
    pub const fn volatile() -> Self {
        Self { next: 0, reserved: MAX_NUMBER + 1, block: 0 }
    }

    /// Those of a context with a name, from what its last reservation said (0 if there was none).
    /// The first number is reserved before it is used.
    pub const fn restored(below: u64, block: u64) -> Self {
        Self { next: below, reserved: below, block: if block == 0 { 1 } else { block } }
    }

    /// The next number.
    pub(super) fn take(&mut self, name: Option<&str>, store: &mut dyn NumberStore) -> Result<u64, NoNumber> {
        if self.next > MAX_NUMBER {
            return Err(NoNumber::Exhausted);
        }
        if self.next >= self.reserved {
            let below = self.next.saturating_add(self.block).min(MAX_NUMBER + 1);
            store.reserve(name.unwrap_or_default(), below).map_err(|NotStored| NoNumber::NotStored)?;
            self.reserved = below;
        }
        let number = self.next;
        self.next += 1;
        Ok(number)
    }

    /// How many were used, or passed over at a restart.
    pub const fn used(&self) -> u64 {
        self.next
    }
}

impl fmt::Debug for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.next, self.reserved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[derive(Default)]
    struct Disk {
        below: u64,
        writes: usize,
        is_full: bool,
    }

    impl NumberStore for Disk {
        fn reserve(&mut self, name: &str, below: u64) -> Result<(), NotStored> {
            assert_eq!(name, "gate");
            if self.is_full {
                return Err(NotStored);
            }
            (self.below, self.writes) = (below, self.writes + 1);
            Ok(())
        }
    }

    #[test]
    fn no_number_comes_twice_whenever_the_process_ends() {
        let mut disk = Disk::default();
        let mut seen = BTreeSet::new();
        for messages in [0, 1, 9, 10, 11, 25, 3] {
            let mut numbers = Numbers::restored(disk.below, 10);
            for _ in 0..messages {
                let number = numbers.take(Some("gate"), &mut disk).unwrap();
                assert!(seen.insert(number), "{number} twice");
            }
        }
        assert!(disk.writes <= 10, "{} writes for {} messages", disk.writes, seen.len());
    }

    #[test]
    fn without_a_reservation_nothing_is_sent() {
        let mut disk = Disk { is_full: true, ..Disk::default() };
        let mut numbers = Numbers::restored(0, 2);
        assert_eq!(numbers.take(Some("gate"), &mut disk), Err(NoNumber::NotStored));
        disk.is_full = false;
        assert_eq!(numbers.take(Some("gate"), &mut disk), Ok(0));
        assert_eq!(numbers.take(Some("gate"), &mut disk), Ok(1));
        disk.is_full = true;
        assert_eq!(numbers.take(Some("gate"), &mut disk), Err(NoNumber::NotStored));
        disk.is_full = false;
        assert_eq!(numbers.take(Some("gate"), &mut disk), Ok(2));
    }

    #[test]
    fn the_last_number_is_used_and_none_after_it() {
        let mut disk = Disk::default();
        let mut numbers = Numbers::restored(MAX_NUMBER - 1, BLOCK);
        assert_eq!(numbers.take(Some("gate"), &mut disk), Ok(MAX_NUMBER - 1));
        assert_eq!(numbers.take(Some("gate"), &mut disk), Ok(MAX_NUMBER));
        assert_eq!(numbers.take(Some("gate"), &mut disk), Err(NoNumber::Exhausted));
    }
}
