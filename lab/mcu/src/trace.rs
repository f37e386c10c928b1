//! What a run did, in a number that another run can be compared with.

/// A digest of a sequence of events in a run. Sequences that differ in one event have different
/// digests; others have the same one by a chance of about 1 to 2⁶⁴. It is no cryptographic hash:
/// nobody works against it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Trace(u64);

impl Trace {
    /// Odd, so that each step can be undone, and no event is lost: the golden ratio's bits.
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

    #[inline(always)]
    fn add(&mut self, event: u64) {
        self.0 = (self.0.rotate_left(23) ^ event).wrapping_mul(Self::FACTOR);
    }

    /// A branch was taken. What is between two of them follows from where the first one led.
    #[inline(always)]
    pub(crate) fn branch(&mut self, from: u32, to: u32) {
        self.add(u64::from(from) << 32 | u64::from(to));
    }

    /// An IT block skipped an instruction that would have taken more cycles than the one that
    /// skipping takes.
    #[inline(always)]
    pub(crate) fn skip(&mut self, at: u32) {
        self.add(u64::from(at));
    }

    #[inline(always)]
    pub(crate) fn load(&mut self, address: u32) {
        self.add(u64::from(address));
    }

    #[inline(always)]
    pub(crate) fn operands(&mut self, n: u32, m: u32) {
        self.add(u64::from(n) << 32 | u64::from(m));
    }

    #[inline(always)]
    pub(crate) fn store(&mut self, address: u32) {
        self.add(!u64::from(address));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(events: &[u64]) -> Trace {
        let mut trace = Trace::default();
        for event in events {
            trace.add(*event);
        }
        trace
    }

    #[test]
    fn what_happened_and_in_which_order_is_in_the_digest() {
        let all = [of(&[1, 2, 3]), of(&[1, 3, 2]), of(&[1, 2]), of(&[1, 2, 3, 3]), of(&[1, 2, 4]), of(&[])];
        for (at, trace) in all.iter().enumerate() {
            assert!(!all[..at].contains(trace), "{at}");
        }
        assert_eq!(of(&[1, 2, 3]), all[0]);
    }
}
