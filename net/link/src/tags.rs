//! Tags of datagrams that leave. A tag that counts up can be known before its datagram leaves, and
//! one forged fragment with it spoils the datagram.
//!
//! Low bytes, which are all that an RFRAG carries, are drawn like lots from the lower half of all
//! bytes until none is left, then from the upper half, and so on: a byte never comes again before
//! 128 others did, so no receiver takes a new datagram for one that it had. High bytes are random.
//! The generator is not a cryptographic one: whoever hears frames reads the tag of the datagram
//! under way, and need not guess.

/// The tags that a stack uses.
pub(crate) struct Tags {
    state: u64,
    /// The lots that are left, one bit each.
    left: u128,
    /// What is added to a lot: the half that it is drawn from.
    half: u8,
}

impl Tags {
    pub(crate) const fn new(seed: u64) -> Self {
        Self { state: seed, left: 0, half: 0 }
    }

    pub(crate) fn next(&mut self) -> u16 {
        if self.left == 0 {
            self.left = u128::MAX;
            self.half ^= 0x80;
        }
        let random = self.draw();
        let [high, _, r1, r0, ..] = random.to_be_bytes();
        let which = (u32::from(u16::from_be_bytes([r1, r0])) * self.left.count_ones()) >> 16;
        let lot = (0..which).fold(self.left, |left, _| left & left.wrapping_sub(1)).trailing_zeros();
        self.left &= !(1 << lot);
        u16::from_be_bytes([high, self.half | lot as u8])
    }

    /// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
    const fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::vec::Vec;

    use super::*;

    #[test]
    fn a_low_byte_never_comes_again_before_128_others() {
        for seed in 0..20 {
            let mut tags = Tags::new(seed);
            let bytes: Vec<u8> = (0..2000).map(|_| tags.next() as u8).collect();
            for window in bytes.windows(129) {
                let (last, before) = window.split_last().expect("it has bytes");
                assert!(!before.contains(last), "{window:?}");
            }
        }
    }

    #[test]
    fn the_tag_after_one_is_any_other() {
        let mut differences = BTreeSet::new();
        let (mut same, mut first) = (0, BTreeSet::new());
        for seed in 0..1000 {
            let mut tags = Tags::new(seed);
            let [one, other] = [tags.next(), tags.next()];
            first.insert(one);
            differences.insert(other.wrapping_sub(one));
            same += usize::from(other == one.wrapping_add(1));
        }
        assert!(first.len() > 950 && differences.len() > 950, "{} {}", first.len(), differences.len());
        assert!(same < 3, "{same} of 1000 count up");
    }
}
