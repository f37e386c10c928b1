//! Digits of a public number, few of which are not zero. In variable time: nothing here is for a
//! secret, whose digits are those of [`Odd`](super::scalar::Odd).
//!
//! Bit i of 2k − k is 1, 0 or −1: bit i − 1 of k less bit i. These signed bits stand for k, and
//! those that are not zero alternate in sign. From the uppermost on, five at a time make a window,
//! which begins with one that is not zero: so the window is from −16 to 16 and not zero, and is an
//! odd number from −15 to 15, shifted (K. Okeya et al., "Signed binary representations revisited",
//! 2004). A sixth of the positions have one, as in Solinas' NAF of width 5, whose digits come in
//! the wrong order and would have to be kept.

/// Signed bits of a window.
const WINDOW: i32 = 5;
/// The uppermost position.
pub const DIGITS_END: i32 = 256;

/// What is left of a number when its digits are taken from the uppermost on.
pub struct Digits<'a> {
    /// Big-endian.
    number: &'a [u8; 32],
    /// Where the last window ends.
    end: i32,
    position: i32,
    digit: i32,
}

impl<'a> Digits<'a> {
    pub const fn of(number: &'a [u8; 32]) -> Self {
        Self { number, end: DIGITS_END + 1, position: -1, digit: 0 }
    }

    /// The digit there, unless it is zero: odd, and from −15 to 15. Positions are asked for from
    /// [`DIGITS_END`] down to 0.
    pub fn next_vartime(&mut self, position: i32) -> Option<i32> {
        if position < self.end && self.bit(position) != self.bit(position - 1) {
            let bits = (0..=WINDOW).fold(0, |bits, below| bits << 1 | self.bit(position - below));
            let window = (bits & ((1 << WINDOW) - 1)) - (bits >> 1);
            let shift = window.trailing_zeros();
            self.end = position - WINDOW + 1;
            self.position = self.end + shift.cast_signed();
            self.digit = window >> shift;
        }
        (position == self.position).then_some(self.digit)
    }

    /// Zero outside of it.
    fn bit(&self, at: i32) -> i32 {
        let byte = self.number.iter().rev().nth((at >> 3).cast_unsigned() as usize);
        byte.map_or(0, |byte| i32::from(byte >> (at & 7) & 1))
    }
}
