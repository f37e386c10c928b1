//! Which numbers a context has seen (RFC 8613, sections 3.2.2 and 7.4), and what it does when it
//! has forgotten them (appendix B.1.2).

use subtle::ConstantTimeEq as _;

/// Bytes of an Echo value.
pub const ECHO_LEN: usize = 8;

/// A replay window of 64 numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Window {
    /// Everything below `next` was seen, but for those of the 64 before it whose bit is 0: the
    /// lowest bit is that of `next - 1`.
    Known { next: u64, seen: u64 },
    /// Forgotten: whoever gives this value back has made its request after the restart.
    Forgotten { echo: [u8; ECHO_LEN] },
}

const WIDTH: u64 = u64::BITS as u64;

impl Window {
    /// That of a context that nobody has used.
    pub(super) const FRESH: Self = Self::Known { next: 0, seen: u64::MAX };

    /// Whether a number is new. Nothing is new while the window is forgotten.
    pub(super) fn is_new(&self, number: u64) -> bool {
        match *self {
            Self::Known { next, seen } => match next.checked_sub(number) {
                None | Some(0) => true,
                Some(back) if back <= WIDTH => seen >> (back - 1) & 1 == 0,
                Some(_) => false,
            },
            Self::Forgotten { .. } => false,
        }
    }

    /// Remembers a new number.
    pub(super) fn accept(&mut self, number: u64) {
        let Self::Known { next, seen } = self else { return };
        match next.checked_sub(number) {
            None | Some(0) => {
                // What moves out is seen; what lies between is not.
                let by = number - *next + 1;
                *seen = u32::try_from(by).ok().and_then(|by| seen.checked_shl(by)).unwrap_or(0) | 1;
                *next = number + 1;
            }
            Some(back) if back <= WIDTH => *seen |= 1 << (back - 1),
            Some(_) => {}
        }
    }

    /// Whether a request gave the value back. Its number is then the lowest that was seen.
    pub(super) fn recover(&mut self, number: u64, given: Option<&[u8]>) -> bool {
        let Self::Forgotten { echo } = self else { return false };
        // Disclosed: whether the value came back. Whoever sent it sees what follows.
        if !given.is_some_and(|given| bool::from(given.ct_eq(&echo[..]))) {
            return false;
        }
        *self = Self::Known { next: number + 1, seen: u64::MAX };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_window_takes_each_number_once_and_none_that_is_too_old() {
        let mut window = Window::FRESH;
        for (number, is_new) in [
            (0, true),
            (0, false),
            (5, true),
            (3, true),
            (3, false),
            (100, true),
            (37, true),
            (36, false),
            (1 << 39, true),
            (100, false),
            ((1 << 40) - 1, true),
            ((1 << 40) - 1, false),
        ] {
            assert_eq!(window.is_new(number), is_new, "{number}");
            if is_new {
                window.accept(number);
            }
        }
    }

    #[test]
    fn a_forgotten_window_takes_nothing_before_its_value_comes_back() {
        let mut window = Window::Forgotten { echo: [7; ECHO_LEN] };
        assert!(!window.is_new(1000));
        window.accept(1000);
        for wrong in [None, Some(&[][..]), Some(&[7; 7]), Some(&[8; 8])] {
            assert!(!window.recover(1000, wrong));
        }
        assert!(window.recover(1000, Some(&[7; 8])));
        assert!(!window.is_new(1000), "the request that gave it back is accepted by itself");
        assert!(!window.is_new(999), "whatever came before the restart is old");
        assert!(window.is_new(1001));
        assert!(!window.recover(2000, Some(&[7; 8])), "it serves once");
    }

    proptest! {
        #[test]
        fn a_window_never_takes_a_number_twice(numbers in prop::collection::vec(0_u64..300, 0..400)) {
            let mut window = Window::FRESH;
            let mut taken = BTreeSet::new();
            for number in numbers {
                let newest = taken.last().copied();
                let expected = !taken.contains(&number)
                    && newest.is_none_or(|newest: u64| number + WIDTH > newest);
                prop_assert_eq!(window.is_new(number), expected);
                if expected {
                    window.accept(number);
                    taken.insert(number);
                }
            }
        }
    }
}
